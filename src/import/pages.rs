//! Recognises a page of a paginated API response, and how many links are on its other pages.

use serde_json::{Map, Value};

use super::record::plain_name;

/// Members that say how many links there are in all, and where the others are.
const TOTALS: [&str; 4] = ["total", "totalitems", "totallinks", "totalcount"];
const PAGE: &str = "currentpage";
const LAST_PAGE: &str = "pagescount";
const NEXT: &str = "next";
/// Members within which these may stand.
const PLACES: [&str; 4] = ["pagination", "stats", "meta", "paging"];

/// Links that the service which wrote a file has besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherPages {
    /// So many.
    Links(u64),
    /// Some.
    Some,
}

/// How many links a file has, and how many its service says that it has in all.
#[derive(Debug, Default)]
pub(super) struct Pages {
    links: u64,
    total: u64,
    has_next: bool,
}

impl Pages {
    /// Whether a member of this name may say something of pages.
    pub(super) fn has_place_in(name: &str) -> bool {
        let name = plain_name(name);
        let name = name.as_str();
        TOTALS.contains(&name) || PLACES.contains(&name) || [PAGE, LAST_PAGE, NEXT].contains(&name)
    }

    pub(super) fn count_link(&mut self) {
        self.links += 1;
    }

    /// Reads what an object beside its links says.
    pub(super) fn note(&mut self, members: &Map<String, Value>) {
        let mut place = (0, 0);
        for (name, value) in members {
            let name = plain_name(name);
            match (name.as_str(), value) {
                (places, Value::Object(inner)) if PLACES.contains(&places) => self.note(inner),
                (NEXT, value) => {
                    self.has_next = value.as_str().is_some_and(|next| !next.is_empty());
                }
                (PAGE, value) => place.0 = number(value),
                (LAST_PAGE, value) => place.1 = number(value),
                (total, value) if TOTALS.contains(&total) => {
                    self.total = self.total.max(number(value));
                }
                _ => {}
            }
        }
        if place.1 > 0 {
            self.has_next = place.0 < place.1;
        }
    }

    /// What is on other pages.
    pub(super) fn others(&self) -> Option<OtherPages> {
        match self.total.saturating_sub(self.links) {
            0 if self.has_next && self.total == 0 => Some(OtherPages::Some),
            0 => None,
            more => Some(OtherPages::Links(more)),
        }
    }
}

fn number(value: &Value) -> u64 {
    let text = value.as_str().and_then(|text| text.parse().ok());
    text.or_else(|| value.as_u64()).unwrap_or(0)
}

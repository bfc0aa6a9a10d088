//! The query of a list of links: the address of the page has all of it, so that a page keeps its place.

use serde::Deserialize;
use url::form_urlencoded::Serializer;

use super::language::Language;
use crate::domain::{InvalidSearch, LinkFilter, LinkOrder, LinkStatus, StatusFilter, Timestamp};
use crate::http::{ApiError, cursor, parse_cursor};
use crate::links::{LinkService, Listing};
use crate::store::Position;

pub(super) use super::link_row::{LinkRow, Tag, word};

/// Tags of which pages offer a choice.
pub(super) const MAX_TAGS: u32 = 100;

/// Links on a page.
pub(super) const PER_PAGE: u32 = 25;

/// Bytes of codes for which the list offers to undo a deletion.
const MAX_UNDO: usize = 4_000;

/// The word for links that are expired, used up or removed.
pub(super) const ENDED: &str = "ended";

/// The parameters of the list's page; unknown parameters are ignored.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ListQuery {
    pub(super) q: String,
    pub(super) tag: String,
    pub(super) status: String,
    pub(super) domain: String,
    pub(super) sort: String,
    /// The page begins after this position.
    pub(super) cursor: String,
    /// The page ends before this position.
    pub(super) before: String,
    /// The place of the page's first link in the list.
    pub(super) from: String,
    /// What was done just now, said above the list.
    pub(super) done: String,
    /// The codes of links that were deleted just now, with spaces between.
    pub(super) undo: String,
    /// How many links were changed, where all that match are to be; where the others begin, and the tags that they get.
    pub(super) n: String,
    pub(super) rest: String,
    pub(super) with: String,
    /// The moments between which links were deleted just now, in microseconds, where all that match were to be.
    pub(super) since: String,
    pub(super) until: String,
}

impl ListQuery {
    pub(super) fn listing(
        &self,
        links: &LinkService,
        language: Language,
    ) -> Result<Listing, ApiError> {
        let given = |value: &str| (!value.is_empty()).then(|| value.to_owned());
        let parsed = || {
            let status = |word: String| match word.as_str() {
                ENDED => Ok(StatusFilter::Ended),
                word => {
                    let status = LinkStatus::parse(word).ok_or(InvalidSearch::Status);
                    status.map(StatusFilter::Only)
                }
            };
            let order = |word: String| LinkOrder::parse(&word);
            let (tag, domain) = (given(&self.tag), given(&self.domain));
            let group = links.group(tag.as_deref(), domain.as_deref())?;
            Ok(Listing {
                filter: LinkFilter {
                    text: links.search_text(&self.q)?,
                    tag: group.tag,
                    status: given(&self.status).map(status).transpose()?,
                    domain: group.domain,
                },
                order: given(&self.sort)
                    .map(order)
                    .transpose()?
                    .unwrap_or_default(),
            })
        };
        parsed().map_err(|error: InvalidSearch| match error {
            InvalidSearch::Text(_) => refused_text(language),
            error => ApiError::invalid(error.to_string()),
        })
    }

    /// The position after which the page begins, or, in the other direction, before which it ends.
    pub(super) fn after(&self, order: LinkOrder) -> Result<Option<Position>, ApiError> {
        let raw = if self.is_back() {
            &self.before
        } else {
            &self.cursor
        };
        let is_given = !raw.is_empty();
        is_given.then(|| parse_cursor(order, raw)).transpose()
    }

    /// Whether the page is asked for by its end.
    pub(super) fn is_back(&self) -> bool {
        !self.before.is_empty()
    }

    pub(super) fn is_first(&self) -> bool {
        self.cursor.is_empty() && self.before.is_empty()
    }

    /// The place of the page's first link.
    pub(super) fn from(&self) -> u64 {
        let from = self.from.parse().ok();
        let from = from.filter(|_| !self.is_first());
        from.unwrap_or(1).max(1)
    }

    pub(super) fn is_plain(&self) -> bool {
        self.q.is_empty() && self.tag.is_empty() && self.status.is_empty() && self.domain.is_empty()
    }

    /// The address of the list's page that begins at a position, with a link of this place.
    pub(super) fn path_after(&self, order: LinkOrder, last: Position, from: u64) -> String {
        let next = Self {
            cursor: cursor(order, last),
            from: from.to_string(),
            ..self.begin()
        };
        next.path("")
    }

    /// The address of the list's page that ends before a position.
    pub(super) fn path_before(&self, order: LinkOrder, first: Position) -> String {
        let from = self.from().saturating_sub(PER_PAGE.into()).max(1);
        let previous = Self {
            before: cursor(order, first),
            from: from.to_string(),
            ..self.begin()
        };
        previous.path("")
    }

    /// The address of the same list, which says what was done.
    pub(super) fn path(&self, done: &str) -> String {
        let mut path = "/app".to_owned();
        let query = self.query(done);
        if !query.is_empty() {
            path.push('?');
            path.push_str(&query);
        }
        path
    }

    /// The address of the same list after links with these codes were deleted, which can be undone.
    pub(super) fn path_after_deletion<'a>(&self, codes: impl Iterator<Item = &'a str>) -> String {
        let codes = codes.collect::<Vec<_>>().join(" ");
        let mut path = self.path("deleted");
        // Longer ones might not fit into the head of a request.
        if !codes.is_empty() && codes.len() <= MAX_UNDO {
            let undo = Serializer::new(String::new())
                .append_pair("undo", &codes)
                .finish();
            path = format!("{path}&{undo}");
        }
        path
    }

    /// The codes of links whose deletion can be undone.
    pub(super) fn undone(&self) -> impl Iterator<Item = &str> {
        self.undo.split(' ').filter(|code| !code.is_empty())
    }

    /// The list's first page.
    pub(super) fn begin(&self) -> Self {
        Self {
            cursor: String::new(),
            before: String::new(),
            from: String::new(),
            ..self.clone()
        }
    }

    /// The address of the list's first page.
    pub(super) fn first(&self) -> String {
        self.begin().path("")
    }

    /// The address of the first page of the links with another status.
    pub(super) fn with_status(&self, status: &str) -> String {
        let status = status.to_owned();
        Self {
            status,
            ..self.begin()
        }
        .path("")
    }

    /// The address of the first page of the links with another tag, or with any.
    pub(super) fn with_tag(&self, tag: &str) -> String {
        let tag = tag.to_owned();
        Self {
            tag,
            ..self.begin()
        }
        .path("")
    }

    /// The parameters by which a form comes back to this list.
    pub(super) fn place(&self) -> String {
        self.query("")
    }

    fn query(&self, done: &str) -> String {
        let mut query = Serializer::new(String::new());
        for (name, value) in [
            ("q", self.q.as_str()),
            ("tag", &self.tag),
            ("status", &self.status),
            ("domain", &self.domain),
            ("sort", &self.sort),
            ("cursor", &self.cursor),
            ("before", &self.before),
            ("from", &self.from),
            ("done", done),
        ] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        query.finish()
    }

    /// The list of such parameters; others are ignored.
    pub(super) fn at(place: &str) -> Self {
        let mut query = Self::default();
        for (name, value) in url::form_urlencoded::parse(place.as_bytes()) {
            let field = match &*name {
                "q" => &mut query.q,
                "tag" => &mut query.tag,
                "status" => &mut query.status,
                "domain" => &mut query.domain,
                "sort" => &mut query.sort,
                "cursor" => &mut query.cursor,
                "before" => &mut query.before,
                "from" => &mut query.from,
                _ => continue,
            };
            *field = value.into_owned();
        }
        query
    }
}

/// The refusal of a text, in a person's words.
pub(super) fn refused_text(language: Language) -> ApiError {
    ApiError::invalid(language.text("list_search_refused"))
}

/// How far a search came that ends at this position, in a sentence.
pub(super) fn searched_as_far_as(language: Language, order: LinkOrder, end: Position) -> String {
    if order.is_by_clicks() {
        let clicks = language.count("clicks", end.key.unsigned_abs());
        language.with("list_searched_to_clicks", &[("clicks", &clicks)])
    } else {
        let made = Timestamp::from_micros(end.key).map(|moment| language.minute(moment));
        let moment = made.unwrap_or_default();
        language.with("list_searched_to_moment", &[("moment", &moment)])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_form_comes_back_to_its_list_and_nowhere_else(q: String, tag: String, cursor: String, other: String) {
            let query = ListQuery { q, tag, cursor, ..ListQuery::default() };
            let place = ListQuery::at(&query.place());
            prop_assert_eq!(place.path("tagged"), query.path("tagged"));
            prop_assert!(ListQuery::at(&other).path("tagged").starts_with("/app?"));
        }
    }
}

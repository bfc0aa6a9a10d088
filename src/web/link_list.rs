//! The query of a list of links: the address of the page has all of it, so that a page keeps its place.

use serde::Deserialize;
use url::form_urlencoded::Serializer;

use super::page::{Site, grouped, minute, number_of};
use crate::domain::{
    InvalidSearch, LinkFilter, LinkOrder, LinkStatus, SearchText, Timestamp, Title,
};
use crate::http::{ApiError, cursor, parse_cursor};
use crate::links::{LinkService, ListedLink, Listing};
use crate::store::Position;

/// Links on a page.
pub(super) const PER_PAGE: u32 = 25;

/// Bytes of codes for which the list offers to undo a deletion.
const MAX_UNDO: usize = 4_000;

/// The parameters of the list's page; unknown parameters are ignored.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ListQuery {
    pub(super) q: String,
    pub(super) tag: String,
    pub(super) status: String,
    pub(super) domain: String,
    pub(super) sort: String,
    pub(super) cursor: String,
    /// What was done just now, said above the list.
    pub(super) done: String,
    /// The codes of links that were deleted just now, with spaces between.
    pub(super) undo: String,
}

impl ListQuery {
    pub(super) fn listing(&self, links: &LinkService) -> Result<Listing, ApiError> {
        let given = |value: &str| (!value.is_empty()).then(|| value.to_owned());
        let parsed = || {
            let status = |word: String| LinkStatus::parse(&word).ok_or(InvalidSearch::Status);
            let order = |word: String| LinkOrder::parse(&word);
            let (tag, domain) = (given(&self.tag), given(&self.domain));
            let group = links.group(tag.as_deref(), domain.as_deref())?;
            Ok(Listing {
                filter: LinkFilter {
                    text: SearchText::parse(&self.q)?,
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
            InvalidSearch::Text(_) => refused_text(),
            error => ApiError::invalid(error.to_string()),
        })
    }

    pub(super) fn after(&self, order: LinkOrder) -> Result<Option<Position>, ApiError> {
        let is_given = !self.cursor.is_empty();
        is_given
            .then(|| parse_cursor(order, &self.cursor))
            .transpose()
    }

    pub(super) fn is_plain(&self) -> bool {
        self.q.is_empty() && self.tag.is_empty() && self.status.is_empty() && self.domain.is_empty()
    }

    /// The address of the list's page that begins at a position.
    pub(super) fn path_to(&self, order: LinkOrder, next: Position) -> String {
        let next = Self {
            cursor: cursor(order, next),
            ..self.clone()
        };
        next.path("")
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

    /// The address of the list's first page.
    pub(super) fn first(&self) -> String {
        let first = Self {
            cursor: String::new(),
            ..self.clone()
        };
        first.path("")
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
                _ => continue,
            };
            *field = value.into_owned();
        }
        query
    }
}

/// The refusal of a text, in a person's words.
pub(super) fn refused_text() -> ApiError {
    let detail = "This search is too long, or has control characters. Shorten it to 200 letters (100 of other scripts than Latin), and search again";
    ApiError::invalid(detail)
}

/// How far a search came that ends at this position.
pub(super) fn searched_as_far_as(order: LinkOrder, end: Position) -> String {
    if order.is_by_clicks() {
        format!("links with {}", number_of(end.key.unsigned_abs(), "click"))
    } else {
        let made = Timestamp::from_micros(end.key).map(minute);
        format!("links created at {}", made.unwrap_or_default())
    }
}

/// A link of the list.
pub(super) struct LinkRow {
    pub(super) code: String,
    /// The code as people read it.
    pub(super) shown: String,
    pub(super) short_url: String,
    pub(super) target: String,
    pub(super) title: String,
    pub(super) tags: Vec<Tag>,
    pub(super) clicks: String,
    /// Empty for an active link.
    pub(super) status: &'static str,
}

/// A tag, and the part of an address that asks for it.
pub(super) struct Tag {
    pub(super) name: String,
    pub(super) query: String,
}

impl Tag {
    pub(super) fn of(name: &str) -> Self {
        let mut query = Serializer::new(String::new());
        query.append_pair("tag", name);
        Self {
            name: name.to_owned(),
            query: query.finish(),
        }
    }
}

impl LinkRow {
    /// What the number of clicks counts.
    pub(super) fn unit(&self) -> &'static str {
        if self.clicks == "1" {
            "click"
        } else {
            "clicks"
        }
    }

    pub(super) fn of(listed: ListedLink<'_>, site: &Site) -> Self {
        let ListedLink {
            link,
            clicks,
            status,
        } = listed;
        let properties = &link.properties;
        let title = properties.title.as_ref().map_or("", Title::as_str);
        Self {
            code: link.code.in_path().into_owned(),
            shown: site.shown_code(&link.code),
            short_url: site.short_url(&link.code),
            target: properties.target.as_str().to_owned(),
            title: title.to_owned(),
            tags: properties
                .tags
                .as_slice()
                .iter()
                .map(|tag| Tag::of(tag))
                .collect(),
            clicks: grouped(clicks),
            status: word(status),
        }
    }
}

/// The status in a person's words; empty for an active link.
pub(super) fn word(status: LinkStatus) -> &'static str {
    match status {
        LinkStatus::Active => "",
        LinkStatus::Inactive => "paused",
        LinkStatus::Scheduled => "scheduled",
        LinkStatus::Expired => "expired",
        LinkStatus::UsedUp => "limit reached",
        LinkStatus::Removed => "removed",
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

//! What a list asks for that the database does not know: several tags, dates, ends, and orders by texts.

use super::asked::moment;
use super::problem::Problem;
use crate::compat::parameters::Parameters;
use crate::domain::{Link, LinkOrder, MaxClicks, Timestamp, Title};
use crate::links::ListedLink;

/// Characters by which links are sorted.
const SORTED_BY: usize = 100;

/// The order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// One that the service has.
    Known(LinkOrder),
    /// By a text, perhaps falling.
    By(Text, bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Text {
    Code,
    Target,
    Title,
}

impl Order {
    /// `field-ASC` or `field-DESC`.
    pub(super) fn parse(raw: Option<&str>) -> Result<Self, Problem> {
        let Some(raw) = raw else {
            return Ok(Self::Known(LinkOrder::Newest));
        };
        let (field, direction) = raw.split_once('-').unwrap_or((raw, "ASC"));
        let is_falling = direction.eq_ignore_ascii_case("DESC");
        let by = |falling, rising| Self::Known(if is_falling { falling } else { rising });
        if is_falling || direction.eq_ignore_ascii_case("ASC") {
            match field {
                "dateCreated" => return Ok(by(LinkOrder::Newest, LinkOrder::Oldest)),
                "visits" | "nonBotVisits" => {
                    return Ok(by(LinkOrder::MostClicks, LinkOrder::FewestClicks));
                }
                "shortCode" => return Ok(Self::By(Text::Code, is_falling)),
                "longUrl" => return Ok(Self::By(Text::Target, is_falling)),
                "title" => return Ok(Self::By(Text::Title, is_falling)),
                _ => {}
            }
        }
        let detail = "orderBy: must be dateCreated, visits, nonBotVisits, shortCode, longUrl or title, with -ASC or -DESC";
        Err(Problem::invalid("orderBy", detail))
    }

    /// The beginning of the text that a link is sorted by.
    pub(super) fn key(self, link: &Link) -> String {
        let Self::By(text, _) = self else {
            return String::new();
        };
        let text = match text {
            Text::Code => link.code.as_str(),
            Text::Target => link.properties.target.as_str(),
            Text::Title => link.properties.title.as_ref().map_or("", Title::as_str),
        };
        let start = text.chars().take(SORTED_BY);
        match self {
            Self::By(Text::Title, _) => start.flat_map(char::to_lowercase).collect(),
            _ => start.collect(),
        }
    }

    /// Sorts links by their keys; links with equal keys stay in their order.
    pub(super) fn sort<T>(self, links: &mut [(String, T)]) {
        match self {
            Self::Known(_) => {}
            Self::By(_, false) => links.sort_by(|one, other| one.0.cmp(&other.0)),
            Self::By(_, true) => links.sort_by(|one, other| other.0.cmp(&one.0)),
        }
    }
}

/// Conditions beside a text and a tag.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a parameter of the list"
)]
pub(super) struct Filter {
    /// Links that have these tags, all of them or any.
    pub(super) tags: Vec<String>,
    has_all: bool,
    /// Links that do not have these tags, all of them or any.
    without: Vec<String>,
    without_all: bool,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    not_used_up: bool,
    not_past: bool,
}

impl Filter {
    pub(super) fn parse(query: &Parameters) -> Result<Self, Problem> {
        let tags = |name: &str| query.all(name).map(str::to_owned).collect();
        let all = |name: &str| match query.filled(name) {
            None | Some("any") => Ok(false),
            Some("all") => Ok(true),
            Some(_) => Err(Problem::invalid(
                name,
                format!("{name}: must be all or any"),
            )),
        };
        let flag = |name: &str| match query.filled(name) {
            None | Some("false" | "0") => Ok(false),
            Some("true" | "1") => Ok(true),
            Some(_) => Err(Problem::invalid(
                name,
                format!("{name}: must be true or false"),
            )),
        };
        let at = |name: &str| query.filled(name).map(|raw| moment(name, raw)).transpose();
        if query.filled("apiKeyName").is_some() {
            let detail =
                "apiKeyName: is not possible here; a list has the links of the account of the key";
            return Err(Problem::invalid("apiKeyName", detail));
        }
        Ok(Self {
            tags: tags("tags"),
            has_all: all("tagsMode")?,
            without: tags("excludeTags"),
            without_all: all("excludeTagsMode")?,
            from: at("startDate")?,
            to: at("endDate")?,
            not_used_up: flag("excludeMaxVisitsReached")?,
            not_past: flag("excludePastValidUntil")?,
        })
    }

    /// The one tag that links must have at least, if there is one.
    pub(super) fn one_tag(&self) -> Option<&str> {
        match &self.tags[..] {
            [tag] => Some(tag),
            [tag, ..] if self.has_all => Some(tag),
            _ => None,
        }
    }

    /// Whether a tag says all of it.
    pub(super) fn is_plain(&self) -> bool {
        let has_dates = self.from.is_some() || self.to.is_some();
        self.tags.len() <= 1
            && self.without.is_empty()
            && !has_dates
            && !self.not_used_up
            && !self.not_past
    }

    pub(super) fn lets_through(&self, listed: &ListedLink<'_>, now: Timestamp) -> bool {
        let properties = &listed.link.properties;
        let has = |tag: &String| properties.tags.as_slice().contains(tag);
        let has_some = |tags: &[String], all: bool| {
            if all {
                tags.iter().all(has)
            } else {
                tags.iter().any(has)
            }
        };
        let made = listed.link.created_at;
        let max = properties.max_clicks.map(MaxClicks::number);
        (self.tags.is_empty() || has_some(&self.tags, self.has_all))
            && (self.without.is_empty() || !has_some(&self.without, self.without_all))
            && self.from.is_none_or(|from| from <= made)
            && self.to.is_none_or(|to| made <= to)
            && !(self.not_used_up && max.is_some_and(|max| max <= listed.clicks))
            && !(self.not_past && properties.expires_at.is_some_and(|end| end <= now))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_order_has_a_field_and_a_direction() {
        for (raw, order) in [
            ("dateCreated-ASC", Order::Known(LinkOrder::Oldest)),
            ("visits-DESC", Order::Known(LinkOrder::MostClicks)),
            ("title", Order::By(Text::Title, false)),
            ("shortCode-DESC", Order::By(Text::Code, true)),
        ] {
            assert_eq!(Order::parse(Some(raw)).unwrap(), order);
        }
        for raw in ["", "visits-", "clicks-ASC", "visits-UP"] {
            assert!(Order::parse(Some(raw)).is_err(), "{raw}");
        }
    }

    proptest! {
        #[test]
        fn no_query_causes_a_panic(raw in "(tags\\[\\]=|&|startDate=|2027-01-31|tagsMode=all|[a-z]){0,12}") {
            if let Ok(query) = Parameters::of_form(&raw) {
                let _ = Filter::parse(&query);
            }
        }
    }
}

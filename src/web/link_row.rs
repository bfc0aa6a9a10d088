//! A link in the words of a list.

use url::form_urlencoded::Serializer;

use super::language::Language;
use super::page::Site;
use super::sparkline::{age, sparkline};
use crate::domain::{LinkStatus, Timestamp, Title, Zone};
use crate::links::ListedLink;

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
    /// What the number of clicks counts.
    unit: String,
    /// Empty for an active link.
    pub(super) status: &'static str,
    pub(super) is_paused: bool,
    pub(super) age: String,
    pub(super) created_at: String,
    pub(super) created: String,
    /// The clicks of the last days as points of a line, and in words.
    pub(super) line: String,
    pub(super) of_days: String,
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
    pub(super) fn unit(&self) -> &str {
        &self.unit
    }

    /// The address that people share, without its scheme and its code.
    pub(super) fn address(&self) -> &str {
        let url = without_scheme(&self.short_url);
        url.strip_suffix(self.last()).unwrap_or(url)
    }

    /// Its code.
    pub(super) fn last(&self) -> &str {
        let code = self.short_url.rsplit('/').next();
        code.unwrap_or_default()
    }

    /// The host of the target.
    pub(super) fn host(&self) -> &str {
        let target = without_scheme(&self.target);
        let end = target.find(['/', '?', '#']);
        end.map_or(target, |end| &target[..end])
    }

    /// What comes after the host, unless it is only a slash.
    pub(super) fn path(&self) -> &str {
        let path = &without_scheme(&self.target)[self.host().len()..];
        if path == "/" { "" } else { path }
    }

    pub(super) fn of(
        language: Language,
        listed: ListedLink<'_>,
        site: &Site,
        now: Timestamp,
    ) -> Self {
        let (link, clicks, status) = (listed.link, listed.clicks, listed.status);
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
            clicks: language.number(clicks),
            unit: language.count("list_clicks_unit", clicks),
            status: word(language, status),
            is_paused: status == LinkStatus::Inactive,
            age: age(language, link.created_at, now),
            created_at: link.created_at.to_string(),
            created: language.moment(link.created_at, &Zone::UTC),
            line: sparkline(listed.days),
            of_days: language.count("list_clicks_of_days", listed.days.iter().sum()),
        }
    }
}

fn without_scheme(url: &str) -> &str {
    url.split_once("://").map_or(url, |(_, rest)| rest)
}

/// The status in a person's words; empty for an active link.
pub(super) fn word(language: Language, status: LinkStatus) -> &'static str {
    match status {
        LinkStatus::Active => "",
        LinkStatus::Inactive => language.text("list_is_paused"),
        LinkStatus::Scheduled => language.text("list_is_scheduled"),
        LinkStatus::Expired => language.text("list_is_expired"),
        LinkStatus::UsedUp => language.text("list_is_used_up"),
        LinkStatus::Removed => language.text("list_is_removed"),
    }
}

//! A link as its owner sees it: in responses, in exports, and in the command line, which reads them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::rules::RulesJson;
#[cfg(test)]
use super::rules_schema::RuleBody;
use crate::domain::{Link, LinkStatus, MaxClicks, TargetUrl, Timestamp, Title};

/// A link as its owner sees it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct LinkBody {
    /// Identifier.
    #[schema(example = 1, minimum = 1)]
    pub id: i64,
    /// The link's path: it is followed at `/{short_code}`.
    #[schema(example = "K7mXq2R", pattern = "^[A-Za-z0-9_-]{1,64}$")]
    pub short_code: String,
    /// Where it leads, exactly as it was given.
    #[schema(example = "https://example.org/a/long/path", max_length = 2048)]
    pub target_url: String,
    /// Exact number of answered redirects or, with the header `Clicks-As-Of`, the count as of that moment.
    #[schema(example = 0)]
    pub clicks: u64,
    /// An inactive link is not followed.
    pub is_active: bool,
}

impl LinkBody {
    /// A link with so many clicks.
    #[must_use]
    pub fn new(link: &Link, clicks: u64) -> Self {
        Self {
            id: link.id.number(),
            short_code: link.code.as_str().to_owned(),
            target_url: link.properties.target.as_str().to_owned(),
            clicks,
            is_active: link.properties.is_active,
        }
    }
}

/// All that its owner may know of a link.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the link")]
pub struct FullLinkBody {
    /// Identifier.
    #[schema(example = 1, minimum = 1)]
    pub id: i64,
    /// The link's path: it is followed at `/{short_code}`.
    #[schema(example = "spring-sale", pattern = "^[A-Za-z0-9_-]{1,64}$")]
    pub short_code: String,
    /// The address that people share.
    #[schema(example = "https://sho.rt/spring-sale", format = "uri")]
    pub short_url: String,
    /// Where it leads, exactly as it was given.
    #[schema(example = "https://example.org/a/long/path", max_length = 2048)]
    pub target_url: String,
    /// The owner's name for it.
    #[schema(required = true, example = "Spring sale")]
    pub title: Option<String>,
    /// Words that group the owner's links.
    #[schema(example = json!(["print"]))]
    pub tags: Vec<String>,
    /// Exact number of answered redirects, unless the header `Clicks-As-Of` says as of when; with those that another service counted
    /// before an import.
    #[schema(example = 0)]
    pub clicks: u64,
    /// An inactive link is not followed.
    pub is_active: bool,
    /// Whether it is followed, or why not.
    #[schema(value_type = LinkStatus)]
    pub status: Cow<'static, str>,
    /// When it was created.
    #[schema(example = "2026-11-25T09:30:00.123456Z", format = DateTime)]
    pub created_at: String,
    /// When it was changed last.
    #[schema(example = "2026-11-25T09:30:00.123456Z", format = DateTime)]
    pub updated_at: String,
    /// The moment from which it is not followed any more.
    #[schema(required = true, example = "2027-01-31T17:00:00Z", format = DateTime)]
    pub expires_at: Option<String>,
    /// Redirects that are answered in all.
    #[schema(required = true, example = 1000, minimum = 1)]
    pub max_clicks: Option<u64>,
    /// Whether a visitor's query is added to that of the target.
    pub forward_query: bool,
    /// The moment from which it is followed.
    #[schema(required = true, example = "2027-01-01T08:00:00Z", format = DateTime)]
    pub starts_at: Option<String>,
    /// Where visitors are sent before the start, after the end, and once the clicks are used up.
    #[schema(
        required = true,
        example = "https://example.org/waiting-list",
        max_length = 2048
    )]
    pub fallback_url: Option<String>,
    /// The private note of its owner.
    #[schema(required = true, example = "Printed on the flyers")]
    pub note: Option<String>,
    /// Whether search engines are asked not to list it.
    pub noindex: bool,
    /// Whether visitors need a password.
    #[serde(default)]
    pub has_password: bool,
    /// The hash of that password, only in an export with `secrets=true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_hash: Option<String>,
    /// Where some visitors are sent instead of to the target: the first rule whose conditions all hold decides.
    #[serde(default)]
    #[schema(value_type = Vec<RuleBody>, max_items = 20)]
    pub rules: RulesJson,
    /// More codes at which it is followed.
    #[schema(example = json!(["spring"]), max_items = 20)]
    pub aliases: Vec<String>,
    /// The host at which it is followed; `null`: the service's own.
    #[serde(default)]
    #[schema(required = true, example = "go.example.org")]
    pub domain: Option<String>,
    /// The account or the group that it belongs to: `id` of `GET /auth/me`, or of one of `GET /groups`.
    #[serde(default)]
    #[schema(example = 1, minimum = 1)]
    pub owner: i64,
}

impl FullLinkBody {
    /// A link with this address, so many clicks, and this status because of them.
    #[must_use]
    pub fn new(link: &Link, short_url: String, clicks: u64, status: LinkStatus) -> Self {
        let properties = &link.properties;
        Self {
            id: link.id.number(),
            short_code: link.code.as_str().to_owned(),
            short_url,
            target_url: properties.target.as_str().to_owned(),
            title: properties
                .title
                .as_ref()
                .map(Title::as_str)
                .map(str::to_owned),
            tags: properties.tags.as_slice().to_vec(),
            clicks,
            is_active: properties.is_active,
            status: status.as_str().into(),
            created_at: link.created_at.with_micros(),
            updated_at: link.updated_at.with_micros(),
            expires_at: properties.expires_at.as_ref().map(Timestamp::to_string),
            max_clicks: properties.max_clicks.map(MaxClicks::number),
            forward_query: properties.forward_query,
            starts_at: properties.starts_at.as_ref().map(Timestamp::to_string),
            fallback_url: properties
                .fallback
                .as_ref()
                .map(TargetUrl::as_str)
                .map(str::to_owned),
            note: (properties.note.as_ref()).map(|note| note.as_str().to_owned()),
            noindex: properties.noindex,
            has_password: properties.password.is_some(),
            password_hash: None,
            rules: RulesJson::of(properties.rules.as_ref()),
            aliases: properties.aliases.texts().map(str::to_owned).collect(),
            domain: None,
            owner: link.owner.0,
        }
    }
}

impl FullLinkBody {
    /// The same at this host.
    #[must_use]
    pub fn at(mut self, domain: Option<String>) -> Self {
        self.domain = domain;
        self
    }

    /// The same with the hash of its password.
    #[must_use]
    pub fn with_secrets_of(mut self, link: &Link) -> Self {
        let hash = link.properties.password.as_ref();
        self.password_hash = hash.map(|hash| hash.expose().to_owned());
        self
    }
}

/// A column of an export.
#[derive(Debug)]
pub struct Column {
    /// Its name in the header line.
    pub name: &'static str,
    /// The cell of a link.
    pub cell: fn(&FullLinkBody) -> Cow<'_, str>,
}

/// The columns of an export, in their order.
pub const COLUMNS: &[Column] = &[
    column("id", |link| link.id.to_string().into()),
    column("short_code", |link| (&link.short_code).into()),
    column("short_url", |link| (&link.short_url).into()),
    column("target_url", |link| (&link.target_url).into()),
    column("title", |link| text(link.title.as_deref())),
    column("tags", |link| link.tags.join(",").into()),
    column("clicks", |link| link.clicks.to_string().into()),
    column("is_active", |link| flag(link.is_active)),
    column("status", |link| text(Some(&link.status))),
    column("created_at", |link| (&link.created_at).into()),
    column("updated_at", |link| (&link.updated_at).into()),
    column("expires_at", |link| text(link.expires_at.as_deref())),
    column("max_clicks", |link| number(link.max_clicks)),
    column("forward_query", |link| flag(link.forward_query)),
    column("starts_at", |link| text(link.starts_at.as_deref())),
    column("fallback_url", |link| text(link.fallback_url.as_deref())),
    column("note", |link| text(link.note.as_deref())),
    column("noindex", |link| flag(link.noindex)),
    column("has_password", |link| flag(link.has_password)),
    column("rules", |link| link.rules.to_string().into()),
    column("aliases", |link| link.aliases.join(",").into()),
    column("domain", |link| text(link.domain.as_deref())),
    column("owner", |link| link.owner.to_string().into()),
];

/// One column more, of an export with secrets.
pub const SECRET_COLUMN: Column =
    column("password_hash", |link| text(link.password_hash.as_deref()));

const fn column(name: &'static str, cell: fn(&FullLinkBody) -> Cow<'_, str>) -> Column {
    Column { name, cell }
}

fn text(text: Option<&str>) -> Cow<'_, str> {
    text.unwrap_or_default().into()
}

fn number(number: Option<u64>) -> Cow<'static, str> {
    number
        .map(|number| number.to_string())
        .unwrap_or_default()
        .into()
}

fn flag(flag: bool) -> Cow<'static, str> {
    if flag { "true" } else { "false" }.into()
}

/// Whose a link is to be.
#[cfg(test)]
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
#[expect(
    dead_code,
    reason = "it only describes a field in the OpenAPI document"
)]
pub(super) enum OwnerSchema {
    /// `me`.
    Me(MeWord),
    /// The number of a group.
    Group(i64),
}

/// The account of the person who asks.
#[cfg(test)]
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[expect(
    dead_code,
    reason = "it only describes a field in the OpenAPI document"
)]
pub(super) enum MeWord {
    /// It.
    Me,
}

/// How much of a link a response shows.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum ViewWord {
    /// Everything.
    Full,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_a_link_is_a_column_of_exports() {
        let link = serde_json::to_value(FullLinkBody::default()).unwrap();
        let mut columns: Vec<_> = COLUMNS.iter().map(|column| column.name).collect();
        columns.sort_unstable();
        let mut fields: Vec<_> = link.as_object().unwrap().keys().collect();
        fields.sort_unstable();
        assert_eq!(columns, fields);
    }
}

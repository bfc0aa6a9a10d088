//! Links as each service writes them.

use serde_json::{Value, json};

use super::super::link::ImportedLink;
use super::super::source::Source;
use crate::domain::{FieldEdit, Timestamp};
use crate::wire::{DocumentKind, Field};

/// A link as its service writes it in a table: names and cells.
pub(super) fn row(source: Source, link: &ImportedLink) -> Vec<(&'static str, String)> {
    let mut fields = link.fields.clone();
    let end = link.fields.expires_at.as_given();
    let target = link.target().to_owned();
    let code = link.code().unwrap_or_default().to_owned();
    let title = link.title().unwrap_or_default().to_owned();
    let clicks = link.clicks().to_string();
    match source {
        Source::Shunt | Source::Csv => {
            let cell = |field: &Field| match field.name {
                "custom_code" if source == Source::Shunt => ("short_code", code.clone()),
                name => (name, (field.value)(&mut fields).to_string()),
            };
            DocumentKind::Table.fields().map(cell).collect()
        }
        Source::Kutt => vec![
            ("address", code),
            ("target", target),
            ("description", title),
            (
                "expire_in",
                end.map_or_else(String::new, Timestamp::to_string)
                    .replace('T', " ")
                    .trim_end_matches('Z')
                    .to_owned(),
            ),
            ("visit_count", clicks),
            ("banned", if is_active(link) { "f" } else { "t" }.into()),
            ("password", String::new()),
        ],
        Source::Yourls => vec![
            ("keyword", code),
            ("url", target),
            ("title", title),
            ("timestamp", "2020-01-31 12:00:00".into()),
            ("ip", "192.0.2.7".into()),
            ("clicks", clicks),
        ],
        Source::Shlink => vec![
            ("createdAt", "2020-01-31T12:00:00+01:00".into()),
            ("domain", "s.test".into()),
            ("shortCode", code.clone()),
            ("shortUrl", format!("https://s.test/{code}")),
            ("longUrl", target),
            ("title", title),
            ("tags", link.tags().join("|")),
            ("visits", clicks),
        ],
        Source::Bitly => vec![
            ("Link", "https://bit.ly/3xYzAbC".into()),
            ("Custom Link", format!("https://bit.ly/{code}")),
            ("Destination URL", target),
            ("Title", title),
            ("Tags", link.tags().join("|")),
            ("Total Clicks", clicks),
        ],
        Source::Chhoto => vec![
            ("shortlink", code),
            ("longlink", target),
            ("hits", clicks),
            (
                "expiry_time",
                end.map_or(0, |end| end.unix_seconds()).to_string(),
            ),
            ("notes", title),
        ],
        _ => further_row(source, link),
    }
}

fn further_row(source: Source, link: &ImportedLink) -> Vec<(&'static str, String)> {
    let end = link.fields.expires_at.as_given();
    let target = link.target().to_owned();
    let code = link.code().unwrap_or_default().to_owned();
    let title = link.title().unwrap_or_default().to_owned();
    let clicks = link.clicks().to_string();
    match source {
        Source::Dub => vec![
            ("Short link", format!("https://dub.sh/{code}")),
            ("Destination URL", target),
            ("Title", title),
            ("Tags", link.tags().join(",")),
            ("Clicks", clicks),
            (
                "Expires at",
                end.map_or_else(String::new, Timestamp::to_string),
            ),
        ],
        Source::Sink => vec![
            ("slug", code),
            ("url", target),
            ("title", title),
            ("clicks", clicks),
        ],
        Source::Shortio => vec![
            ("Short URL", format!("https://s.test/{code}")),
            ("Original URL", target),
            ("Title", title),
            ("Tags", link.tags().join(",")),
            ("Clicks", clicks),
        ],
        Source::Rebrandly => vec![
            ("Slashtag", code),
            ("Destination URL", target),
            ("Title", title),
            ("Clicks", clicks),
        ],
        Source::Polr => vec![
            ("short_url", code),
            ("long_url", target),
            ("ip", "192.0.2.7".into()),
            ("clicks", clicks),
            ("secret_key", String::new()),
            (
                "is_disabled",
                if is_active(link) { "0" } else { "1" }.into(),
            ),
        ],
        Source::TinyUrl => vec![
            ("alias", code.clone()),
            ("tiny_url", format!("https://tinyurl.com/{code}")),
            ("url", target),
            ("description", title),
            ("hits", clicks),
        ],
        Source::Firebase => vec![
            ("Link name", title),
            ("Short link", format!("https://example.page.link/{code}")),
            ("Long link", target),
            ("Clicks", clicks),
        ],
        _ => Vec::new(),
    }
}

fn is_active(link: &ImportedLink) -> bool {
    link.fields.is_active == FieldEdit::Set(true)
}

/// The same as JSON.
pub(super) fn object(source: Source, link: &ImportedLink) -> Value {
    let password = false;
    let (target, code, title) = (link.target(), link.code(), link.title());
    let (tags, clicks) = (link.tags(), link.clicks());
    let end = link.fields.expires_at.as_given();
    match source {
        Source::Shlink => json!({
            "shortCode": code, "longUrl": target, "title": title, "tags": tags,
            "visitsSummary": { "total": clicks, "nonBots": 0, "bots": clicks }, "domain": null,
            "meta": {
                "validSince": link.fields.starts_at, "validUntil": end,
                "maxVisits": link.fields.max_clicks,
            },
            "forwardQuery": link.fields.forward_query, "hasRedirectRules": false,
        }),
        Source::Kutt => json!({
            "address": code, "target": target, "description": title, "password": password,
            "visit_count": clicks, "banned": !is_active(link),
            "expire_in": end,
        }),
        Source::Bitly => json!({
            "id": "bit.ly/3xYzAbC", "link": "https://bit.ly/3xYzAbC", "long_url": target, "archived": true,
            "custom_bitlinks": [format!("https://bit.ly/{}", code.unwrap())],
            "title": title, "tags": tags, "clicks": clicks,
        }),
        Source::Chhoto => json!({
            "shortlink": code, "longlink": target, "hits": clicks, "notes": title,
            "expiry_time": end.map_or(0, |end| end.unix_seconds()),
        }),
        Source::Dub => json!({
            "key": code, "url": target, "title": title, "clicks": clicks, "expiresAt": end,
            "tags": tags.iter().map(|tag| json!({ "id": "tag_1", "name": tag })).collect::<Vec<_>>(),
        }),
        Source::Shunt
        | Source::Csv
        | Source::Yourls
        | Source::Sink
        | Source::Shortio
        | Source::Rebrandly
        | Source::Polr
        | Source::TinyUrl
        | Source::Firebase => {
            let row = row(source, link).into_iter();
            row.map(|(name, cell)| (name.to_owned(), cell.into()))
                .collect::<serde_json::Map<_, _>>()
                .into()
        }
    }
}

/// The part of a link that a format can hold.
pub(super) fn kept(source: Source, is_json: bool, link: &ImportedLink) -> ImportedLink {
    if matches!(source, Source::Shunt | Source::Csv) {
        return link.clone();
    }
    let given = link.fields.clone();
    let mut kept = ImportedLink::default();
    kept.fields.target_url = given.target_url;
    kept.fields.custom_code = given.custom_code;
    if source != Source::Polr {
        kept.fields.title = given.title;
    }
    kept.fields.clicks = given.clicks;
    if matches!(
        source,
        Source::Shlink | Source::Bitly | Source::Dub | Source::Shortio
    ) {
        kept.fields.tags = given.tags;
    }
    if matches!(source, Source::Kutt | Source::Chhoto | Source::Dub)
        || (source == Source::Shlink && is_json)
    {
        kept.fields.expires_at = given.expires_at;
    }
    if source == Source::TinyUrl {
        kept.fields.is_active = FieldEdit::Set(true);
    }
    if source == Source::Dub {
        kept.fields.forward_query = FieldEdit::Set(true);
    }
    if matches!(source, Source::Kutt | Source::Polr) {
        kept.fields.is_active = given.is_active;
    }
    if source == Source::Shlink {
        kept.fields.forward_query = FieldEdit::Set(true);
        if is_json {
            kept.fields.starts_at = given.starts_at;
            kept.fields.max_clicks = given.max_clicks;
            kept.fields.forward_query = given.forward_query;
        }
    }
    if source == Source::Bitly {
        kept.fields.aliases = FieldEdit::Set(vec!["3xYzAbC".into()]);
    }
    kept
}

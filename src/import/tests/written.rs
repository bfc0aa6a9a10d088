//! Links as each service writes them.

use serde_json::{Value, json};

use super::super::link::ImportedLink;
use super::super::note::Note;
use super::super::source::Source;
use crate::domain::Timestamp;

/// A link as its service writes it in a table: names and cells.
pub(super) fn row(source: Source, link: &ImportedLink) -> Vec<(&'static str, String)> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let end = link
        .expires_at
        .map(|end| end.to_string())
        .unwrap_or_default();
    let most = link
        .max_clicks
        .map(|most| most.to_string())
        .unwrap_or_default();
    let (target, code, title) = (
        link.target_url.clone(),
        text(&link.custom_code),
        text(&link.title),
    );
    let clicks = link.clicks.to_string();
    match source {
        Source::Shunt | Source::Csv => vec![
            ("target_url", target),
            (
                if source == Source::Csv {
                    "custom_code"
                } else {
                    "short_code"
                },
                code,
            ),
            ("expires_at", end),
            ("max_clicks", most),
            ("title", title),
            ("tags", link.tags.join(",")),
            ("forward_query", link.forward_query.to_string()),
            ("clicks", clicks),
            ("is_active", link.is_active.to_string()),
        ],
        Source::Kutt => vec![
            ("address", code),
            ("target", target),
            ("description", title),
            (
                "expire_in",
                end.replace('T', " ").trim_end_matches('Z').to_owned(),
            ),
            ("visit_count", clicks),
            ("banned", if link.is_active { "f" } else { "t" }.into()),
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
            ("tags", link.tags.join("|")),
            ("visits", clicks),
        ],
        Source::Bitly => vec![
            ("Link", "https://bit.ly/3xYzAbC".into()),
            ("Custom Link", format!("https://bit.ly/{code}")),
            ("Destination URL", target),
            ("Title", title),
            ("Tags", link.tags.join("|")),
            ("Total Clicks", clicks),
        ],
        Source::Chhoto => vec![
            ("shortlink", code),
            ("longlink", target),
            ("hits", clicks),
            (
                "expiry_time",
                link.expires_at
                    .map_or(0, Timestamp::unix_seconds)
                    .to_string(),
            ),
            ("notes", title),
        ],
    }
}

/// The same as JSON.
pub(super) fn object(source: Source, link: &ImportedLink) -> Value {
    let password = false;
    match source {
        Source::Shlink => json!({
            "shortCode": link.custom_code, "longUrl": link.target_url, "title": link.title, "tags": link.tags,
            "visitsSummary": { "total": link.clicks, "nonBots": 0, "bots": link.clicks }, "domain": null,
            "meta": {
                "validSince": null, "validUntil": link.expires_at.map(|end| end.to_string()),
                "maxVisits": link.max_clicks,
            },
            "forwardQuery": link.forward_query, "hasRedirectRules": false,
        }),
        Source::Kutt => json!({
            "address": link.custom_code, "target": link.target_url, "description": link.title, "password": password,
            "visit_count": link.clicks, "banned": !link.is_active,
            "expire_in": link.expires_at.map(|end| end.to_string()),
        }),
        Source::Bitly => json!({
            "id": "bit.ly/3xYzAbC", "link": "https://bit.ly/3xYzAbC", "long_url": link.target_url, "archived": true,
            "custom_bitlinks": [format!("https://bit.ly/{}", link.custom_code.as_deref().unwrap())],
            "title": link.title, "tags": link.tags, "clicks": link.clicks,
        }),
        Source::Chhoto => json!({
            "shortlink": link.custom_code, "longlink": link.target_url, "hits": link.clicks, "notes": link.title,
            "expiry_time": link.expires_at.map_or(0, Timestamp::unix_seconds),
        }),
        Source::Shunt | Source::Csv | Source::Yourls => {
            let row = row(source, link).into_iter();
            row.map(|(name, cell)| (name.to_owned(), cell.into()))
                .collect::<serde_json::Map<_, _>>()
                .into()
        }
    }
}

/// The part of a link that a format can hold.
pub(super) fn kept(source: Source, is_json: bool, link: &ImportedLink) -> ImportedLink {
    let mut kept = link.clone();
    let has_tags = matches!(
        source,
        Source::Shunt | Source::Csv | Source::Shlink | Source::Bitly
    );
    let is_own = matches!(source, Source::Shunt | Source::Csv);
    let is_shlink_json = source == Source::Shlink && is_json;
    if !has_tags {
        kept.tags.clear();
    }
    if !is_own && !is_shlink_json {
        kept.max_clicks = None;
        kept.forward_query = source == Source::Shlink;
    }
    if !is_own && source != Source::Kutt {
        kept.is_active = true;
    }
    if matches!(source, Source::Yourls | Source::Bitly) || (source == Source::Shlink && !is_json) {
        kept.expires_at = None;
    }
    if source == Source::Bitly {
        kept.notes = vec![(Note::SecondCode, "https://bit.ly/3xYzAbC".into())];
    }
    kept
}

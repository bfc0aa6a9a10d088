//! Dub: the JSON of its API, or the CSV of its links page.

use serde_json::Value;

use super::elsewhere::{Elsewhere, on_android, on_ios};
use super::format::{Format, code_of};
use super::reading::Reading;
use super::record::{Cell, Record};
use crate::domain::FieldEdit;

/// <https://dub.co/docs/api-reference/endpoint/retrieve-a-list-of-links>, `GET /links`: an array of links.
pub(super) const FORMAT: Format = Format {
    name: "an export of Dub",
    target: &["url", "destination_url"],
    codes: &["key", "short_link", "link"],
    may_lack_code: false,
    known: None,
    is_own: false,
    code,
    link,
};

fn code(record: &Record) -> Result<Option<String>, String> {
    if let Some(key) = record.text(&["key"])? {
        return Ok(Some(key.into()));
    }
    Ok(record
        .text(&["short_link", "link"])?
        .as_deref()
        .and_then(code_of))
}

fn link(link: &mut Reading<'_>) {
    link.set_place(&["domain"], &["short_link", "link"]);
    link.set_title(&["title"]);
    link.set_tags(&["tags", "tag_names"], &[',']);
    link.read("note", &["comments"]);
    link.read("clicks", &["clicks"]);
    link.read("expires_at", &["expires_at"]);
    link.read("fallback_url", &["expired_url"]);
    link.read("password", &["password"]);
    // Without `doIndex` search engines are told to leave the link out.
    if let Some(index) = link.flag("noindex", &["do_index"]) {
        link.link.fields.noindex = FieldEdit::Set(!index);
    }
    link.link.fields.forward_query = FieldEdit::Set(true);
    let shares = shares(link.record);
    Elsewhere::default()
        .to(link, "ios", &on_ios())
        .to(link, "android", &on_android())
        .by_country(link, "geo")
        .split(&shares)
        .set(link);
}

/// Targets of a test, with their shares in percent.
fn shares(record: &Record) -> Vec<(Value, u64)> {
    let Some((_, Cell::Value(variants))) = record.find(&["test_variants"]) else {
        return Vec::new();
    };
    let variants = variants.as_array().into_iter().flatten();
    let share = |variant: &Value| {
        (
            variant["url"].clone(),
            variant["percentage"].as_u64().unwrap_or(0),
        )
    };
    variants.map(share).collect()
}

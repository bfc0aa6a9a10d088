//! Short.io: the JSON of its API, or a table with the same names.

use serde_json::Value;

use super::elsewhere::{Elsewhere, on_android, on_ios};
use super::format::{Format, code_of};
use super::reading::{MICROS_PER_MILLISECOND, Reading};
use super::record::Record;
use crate::domain::FieldEdit;

/// <https://developers.short.io/reference/get_api-links>, `GET /api/links`: an object with `links`, an array.
pub(super) const FORMAT: Format = Format {
    name: "an export of Short.io",
    target: &["original_url"],
    codes: &["path", "short_url", "secure_short_url"],
    may_lack_code: false,
    known: None,
    is_own: false,
    code,
    link,
};

fn code(record: &Record) -> Result<Option<String>, String> {
    if let Some(path) = record.text(&["path"])? {
        return Ok(Some(path.trim_start_matches('/').to_owned()));
    }
    let short_url = record.text(&["short_url", "secure_short_url"])?;
    Ok(short_url.as_deref().and_then(code_of))
}

fn link(link: &mut Reading<'_>) {
    // `domain_id` is a number.
    link.set_place(&["domain", "hostname"], &["short_url", "secure_short_url"]);
    link.set_title(&["title"]);
    link.set_tags(&["tags"], &[',']);
    link.read("clicks", &["clicks", "total_clicks"]);
    // Milliseconds since 1970 in JSON, a date in a table.
    if matches!(link.record.number(&["expires_at"], 0), Ok(Some(_))) {
        link.set_end(&["expires_at"], MICROS_PER_MILLISECOND);
    } else {
        link.read("expires_at", &["expires_at"]);
    }
    link.read("fallback_url", &["expired_url"]);
    link.read("max_clicks", &["clicks_limit"]);
    link.read("has_password", &["has_password"]);
    if let Some(skips_query) = link.flag("forward_query", &["skip_qs"]) {
        link.link.fields.forward_query = FieldEdit::Set(!skips_query);
    }
    let shares = shares(link.record);
    Elsewhere::default()
        .to(link, "iphone_url", &on_ios())
        .to(link, "android_url", &on_android())
        .split(&shares)
        .set(link);
}

/// The target and the other target of a test, with their shares in percent.
fn shares(record: &Record) -> Vec<(Value, u64)> {
    let text = |name| record.text(&[name]).ok().flatten();
    let percent = record.number(&["split_percent"], 0).ok().flatten();
    match (text("original_url"), text("split_url"), percent) {
        (Some(one), Some(other), Some(percent)) if percent <= 100 => {
            vec![(one.into(), 100 - percent), (other.into(), percent)]
        }
        _ => Vec::new(),
    }
}

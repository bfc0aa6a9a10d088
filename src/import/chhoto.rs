//! Chhoto URL: the JSON of its API.

use super::format::Format;
use super::reading::Reading;
use super::record::Record;
use crate::domain::{FieldEdit, Timestamp};

/// <https://github.com/SinTan1729/chhoto-url/blob/main/docs/CLI.md>, `GET /api/all`: an array of links.
pub(super) const FORMAT: Format = Format {
    name: "an export of Chhoto URL",
    target: &["longlink"],
    codes: &["shortlink"],
    may_lack_code: false,
    known: None,
    is_own: false,
    code,
    link,
};

fn code(record: &Record) -> Result<Option<String>, String> {
    Ok(record.text(&["shortlink"])?.map(Into::into))
}

fn link(link: &mut Reading<'_>) {
    link.set_title(&["notes"]);
    link.read("clicks", &["hits"]);
    // Seconds since 1970; 0 stands for no end.
    let seconds = link.number("expires_at", &["expiry_time"], 0);
    if let Some(seconds) = seconds.filter(|seconds| *seconds > 0) {
        let micros = i64::try_from(seconds)
            .ok()
            .and_then(|seconds| seconds.checked_mul(1_000_000));
        if let Some(end) = micros.and_then(Timestamp::from_micros) {
            link.link.fields.expires_at = FieldEdit::Set(end);
        } else {
            link.keep("expires_at", &["expiry_time"]);
            link.refuse("expiry_time: must be a time in seconds since 1970".into());
        }
    }
}

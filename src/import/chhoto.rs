//! Chhoto URL: the JSON of its API.

use super::format::Format;
use super::reading::{MICROS_PER_SECOND, Reading};
use super::record::Record;

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
    // 0 stands for no end.
    link.set_end(&["expiry_time"], MICROS_PER_SECOND);
}

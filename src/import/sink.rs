//! Sink: the file that its page of migration writes.

use super::elsewhere::{Elsewhere, on_android, on_ios};
use super::format::Format;
use super::reading::{MICROS_PER_SECOND, Reading};
use super::record::Record;

/// `shared/schemas/link.ts` of <https://github.com/miantiao-me/Sink>: an object with `links`, an array.
pub(super) const FORMAT: Format = Format {
    name: "an export of Sink",
    target: &["url"],
    codes: &["slug"],
    may_lack_code: false,
    known: None,
    is_own: false,
    code,
    link,
};

fn code(record: &Record) -> Result<Option<String>, String> {
    Ok(record.text(&["slug"])?.map(Into::into))
}

fn link(link: &mut Reading<'_>) {
    link.set_title(&["title"]);
    link.set_tags(&["tags"], &[',']);
    link.read("note", &["comment"]);
    link.read("clicks", &["clicks", "visits"]);
    link.set_end(&["expiration"], MICROS_PER_SECOND);
    link.read("password", &["password"]);
    link.read("forward_query", &["redirect_with_query"]);
    Elsewhere::default()
        .to(link, "apple", &on_ios())
        .to(link, "google", &on_android())
        .by_country(link, "geo")
        .set(link);
}

//! Kutt: the JSON of its API, or its table `links` as CSV, which has the same names.

use super::format::Format;
use super::reading::Reading;
use super::record::Record;
use crate::domain::FieldEdit;

/// <https://docs.kutt.it/>, `GET /api/v2/links`: an object with `data`, an array of links.
pub(super) const FORMAT: Format = Format {
    name: "an export of Kutt",
    target: &["target"],
    codes: &["address"],
    may_lack_code: false,
    known: None,
    is_own: false,
    code,
    link,
};

fn code(record: &Record) -> Result<Option<String>, String> {
    Ok(record.text(&["address"])?.map(Into::into))
}

fn link(link: &mut Reading<'_>) {
    link.set_title(&["description"]);
    // The API says whether there is a password; the table has its hash.
    link.note_name("has_password", &["password"]);
    let is_open = matches!(link.record.flag(&["password"]), Ok(None | Some(false)));
    link.link.is_protected = !is_open;
    link.read("expires_at", &["expire_in"]);
    link.read("clicks", &["visit_count"]);
    let banned = link.flag("is_active", &["banned"]);
    link.link.fields.is_active = FieldEdit::Set(!banned.unwrap_or(false));
}

//! `TinyURL`: the JSON of its API, or a table with the same names.

use super::format::{Format, code_of};
use super::reading::Reading;
use super::record::Record;
use crate::domain::FieldEdit;

/// <https://tinyurl.com/app/dev>, `GET /urls/available` and `GET /urls/archived`: an object with `data`, an array.
pub(super) const FORMAT: Format = Format {
    name: "an export of TinyURL",
    target: &["url", "long_url"],
    codes: &["alias", "tiny_url"],
    may_lack_code: false,
    known: None,
    is_own: false,
    code,
    link,
};

fn code(record: &Record) -> Result<Option<String>, String> {
    if let Some(alias) = record.text(&["alias"])? {
        return Ok(Some(alias.into()));
    }
    Ok(record.text(&["tiny_url"])?.as_deref().and_then(code_of))
}

fn link(link: &mut Reading<'_>) {
    link.set_place(&["domain"], &["tiny_url"]);
    link.set_title(&["description", "title"]);
    link.set_tags(&["tags"], &[',']);
    link.read("clicks", &["hits", "clicks"]);
    link.read("expires_at", &["expires_at"]);
    let is_deleted = link.flag("is_active", &["deleted"]);
    link.link.fields.is_active = FieldEdit::Set(!is_deleted.unwrap_or(false));
}

//! The service's own names: its export, and tables that people make.

use super::format::Format;
use super::reading::Reading;
use super::record::Record;

/// `shunt export`. Refused links are listed in the same form.
pub(super) const EXPORT: Format = Format {
    name: "an export of shunt",
    target: &["target_url"],
    codes: &["custom_code", "short_code"],
    may_lack_code: true,
    known: None,
    is_own: true,
    code,
    link,
};

/// A table of people's own: a column that is misspelt must not be ignored.
pub(super) const TABLE: Format = Format {
    name: "a table with the names of the API",
    known: Some(&[
        "target_url",
        "custom_code",
        "short_code",
        "expires_at",
        "max_clicks",
        "title",
        "tags",
        "forward_query",
        "clicks",
        "is_active",
        "created_at",
        // What the service sets of an export is read over, and so is what a list of refused links says of them.
        "id",
        "short_url",
        "status",
        "updated_at",
        "starts_at",
        "has_password",
        "line",
        "reason",
    ]),
    ..EXPORT
};

fn code(record: &Record) -> Result<Option<String>, String> {
    let code = record.text(EXPORT.codes)?;
    Ok(code.map(Into::into))
}

fn link(link: &mut Reading<'_>) {
    link.link.expires_at = link.time("expires_at", &["expires_at"]);
    link.link.max_clicks = link.number("max_clicks", &["max_clicks"], 1);
    link.link.title = link.text("title", &["title"]);
    link.link.tags = link.words("tags", &["tags"], &[',']);
    let forwards = link.flag("forward_query", &["forward_query"]);
    link.link.forward_query = forwards.unwrap_or(false);
    link.set_clicks(&["clicks"]);
    link.link.is_active = link.flag("is_active", &["is_active"]).unwrap_or(true);
    link.link.starts_at = link.time("starts_at", &["starts_at"]);
    let is_protected = link.flag("has_password", &["has_password"]);
    link.link.is_protected = is_protected.unwrap_or(false);
    link.note_creation(&["created_at"]);
}

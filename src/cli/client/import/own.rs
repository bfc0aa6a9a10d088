//! The service's own names: its export, and tables that people make.

use super::format::Format;
use super::link::ImportedLink;
use super::record::Record;

/// `shunt export`. Refused links are listed in the same form.
pub(super) const EXPORT: Format = Format {
    name: "an export of shunt",
    target: &["targeturl"],
    codes: &[],
    known: None,
    is_guarded: true,
    code,
    link,
};

/// A table of people's own: a column that is misspelt must not be ignored.
pub(super) const TABLE: Format = Format {
    name: "a table with the names of the API",
    known: Some(&[
        "targeturl",
        "customcode",
        "shortcode",
        "expiresat",
        "maxclicks",
        "title",
        "tags",
        "forwardquery",
        "clicks",
        "isactive",
    ]),
    is_guarded: false,
    ..EXPORT
};

fn code(record: &Record) -> Result<Option<String>, String> {
    let code = record.text(&["customcode", "shortcode"])?;
    Ok(code.map(Into::into))
}

fn link(record: &Record, target: String) -> Result<ImportedLink, String> {
    let mut link = ImportedLink::to(target);
    link.expires_at = record.time(&["expiresat"])?;
    link.max_clicks = record.number(&["maxclicks"])?;
    link.title = record.text(&["title"])?.map(Into::into);
    link.tags = record.words(&["tags"], &[','])?;
    link.forward_query = record.flag(&["forwardquery"])?.unwrap_or(false);
    link.clicks = record.number(&["clicks"])?.unwrap_or(0);
    link.is_active = record.flag(&["isactive"])?.unwrap_or(true);
    Ok(link)
}

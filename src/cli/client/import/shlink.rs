//! Shlink: the JSON of its API, or CSV as its web client writes and its importer reads it.

use super::format::{Format, code_of};
use super::link::ImportedLink;
use super::note::Note;
use super::record::Record;

/// <https://api-spec.shlink.io/>, `GET /rest/v3/short-urls`: an object with `shortUrls`, in which `data` is an array.
pub(super) const FORMAT: Format = Format {
    name: "an export of Shlink",
    target: &["longurl"],
    codes: &["shortcode", "shorturl"],
    known: None,
    is_guarded: false,
    code,
    link,
};

fn code(record: &Record) -> Result<Option<String>, String> {
    let code = record.text(&["shortcode"])?.map(Into::into);
    let short_url = record.text(&["shorturl"])?;
    Ok(code.or_else(|| code_of(&short_url?)))
}

fn link(record: &Record, target: String) -> Result<ImportedLink, String> {
    let meta = record.nested("meta");
    let mut link = ImportedLink::to(target).with_title(record.text(&["title"])?);
    link.tags = record.words(&["tags"], &['|', ','])?;
    link.starts_at = meta.time(&["validsince"])?;
    link.expires_at = meta.time(&["validuntil"])?;
    link.max_clicks = meta.number(&["maxvisits"])?;
    // Shlink forwards queries unless a link says otherwise.
    link.forward_query = record.flag(&["forwardquery"])?.unwrap_or(true);
    let visits = record.nested("visitssummary").number(&["total"])?;
    let visits = visits.or(record.number(&["visits", "visitscount"])?);
    link.clicks = visits.unwrap_or(0);
    if record.flag(&["hasredirectrules"])? == Some(true) {
        link.notes.push(Note::RedirectRules);
    }
    Ok(link)
}

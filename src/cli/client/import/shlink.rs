//! Shlink: the JSON of its API, or CSV as its web client writes and its importer reads it.

use super::format::{Format, code_of};
use super::link::ImportedLink;
use super::note::Note;
use super::record::Record;

/// <https://api-spec.shlink.io/>, `GET /rest/v3/short-urls`: an object with `shortUrls`, in which `data` is an array.
pub(super) const FORMAT: Format = Format {
    needed: &[&["longurl"], &["shortcode", "shorturl"]],
    known: None,
    is_guarded: false,
    link,
};

fn link(record: &Record) -> Result<ImportedLink, String> {
    let meta = record.nested("meta");
    let target = record.needed_text(&["longurl"])?;
    let mut link = ImportedLink::to(target).with_title(record.text(&["title"])?);
    let code = record.text(&["shortcode"])?.map(Into::into);
    let short_url = record.text(&["shorturl"])?;
    link.custom_code = code.or_else(|| code_of(&short_url?));
    if link.custom_code.is_none() {
        return Err("has no shortCode: is this an export of Shlink?".into());
    }
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

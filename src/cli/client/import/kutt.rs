//! Kutt: the JSON of its API, or its table `links` as CSV, which has the same names.

use super::format::Format;
use super::link::ImportedLink;
use super::record::Record;

/// <https://docs.kutt.it/>, `GET /api/v2/links`: an object with `data`, an array of links.
pub(super) const FORMAT: Format = Format {
    name: "an export of Kutt",
    target: &["target"],
    codes: &["address"],
    known: None,
    is_guarded: false,
    code,
    link,
};

fn code(record: &Record) -> Result<Option<String>, String> {
    Ok(record.text(&["address"])?.map(Into::into))
}

fn link(record: &Record, target: String) -> Result<ImportedLink, String> {
    let mut link = ImportedLink::to(target).with_title(record.text(&["description"])?);
    // The API says whether there is a password; the table has its hash.
    let is_open = matches!(record.flag(&["password"]), Ok(None | Some(false)));
    link.is_protected = !is_open;
    link.expires_at = record.time(&["expirein"])?;
    link.clicks = record.number(&["visitcount"])?.unwrap_or(0);
    link.is_active = !record.flag(&["banned"])?.unwrap_or(false);
    Ok(link)
}

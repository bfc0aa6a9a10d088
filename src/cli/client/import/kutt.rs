//! Kutt: the JSON of its API, or its table `links` as CSV, which has the same names.

use super::format::Format;
use super::link::ImportedLink;
use super::record::Record;

/// <https://docs.kutt.it/>, `GET /api/v2/links`: an object with `data`, an array of links.
pub(super) const FORMAT: Format = Format {
    needed: &[&["target"]],
    known: None,
    is_guarded: false,
    link,
};

fn link(record: &Record) -> Result<ImportedLink, String> {
    // The API says whether there is a password; the table has its hash.
    let is_open = record
        .flag(&["password"])
        .is_ok_and(|has| has != Some(true));
    if !is_open {
        return Err("is protected by a password; here it would be open to all".into());
    }
    let target = record.needed_text(&["target"])?;
    let mut link = ImportedLink::to(target).with_title(record.text(&["description"])?);
    link.custom_code = record.text(&["address"])?.map(Into::into);
    link.expires_at = record.time(&["expirein"])?;
    link.clicks = record.number(&["visitcount"])?.unwrap_or(0);
    link.is_active = !record.flag(&["banned"])?.unwrap_or(false);
    Ok(link)
}

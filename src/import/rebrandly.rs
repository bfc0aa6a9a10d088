//! Rebrandly: the JSON of its API, or a table with the same names.

use super::format::{Format, code_of};
use super::reading::Reading;
use super::record::Record;

/// <https://developers.rebrandly.com/reference/listlinks>, `GET /v1/links`: an array of links.
pub(super) const FORMAT: Format = Format {
    name: "an export of Rebrandly",
    target: &["destination", "destination_url"],
    codes: &["slashtag", "short_url", "branded_link"],
    may_lack_code: false,
    known: None,
    is_own: false,
    code,
    link,
};

fn code(record: &Record) -> Result<Option<String>, String> {
    if let Some(slashtag) = record.text(&["slashtag"])? {
        return Ok(Some(slashtag.into()));
    }
    let short_url = record.text(&["short_url", "branded_link"])?;
    Ok(short_url.as_deref().and_then(code_of))
}

fn link(link: &mut Reading<'_>) {
    link.set_place(&["domain_name"], &["short_url", "branded_link"]);
    link.set_title(&["title"]);
    link.set_tags(&["tags"], &[',', ';', '|']);
    link.read("note", &["description"]);
    link.read("clicks", &["clicks"]);
    link.read("forward_query", &["forward_parameters"]);
}

//! Bitly: CSV as its pages or programs over its API write it, or the JSON of its API.

use super::format::{Format, code_of};
use super::link::ImportedLink;
use super::note::Note;
use super::record::Record;

/// <https://dev.bitly.com/api-reference/>, `GET /v4/groups/{group_guid}/bitlinks`: an object with `links`, an array.
/// Archived links are hidden in Bitly, and followed as others are.
pub(super) const FORMAT: Format = Format {
    name: "an export of Bitly",
    target: &["longurl", "destinationurl", "destination", "originalurl"],
    codes: &[
        "link",
        "bitlink",
        "id",
        "customlink",
        "custombitlink",
        "custombitlinks",
        "shorturl",
    ],
    known: None,
    is_guarded: false,
    code,
    link,
};

/// Addresses that a person chose.
const CHOSEN: [&str; 3] = ["custombitlinks", "customlink", "custombitlink"];
/// Addresses that Bitly drew, or the only one.
const DRAWN: [&str; 4] = ["link", "bitlink", "shorturl", "id"];

fn code(record: &Record) -> Result<Option<String>, String> {
    Ok(codes(record)?.into_iter().next())
}

/// All codes, those that a person chose before the drawn one.
fn codes(record: &Record) -> Result<Vec<String>, String> {
    let chosen = record.words(&CHOSEN, &['|', ',', ' '])?;
    let drawn = record.text(&DRAWN)?;
    let mut codes: Vec<String> = Vec::new();
    for code in chosen
        .iter()
        .map(String::as_str)
        .chain(drawn.as_deref())
        .filter_map(code_of)
    {
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    Ok(codes)
}

fn link(record: &Record, target: String) -> Result<ImportedLink, String> {
    if record.text(&["shortcode"])?.is_some() {
        return Err(
            "has a shortCode, as exports of Shlink have: is this an export of Bitly?".into(),
        );
    }
    let mut link = ImportedLink::to(target).with_title(record.text(&["title"])?);
    if codes(record)?.len() > 1 {
        link.notes.push(Note::SecondCode);
    }
    link.tags = record.words(&["tags"], &['|', ','])?;
    link.clicks = record
        .number(&["totalclicks", "clicks", "engagements", "totalengagements"])?
        .unwrap_or(0);
    Ok(link)
}

//! Bitly: CSV as its pages or programs over its API write it, or the JSON of its API.

use super::format::{Format, code_of};
use super::link::ImportedLink;
use super::note::Note;
use super::record::Record;

/// <https://dev.bitly.com/api-reference/>, `GET /v4/groups/{group_guid}/bitlinks`: an object with `links`, an array.
/// Archived links are hidden in Bitly, and followed as others are.
pub(super) const FORMAT: Format = Format {
    needed: &[
        TARGET,
        &[
            "link",
            "bitlink",
            "id",
            "customlink",
            "custombitlink",
            "custombitlinks",
            "shorturl",
        ],
    ],
    known: None,
    is_guarded: false,
    link,
};

const TARGET: &[&str] = &["longurl", "destinationurl", "destination", "originalurl"];
/// Addresses that a person chose.
const CHOSEN: [&str; 3] = ["custombitlinks", "customlink", "custombitlink"];
/// Addresses that Bitly drew, or the only one.
const DRAWN: [&str; 4] = ["link", "bitlink", "shorturl", "id"];

fn link(record: &Record) -> Result<ImportedLink, String> {
    let target = record.needed_text(TARGET)?;
    if record.text(&["shortcode"])?.is_some() {
        return Err("has a shortCode: is this an export of Shlink?".into());
    }
    let mut link = ImportedLink::to(target).with_title(record.text(&["title"])?);
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
    if codes.len() > 1 {
        link.notes.push(Note::SecondCode);
    }
    link.custom_code = codes.into_iter().next();
    link.tags = record.words(&["tags"], &['|', ','])?;
    link.clicks = record
        .number(&["totalclicks", "clicks", "engagements", "totalengagements"])?
        .unwrap_or(0);
    Ok(link)
}

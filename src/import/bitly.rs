//! Bitly: CSV as its pages or programs over its API write it, or the JSON of its API.

use super::format::{Format, code_of};
use super::place::Place;
use super::reading::Reading;
use super::record::Record;

/// <https://dev.bitly.com/api-reference/>, `GET /v4/groups/{group_guid}/bitlinks`: an object with `links`, an array.
/// Archived links are hidden in Bitly, and followed as others are.
pub(super) const FORMAT: Format = Format {
    name: "an export of Bitly",
    target: &["long_url", "destination_url", "destination", "original_url"],
    codes: &[
        "link",
        "bitlink",
        "id",
        "custom_link",
        "custom_bitlink",
        "custom_bitlinks",
        "short_url",
    ],
    may_lack_code: false,
    known: None,
    is_own: false,
    code,
    link,
};

/// Addresses that a person chose.
const CHOSEN: [&str; 3] = ["custom_bitlinks", "custom_link", "custom_bitlink"];
/// Addresses that Bitly drew, or the only address.
const DRAWN: [&str; 4] = ["link", "bitlink", "short_url", "id"];

fn code(record: &Record) -> Result<Option<String>, String> {
    Ok(codes(record)?.into_iter().next().map(|(code, _)| code))
}

/// All codes with their short URLs, those that a person chose before the drawn one.
fn codes(record: &Record) -> Result<Vec<(String, String)>, String> {
    let chosen = record.words(&CHOSEN, &['|', ',', ' '])?;
    let drawn = record.text(&DRAWN)?;
    let mut codes: Vec<(String, String)> = Vec::new();
    for url in chosen.into_iter().chain(drawn.map(Into::into)) {
        let Some(code) = code_of(&url) else {
            continue;
        };
        if !codes.iter().any(|(_, known)| *known == url) {
            codes.push((code, url));
        }
    }
    Ok(codes)
}

fn link(link: &mut Reading<'_>) {
    if link.record.column(&["shortCode"]).is_some() {
        link.refuse(
            "has a shortCode, like an export of Shlink; is this an export of Bitly?".into(),
        );
    }
    link.set_title(&["title"]);
    let codes = codes(link.record).unwrap_or_default();
    if let Some((_, url)) = codes.first() {
        link.place = Place::of_url(url);
    }
    let is_new = |at: &usize| !codes[..*at].iter().any(|(known, _)| *known == codes[*at].0);
    let others = (1..codes.len()).filter(is_new).map(|at| codes[at].clone());
    link.link.set_aliases(others);
    link.other_urls = codes.into_iter().skip(1).collect();
    link.set_tags(&["tags"], &['|', ',']);
    let clicks = ["total_clicks", "clicks", "engagements", "total_engagements"];
    link.read("clicks", &clicks);
}

//! Firebase Dynamic Links: a table of short links and of the long links that they stand for.

use url::Url;

use super::elsewhere::{Elsewhere, on_android, on_ios};
use super::format::{Format, code_of};
use super::reading::Reading;
use super::record::Record;
use crate::domain::FieldEdit;

/// <https://firebase.google.com/docs/dynamic-links/create-manually>: what a long link says.
pub(super) const FORMAT: Format = Format {
    name: "an export of Firebase Dynamic Links",
    target: LONG,
    codes: SHORT,
    may_lack_code: false,
    known: None,
    is_own: false,
    code,
    link,
};

const LONG: &[&str] = &[
    "long_link",
    "long_dynamic_link",
    "long_url",
    "deep_link",
    "link",
];
const SHORT: &[&str] = &["short_link", "short_dynamic_link", "short_url"];

fn code(record: &Record) -> Result<Option<String>, String> {
    Ok(record.text(SHORT)?.as_deref().and_then(code_of))
}

fn link(link: &mut Reading<'_>) {
    link.set_place(&[], SHORT);
    link.set_title(&["link_name", "name", "title"]);
    link.read("clicks", &["clicks"]);
    let Some(long) = link
        .link
        .fields
        .target_url
        .as_given()
        .and_then(|long| Url::parse(long).ok())
    else {
        return;
    };
    let says = |name: &str| {
        let mut pairs = long.query_pairs();
        pairs.find_map(|(given, value)| (given == name).then(|| value.into_owned()))
    };
    let Some(target) = says("link") else {
        return;
    };
    link.link.fields.target_url = FieldEdit::Set(target);
    // Where visitors without the app are sent: by Android, by iOS, and by other systems.
    let desktop = serde_json::json!({"device": "desktop"});
    let mut elsewhere = Elsewhere::default();
    for (name, when) in [("afl", on_android()), ("ifl", on_ios()), ("ofl", desktop)] {
        elsewhere = elsewhere.at(says(name).as_deref(), &when);
    }
    elsewhere.set(link);
}

//! Shlink: the JSON of its API, or CSV as its web client writes and its importer reads it.

use super::format::{Format, code_of};
use super::note::Note;
use super::place::Place;
use super::reading::Reading;
use super::record::Record;
use super::shlink_rules;
use crate::domain::FieldEdit;

/// <https://api-spec.shlink.io/>, `GET /rest/v3/short-urls`: an object with `shortUrls`, in which `data` is an array.
pub(super) const FORMAT: Format = Format {
    name: "an export of Shlink",
    target: &["longUrl"],
    codes: &["shortCode", "shortUrl"],
    may_lack_code: false,
    known: None,
    is_own: false,
    code,
    link,
};

fn code(record: &Record) -> Result<Option<String>, String> {
    let code = record.text(&["shortCode"])?.map(Into::into);
    let short_url = record.text(&["shortUrl"])?;
    Ok(code.or_else(|| code_of(&short_url?)))
}

fn link(link: &mut Reading<'_>) {
    set_place(link);
    link.set_title(&["title"]);
    link.set_tags(&["tags"], &['|', ',']);
    link.within("meta", |meta| {
        meta.read("starts_at", &["validSince"]);
        meta.read("expires_at", &["validUntil"]);
        meta.read("max_clicks", &["maxVisits"]);
    });
    // Shlink forwards queries unless a link says otherwise.
    link.link.fields.forward_query = FieldEdit::Set(true);
    link.read("forward_query", &["forwardQuery"]);
    link.read("clicks", &["visits", "visitsCount"]);
    if link.record.column(&["visitsSummary"]).is_some() {
        link.within("visitsSummary", |visits| visits.read("clicks", &["total"]));
    }
    // The list of links says only whether there are any.
    if link.record.find(&["redirectRules"]).is_some() {
        link.set_rules("redirectRules", shlink_rules::rules);
    } else if link.record.flag(&["hasRedirectRules"]) == Ok(Some(true)) {
        link.link.notes.push((Note::RedirectRules, String::new()));
    }
}

/// Links of Shlink's own host have no domain, apart from the CSV of its web client.
fn set_place(link: &mut Reading<'_>) {
    link.set_place(&["domain"], &[]);
    let is_of_api = link.record.column(&["dateCreated"]).is_some();
    if let (true, Place::Host(host)) = (is_of_api, &link.place) {
        link.place = Place::Second(host.clone());
    }
}

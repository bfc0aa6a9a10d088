//! Kutt: the JSON of its API, or its table `links` as CSV, which has the same names.

use super::format::Format;
use super::note::Note;
use super::place::Place;
use super::reading::Reading;
use super::record::Record;
use crate::domain::FieldEdit;

/// <https://docs.kutt.it/>, `GET /api/v2/links`: an object with `data`, an array of links.
pub(super) const FORMAT: Format = Format {
    name: "an export of Kutt",
    target: &["target"],
    codes: &["address"],
    may_lack_code: false,
    known: None,
    is_own: false,
    code,
    link,
};

fn code(record: &Record) -> Result<Option<String>, String> {
    Ok(record.text(&["address"])?.map(Into::into))
}

fn link(link: &mut Reading<'_>) {
    set_place(link);
    link.set_title(&["description"]);
    set_password(link);
    link.read("expires_at", &["expire_in"]);
    link.read("clicks", &["visit_count"]);
    let banned = link.flag("is_active", &["banned"]);
    link.link.fields.is_active = FieldEdit::Set(!banned.unwrap_or(false));
}

/// The API says whether there is a password; the table has its hash.
fn set_password(link: &mut Reading<'_>) {
    const NAMES: &[&str] = &["password"];
    let text = link.record.text(NAMES).ok().flatten();
    if text.is_some_and(|text| text.starts_with('$')) {
        link.link.fields.password_hash = FieldEdit::set_if(link.secret("password_hash", NAMES));
        return;
    }
    link.note_name("has_password", NAMES);
    let is_open = matches!(link.record.flag(NAMES), Ok(None | Some(false)));
    link.link.fields.has_password = FieldEdit::Set(!is_open);
}

/// Links of Kutt's own host have no domain. The table has the numbers of domains only.
fn set_place(link: &mut Reading<'_>) {
    link.set_place(&["domain"], &[]);
    match &link.place {
        Place::Host(host) => link.place = Place::Second(host.clone()),
        _ if link.record.find(&["domain_id"]).is_some() => {
            let number = link.record.text(&["domain_id"]).ok().flatten();
            let number = number.map(|number| format!("domain_id {number}"));
            let note = (Note::UnnamedHost, number.unwrap_or_default());
            link.link.notes.push(note);
        }
        _ => {}
    }
}

//! Links whose outcome is not recorded yet.

use std::collections::BTreeSet;

use shunt::import::{Note, ReadLink};

use super::tally::Tally;

/// A link whose outcome is not recorded yet.
pub(super) struct Pending {
    /// Its number in the file, from 0 on.
    pub(super) number: u64,
    /// A digest of all links of the file up to this one.
    pub(super) fingerprint: String,
    /// The content of this link, from which its code is drawn if it lacks a code.
    pub(super) content: String,
    pub(super) read: ReadLink,
    /// Why it is refused, if it is.
    pub(super) refusal: Option<String>,
    /// The clicks of the account's own link that was there before.
    pub(super) was_there: Option<u64>,
    /// The code is drawn: how often it was before.
    pub(super) drawn: Option<u32>,
    /// The code that was given up.
    pub(super) old_code: Option<String>,
}

impl Pending {
    /// Notes why the service refuses it, in the words of the file.
    pub(super) fn refuse(&mut self, why: &str) {
        self.refusal = Some(self.read.in_words_of_file(why));
    }

    /// What is left behind of it, in sentences.
    pub(super) fn left_behind(&self) -> impl Iterator<Item = String> {
        let notes = self.read.link.notes.iter();
        notes.map(|(note, value)| match value.as_str() {
            "" => note.about_value().to_owned(),
            value => format!("{}: {value}", note.about_value()),
        })
    }

    /// The code that the link has in the file.
    pub(super) fn code_in_file(&self) -> &str {
        let drawn = self.drawn.is_some();
        let kept = self.read.link.code().filter(|_| !drawn);
        self.old_code.as_deref().or(kept).unwrap_or_default()
    }
}

/// Counts a link whose outcome is known. A link that was there may be of this import.
pub(super) fn count(pending: &Pending, may_be_of_this_import: bool, tally: &mut Tally) {
    if pending.refusal.is_some() {
        tally.refused += 1;
        return;
    }
    if pending.read.moved_from.is_some() {
        tally.moved_from.clone_from(&pending.read.moved_from);
    }
    let link = &pending.read.link;
    tally.imported += 1;
    match pending.was_there {
        None => tally.clicks = tally.clicks.saturating_add(link.clicks()),
        Some(own) if own >= link.clicks() && may_be_of_this_import => {
            tally.clicks = tally.clicks.saturating_add(link.clicks());
        }
        Some(own) if own < link.clicks() => tally.without_clicks += 1,
        Some(_) => {}
    }
    let kinds: BTreeSet<Note> = link.notes.iter().map(|(note, _)| *note).collect();
    for note in kinds {
        *tally.notes.entry(note).or_default() += 1;
    }
    tally.already_there += u64::from(pending.was_there.is_some());
    tally.new_codes += u64::from(pending.old_code.is_some());
}

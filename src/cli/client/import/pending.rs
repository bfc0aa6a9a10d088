//! Entries whose outcome is not recorded yet.

use super::link::{ImportedLink, Named};
use super::tally::Tally;

/// An entry whose outcome is not recorded yet.
pub(super) struct Pending {
    /// Its number in the file, from 0 on, and the line in which it begins.
    pub(super) number: u64,
    pub(super) line: u64,
    /// All entries of the file up to this one.
    pub(super) fingerprint: String,
    /// The link, if there is one, and why it is refused already, if it is.
    pub(super) link: Option<ImportedLink>,
    /// What the entry says of itself where there is no link.
    pub(super) named: Named,
    pub(super) refusal: Option<String>,
    /// The link was the account's before.
    pub(super) was_there: bool,
    /// The code is drawn: how often it was before.
    pub(super) drawn: Option<u32>,
    /// The code that was given up.
    pub(super) old_code: Option<String>,
}

impl Pending {
    /// The code that the entry has in the file.
    pub(super) fn code_in_file(&self) -> &str {
        let drawn = self.drawn.is_some();
        let kept = self.link.as_ref().filter(|_| !drawn);
        let kept = kept.and_then(|link| link.custom_code.as_deref());
        self.old_code.as_deref().or(kept).unwrap_or_default()
    }
}

/// Counts an entry whose outcome is known.
pub(super) fn count(pending: &Pending, tally: &mut Tally) {
    let (Some(link), None) = (&pending.link, &pending.refusal) else {
        tally.refused += 1;
        return;
    };
    tally.imported += 1;
    tally.clicks = tally.clicks.saturating_add(link.clicks);
    for note in &link.notes {
        *tally.notes.entry(*note).or_default() += 1;
    }
    tally.already_there += u64::from(pending.was_there);
    tally.new_codes += u64::from(pending.old_code.is_some());
}

//! Changes of links that Redis has not been told of: the process keeps them until it reaches Redis.
//!
//! Redis may still have such a link as it was, and so may instances that Redis acknowledges clicks to.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::domain::ShortCode;

/// Codes that are kept one by one; past that any link of the shard may have changed.
const MAX_CODES: usize = 10_000;

/// The unannounced changes of one shard.
#[derive(Default)]
pub(super) struct Unannounced {
    changed: Mutex<Changed>,
    /// Read before the lock: there are seldom any changes.
    has_any: AtomicBool,
}

/// The number of a note: a change that is noted later has a higher one.
pub(super) type NoteNumber = u64;

#[derive(Default)]
struct Changed {
    newest: NoteNumber,
    codes: HashMap<ShortCode, NoteNumber>,
    /// The last note after which any link may have changed.
    all: Option<NoteNumber>,
}

/// What must be announced.
pub(super) enum Pending {
    Codes(Vec<ShortCode>),
    AnyLink,
}

impl Changed {
    fn has_room(&self, codes: &[ShortCode]) -> bool {
        let new = codes.iter().filter(|code| !self.codes.contains_key(*code));
        self.codes.len() + new.count() <= MAX_CODES
    }
}

impl Unannounced {
    /// Notes changed codes; `None`: any link may have changed.
    pub(super) fn note(&self, codes: Option<&[ShortCode]>) -> NoteNumber {
        let mut changed = self.changed();
        changed.newest += 1;
        let number = changed.newest;
        match codes {
            Some(codes) if changed.has_room(codes) => {
                let noted = codes.iter().map(|code| (code.clone(), number));
                changed.codes.extend(noted);
            }
            Some(_) | None => {
                changed.codes.clear();
                changed.all = Some(number);
            }
        }
        self.note_whether_any(&changed);
        number
    }

    /// The newest note.
    pub(super) fn newest(&self) -> NoteNumber {
        self.changed().newest
    }

    /// Redis has been told of these codes, in a call that was made after the note `up_to`.
    pub(super) fn announced(&self, codes: &[ShortCode], up_to: NoteNumber) {
        let mut changed = self.changed();
        for code in codes {
            if changed.codes.get(code).is_some_and(|noted| *noted <= up_to) {
                changed.codes.remove(code);
            }
        }
        self.note_whether_any(&changed);
    }

    /// Redis has been told of everything that was noted up to `up_to`.
    pub(super) fn all_announced(&self, up_to: NoteNumber) {
        let mut changed = self.changed();
        changed.codes.retain(|_, noted| *noted > up_to);
        changed.all = changed.all.filter(|noted| *noted > up_to);
        self.note_whether_any(&changed);
    }

    /// Whether Redis may still have the link of a code as it was.
    pub(super) fn has(&self, code: &ShortCode) -> bool {
        if !self.has_any.load(Ordering::Acquire) {
            return false;
        }
        let changed = self.changed();
        changed.all.is_some() || changed.codes.contains_key(code)
    }

    /// All unannounced changes, up to the returned note.
    pub(super) fn pending(&self) -> (Pending, NoteNumber) {
        let changed = self.changed();
        let pending = match changed.all {
            Some(_) => Pending::AnyLink,
            None => Pending::Codes(changed.codes.keys().cloned().collect()),
        };
        (pending, changed.newest)
    }

    fn note_whether_any(&self, changed: &Changed) {
        let has_any = changed.all.is_some() || !changed.codes.is_empty();
        self.has_any.store(has_any, Ordering::Release);
    }

    fn changed(&self) -> MutexGuard<'_, Changed> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(number: usize) -> ShortCode {
        ShortCode::parse(&format!("code{number}")).unwrap()
    }

    #[test]
    fn a_code_that_changes_again_while_it_is_announced_is_still_unannounced() {
        let unannounced = Unannounced::default();
        let first = unannounced.note(Some(&[code(1)]));
        let second = unannounced.note(Some(&[code(1)]));
        unannounced.announced(&[code(1)], first);
        assert!(unannounced.has(&code(1)));
        unannounced.announced(&[code(1)], second);
        assert!(!unannounced.has(&code(1)));
    }

    #[test]
    fn more_changes_than_are_kept_may_be_of_any_link() {
        let unannounced = Unannounced::default();
        let codes: Vec<_> = (0..=MAX_CODES).map(code).collect();
        unannounced.note(Some(&codes));
        assert!(unannounced.has(&code(MAX_CODES + 1)));
        let (pending, up_to) = unannounced.pending();
        assert!(matches!(pending, Pending::AnyLink));
        unannounced.all_announced(up_to);
        assert!(!unannounced.has(&code(1)));
    }
}

//! The newest state of Postgres that this instance has seen: a database that lacks it has gone back.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::domain::{LinkId, ShortCode, UserId};
use crate::store::HistoryNote;

/// A crashed server starts again at most so many bytes before the position that it reported last: at the end of the last
/// record that was whole.
const TORN: i64 = 1 << 20;

/// Id, server and whether it is checked on this start of the server; the server, when it was started, its position.
pub(super) type Row = (String, String, bool, String, i64, i64);

/// What this instance has seen.
#[derive(Default)]
pub(in crate::store) struct Seen {
    note: Mutex<KnownDatabase>,
    /// One check at a time: those that wait find the server checked.
    pub(super) checking: tokio::sync::Mutex<()>,
}

/// The newest link of a history, and the code of the newest deleted link.
#[derive(Clone, Default)]
pub(super) struct NewestRows {
    pub(super) link: Option<(i64, String)>,
    pub(super) deleted: Option<String>,
}

/// What an instance has noted of the database.
#[derive(Clone, Default)]
pub(super) struct KnownDatabase {
    pub(super) note: HistoryNote,
    /// The newest rows at the last check. What was made since may be on a server that lacks them.
    pub(super) at_check: NewestRows,
    /// When the server was started that was checked last.
    pub(super) started: i64,
    /// Whether the database went back since a check reported so.
    pub(super) went_back: bool,
}

impl Seen {
    pub(super) fn noted(&self) -> MutexGuard<'_, KnownDatabase> {
        self.note.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::store) fn created(&self, link: LinkId, code: &ShortCode) {
        let note = &mut self.noted().note;
        note.highest_link = note.highest_link.max(link.number());
        if note
            .link
            .as_ref()
            .is_none_or(|(newest, _)| *newest < link.number())
        {
            note.link = Some((link.number(), code.as_key().to_owned()));
        }
    }

    pub(in crate::store) fn deleted(&self, code: &ShortCode) {
        self.noted().note.deleted = Some(code.as_key().to_owned());
    }

    pub(in crate::store) fn registered(&self, account: UserId) {
        let note = &mut self.noted().note;
        note.highest_account = note.highest_account.max(account.0);
    }
}

impl KnownDatabase {
    pub(super) fn is_current(&self, (id, _, is_checked, server, started, bytes): &Row) -> bool {
        *is_checked
            && self.note.id == *id
            && self.started == *started
            && !self.is_behind(server, *bytes)
    }

    /// Whether a server is far behind where it was.
    pub(super) fn is_behind(&self, server: &str, bytes: i64) -> bool {
        self.note.server == server && self.note.bytes > bytes.saturating_add(TORN)
    }
}

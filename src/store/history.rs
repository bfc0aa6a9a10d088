//! The history of a database: a single timeline of its states. A new history begins when the database may have gone back,
//! because a standby that lagged took over, or because a backup was restored.

use serde::{Deserialize, Serialize};

/// What an instance has seen of a database. Another instance, or the same one after a restart, compares the database with
/// it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryNote {
    /// The history; empty before the first check.
    pub id: String,
    /// The server.
    pub server: String,
    /// How far it was, in bytes of its write-ahead log.
    pub bytes: i64,
    /// The newest link of this history that was created: its id and its code.
    pub link: Option<(i64, String)>,
    /// The newest link of this history that was deleted: its code.
    pub deleted: Option<String>,
    /// The highest ids of a link and of an account, in any history: none of them may come again.
    pub highest_link: i64,
    /// See `highest_link`.
    pub highest_account: i64,
}

impl HistoryNote {
    /// Adds what another instance has seen. Of another history only the ids count.
    pub fn add(&mut self, other: &Self) {
        self.highest_link = self.highest_link.max(other.highest_link);
        self.highest_account = self.highest_account.max(other.highest_account);
        if self.id != other.id {
            return;
        }
        if self.link.as_ref().map(|(id, _)| id) < other.link.as_ref().map(|(id, _)| id) {
            self.link.clone_from(&other.link);
        }
        if self.deleted.is_none() {
            self.deleted.clone_from(&other.deleted);
        }
        if self.server == other.server {
            self.bytes = self.bytes.max(other.bytes);
        }
    }
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryCheck {
    /// The database as this instance knows it now.
    pub note: HistoryNote,
    /// Whether it is certain that the database went back since the last check.
    pub went_back: bool,
}

//! What administrators see: links, accounts, reports, and what was done.

use super::{
    EmailAddress, GroupName, RemovalStatus, Rules, SearchText, ShortCode, TargetUrl, Timestamp,
    UserId,
};

/// A part of a list by falling numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Newest<T> {
    /// Entries, the newest first: perhaps fewer than requested, or no entries, even if more follow.
    pub entries: Vec<T>,
    /// The number before which others may come.
    pub next: Option<i64>,
}

impl<T> Default for Newest<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            next: None,
        }
    }
}

impl<T> Newest<T> {
    /// The entries that were read by [`NewestWanted::one_more`], each of which has a number.
    pub fn of(mut entries: Vec<T>, wanted: &NewestWanted, number: impl Fn(&T) -> i64) -> Self {
        let is_full = entries.len() > wanted.limit as usize;
        entries.truncate(wanted.limit as usize);
        let next = entries.last().filter(|_| is_full).map(number);
        Self { entries, next }
    }
}

/// Which entries of a list are wanted.
#[derive(Clone, Debug, Default)]
pub struct NewestWanted {
    /// Entries with this text in them.
    pub text: Option<SearchText>,
    /// Entries of this account.
    pub owner: Option<UserId>,
    /// Entries before this number.
    pub before: Option<i64>,
    /// How many at most.
    pub limit: u32,
}

impl NewestWanted {
    /// The wanted entries have numbers below this number.
    #[must_use]
    pub fn below(&self) -> i64 {
        self.before.unwrap_or(i64::MAX)
    }

    /// How many entries are read: a further entry shows that another page follows.
    #[must_use]
    pub fn one_more(&self) -> u32 {
        self.limit.saturating_add(1)
    }
}

/// A link as administrators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenLink {
    /// The database's own number.
    pub id: i64,
    /// Its code.
    pub code: ShortCode,
    /// Its target.
    pub target: TargetUrl,
    /// Where visitors are sent while it is not followed, if its owner chose something.
    pub fallback: Option<TargetUrl>,
    /// Where some visitors are sent, if its owner chose something.
    pub rules: Option<Rules>,
    /// Whose it is.
    pub owner: UserId,
    /// The address that it was made from, as long as that is kept.
    pub address: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Whether its owner has it switched on.
    pub is_active: bool,
    /// The status of its answers, if it was removed.
    pub removed: Option<RemovalStatus>,
    /// Whether visitors need a password.
    pub has_password: bool,
}

/// An account as administrators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenUser {
    /// Identifier.
    pub id: UserId,
    /// Its address; of a group, what stands for one.
    pub email: EmailAddress,
    /// The name of a group.
    pub group: Option<GroupName>,
    /// When it was made.
    pub created_at: Timestamp,
    /// How many links it has.
    pub links: u64,
    /// Whether it may administer the service.
    pub is_admin: bool,
    /// Whether it is banned.
    pub is_banned: bool,
}

/// A report of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The database's own number.
    pub id: i64,
    /// The link's code.
    pub code: ShortCode,
    /// Its target.
    pub target: TargetUrl,
    /// Where visitors are sent while it is not followed, if its owner chose something.
    pub fallback: Option<TargetUrl>,
    /// Where some visitors are sent, if its owner chose something.
    pub rules: Option<Rules>,
    /// Whether the link is removed by now.
    pub removed: Option<RemovalStatus>,
    /// Whether visitors have to give a password.
    pub has_password: bool,
    /// Why it was reported.
    pub reason: String,
    /// A keyed hash of the client's address.
    pub reporter: String,
    /// When.
    pub reported_at: Timestamp,
}

/// Something that an administrator did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// The database's own number.
    pub id: i64,
    /// When.
    pub at: Timestamp,
    /// The administrator's account; `None`: an operator on the command line, or the service itself.
    pub user: Option<UserId>,
    /// The address of the administrator's client, or a word for the command line.
    pub address: String,
    /// What was done: `remove`, `revoke`, `grant`, `reset_password`.
    pub action: String,
    /// To what.
    pub subject: String,
    /// In more words.
    pub detail: String,
}

//! The contract of sessions of browsers.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::{Principal, Timestamp, TokenKey, User};

/// Sessions kept of one account; a further one ends the oldest.
pub const MAX_SESSIONS: i64 = 50;

/// A session to be begun.
#[derive(Clone, Copy, Debug)]
pub struct NewSession<'a> {
    /// The account, which was just logged in to.
    pub owner: Principal,
    /// The hash of the cookie.
    pub hash: TokenKey,
    /// What the browser calls itself, in a few words.
    pub agent: &'a str,
    /// When it begins.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Timestamp,
}

/// A session as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebSession {
    /// The database's own number.
    pub id: i64,
    /// What the browser calls itself.
    pub agent: String,
    /// When it began.
    pub created_at: Timestamp,
}

/// A session that a cookie names, and its account.
#[derive(Clone, Debug)]
pub struct OpenSession {
    /// The database's own number.
    pub id: i64,
    /// The account with the key that it had when the session began, and has now.
    pub principal: Principal,
    /// The account.
    pub user: User,
    /// Whether it administers the service.
    pub is_admin: bool,
}

/// Sessions of browsers. All of an account end when it gets another key.
#[async_trait]
pub trait Sessions: Send + Sync {
    /// Begins a session. The newest [`MAX_SESSIONS`] of the account are kept.
    async fn begin_session(&self, session: NewSession<'_>) -> Result<(), StoreError>;

    /// The session with this hash; `None` where it has ended, or its account has another key by now.
    async fn session(
        &self,
        hash: TokenKey,
        now: Timestamp,
    ) -> Result<Option<OpenSession>, StoreError>;

    /// The open sessions of an account, newest first.
    async fn sessions_of(
        &self,
        owner: Principal,
        now: Timestamp,
    ) -> Result<Vec<WebSession>, StoreError>;

    /// Ends a session of this account, on every instance at once. `false` where there is none.
    async fn end_session(&self, owner: Principal, id: i64) -> Result<bool, StoreError>;

    /// Removes up to `limit` sessions that ended before `now`. Returns how many.
    async fn prune_sessions(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError>;
}

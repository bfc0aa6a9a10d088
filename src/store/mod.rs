//! The source of truth: users, links and counted clicks, behind small object-safe traits.
//!
//! Two implementations, [`PostgresStore`] and [`SqliteStore`], pass the same contract tests. To add an
//! operation: write it here with its errors and its promise, then in both implementations, then in the
//! contract tests. What must be one transaction is one method. "Not found" is `None`, never an error. The
//! times that clients see are parameters; for those that only say when a row may be pruned an implementation may ask
//! a clock itself. SQL lives in this module alone.

use std::sync::Arc;

use async_trait::async_trait;

use crate::domain::{
    EmailAddress, Link, LinkId, LinkTarget, ShortCode, TargetUrl, Timestamp, User, UserId,
};
use crate::telemetry::metrics::Connections;

mod clicks;
mod failure;
pub mod migrations;
mod postgres;
mod queue;
mod rows;
mod sqlite;

pub use clicks::{
    ClickBatch, Clicks, Compacted, CountSnapshot, Fence, FlushId, FlushMark, FlushesSeen,
    ParkedBatch, RecorderId,
};
pub use failure::OpenError;
pub use postgres::{PostgresReplica, PostgresStore, WalPosition};
pub use sqlite::{SqliteStore, beside};

/// How a database is used.
#[derive(Clone, Copy, Debug)]
pub struct StoreSettings {
    /// Connections at once.
    pub max_connections: u32,
    /// With Postgres: how long one operation may take, waiting for a connection included. With SQLite: how long a
    /// connection is waited for.
    pub deadline: std::time::Duration,
}

/// Everything the service keeps, as one object.
pub trait Store: Users + Links + Clicks {
    /// The same store seen as its parts.
    fn parts(self: Arc<Self>) -> Parts;

    /// Whether every change of a link that this process does not make is in the outbox, for it to read:
    /// then nothing changes unheard.
    fn is_alone(&self) -> bool {
        false
    }
}

/// The store's narrow views, for parts that need only one of them.
#[derive(Clone)]
pub struct Parts {
    /// Accounts.
    pub users: Arc<dyn Users>,
    /// Links.
    pub links: Arc<dyn Links>,
    /// Counted clicks.
    pub clicks: Arc<dyn Clicks>,
}

/// The database did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It cannot be reached, is overloaded or refuses to write (a full disk, a read-only replica):
    /// the same request may succeed later. Whether a write took place is unknown.
    #[error("the database is unavailable: {0}")]
    Unavailable(String),
    /// There was no connection to it: nothing was asked, and nothing took place.
    #[error("the database is unavailable: {0}")]
    Unreachable(String),
    /// It answered something that the code does not expect: a defect.
    #[error("the database answered unexpectedly: {0}")]
    Unexpected(String),
}

/// Why a user was not made.
#[derive(Debug, thiserror::Error)]
pub enum CreateUserError {
    /// Another account has this address, in whatever case.
    #[error("the e-mail address is taken")]
    EmailTaken,
    /// See [`StoreError`].
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a link was not made.
#[derive(Debug, thiserror::Error)]
pub enum CreateLinkError {
    /// The code belongs to a link, or did before that was deleted.
    #[error("the code is taken")]
    CodeTaken,
    /// The owner's account is gone.
    #[error("the owner does not exist")]
    OwnerGone,
    /// See [`StoreError`].
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a login is checked against.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// Whose they are.
    pub user: UserId,
    /// PHC string of the password.
    pub password_hash: String,
}

/// Accounts.
#[async_trait]
pub trait Users: Send + Sync {
    /// Makes an account; `email` is kept as given and unique without regard to case.
    async fn create_user(
        &self,
        email: &EmailAddress,
        password_hash: &str,
        now: Timestamp,
    ) -> Result<UserId, CreateUserError>;

    /// The account with this address, without regard to case.
    async fn credentials(&self, email: &EmailAddress) -> Result<Option<Credentials>, StoreError>;

    /// The account with this identifier.
    async fn user(&self, id: UserId) -> Result<Option<User>, StoreError>;
}

/// A link to be made.
#[derive(Clone, Debug)]
pub struct NewLink<'a> {
    /// A code that was just drawn.
    pub code: &'a ShortCode,
    /// Where it leads.
    pub target: &'a TargetUrl,
    /// Who makes it.
    pub owner: UserId,
    /// When.
    pub created_at: Timestamp,
}

impl NewLink<'_> {
    fn made(&self, id: LinkId) -> Link {
        Link {
            id,
            code: self.code.clone(),
            target: self.target.clone(),
            owner: self.owner,
            is_active: true,
            created_at: self.created_at,
        }
    }
}

/// A place in a list of links, newest first: what comes after it is older.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// `created_at` of the last link seen.
    pub created_at: Timestamp,
    /// `id` of the last link seen.
    pub id: LinkId,
}

impl Position {
    /// Before every link: the last moment there is.
    const NEWEST: Self = Self {
        created_at: Timestamp::MAX,
        id: LinkId::LAST,
    };

    /// Just after a link.
    #[must_use]
    pub fn of(link: &Link) -> Self {
        Self {
            created_at: link.created_at,
            id: link.id,
        }
    }
}

/// A link's change that instances may not have heard of yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Rising number of the change in this database.
    pub number: i64,
    /// The code whose remembered form is no longer true; `None` where it is no code, so that nobody
    /// remembers it.
    pub code: Option<ShortCode>,
}

/// Links whose clicks are to be counted.
#[derive(Clone, Debug)]
pub struct ToCount<T> {
    /// The links.
    pub found: T,
    /// Whether the journal held batches at the same moment: what is held has to be settled first.
    pub has_parked: bool,
}

/// Links, and the outbox of their changes.
#[async_trait]
pub trait Links: Send + Sync {
    /// Makes an active link with no clicks. A code that a deleted link had is refused as taken.
    async fn create_link(&self, link: NewLink<'_>) -> Result<Link, CreateLinkError>;

    /// What a redirect needs of the link with this code, active or not. The visitor who waits for it comes before
    /// all who make, list and count links.
    async fn link_target(&self, code: &ShortCode) -> Result<Option<LinkTarget>, StoreError>;

    /// The same for whoever asks how often the link was followed.
    async fn link_to_count(
        &self,
        code: &ShortCode,
    ) -> Result<Option<ToCount<LinkTarget>>, StoreError>;

    /// Up to `limit` links of an owner, newest first (`created_at` falling, then `id` falling),
    /// from just after `after`. None of an owner whose account is gone.
    async fn links_of(
        &self,
        owner: UserId,
        after: Option<Position>,
        limit: u32,
    ) -> Result<ToCount<Vec<Link>>, StoreError>;

    /// Removes a link of this owner, keeps its code from being handed out again and notes the change
    /// in the outbox, in one transaction; returns that change. `None` when there is no such link, it is another's or
    /// the owner's account is gone.
    async fn delete_link(
        &self,
        owner: UserId,
        code: &ShortCode,
    ) -> Result<Option<Change>, StoreError>;

    /// Up to `limit` changes in the outbox, oldest first.
    async fn unpublished_changes(&self, after: i64, limit: u32) -> Result<Vec<Change>, StoreError>;

    /// Removes changes from the outbox: every instance can hear of them now. Unknown numbers are fine.
    async fn changes_published(&self, numbers: &[i64]) -> Result<(), StoreError>;

    /// Connections to the database at the moment.
    fn connections(&self) -> Connections;

    /// Whether the database answers, asked before all for whom no visitor waits: being busy is not being away.
    async fn ping(&self) -> Result<(), StoreError>;
}

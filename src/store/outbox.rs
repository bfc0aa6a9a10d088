//! The contract of the outbox: changes of links that are not published yet.
//!
//! A change is written to the outbox in the transaction that makes it, also one that is made by hand: a trigger does so.

use async_trait::async_trait;

use super::StoreError;
use super::sql::Row;
use crate::domain::ShortCode;

/// A change of a link that some instances may not know yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The change's own number in this database; later changes have higher ones.
    pub number: i64,
    /// The code whose cached link is out of date. `None`: all links may be, as a deleted account may have had any of them.
    pub code: Option<ShortCode>,
}

impl Change {
    /// Stands in the place of a code where a change may be of any link. No code has this character.
    pub(super) const OF_ALL: &'static str = "*";
}

/// A place in the order in which changes were committed, in the database's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangePosition(pub(super) String);

/// The changes since a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangesSince {
    /// The changes; `None` where there are more than were asked for.
    pub changes: Option<Vec<Change>>,
    /// Where the next reading goes on.
    pub position: ChangePosition,
}

/// Changes of links: which of them are not published yet, and which are new to a reader.
#[async_trait]
pub trait Outbox: Send + Sync {
    /// Up to `limit` changes with numbers above `after`, oldest first.
    async fn unpublished_changes(&self, after: i64, limit: u32) -> Result<Vec<Change>, StoreError>;

    /// Takes the changes with these numbers out of the outbox, and no others of the same code: every instance with Redis
    /// learns of them now. Numbers that are not in the outbox are passed over. `terms` are those of the Redis data sets in which
    /// they were published: nothing changes unless each is the newest one of its tag, because then instances use another Redis.
    /// Returns whether none of these changes is left in the outbox.
    async fn changes_published(&self, numbers: &[i64], terms: &[i64]) -> Result<bool, StoreError>;

    /// The changes that were committed after a position, whatever their numbers, also those that are published: for
    /// instances without Redis. Without a position there are none, and the next reading goes on from now. A database of which
    /// one process reads the changes has none for others.
    async fn changes_since(
        &self,
        position: Option<&ChangePosition>,
        limit: u32,
    ) -> Result<ChangesSince, StoreError>;

    /// Removes up to `limit` changes that no instance needs: those that were published 10 minutes ago, and those that are a
    /// day old, when Redis has cached no link for so long. Returns the number of removed changes.
    async fn prune_changes(&self, limit: u32) -> Result<u64, StoreError>;

    /// Whether this process alone reads the outbox, and so learns of every change that it does not make itself.
    fn is_alone(&self) -> bool {
        false
    }
}

/// A row with the columns `number` and `short_code`.
pub(super) fn change(row: &Row) -> Result<Change, StoreError> {
    let code: String = row.get("short_code")?;
    Ok(Change {
        number: row.get("number")?,
        code: ShortCode::parse(&code),
    })
}

//! The contract of the outbox: changes of links that are not published yet.
//!
//! A change is written to the outbox in the transaction that makes it, also one that is made by hand: a trigger does so.

use async_trait::async_trait;

use super::StoreError;
use crate::domain::ShortCode;

/// A change of a link that some instances may not know yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The change's own number in this database; later changes have higher ones.
    pub number: i64,
    /// The code whose cached link is out of date. `None` where the row held no valid code, which is cached nowhere.
    pub code: Option<ShortCode>,
}

/// Changes of links that are not published yet.
#[async_trait]
pub trait Outbox: Send + Sync {
    /// Up to `limit` changes with numbers above `after`, oldest first.
    async fn unpublished_changes(&self, after: i64, limit: u32) -> Result<Vec<Change>, StoreError>;

    /// Removes the changes with these numbers, and no others of the same code: every instance learns of them now.
    /// Numbers that are not in the outbox are passed over. `term` is that of the Redis data set in which they were published:
    /// nothing is removed if it is not the newest one of its tag, because then instances use another Redis.
    async fn changes_published(&self, numbers: &[i64], term: Option<i64>)
    -> Result<(), StoreError>;

    /// Whether this process alone reads the outbox, and so learns of every change that it does not make itself.
    fn is_alone(&self) -> bool {
        false
    }
}

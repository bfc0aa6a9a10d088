//! The contract of `max_clicks`: how many clicks a link is granted.
//!
//! The limit of a link that had none before takes effect once the clicks from before are counted: some may still be in Redis.

use async_trait::async_trait;

use super::{ClickBatch, StoreError};
use crate::domain::LinkId;

/// What the database says of the clicks of one link that were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// They are granted, or a part of them is.
    Granted {
        /// So many are granted, and counted.
        clicks: u64,
        /// So many more may be: fewer than 0 where the limit was lowered below what had been counted. A deleted link has
        /// none left.
        left: i64,
    },
    /// None is granted before the clicks from before the limit are counted.
    Uncounted,
    /// None is granted, because the link has no limit any more.
    Unlimited,
}

/// How many clicks the links with `max_clicks` are granted.
#[async_trait]
pub trait ClickLimits: Send + Sync {
    /// Grants as many of the clicks that a batch asks for, none or more of each link, as the limits leave, and counts them:
    /// in one transaction, and exactly so under concurrency, too. The answer is in the order of the batch.
    ///
    /// After an error the batch may have been granted. The same batch may be asked for again, and gets the same answer for
    /// as long as no newer one of its recorder was asked for. An older batch is granted nothing more; its answer may be empty.
    async fn grant(&self, batch: &ClickBatch) -> Result<Vec<(LinkId, Grant)>, StoreError>;

    /// Notes that the clicks from before a link's limit are about to be counted; `counting` is a number of the caller's own.
    /// Returns the number of the counting that is under way, which the caller joins: that one, or one that was begun before.
    /// `None` if there is nothing to count: they are counted, or the link has no limit.
    async fn begin_counting(&self, link: LinkId, counting: u64) -> Result<Option<u64>, StoreError>;

    /// Sets the number of clicks from before a link's limit, which takes effect with it. `false`, and nothing changes, where
    /// the counting has to begin again: [`ClickLimits::admit`] noted a click, or the limit was taken away; or where another
    /// caller counted them first.
    async fn set_clicks_before(
        &self,
        link: LinkId,
        counting: u64,
        clicks: u64,
    ) -> Result<bool, StoreError>;

    /// Whether a click may be answered that was counted without a grant, because its link got a limit only then. Until the
    /// clicks from before the limit are counted, it is one of them; a counting under way has to begin again, as it may miss
    /// the click. Afterwards it takes one of those that are left.
    async fn admit(&self, link: LinkId) -> Result<bool, StoreError>;
}

/// The number of clicks left of a link that has no limit any more.
const UNLIMITED: i64 = i64::MAX;

impl Grant {
    /// Of the clicks and of those left as databases keep them.
    pub(super) fn of_row(clicks: i64, left: Option<i64>) -> Self {
        match left {
            None => Self::Uncounted,
            Some(UNLIMITED) => Self::Unlimited,
            Some(left) => Self::Granted {
                clicks: clicks.unsigned_abs(),
                left,
            },
        }
    }
}

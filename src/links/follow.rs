//! Following the changes of links in the database: an instance without Redis learns of other instances' changes there.

use std::time::{Duration, Instant};

use crate::cache::LinkCache;
use crate::domain::ShortCode;
use crate::store::{ChangePosition, Outbox, StoreError};

/// Changes that are applied one by one; past that all links are dropped from memory.
const MAX_CHANGES: u32 = 1_000;

/// Changes stay in the database for 10 minutes at least. After half of that without a reading some may be gone.
const MAX_GAP: Duration = Duration::from_mins(5);

/// Which changes this process has applied.
#[derive(Debug, Default)]
pub struct ChangeFollower {
    /// Where the last reading ended, and when it began.
    last: Option<(ChangePosition, Instant)>,
}

impl ChangeFollower {
    /// Drops the links from memory that changed since the last call; all links, where that is not known.
    ///
    /// # Errors
    /// When the database is away; the next call makes up for it.
    pub async fn follow(
        &mut self,
        outbox: &dyn Outbox,
        cache: &LinkCache,
    ) -> Result<(), StoreError> {
        let now = Instant::now();
        let last = self.last.as_ref();
        let position = last.filter(|(_, read_at)| now.duration_since(*read_at) < MAX_GAP);
        let position = position.map(|(position, _)| position);
        let read = outbox.changes_since(position, MAX_CHANGES).await?;
        let changes = read.changes.filter(|_| position.is_some());
        // `None` where one of them is of all links.
        let codes = changes.and_then(|changes| {
            let codes = changes.into_iter().map(|change| change.code);
            codes.collect::<Option<Vec<_>>>()
        });
        match codes {
            Some(codes) => drop_from_memory(cache, &codes).await,
            None => cache.clear_process().await,
        }
        self.last = Some((read.position, now));
        Ok(())
    }
}

async fn drop_from_memory(cache: &LinkCache, codes: &[ShortCode]) {
    let Some(first) = codes.first() else { return };
    // Without Redis there is one shard, and nothing fails.
    if let Err(error) = cache.invalidate(cache.shard_of(first), codes).await {
        tracing::warn!(%error, "changed links are dropped from the memory of this process alone");
    }
}

//! Changes that were not told when they were made: those of an instance cut off from Redis, and those made
//! by hand.

use std::collections::HashMap;

use crate::cache::{CacheError, LinkCache};
use crate::domain::Shard;
use crate::store::{Outbox, StoreError};

/// Changes read from the outbox in one go.
const READ_AT_ONCE: u32 = 500;

/// Changes of a shard told in one call.
const TOLD_AT_ONCE: usize = 500;

/// Why changes are still untold.
#[derive(Debug, thiserror::Error)]
pub enum OutboxError {
    /// Redis is away.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The database is away.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Tells every instance of the changes that are left in the outbox, as far as they are `wanted`: those of
/// shards that can be told. Telling one twice does no harm.
///
/// # Errors
/// When Redis or the database is away; what is left is told later.
pub async fn publish_pending(
    outbox: &dyn Outbox,
    cache: &LinkCache,
    wanted: impl Fn(Shard) -> bool,
) -> Result<(), OutboxError> {
    let mut after = 0;
    loop {
        let changes = outbox.unpublished_changes(after, READ_AT_ONCE).await?;
        let is_last = changes.len() < READ_AT_ONCE as usize;
        after = changes.last().map_or(after, |change| change.number);
        let mut told = Vec::new();
        let mut outcome = Ok(());
        let mut of_shards = HashMap::<_, (Vec<_>, Vec<_>)>::new();
        for change in changes {
            let Some(code) = change.code else {
                told.push(change.number);
                continue;
            };
            let shard = cache.shard_of(&code);
            if wanted(shard) {
                let (numbers, codes) = of_shards.entry(shard).or_default();
                numbers.push(change.number);
                codes.push(code);
            }
        }
        for (shard, (numbers, codes)) in of_shards {
            for (numbers, codes) in numbers.chunks(TOLD_AT_ONCE).zip(codes.chunks(TOLD_AT_ONCE)) {
                match cache.invalidate(shard, codes).await {
                    Ok(()) => told.extend(numbers),
                    // Those of other shards are told all the same.
                    Err(error) => outcome = Err(error),
                }
            }
        }
        if !told.is_empty() {
            outbox.changes_published(&told).await?;
        }
        outcome?;
        if is_last {
            return Ok(());
        }
    }
}

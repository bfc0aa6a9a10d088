//! Changes that were not told when they were made: those of an instance cut off from Redis, and those made by hand.

use crate::cache::{CacheError, LinkCache};
use crate::domain::Shard;
use crate::store::{Links, StoreError};

/// Changes told in one go.
const AT_ONCE: u32 = 500;

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
    links: &dyn Links,
    cache: &LinkCache,
    wanted: impl Fn(Shard) -> bool,
) -> Result<(), OutboxError> {
    let mut at_once = AT_ONCE;
    loop {
        let changes = links.unpublished_changes(at_once).await?;
        let mut told = Vec::new();
        let mut outcome = Ok(());
        for change in &changes {
            match &change.code {
                None => told.push(change.number),
                Some(code) if !wanted(cache.shard_of(code)) => {}
                Some(code) => match cache.forget(code).await {
                    Ok(()) => told.push(change.number),
                    // Those of other shards are told all the same.
                    Err(error) => outcome = Err(error),
                },
            }
        }
        if !told.is_empty() {
            links.changes_published(&told).await?;
        }
        outcome?;
        if changes.len() < at_once as usize {
            return Ok(());
        }
        if told.is_empty() {
            // All of these wait for other shards: what is wanted may come after them.
            at_once = at_once.saturating_mul(2);
        }
    }
}

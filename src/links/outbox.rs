//! Publishing the changes that are left in the outbox: those of an instance that could not reach Redis, and those that
//! were made by hand in the database.

use std::collections::HashMap;

use futures_util::future::join_all;

use crate::cache::{CacheError, LinkCache};
use crate::domain::Shard;
use crate::store::{Outbox, StoreError};

/// Changes read from the outbox in one go, and of one shard published in one call.
const READ_AT_ONCE: u32 = 500;

/// Why changes are left in the outbox.
#[derive(Debug, thiserror::Error)]
pub enum OutboxError {
    /// Redis is away.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// The database is away.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Whether this instance takes changes out of the outbox: it publishes them in Redis, or it is the only one. Another
/// one follows the changes ([`super::ChangeFollower`]).
pub fn publishes(outbox: &dyn Outbox, cache: &LinkCache) -> bool {
    cache.is_shared() || outbox.is_alone()
}

/// Publishes the changes in the outbox of all shards that are `wanted`, because they can be reached. A change may be
/// published twice without harm.
///
/// # Errors
/// When Redis or the database is away; the rest is published later.
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
        let mut malformed = Vec::new();
        let mut outcome = Ok(());
        let mut of_shards = HashMap::<_, (Vec<_>, Vec<_>)>::new();
        for change in changes {
            let Some(code) = change.code else {
                malformed.push(change.number);
                continue;
            };
            let shard = cache.shard_of(&code);
            if wanted(shard) {
                let (numbers, codes) = of_shards.entry(shard).or_default();
                numbers.push(change.number);
                codes.push(code);
            }
        }
        // A shard that hangs does not delay the others.
        let publishing = of_shards
            .into_iter()
            .map(async |(shard, (numbers, codes))| {
                let term = cache.invalidate(shard, &codes).await?;
                outbox.changes_published(&numbers, term).await?;
                Ok::<_, OutboxError>(())
            });
        for published in join_all(publishing).await {
            if let Err(error) = published {
                outcome = Err(error);
            }
        }
        if !malformed.is_empty() {
            outbox.changes_published(&malformed, None).await?;
        }
        outcome?;
        if is_last {
            return Ok(());
        }
    }
}

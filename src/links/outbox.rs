//! Publishing the changes that are left in the outbox: those of an instance that could not reach Redis, and those that
//! were made by hand in the database.

use std::collections::HashMap;

use futures_util::future::{join_all, try_join_all};

use crate::cache::{CacheError, LinkCache};
use crate::domain::Shard;
use crate::store::{Change, Store, StoreError};

/// Changes read from the outbox at a time, and changes of a shard published in one call.
pub(super) const READ_AT_ONCE: u32 = 500;

/// Why changes are left in the outbox.
#[derive(Debug, thiserror::Error)]
pub enum OutboxError {
    /// Redis is away.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// Another server has taken the place of the Redis in which they were published: the other instances do not use it.
    #[error("changes of links were published in a Redis whose place another one has taken")]
    Superseded,
    /// The database is away.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Whether this instance takes changes out of the outbox: it publishes them in Redis, or it is the only one. Another
/// one follows the changes ([`crate::clicks::LinkChanges`]).
pub fn publishes(store: &Store, cache: &LinkCache) -> bool {
    cache.is_shared() || store.has_one_process()
}

/// Publishes the changes in the outbox of all shards that are `wanted`, because they can be reached. A change may be
/// published twice without harm.
///
/// # Errors
/// When Redis or the database is away, or Redis is superseded; the rest is published later.
pub async fn publish_pending(
    store: &Store,
    cache: &LinkCache,
    wanted: impl Fn(Shard) -> bool,
) -> Result<(), OutboxError> {
    let mut after = 0;
    loop {
        let changes = store.unpublished_changes(after, READ_AT_ONCE).await?;
        let is_last = changes.len() < READ_AT_ONCE as usize;
        after = changes.last().map_or(after, |change| change.number);
        publish(store, cache, &wanted, changes).await?;
        if is_last {
            return Ok(());
        }
    }
}

/// Publishes changes of all shards that are `wanted`, and takes them out of the outbox where this instance does so.
pub(super) async fn publish(
    store: &Store,
    cache: &LinkCache,
    wanted: &impl Fn(Shard) -> bool,
    changes: Vec<Change>,
) -> Result<(), OutboxError> {
    let mut of_all = Vec::new();
    // Changes of the same shards are published together.
    let mut of_shards = HashMap::<Vec<_>, (Vec<_>, Vec<_>)>::new();
    for change in changes {
        let number = change.number;
        let Some(of_code) = change.changed() else {
            of_all.push(number);
            continue;
        };
        let shards = cache.shards_of(&of_code).collect();
        let (numbers, codes) = of_shards.entry(shards).or_default();
        numbers.push(number);
        codes.push(of_code.code);
    }
    let takes_out = publishes(store, cache);
    // A shard that hangs does not delay the others.
    let publishing = of_shards
        .into_iter()
        .map(async |(shards, (numbers, codes))| {
            let (mut terms, mut failed) = (Vec::new(), None);
            for shard in shards.iter().filter(|shard| wanted(**shard)) {
                match cache.invalidate(*shard, &codes).await {
                    Ok(term) => terms.push(term),
                    Err(error) => failed = Some(error),
                }
            }
            if let Some(error) = failed {
                return Err(error.into());
            }
            let is_everywhere = terms.len() == shards.len();
            let terms: Vec<_> = terms.into_iter().flatten().collect();
            if takes_out && is_everywhere && !store.changes_published(&numbers, &terms).await? {
                return Err(OutboxError::Superseded);
            }
            Ok(())
        });
    let outcomes = join_all(publishing).await;
    if !of_all.is_empty() {
        publish_for_all(store, cache, wanted, &of_all).await?;
    }
    outcomes.into_iter().collect()
}

/// Publishes changes that may be of any link. They stay in the outbox until they are published in every shard.
async fn publish_for_all(
    store: &Store,
    cache: &LinkCache,
    wanted: &impl Fn(Shard) -> bool,
    numbers: &[i64],
) -> Result<(), OutboxError> {
    let reached: Vec<_> = cache.all_shards().filter(|shard| wanted(*shard)).collect();
    let is_all = reached.len() == cache.all_shards().count();
    let terms = try_join_all(reached.into_iter().map(|shard| cache.forget(shard))).await?;
    if is_all && publishes(store, cache) {
        let terms: Vec<_> = terms.into_iter().flatten().collect();
        if !store.changes_published(numbers, &terms).await? {
            return Err(OutboxError::Superseded);
        }
    }
    Ok(())
}

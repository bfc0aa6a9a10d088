//! Settles batches in doubt that crashed instances left in the journal.

use std::time::Duration;

use futures_util::future::join_all;

use super::runner::every;
use crate::cache::LinkCache;
use crate::clicks::{RedisSink, settle_parked};
use crate::shared_redis::RedisShards;
use crate::store::Store;

/// Pause between two reads of the journal.
const PAUSE: Duration = Duration::from_secs(5);

pub(super) async fn run(redis: RedisShards, store: Store, cache: LinkCache) {
    let sinks: Vec<_> = redis.iter().map(RedisSink::new).collect();
    every(PAUSE, "settling clicks in doubt", || async {
        if store.clicks.parked(None, 1).await?.is_empty() {
            return Ok(());
        }
        let sinks_up = sinks.iter().filter(|sink| sink.is_up());
        // A shard that hangs does not delay the others.
        let settling = sinks_up.map(|sink| settle_parked(sink, &store, &cache));
        let settled: Result<Vec<_>, _> = join_all(settling).await.into_iter().collect();
        settled.map(drop)
    })
    .await;
}

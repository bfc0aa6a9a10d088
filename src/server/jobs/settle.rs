//! Settles batches in doubt that crashed instances left in the journal.

use std::sync::Arc;
use std::time::Duration;

use super::runner::every;
use crate::cache::LinkCache;
use crate::clicks::{RedisSink, settle_parked};
use crate::redis::RedisShards;
use crate::store::Clicks;

/// Pause between two reads of the journal.
const PAUSE: Duration = Duration::from_secs(5);

pub(super) async fn run(redis: RedisShards, clicks: Arc<dyn Clicks>, cache: LinkCache) {
    let sinks: Vec<_> = redis.iter().map(RedisSink::new).collect();
    every(PAUSE, "settling clicks in doubt", || async {
        let sinks_up = sinks.iter().filter(|sink| sink.is_up());
        let settled = settle_parked(sinks_up, &*clicks, &cache);
        settled.await.map(drop)
    })
    .await;
}

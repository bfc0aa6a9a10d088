//! Reads the newest terms: a server that another server has superseded is no longer used, even if no connection to it broke.
//! Its remaining clicks are written back.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::runner::every;
use crate::clicks::{FlushError, Flusher};
use crate::shared_redis::{RedisFailure, RedisShards};
use crate::store::{Store, StoreError};

/// Pause between two readings, and the longest that one may take.
const PAUSE: Duration = Duration::from_secs(1);

pub(super) async fn run(redis: RedisShards, store: Store, flusher: Arc<Flusher>) {
    every(PAUSE, "reading the newest terms of Redis", || async {
        let late = |_| StoreError::Unavailable("the ledger could not be read within 1 s".into());
        let reading = timeout(PAUSE, store.data_sets_in_use());
        for data_set in reading.await.map_err(late)?? {
            let shard = redis
                .iter()
                .find(|redis| redis.keys().tag() == data_set.tag);
            let Some((shard, term)) = shard.and_then(|shard| Some((shard, shard.term().ok()?)))
            else {
                continue;
            };
            if term.number < data_set.term {
                shard.trip(&RedisFailure::OtherTerm(format!(
                    "{} is the newest",
                    data_set.term
                )));
            }
        }
        flusher.drain().await?;
        Ok::<_, FlushError>(())
    })
    .await;
}

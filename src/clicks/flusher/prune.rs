//! Removes records of recorders that are no longer needed.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join_all;

use super::scan::{HashScan, TIMEOUT};
use super::{FlushError, Flusher};
use crate::domain::Timestamp;
use crate::shared_redis::keys::Keys;
use crate::shared_redis::{Call, RedisFailure, RedisShard, scripts};
use crate::store::{RecorderId, StoreError};

/// Rows removed at once.
const PRUNE_BATCH: u32 = 1_000;

/// How long Redis keeps a recorder that sends nothing.
const RECORDER_RETENTION: Duration = Duration::from_hours(7 * 24);

impl Flusher {
    /// Removes what is known of recorders that were not used for long.
    ///
    /// # Errors
    /// When Redis or the database is away.
    pub async fn prune(&self) -> Result<(), FlushError> {
        let now = self.clock.now();
        while self.store.clicks.prune(now, PRUNE_BATCH).await? >= u64::from(PRUNE_BATCH) {}
        if self.redis.is_none() {
            return Ok(());
        }
        let needed = self.parked_recorders().await?;
        let forgetting = self
            .flushable_shards()
            .map(|shard| forget_recorders(shard, &needed));
        // A failure of one shard does not stop the others.
        let forgotten: Result<Vec<_>, _> = join_all(forgetting).await.into_iter().collect();
        forgotten.map(drop).map_err(FlushError::from)
    }

    /// The recorders of parked batches: settling one needs the last number of its recorder in Redis.
    async fn parked_recorders(&self) -> Result<HashSet<RecorderId>, StoreError> {
        let mut recorders = HashSet::new();
        let mut after = None;
        while let Some(next) = self.store.clicks.parked(after, 1).await?.first() {
            let recorder = next.batch.recorder;
            recorders.insert(recorder);
            // The others of this recorder say nothing more.
            after = Some((recorder, i64::MAX.cast_unsigned()));
        }
        Ok(recorders)
    }
}

async fn forget_recorders(
    shard: &RedisShard,
    needed: &HashSet<RecorderId>,
) -> Result<(), RedisFailure> {
    let key = shard.keys().recorders();
    // Recorders are noted by the clock of Redis. The earlier of both clocks counts, so that a wrong one removes no recorder
    // too soon.
    let (seconds, _): (i64, i64) = shard
        .query(&Call::plain(redis::cmd("TIME")), TIMEOUT)
        .await?;
    let servers = Timestamp::from_micros(seconds.saturating_mul(1_000_000));
    let now = shard.now().min(servers.unwrap_or(Timestamp::MAX));
    let before = now.before(RECORDER_RETENTION).micros();
    let mut old = Vec::new();
    let mut scan = HashScan::new(shard, &key);
    while let Some(found) = scan.next::<String, String>().await? {
        for (recorder, heard_of) in found {
            let is_recent = heard_of.parse::<i64>().is_ok_and(|at| at >= before);
            let is_needed = recorder
                .parse()
                .is_ok_and(|recorder| needed.contains(&recorder));
            if !is_needed && !is_recent {
                old.push((recorder, heard_of));
            }
        }
    }
    let state = shard.keys().state();
    for (recorder, heard_of) in old {
        let mut call = scripts::FORGET_RECORDER.call(&[&state, &key]);
        call.arg(&recorder)
            .arg(heard_of)
            .arg(Keys::recorder_field(&recorder));
        shard.query::<()>(&call, TIMEOUT).await?;
    }
    Ok(())
}

//! Forgetting what can not come again: flushes in the ledger, recorders in Redis.

use std::time::Duration;

use super::{FlushError, Flusher, TIMEOUT, scan_hash};
use crate::domain::Timestamp;
use crate::redis::{Call, RedisFailure, RedisShard, scripts};

/// How long the ledger remembers a flush that is done: far longer than any copy of it can turn up again.
const LEDGER_MEMORY: Duration = Duration::from_hours(24);

/// Ledger rows removed at once.
const PRUNED_AT_ONCE: u32 = 1_000;

/// How long Redis remembers a recorder that sends nothing.
const RECORDER_MEMORY: Duration = Duration::from_hours(7 * 24);

impl Flusher {
    /// Forgets flushes that were written back long ago and recorders that are long gone.
    ///
    /// # Errors
    /// When Redis or the database is away.
    pub async fn prune(&self) -> Result<(), FlushError> {
        let before = self.clock.now().before(LEDGER_MEMORY);
        while self.clicks.prune(before, PRUNED_AT_ONCE).await? >= u64::from(PRUNED_AT_ONCE) {}
        // Whether Redis has a batch that the journal holds is told by the last number of its recorder there.
        if self.redis.is_none() || !self.clicks.parked(None, 1).await?.is_empty() {
            return Ok(());
        }
        for redis in self.reachable_shards() {
            forget_recorders(redis).await?;
        }
        Ok(())
    }
}

async fn forget_recorders(redis: &RedisShard) -> Result<(), RedisFailure> {
    let key = redis.keys().recorders();
    // The clock that they were noted by; one that is wrong here forgets nobody.
    let (seconds, _): (i64, i64) = redis
        .query(&Call::plain(redis::cmd("TIME")), TIMEOUT)
        .await?;
    let servers = Timestamp::from_micros(seconds.saturating_mul(1_000_000));
    let now = redis.now().min(servers.unwrap_or(Timestamp::MAX));
    let before = now.before(RECORDER_MEMORY).micros();
    for (recorder, last) in scan_hash::<String, String>(redis, &key).await? {
        let last_seen = last
            .split_once(' ')
            .and_then(|(_, seen)| seen.parse::<i64>().ok());
        if last_seen.is_none_or(|seen| seen < before) {
            let mut call = scripts::FORGET_RECORDER.call(&[&key]);
            call.arg(recorder).arg(last);
            redis.query::<()>(&call, TIMEOUT).await?;
        }
    }
    Ok(())
}

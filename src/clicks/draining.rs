//! Draining of data sets that are given up, because the data is divided in another way from now on: what is pending or
//! under flush in them is written back, and parked batches for them are settled before.
//!
//! No instance may use them meanwhile. One that does is noticed by its lease on flushing.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;

use crate::cache::LinkCache;
use crate::clicks::redis_sink::settle_where;
use crate::clicks::{FlushError, Flusher, RecoveryError, RedisSink, SettleError, recover};
use crate::domain::Clock;
use crate::redis::{Call, RedisFailure, RedisShard, RedisShards, scripts};
use crate::store::Clicks;

/// How often a data set is written back that gets new clicks meanwhile: those of settled batches, and of a flush that an
/// instance had left unfinished.
const MAX_ROUNDS: usize = 10;

/// How long one command may take.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Keys that one command lists.
const KEYS_AT_ONCE: u32 = 1_000;

/// Why data sets are not given up yet.
#[derive(Debug, thiserror::Error)]
pub enum DrainError {
    /// A data set cannot be used.
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    /// It could not be written back.
    #[error(transparent)]
    Flush(#[from] FlushError),
    /// Parked batches could not be settled.
    #[error(transparent)]
    Settle(#[from] SettleError),
    /// Redis is away.
    #[error(transparent)]
    Redis(#[from] RedisFailure),
    /// Another instance has the lease, or clicks go on coming.
    #[error("other instances still use {0}; stop them all first")]
    InUse(String),
}

/// What data sets are drained into, and what that needs.
pub struct Drain<'a> {
    /// The database that gets the clicks.
    pub clicks: &'a Arc<dyn Clicks>,
    /// Names that database.
    pub installation: &'a str,
    /// A cache of links over the former data sets; nothing is looked up in it.
    pub cache: LinkCache,
    /// Tells the time.
    pub clock: &'a Arc<dyn Clock>,
}

impl Drain<'_> {
    /// Writes back all clicks in these data sets, and removes them. May be stopped and repeated at any point.
    ///
    /// # Errors
    /// [`DrainError`]; what is left is drained later.
    pub async fn drain(&self, former: &RedisShards) -> Result<(), DrainError> {
        let found = try_join_all(former.iter().map(tag_if_exists)).await?;
        let tags: HashSet<String> = found.into_iter().flatten().collect();
        // One after the other: two instances that drain at once do not hold up each other.
        for redis in former.iter() {
            if tags.contains(redis.keys().tag()) {
                self.drain_one(redis, former).await?;
            }
        }
        Ok(())
    }

    async fn drain_one(&self, redis: &RedisShard, former: &RedisShards) -> Result<(), DrainError> {
        let tag = redis.keys().tag();
        recover(redis, &**self.clicks, self.installation).await?;
        redis.recovered();
        let this = former.only(|other| other.keys().tag() == tag);
        let flusher = Flusher::new(Some(this), Arc::clone(self.clicks), Arc::clone(self.clock));
        let emptied = self.empty(redis, &flusher).await;
        if let Err(error) = flusher.release().await {
            tracing::debug!(%error, "the lease on flushing is left to expire");
        }
        emptied?;
        tracing::info!(
            data_set = tag,
            "a former data set is written back and removed"
        );
        Ok(())
    }

    async fn empty(&self, redis: &RedisShard, flusher: &Flusher) -> Result<(), DrainError> {
        let (sink, epoch) = (RedisSink::new(redis), redis.epoch());
        for _ in 0..MAX_ROUNDS {
            let outcome = flusher.flush().await;
            if let Some(failure) = outcome.failure {
                return Err(failure.into());
            }
            if outcome.is_shared {
                break;
            }
            let is_its_own = |parked_in: &str| *parked_in == *epoch;
            let settled = settle_where(&sink, is_its_own, &**self.clicks, &self.cache).await?;
            if settled == 0 {
                remove_links(redis).await?;
                if remove(redis).await? {
                    return Ok(());
                }
            }
        }
        Err(DrainError::InUse(redis.keys().tag().to_owned()))
    }
}

/// The tag of a data set that was used before.
async fn tag_if_exists(redis: &RedisShard) -> Result<Option<String>, DrainError> {
    let mut candidate = redis.find_master().await.map_err(RecoveryError::from)?;
    let mut exists = redis::cmd("EXISTS");
    exists.arg(redis.keys().state());
    let exists: bool = candidate.query(&Call::plain(exists)).await?;
    Ok(exists.then(|| redis.keys().tag().to_owned()))
}

/// Removes the data set; `false` while it has clicks.
async fn remove(redis: &RedisShard) -> Result<bool, RedisFailure> {
    let keys = redis.keys();
    let (pending, flushing) = (keys.pending(), keys.flushing());
    let (state, recorders) = (keys.state(), keys.recorders());
    let (changes, flusher) = (keys.changes(), keys.flusher());
    let all = [&pending, &flushing, &state, &recorders, &changes, &flusher];
    let call = scripts::REMOVE_DATA_SET.call(&all.map(String::as_str));
    redis.query(&call, TIMEOUT).await
}

/// Removes the cached links: if the data is ever divided in this way again, they are older than changes of links.
async fn remove_links(redis: &RedisShard) -> Result<(), RedisFailure> {
    let of_links = redis.keys().links_prefix();
    loop {
        let mut list = redis::cmd("CLUSTER");
        list.arg("GETKEYSINSLOT")
            .arg(redis.keys().slot())
            .arg(KEYS_AT_ONCE);
        let mut keys: Vec<String> = redis.query(&Call::plain(list), TIMEOUT).await?;
        keys.retain(|key| key.starts_with(&of_links));
        if keys.is_empty() {
            return Ok(());
        }
        let mut unlink = redis::cmd("UNLINK");
        unlink.arg(keys);
        redis.query::<()>(&Call::plain(unlink), TIMEOUT).await?;
    }
}

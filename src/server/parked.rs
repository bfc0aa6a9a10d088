//! Clicks in doubt whose Redis data set is none of the configured ones: because a cluster became a single Redis, say, or
//! `REDIS_PREFIX` was changed. Without them no count would be exact, so they are settled before the service starts.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::cache::{CacheLimits, LinkCache};
use crate::clicks::{Flusher, RecoveryError, RedisSink, SettleError, recover, settle_parked};
use crate::config::Config;
use crate::domain::{Clock, SystemClock};
use crate::redis::{RedisFailure, RedisShard, RedisShards};
use crate::server::startup::{self, ConnectError};
use crate::store::{ParkedBatch, Store, StoreError};

/// Batches that are read at once.
const PAGE: u32 = 100;

/// How often a former data set is flushed, until nothing is pending in it, and the pause while another instance does so,
/// which may have crashed.
const MAX_FLUSHES: usize = 100;
const OTHERS_PAUSE: Duration = Duration::from_millis(200);

/// Why the service cannot start: counts would lack clicks.
#[derive(Debug, thiserror::Error)]
pub enum ParkedError {
    /// They are not settled.
    #[error(
        "REDIS_URL: {clicks} clicks in doubt are parked for the Redis data set {data_set}, which is not configured; start once \
         with the former REDIS_URL and REDIS_PREFIX, or give the clicks up with `shunt drop-parked-clicks`"
    )]
    Left {
        /// How many.
        clicks: u64,
        /// The first of the data sets.
        data_set: String,
    },
    /// The database failed.
    #[error("DATABASE_URL: {0}")]
    Store(#[from] StoreError),
}

/// Why a former data set could not be settled.
#[derive(Debug, thiserror::Error)]
enum FormerError {
    #[error(transparent)]
    Recovery(#[from] RecoveryError),
    #[error(transparent)]
    Redis(#[from] RedisFailure),
    #[error(transparent)]
    Settle(#[from] SettleError),
    #[error("clicks are still pending in it")]
    Pending,
}

/// Settles the batches whose data sets are not configured, where the configured Redis still has them.
///
/// # Errors
/// [`ParkedError::Left`] if some are left.
pub(super) async fn settle_former(
    store: &Store,
    redis: Option<&RedisShards>,
    limits: CacheLimits,
    clock: &Arc<dyn Clock>,
) -> Result<(), ParkedError> {
    for data_set in orphans(store, redis).await?.keys() {
        let Some(any) = redis.and_then(|shards| shards.iter().next()) else {
            break;
        };
        match settle(store, &any.with_tag(data_set), limits, clock).await {
            Ok(()) => tracing::info!(data_set, "clicks in doubt of a former data set are settled"),
            Err(error) => tracing::warn!(data_set, %error, "clicks in doubt cannot be settled"),
        }
    }
    let left = orphans(store, redis).await?;
    let clicks = left.values().flatten().map(clicks_of).sum();
    match left.into_keys().next() {
        Some(data_set) => Err(ParkedError::Left { clicks, data_set }),
        None => Ok(()),
    }
}

/// Settles the batches of one data set that is not configured, and writes back what is pending in it.
async fn settle(
    store: &Store,
    former: &RedisShard,
    limits: CacheLimits,
    clock: &Arc<dyn Clock>,
) -> Result<(), FormerError> {
    if !former.exists().await? {
        return Err(RedisFailure::Refused("it is not in the configured Redis".into()).into());
    }
    recover(former, &*store.clicks, store.database.installation()).await?;
    former.recovered();
    let shards = RedisShards::of(former.clone());
    let sink = RedisSink::new(former);
    // The cache of the service follows the changes of configured data sets alone.
    let cache = LinkCache::new(limits, None);
    while settle_parked([&sink].into_iter(), &*store.clicks, &cache).await? > 0 {}
    let flusher = Flusher::new(Some(shards), Arc::clone(&store.clicks), Arc::clone(clock));
    for _ in 0..MAX_FLUSHES {
        let outcome = flusher.flush().await;
        if outcome.failure.is_none() && !outcome.is_shared && outcome.flushed.clicks == 0 {
            return Ok(());
        }
        if outcome.is_shared {
            sleep(OTHERS_PAUSE).await;
        }
    }
    Err(FormerError::Pending)
}

/// Parked batches by their data sets, without those of configured ones.
async fn orphans(
    store: &Store,
    redis: Option<&RedisShards>,
) -> Result<BTreeMap<String, Vec<ParkedBatch>>, StoreError> {
    let sinks: Vec<_> = redis
        .into_iter()
        .flat_map(RedisShards::iter)
        .map(RedisSink::new)
        .collect();
    let mut orphans = BTreeMap::<_, Vec<_>>::new();
    let mut after = None;
    loop {
        let page = store.clicks.parked(after, PAGE).await?;
        let is_last = page.len() < PAGE as usize;
        for parked in page {
            after = Some((parked.batch.recorder, parked.batch.number));
            if !sinks.iter().any(|sink| sink.keeps(&parked)) {
                let data_set = parked.tag.clone().unwrap_or_else(|| parked.epoch.clone());
                orphans.entry(data_set).or_default().push(parked);
            }
        }
        if is_last {
            return Ok(orphans);
        }
    }
}

fn clicks_of(parked: &ParkedBatch) -> u64 {
    parked.batch.clicks.iter().map(|(_, clicks)| clicks).sum()
}

/// Why parked clicks could not be dropped.
#[derive(Debug, thiserror::Error)]
pub enum DropError {
    /// The database is not there.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// It failed.
    #[error("DATABASE_URL: {0}")]
    Store(#[from] StoreError),
    /// The setting names no Redis.
    #[error(transparent)]
    Redis(#[from] crate::redis::InvalidRedisUrl),
}

/// Drops the batches whose data sets are not configured, and says so in the log.
///
/// # Errors
/// [`DropError`].
pub async fn drop_parked_clicks(config: &Config) -> Result<(), DropError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let store = startup::databases(config, &clock).await?.store;
    let redis = startup::shards(config, &clock)?;
    let mut dropped = 0;
    for batch in orphans(&store, redis.as_ref())
        .await?
        .into_values()
        .flatten()
    {
        let key = (batch.batch.recorder, batch.batch.number);
        store.clicks.release_parked(key.0, key.1).await?;
        dropped += clicks_of(&batch);
    }
    tracing::warn!(
        "{dropped} parked clicks were dropped: their Redis data sets are not configured"
    );
    store.database.close().await?;
    Ok(())
}

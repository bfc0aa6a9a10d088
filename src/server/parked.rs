//! Clicks in doubt whose Redis data set is not configured any longer: for example, a cluster became a single Redis, or
//! `REDIS_PREFIX` was changed. Without them no count would be exact, so they are settled before the service starts.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::time::Instant;

use crate::clicks::{Drain, RedisSink};
use crate::config::Config;
use crate::domain::{Clock, SystemClock};
use crate::server::data_sets::{DRAIN_TIMEOUT, DataSets};
use crate::server::startup::{self, AttemptError, ConnectError, ask_database, retry};
use crate::shared_redis::{InvalidRedisUrl, RedisServers, RedisShards};
use crate::store::{ParkedBatch, Store, StoreError};

/// Batches that are read at once.
const PAGE: u32 = 100;

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
    #[error(transparent)]
    Database(#[from] ConnectError),
}

/// Drains the data sets that are not configured and for which batches are parked, if the configured Redis still has them.
///
/// # Errors
/// [`ParkedError::Left`] if batches are left.
pub(super) async fn settle_former(
    store: &Store,
    redis: Option<&RedisShards>,
    drain: &Drain<'_>,
) -> Result<(), ParkedError> {
    let former = ask_database(async || orphans(store, redis).await).await?;
    let configured = redis.and_then(|shards| shards.iter().next());
    let Some(configured) = configured.filter(|_| !former.is_empty()) else {
        return refuse(former);
    };
    let attempt = async || Ok(drain.drain(configured, former.keys().cloned()).await?);
    let drained = retry("REDIS_URL", Instant::now(), DRAIN_TIMEOUT, attempt).await;
    if let Err(AttemptError::Transient(why) | AttemptError::Permanent(why)) = drained {
        tracing::warn!("former data sets of Redis are not written back: {why}");
    }
    refuse(ask_database(async || orphans(store, redis).await).await?)
}

/// Refuses the start if batches are left.
fn refuse(left: BTreeMap<String, Vec<ParkedBatch>>) -> Result<(), ParkedError> {
    let clicks = left.values().flatten().map(clicks_of).sum();
    match left.into_keys().next() {
        Some(data_set) => Err(ParkedError::Left { clicks, data_set }),
        None => Ok(()),
    }
}

/// Parked batches by data set, without the configured data sets.
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
    parked
        .batch
        .clicks
        .iter()
        .map(|of_link| of_link.clicks)
        .sum()
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
    Redis(#[from] InvalidRedisUrl),
}

/// Drops the batches whose data sets are not configured, and says so in the log.
///
/// # Errors
/// [`DropError`].
pub async fn drop_parked_clicks(config: &Config) -> Result<(), DropError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let urls = config.redis.as_ref();
    let servers = urls.map(|urls| RedisServers::parse(&urls.0)).transpose()?;
    let store = startup::databases(config, &clock).await?.store;
    let redis = match &servers {
        Some(servers) => {
            let data_sets = DataSets {
                servers,
                config,
                store: &store,
                clock: &clock,
            };
            Some(data_sets.configured(Instant::now()).await?)
        }
        None => None,
    };
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
    store.close().await?;
    Ok(())
}

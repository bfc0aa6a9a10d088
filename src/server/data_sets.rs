//! Into which data sets Redis is divided: one on a single Redis, shards on a Redis Cluster.
//!
//! All instances divide a cluster alike: the number of shards is noted in the database. An instance that is given another
//! number first drains the former data sets, and refuses to start while that is not possible.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::clicks::Drain;
use crate::config::Config;
use crate::domain::{Clock, Shard};
use crate::server::startup::{AttemptError, ConnectError, REDIS_TIMEOUT, ask_database, retry};
use crate::shared_redis::keys::Keys;
use crate::shared_redis::{Layout, RedisServers, RedisShards};
use crate::store::{Store, StoreError};

/// How long the start tries to drain former data sets: longer than the lease of an instance that crashed.
pub(super) const DRAIN_TIMEOUT: Duration = Duration::from_secs(15);

/// What the data sets are made of.
pub(super) struct DataSets<'a> {
    pub(super) servers: &'a RedisServers,
    pub(super) config: &'a Config,
    pub(super) store: &'a Store,
    pub(super) clock: &'a Arc<dyn Clock>,
}

impl DataSets<'_> {
    /// The data sets that the settings name, not in use yet. Waits for Redis for a while, from `started` on.
    pub(super) async fn configured(&self, started: Instant) -> Result<RedisShards, ConnectError> {
        let layout = if self.is_cluster(started).await? {
            Layout::Shards(self.config.redis_shards)
        } else {
            Layout::Single
        };
        let (prefix, deadline) = (&self.config.redis_prefix, self.config.click_deadline / 2);
        Ok(RedisShards::new(
            self.servers,
            layout,
            prefix,
            deadline,
            self.clock,
        ))
    }

    /// Whether Redis is a cluster. One address that does not answer is taken for what the database knows.
    async fn is_cluster(&self, started: Instant) -> Result<bool, ConnectError> {
        let asked = retry("REDIS_URL", started, REDIS_TIMEOUT, async || {
            Ok(self.servers.are_a_cluster().await?)
        });
        match asked.await {
            Ok(is_cluster) => Ok(is_cluster),
            Err(AttemptError::Permanent(reason)) => Err(ConnectError {
                dependency: "REDIS_URL",
                reason,
            }),
            Err(AttemptError::Transient(_)) => {
                let noted = ask_database(async || self.noted().await).await?;
                Ok(noted.is_some())
            }
        }
    }

    async fn noted(&self) -> Result<Option<u16>, StoreError> {
        self.store.redis_shards(&self.config.redis_prefix).await
    }

    /// Makes sure that all instances divide a cluster into the same shards as this instance.
    pub(super) async fn divide(
        &self,
        configured: &RedisShards,
        drain: &Drain<'_>,
    ) -> Result<(), ConnectError> {
        let attempt = async || self.try_to_divide(configured, drain).await;
        let divided = retry("REDIS_SHARDS", Instant::now(), DRAIN_TIMEOUT, attempt).await;
        divided.map_err(|error| match error {
            AttemptError::Permanent(reason) => ConnectError {
                dependency: "REDIS_URL",
                reason,
            },
            AttemptError::Transient(reason) => ConnectError {
                dependency: "REDIS_SHARDS",
                reason,
            },
        })
    }

    async fn try_to_divide(
        &self,
        configured: &RedisShards,
        drain: &Drain<'_>,
    ) -> Result<(), AttemptError> {
        let Some(shard) = configured
            .iter()
            .find(|redis| redis.keys().shard().is_some())
        else {
            return Ok(());
        };
        let prefix = &self.config.redis_prefix;
        let shards = self.config.redis_shards;
        let noted = self.noted().await?;
        if noted == Some(shards) {
            return Ok(());
        }
        let drained = drain.drain(shard, former_tags(prefix, noted)).await;
        drained.map_err(|error| match error.into() {
            AttemptError::Transient(why) => {
                let former = noted.map_or_else(
                    || "a single Redis".to_owned(),
                    |noted| format!("{noted} shards"),
                );
                AttemptError::Transient(format!(
                    "is {shards}, and the data sets of {former} are not written back: {why}"
                ))
            }
            permanent @ AttemptError::Permanent(_) => permanent,
        })?;
        if self.store.note_redis_shards(prefix, noted, shards).await? {
            tracing::info!(
                shards,
                "the data on the Redis Cluster is divided into shards"
            );
            return Ok(());
        }
        let why = "another instance has just divided the data";
        Err(AttemptError::Transient(why.into()))
    }
}

/// The tags of the data sets of another number of shards, or of a single Redis that became a cluster.
fn former_tags(prefix: &str, noted: Option<u16>) -> Box<dyn Iterator<Item = String> + Send + '_> {
    match noted {
        Some(noted) => Box::new(
            Shard::all(noted)
                .map(move |shard| Keys::of_shard(prefix, shard, noted).tag().to_owned()),
        ),
        None => Box::new(std::iter::once(Keys::new(prefix).tag().to_owned())),
    }
}

//! Into which data sets Redis is divided: one on a single Redis, shards on a Redis Cluster.
//!
//! All instances divide a cluster alike: the number of shards is noted in the database. An instance that is given another
//! number first drains the former data sets, and refuses to start while that is not possible.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::cache::{CacheLimits, LinkCache};
use crate::clicks::{Drain, DrainError, RecoveryError};
use crate::config::Config;
use crate::domain::Clock;
use crate::redis::{FindMasterError, Layout, RedisServers, RedisShards};
use crate::server::startup::{AttemptError, ConnectError, REDIS_TIMEOUT, retry};
use crate::store::{Store, StoreError};

/// How long the start tries to drain former data sets: longer than the lease of an instance that crashed.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(15);

/// What the data sets are made of.
pub(super) struct DataSets<'a> {
    pub(super) servers: &'a RedisServers,
    pub(super) config: &'a Config,
    pub(super) limits: CacheLimits,
    pub(super) store: &'a Store,
    pub(super) clock: &'a Arc<dyn Clock>,
}

impl DataSets<'_> {
    /// All data sets, none of them in use yet. Waits for Redis for a while, from `started` on.
    pub(super) async fn shards(&self, started: Instant) -> Result<RedisShards, ConnectError> {
        let layout = if self.is_cluster(started).await? {
            self.divide().await?;
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
            Err(AttemptError::Transient(_)) => match self.noted().await {
                Ok(noted) => Ok(noted.is_some()),
                Err(error) => Err(ConnectError {
                    dependency: "DATABASE_URL",
                    reason: error.to_string(),
                }),
            },
        }
    }

    async fn noted(&self) -> Result<Option<u16>, StoreError> {
        let database = &self.store.database;
        database.redis_shards(&self.config.redis_prefix).await
    }

    /// Sees to it that all instances divide the cluster as this one does.
    async fn divide(&self) -> Result<(), ConnectError> {
        let attempt = async || self.try_to_divide().await;
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

    async fn try_to_divide(&self) -> Result<(), AttemptError> {
        let (database, prefix) = (&self.store.database, &self.config.redis_prefix);
        let shards = self.config.redis_shards;
        let noted = self.noted().await?;
        if noted == Some(shards) {
            return Ok(());
        }
        self.drain(noted).await?;
        if database.note_redis_shards(prefix, noted, shards).await? {
            tracing::info!(
                shards,
                "the data on the Redis Cluster is divided into shards"
            );
            return Ok(());
        }
        let why = "another instance has just divided the data";
        Err(AttemptError::Transient(why.into()))
    }

    /// Drains the data sets of another number of shards, or of a version that noted none.
    async fn drain(&self, noted: Option<u16>) -> Result<(), AttemptError> {
        let (prefix, deadline) = (&self.config.redis_prefix, self.config.click_deadline / 2);
        let layout = noted.map_or(Layout::OfFormerVersion, Layout::Shards);
        let former = RedisShards::given_up(self.servers, layout, prefix, deadline, self.clock);
        let former_name = noted.map_or_else(
            || "an older version".to_owned(),
            |noted| format!("{noted} shards"),
        );
        let drain = Drain {
            clicks: &self.store.clicks,
            installation: self.store.database.installation(),
            cache: LinkCache::new(self.limits, Some(&former)),
            clock: self.clock,
        };
        drain.drain(&former).await.map_err(|error| match error {
            DrainError::Recovery(RecoveryError::FindMasterError(FindMasterError::Wrong(why))) => {
                AttemptError::Permanent(why)
            }
            error => AttemptError::Transient(format!(
                "is {}, and the data sets of {former_name} are not written back: {error}",
                self.config.redis_shards
            )),
        })
    }
}

//! The addresses at which Redis may be found.

use std::sync::{Arc, Mutex, PoisonError};

use redis::{ConnectionInfo, IntoConnectionInfo};

use super::master::{self, FindMasterError};
use crate::domain::Shard;

/// The setting is no URL of a Redis.
#[derive(Debug, thiserror::Error)]
#[error("REDIS_URL: {0}")]
pub struct InvalidRedisUrl(String);

/// The configured addresses; cheap to clone.
#[derive(Clone)]
pub struct RedisServers(Arc<[ConnectionInfo]>);

impl RedisServers {
    /// One URL is of a single Redis or of a Redis Cluster; several are of masters of a cluster.
    ///
    /// # Errors
    /// When a URL is no URL of a Redis.
    pub fn parse(urls: &[String]) -> Result<Self, InvalidRedisUrl> {
        let servers = urls.iter().map(|url| url.as_str().into_connection_info());
        let servers: Result<Vec<_>, _> = servers.collect();
        servers
            .map(|servers| Self(servers.into()))
            .map_err(|error| InvalidRedisUrl(error.to_string()))
    }

    /// Whether they are of a Redis Cluster. A single address is asked.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn are_a_cluster(&self) -> Result<bool, FindMasterError> {
        match &*self.0 {
            [only] => master::is_of_a_cluster(only.clone()).await,
            _ => Ok(true),
        }
    }
}

/// Where a search for the master of a shard begins.
pub(super) struct Seeds {
    configured: RedisServers,
    /// The master that each shard found last. So the other masters are known where one address is configured, and that
    /// server is gone.
    masters: Mutex<Vec<(Shard, ConnectionInfo)>>,
}

impl Seeds {
    pub(super) fn new(configured: &RedisServers) -> Self {
        Self {
            configured: configured.clone(),
            masters: Mutex::default(),
        }
    }

    /// Notes the master of a shard.
    pub(super) fn note(&self, shard: Shard, master: &ConnectionInfo) {
        let mut masters = self.masters.lock().unwrap_or_else(PoisonError::into_inner);
        masters.retain(|(of, _)| *of != shard);
        masters.push((shard, master.clone()));
    }

    /// The configured servers, then the other shards' masters, each once.
    pub(super) fn all(&self) -> Vec<ConnectionInfo> {
        let mut all = self.configured.0.to_vec();
        let masters = self.masters.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, master) in &*masters {
            if all.iter().all(|known| known.addr() != master.addr()) {
                all.push(master.clone());
            }
        }
        all
    }
}

//! Occasional questions to the server of a data set, over its pool of connections.

use std::time::Duration;

use deadpool_redis::PoolError;
use redis::{FromRedisValue, RedisError, Value};
use tokio::time::timeout;

use super::call::Call;
use super::failure::RedisFailure;
use super::scripts;
use super::shard::RedisShard;
use crate::telemetry::metrics::{REDIS_ERRORS, counter_of_shard};

impl RedisShard {
    /// Whether the server answers at all; an answer does not mean that it takes writes.
    ///
    /// # Errors
    /// [`RedisFailure`].
    pub async fn ping(&self, deadline: Duration) -> Result<(), RedisFailure> {
        let ping = Call::plain(redis::cmd("PING"));
        self.query::<String>(&ping, deadline).await.map(drop)
    }

    /// Links with clicks that are not written back.
    ///
    /// # Errors
    /// [`RedisFailure`].
    pub async fn pending_links(&self, deadline: Duration) -> Result<u64, RedisFailure> {
        let keys = self.keys();
        let (state, pending, flushing) = (keys.state(), keys.pending(), keys.flushing());
        let mut call = scripts::COUNT_PENDING.call(&[&state, &pending, &flushing]);
        call.arg(keys.flush_prefix());
        self.query(&call, deadline).await
    }

    /// A setting of the server; `None` where it has none of this name.
    ///
    /// # Errors
    /// [`RedisFailure`]; a server may forbid this question.
    pub async fn server_setting(
        &self,
        name: &str,
        deadline: Duration,
    ) -> Result<Option<String>, RedisFailure> {
        let mut get = redis::cmd("CONFIG");
        get.arg("GET").arg(name);
        let found: Vec<(String, String)> = self.query(&Call::plain(get), deadline).await?;
        Ok(found.into_iter().next().map(|(_, value)| value))
    }

    /// Makes an occasional call over the pool, within `deadline`. A late answer does not mean that Redis is away: bulk
    /// work may be slow for reasons of its own.
    ///
    /// # Errors
    /// [`RedisFailure`].
    pub async fn query<T: FromRedisValue>(
        &self,
        call: &Call,
        deadline: Duration,
    ) -> Result<T, RedisFailure> {
        let reply = self.reply(call, deadline).await?;
        T::from_redis_value(reply).map_err(|error| self.failed(RedisError::from(error).into()))
    }

    async fn reply(&self, call: &Call, deadline: Duration) -> Result<Value, RedisFailure> {
        self.count_command();
        let master = self.master()?;
        let work = async {
            let mut connection = match master.pool.get().await {
                Ok(connection) => connection,
                Err(error) => {
                    let failure = RedisFailure::refused(&error);
                    // A failure to connect does mean that Redis is away.
                    if !matches!(error, PoolError::Timeout(_)) {
                        self.trip(&failure);
                    }
                    return Err(failure);
                }
            };
            call.send(&mut connection).await
        };
        // Boxed: the future is large because it may connect, and would make the futures of all callers large.
        let answer = timeout(deadline, Box::pin(work)).await;
        answer
            .unwrap_or_else(|_| Err(RedisFailure::late()))
            .map_err(|failure| self.failed(failure))
    }

    fn failed(&self, failure: RedisFailure) -> RedisFailure {
        counter_of_shard(REDIS_ERRORS, self.shard()).increment(1);
        if matches!(failure, RedisFailure::OtherTerm(_)) {
            self.trip(&failure);
        }
        failure
    }
}

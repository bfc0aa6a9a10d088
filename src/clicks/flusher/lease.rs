//! The lease on flushing a shard: only to avoid double work.

use std::convert::Infallible;

use futures_util::future::join_all;
use tokio::time::sleep;

use super::scan::TIMEOUT;
use super::{FlushError, Flusher, LEASE};
use crate::shared_redis::{RedisFailure, RedisShard, Term, scripts};
use crate::store::StoreError;

impl Flusher {
    /// Extends the lease again and again. The flush goes on although the lease could not be extended: its clicks may be
    /// nowhere else any more.
    pub(super) async fn keep_lease(&self, redis: &RedisShard, term: &Term) -> Infallible {
        loop {
            sleep(LEASE / 4).await;
            if redis.is_flushable()
                && let Err(failure) = self.extend_lease(redis).await
            {
                tracing::debug!(%failure, "the lease on flushing is left to expire");
            }
            if let Err(failure) = self.keep_draining(redis, term).await {
                tracing::debug!(%failure, "a superseded data set is not noted to be draining");
            }
        }
    }

    /// While a superseded data set is written back, no exact count can be read.
    pub(super) async fn keep_draining(
        &self,
        redis: &RedisShard,
        term: &Term,
    ) -> Result<(), StoreError> {
        if redis.is_superseded() {
            self.store.keep_draining(&term.epoch).await?;
        }
        Ok(())
    }

    async fn extend_lease(&self, redis: &RedisShard) -> Result<(), RedisFailure> {
        let mut call = scripts::EXTEND_FLUSH_LEASE.call(&[&redis.keys().flusher()]);
        call.arg(&self.name).arg(LEASE.as_secs() * 1_000);
        redis.query::<bool>(&call, TIMEOUT).await.map(drop)
    }

    /// Gives the leases back, when this instance stops.
    ///
    /// # Errors
    /// When Redis is away; the lease then expires soon.
    pub async fn release(&self) -> Result<(), FlushError> {
        let releases = self.flushable_shards().map(async |redis| {
            let mut call = scripts::RELEASE_FLUSH_LEASE.call(&[&redis.keys().flusher()]);
            call.arg(&self.name);
            redis.query::<bool>(&call, TIMEOUT).await
        });
        // A failure of one shard does not keep the other leases.
        let outcomes: Result<Vec<_>, _> = join_all(releases).await.into_iter().collect();
        outcomes.map(drop).map_err(FlushError::from)
    }
}

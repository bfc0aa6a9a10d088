//! Connections to Postgres and its upkeep.

use async_trait::async_trait;

use super::PostgresStore;
use crate::store::database::MAX_COUNTED;
use crate::store::{Database, HistoryCheck, HistoryNote, StoreError, Usage, rows};
use crate::telemetry::metrics::Connections;

/// Batches in the journal, changes in the outbox; each up to the parameter.
const USAGE: &str = "SELECT (SELECT count(*) FROM (SELECT 1 FROM click_journal LIMIT $1) batches),
    (SELECT count(*) FROM (SELECT 1 FROM link_changes WHERE published_at IS NULL LIMIT $1) changes),
    pg_database_size(current_database())";

#[async_trait]
impl Database for PostgresStore {
    fn installation(&self) -> &str {
        &self.installation
    }

    async fn redis_shards(&self, prefix: &str) -> Result<Option<u16>, StoreError> {
        let noted: Option<i32> = self
            .pool
            .run(async |session| {
                sqlx::query_scalar("SELECT shards FROM redis_shards WHERE prefix = $1")
                    .bind(prefix)
                    .fetch_optional(session)
                    .await
            })
            .await?;
        rows::shards(noted.map(i64::from))
    }

    async fn note_redis_shards(
        &self,
        prefix: &str,
        former: Option<u16>,
        shards: u16,
    ) -> Result<bool, StoreError> {
        let noted = self.pool.run(async |session| {
            sqlx::query(
                "INSERT INTO redis_shards (prefix, shards)
                 SELECT $1::text, $2::integer WHERE $3::integer IS NULL OR EXISTS (SELECT FROM redis_shards WHERE prefix = $1)
                 ON CONFLICT (prefix) DO UPDATE SET shards = excluded.shards WHERE redis_shards.shards = $3",
            )
            .bind(prefix)
            .bind(i32::from(shards))
            .bind(former.map(i32::from))
            .execute(session)
            .await
        });
        Ok(noted.await?.rows_affected() == 1)
    }

    fn connections(&self) -> Connections {
        self.pool.connections()
    }

    async fn check_history(
        &self,
        others: Option<&HistoryNote>,
    ) -> Result<Option<HistoryCheck>, StoreError> {
        self.check(others).await.map(Some)
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.pool
            .run_with_priority(async |session| sqlx::query("SELECT 1").execute(session).await)
            .await?;
        Ok(())
    }

    async fn usage(&self) -> Result<Usage, StoreError> {
        let counted = self
            .pool
            .run(async |session| {
                sqlx::query_as(USAGE)
                    .bind(MAX_COUNTED)
                    .fetch_one(session)
                    .await
            })
            .await?;
        Ok(rows::usage(counted, None))
    }
}

//! Connections to SQLite and its upkeep.

use async_trait::async_trait;

use super::SqliteStore;
use crate::store::database::MAX_COUNTED;
use crate::store::{Database, StoreError, Usage, rows};
use crate::telemetry::metrics::Connections;

/// Batches in the journal, changes in the outbox; each up to the parameter.
const USAGE: &str = "SELECT (SELECT count(*) FROM (SELECT 1 FROM click_journal LIMIT $1) batches),
    (SELECT count(*) FROM (SELECT 1 FROM link_changes LIMIT $1) changes),
    (SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size)";

#[async_trait]
impl Database for SqliteStore {
    fn installation(&self) -> &str {
        &self.installation
    }

    async fn redis_shards(&self, prefix: &str) -> Result<Option<u16>, StoreError> {
        let noted = sqlx::query_scalar("SELECT shards FROM redis_shards WHERE prefix = ?1")
            .bind(prefix)
            .fetch_optional(&mut *self.reader.get().await?)
            .await?;
        rows::shards(noted)
    }

    async fn note_redis_shards(
        &self,
        prefix: &str,
        former: Option<u16>,
        shards: u16,
    ) -> Result<bool, StoreError> {
        let noted = sqlx::query(
            "INSERT INTO redis_shards (prefix, shards)
             SELECT ?1, ?2 WHERE ?3 IS NULL OR EXISTS (SELECT 1 FROM redis_shards WHERE prefix = ?1)
             ON CONFLICT (prefix) DO UPDATE SET shards = excluded.shards WHERE redis_shards.shards = ?3",
        )
        .bind(prefix)
        .bind(shards)
        .bind(former)
        .execute(&mut *self.writer.get().await?)
        .await?;
        Ok(noted.rows_affected() == 1)
    }

    fn connections(&self) -> Connections {
        self.reader.connections()
    }

    async fn ping(&self) -> Result<(), StoreError> {
        sqlx::query("SELECT 1")
            .execute(&mut *self.reader.get_with_priority().await?)
            .await?;
        Ok(())
    }

    async fn usage(&self) -> Result<Usage, StoreError> {
        let counted = sqlx::query_as(USAGE)
            .bind(MAX_COUNTED)
            .fetch_one(&mut *self.reader.get().await?)
            .await?;
        Ok(rows::usage(counted, self.log.disk()))
    }

    async fn maintenance_is_due(&self) {
        self.log.checkpoint_is_due().await;
    }

    async fn maintain(&self) -> Result<(), StoreError> {
        self.presence.check();
        self.log.checkpoint(&self.writer).await
    }

    async fn close(&self) -> Result<(), StoreError> {
        self.log.close().await
    }
}

//! The outbox in SQLite.

use async_trait::async_trait;

use super::SqliteStore;
use crate::store::rows;
use crate::store::{Change, Outbox, StoreError};

#[async_trait]
impl Outbox for SqliteStore {
    async fn unpublished_changes(&self, after: i64, limit: u32) -> Result<Vec<Change>, StoreError> {
        if self.owner.is_none() {
            return Ok(Vec::new());
        }
        let found =
            sqlx::query_as("SELECT number, short_code FROM link_changes WHERE number > ?1 ORDER BY number LIMIT ?2")
                .bind(after)
                .bind(i64::from(limit))
                .fetch_all(&mut *self.reader.get().await?)
                .await?;
        Ok(rows::changes(found))
    }

    async fn changes_published(
        &self,
        numbers: &[i64],
        term: Option<i64>,
    ) -> Result<(), StoreError> {
        if self.owner.is_none() {
            // The process that owns the outbox has not read them yet.
            return Ok(());
        }
        let numbers = serde_json::json!(numbers).to_string();
        sqlx::query(
            "DELETE FROM link_changes WHERE number IN (SELECT value FROM json_each(?1)) AND (?2 IS NULL OR EXISTS (
                 SELECT 1 FROM data_sets AS used
                 WHERE term = ?2 AND term = (SELECT max(term) FROM data_sets WHERE tag = used.tag)))",
        )
        .bind(numbers)
        .bind(term)
        .execute(&mut *self.writer.get().await?)
        .await?;
        Ok(())
    }

    fn is_alone(&self) -> bool {
        self.owner.is_some()
    }
}

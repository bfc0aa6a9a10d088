//! The outbox in SQLite.

use async_trait::async_trait;

use super::SqliteStore;
use crate::store::rows;
use crate::store::{Change, ChangePosition, ChangesSince, Outbox, StoreError};

#[async_trait]
impl Outbox for SqliteStore {
    async fn unpublished_changes(&self, after: i64, limit: u32) -> Result<Vec<Change>, StoreError> {
        let found =
            sqlx::query_as("SELECT number, short_code FROM link_changes WHERE number > ?1 ORDER BY number LIMIT ?2")
                .bind(after)
                .bind(i64::from(limit))
                .fetch_all(&mut *self.reader.get().await?)
                .await?;
        Ok(rows::changes(found))
    }

    async fn changes_published(&self, numbers: &[i64], terms: &[i64]) -> Result<bool, StoreError> {
        let numbers = serde_json::json!(numbers).to_string();
        let terms = serde_json::json!(terms).to_string();
        let mut writer = self.writer.get().await?;
        sqlx::query(
            "DELETE FROM link_changes WHERE number IN (SELECT value FROM json_each(?1)) AND NOT EXISTS (
                 SELECT 1 FROM json_each(?2) AS published WHERE NOT EXISTS (
                     SELECT 1 FROM data_sets AS used WHERE used.term = published.value
                     AND used.term = (SELECT max(term) FROM data_sets WHERE tag = used.tag)))",
        )
        .bind(&numbers)
        .bind(terms)
        .execute(&mut *writer)
        .await?;
        let are_all_published = sqlx::query_scalar(
            "SELECT NOT EXISTS (SELECT 1 FROM link_changes WHERE number IN (SELECT value FROM json_each(?1)))",
        );
        Ok(are_all_published
            .bind(numbers)
            .fetch_one(&mut *writer)
            .await?)
    }

    async fn changes_since(
        &self,
        _: Option<&ChangePosition>,
        _: u32,
    ) -> Result<ChangesSince, StoreError> {
        Ok(ChangesSince {
            changes: Some(Vec::new()),
            position: ChangePosition(String::new()),
        })
    }

    async fn prune_changes(&self, _: u32) -> Result<u64, StoreError> {
        // Its one reader takes out all of them.
        Ok(0)
    }

    fn is_alone(&self) -> bool {
        true
    }
}

//! The outbox in Postgres.

use async_trait::async_trait;

use super::PostgresStore;
use crate::store::rows;
use crate::store::{Change, Outbox, StoreError};

#[async_trait]
impl Outbox for PostgresStore {
    async fn unpublished_changes(&self, after: i64, limit: u32) -> Result<Vec<Change>, StoreError> {
        let found = self
            .pool
            .run(async |session| {
                sqlx::query_as(
                    "SELECT number, short_code FROM link_changes WHERE number > $1 ORDER BY number LIMIT $2",
                )
                .bind(after)
                .bind(i64::from(limit))
                .fetch_all(session)
                .await
            })
            .await?;
        Ok(rows::changes(found))
    }

    async fn changes_published(
        &self,
        numbers: &[i64],
        term: Option<i64>,
    ) -> Result<(), StoreError> {
        self.pool
            .run(async |session| {
                sqlx::query(
                    "DELETE FROM link_changes WHERE number = ANY($1) AND ($2::bigint IS NULL OR EXISTS (
                         SELECT FROM data_sets used
                         WHERE term = $2 AND term = (SELECT max(term) FROM data_sets WHERE tag = used.tag)))",
                )
                .bind(numbers)
                .bind(term)
                .execute(session)
                .await
            })
            .await?;
        Ok(())
    }
}

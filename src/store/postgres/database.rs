//! Connections to Postgres and its upkeep.

use async_trait::async_trait;

use super::PostgresStore;
use crate::store::database::MAX_COUNTED;
use crate::store::{Database, HistoryCheck, HistoryNote, StoreError, Usage, rows};
use crate::telemetry::metrics::Connections;

/// Batches in the journal, changes in the outbox; each up to the parameter.
const USAGE: &str = "SELECT (SELECT count(*) FROM (SELECT 1 FROM click_journal LIMIT $1) batches),
    (SELECT count(*) FROM (SELECT 1 FROM link_changes WHERE published_at IS NULL LIMIT $1) changes)";

#[async_trait]
impl Database for PostgresStore {
    fn installation(&self) -> &str {
        &self.installation
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

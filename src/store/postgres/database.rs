//! Connections to Postgres and its upkeep.

use async_trait::async_trait;

use super::PostgresStore;
use crate::store::{Database, HistoryCheck, HistoryNote, StoreError};
use crate::telemetry::metrics::Connections;

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
}

//! Connections to Postgres and its upkeep.

use async_trait::async_trait;

use super::PostgresStore;
use crate::store::database::MAX_COUNTED;
use crate::store::{Database, StoreError, Usage, rows};
use crate::telemetry::metrics::Connections;

#[async_trait]
impl Database for PostgresStore {
    fn installation(&self) -> &str {
        &self.installation
    }

    fn connections(&self) -> Connections {
        self.pool.connections()
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
                sqlx::query_as(rows::USAGE)
                    .bind(MAX_COUNTED)
                    .fetch_one(session)
                    .await
            })
            .await?;
        Ok(rows::usage(counted, None))
    }
}

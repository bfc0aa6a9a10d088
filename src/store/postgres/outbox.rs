//! The outbox in Postgres.

use async_trait::async_trait;

use super::PostgresStore;
use crate::store::rows;
use crate::store::{Change, ChangePosition, ChangesSince, Outbox, StoreError};

#[async_trait]
impl Outbox for PostgresStore {
    async fn unpublished_changes(&self, after: i64, limit: u32) -> Result<Vec<Change>, StoreError> {
        let found = self
            .pool
            .run(async |session| {
                sqlx::query_as(
                    "SELECT number, short_code FROM link_changes
                     WHERE number > $1 AND published_at IS NULL ORDER BY number LIMIT $2",
                )
                .bind(after)
                .bind(i64::from(limit))
                .fetch_all(session)
                .await
            })
            .await?;
        Ok(rows::changes(found))
    }

    async fn changes_published(&self, numbers: &[i64], terms: &[i64]) -> Result<bool, StoreError> {
        let are_all_published = self.pool.run(async |session| {
            // The snapshot has the outbox as it was before.
            sqlx::query_scalar(
                "WITH published AS (
                     UPDATE link_changes SET published_at = now_micros() WHERE number = ANY($1) AND published_at IS NULL
                     AND NOT EXISTS (
                         SELECT FROM unnest($2::bigint[]) AS published (term) WHERE NOT EXISTS (
                             SELECT FROM data_sets used WHERE used.term = published.term
                             AND used.term = (SELECT max(term) FROM data_sets WHERE tag = used.tag)))
                     RETURNING number)
                 SELECT NOT EXISTS (
                     SELECT FROM link_changes WHERE number = ANY($1) AND published_at IS NULL
                     AND number NOT IN (SELECT number FROM published))",
            )
            .bind(numbers)
            .bind(terms)
            .fetch_one(session)
            .await
        });
        Ok(are_all_published.await?)
    }

    async fn changes_since(
        &self,
        position: Option<&ChangePosition>,
        limit: u32,
    ) -> Result<ChangesSince, StoreError> {
        // One statement, so one snapshot: what it does not show is asked for the next time. Redirects may wait for it.
        let found: Vec<(String, Option<i64>, Option<String>)> = self
            .pool
            .run_with_priority(async |session| {
                sqlx::query_as(
                    "SELECT now::text, number, short_code FROM txid_current_snapshot() AS now LEFT JOIN LATERAL (
                         SELECT number, short_code FROM link_changes
                         WHERE changed_in >= txid_snapshot_xmin($1::text::txid_snapshot)
                           AND NOT txid_visible_in_snapshot(changed_in, $1::text::txid_snapshot)
                         ORDER BY number LIMIT $2
                     ) new ON true",
                )
                .bind(position.map(|position| position.0.as_str()))
                .bind(i64::from(limit) + 1)
                .fetch_all(session)
                .await
            })
            .await?;
        let Some((now, ..)) = found.first() else {
            return Err(StoreError::Unexpected("there is no snapshot".into()));
        };
        let position = ChangePosition(now.clone());
        let changes: Vec<_> = found
            .into_iter()
            .filter_map(|(_, number, code)| number.zip(code))
            .collect();
        let are_all = changes.len() <= limit as usize;
        Ok(ChangesSince {
            changes: are_all.then(|| rows::changes(changes)),
            position,
        })
    }

    async fn prune_changes(&self, limit: u32) -> Result<u64, StoreError> {
        let pruned = self
            .pool
            .run(async |session| {
                sqlx::query(
                    "DELETE FROM link_changes WHERE number = ANY (ARRAY(
                         SELECT number FROM link_changes
                         WHERE published_at < now_micros() - 600000000 OR changed_at < now_micros() - 86400000000
                         ORDER BY number LIMIT $1))",
                )
                .bind(i64::from(limit))
                .execute(session)
                .await
            })
            .await?;
        Ok(pruned.rows_affected())
    }
}

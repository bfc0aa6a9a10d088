//! Links in Postgres.

use std::collections::HashSet;

use async_trait::async_trait;

use super::PostgresStore;
use crate::domain::{LinkId, Principal, ShortCode, Timestamp, UserId};
use crate::store::rows;
use crate::store::{
    CreateLinkError, CreatedLink, CreatedOfMany, Deleted, EditLink, Edited, IsExpected, Links,
    NewLink, StoreError, UsedKey,
};

#[async_trait]
impl Links for PostgresStore {
    async fn create_link(
        &self,
        link: NewLink<'_>,
        max_links: u64,
    ) -> Result<CreatedLink, CreateLinkError> {
        self.insert_checked(&link, max_links).await
    }

    async fn create_links(
        &self,
        links: &[NewLink<'_>],
        max_links: u64,
    ) -> Result<Vec<Result<CreatedOfMany, CreateLinkError>>, CreateLinkError> {
        self.insert_many(links, max_links).await
    }

    async fn taken_codes(
        &self,
        owner: UserId,
        codes: &[&ShortCode],
    ) -> Result<HashSet<ShortCode>, StoreError> {
        let codes: Vec<&str> = codes.iter().map(|code| code.as_str()).collect();
        let taken = self.pool.run(async |session| {
            sqlx::query_scalar(
                "SELECT short_code FROM links WHERE short_code = ANY($1)
                 UNION SELECT short_code FROM retired_codes
                 WHERE short_code = ANY($1) AND owner_id IS DISTINCT FROM $2",
            )
            .bind(codes)
            .bind(owner.0)
            .fetch_all(session)
            .await
        });
        let taken: Vec<String> = taken.await?;
        taken.iter().map(|code| rows::code(code)).collect()
    }

    async fn used_key(
        &self,
        owner: Principal,
        key: &str,
        since: Timestamp,
    ) -> Result<Option<UsedKey>, StoreError> {
        self.find_used_key(owner, key, since).await
    }

    async fn prune_keys(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let pruned = self.pool.run(async |session| {
            sqlx::query(
                "DELETE FROM idempotency_keys WHERE (owner_id, key) IN (
                     SELECT owner_id, key FROM idempotency_keys WHERE used_at < $1 LIMIT $2)",
            )
            .bind(before.micros())
            .bind(i64::from(limit))
            .execute(session)
            .await
        });
        Ok(pruned.await?.rows_affected())
    }

    async fn edit_link(
        &self,
        owner: Principal,
        code: &ShortCode,
        edit: EditLink<'_>,
        now: Timestamp,
    ) -> Result<Edited, StoreError> {
        self.edit_in_transaction(owner, code, edit, now).await
    }

    async fn delete_link(
        &self,
        owner: Principal,
        code: &ShortCode,
        is_expected: Option<IsExpected<'_>>,
    ) -> Result<Deleted, StoreError> {
        self.delete_in_transaction(owner, code, is_expected).await
    }

    async fn uncount_deleted(
        &self,
        after: Option<LinkId>,
        limit: u32,
    ) -> Result<Option<LinkId>, StoreError> {
        // A link leaves the list when it had no clicks a minute after it was looked at first: no flush takes so long that
        // saw it before.
        let looked_at: Vec<(Option<i64>, i64)> = self
            .pool
            .run(async |session| {
                sqlx::query_as(
                    "WITH batch AS (
                         SELECT link_id, recheck_at FROM deleted_links
                         WHERE link_id > $1 AND (recheck_at IS NULL OR recheck_at < now_micros())
                         ORDER BY link_id LIMIT $2 FOR UPDATE SKIP LOCKED
                     ),
                     state AS (
                         SELECT link_id, recheck_at IS NOT NULL AND NOT EXISTS (
                             SELECT FROM link_clicks WHERE link_clicks.link_id = batch.link_id) AS is_done
                         FROM batch
                     ),
                     uncounted AS (
                         DELETE FROM link_clicks WHERE link_id = ANY (ARRAY(
                             SELECT link_id FROM link_clicks WHERE link_id = ANY (ARRAY(SELECT link_id FROM batch))
                             ORDER BY link_id FOR UPDATE SKIP LOCKED))
                     ),
                     series AS (
                         DELETE FROM link_series WHERE (link_id, interval) IN (
                             SELECT link_id, interval FROM link_series WHERE link_id = ANY (ARRAY(SELECT link_id FROM batch))
                             FOR UPDATE SKIP LOCKED)
                     ),
                     limits AS (
                         DELETE FROM link_limits WHERE link_id = ANY (ARRAY(
                             SELECT link_id FROM link_limits WHERE link_id = ANY (ARRAY(SELECT link_id FROM batch))
                             ORDER BY link_id FOR UPDATE SKIP LOCKED))
                     ),
                     done AS (
                         DELETE FROM deleted_links WHERE link_id = ANY (ARRAY(SELECT link_id FROM state WHERE is_done))
                     ),
                     again AS (
                         UPDATE deleted_links SET recheck_at = now_micros() + 60000000
                         WHERE link_id = ANY (ARRAY(SELECT link_id FROM state WHERE NOT is_done))
                     )
                     SELECT max(link_id), count(*) FROM batch",
                )
                .bind(after.map_or(-1, LinkId::number))
                .bind(i64::from(limit))
                .fetch_all(session)
                .await
            })
            .await?;
        let (last, links) = rows::written(looked_at).unwrap_or_default();
        let last = last.filter(|_| links == i64::from(limit));
        last.map(rows::link_id).transpose()
    }
}

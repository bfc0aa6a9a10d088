//! Links in Postgres.

use std::collections::HashSet;

use async_trait::async_trait;

use super::{PostgresStore, link_columns, not_of_deleted_user, target_columns};
use crate::domain::{
    Link, LinkFilter, LinkId, LinkTarget, Principal, ShortCode, Timestamp, UserId,
};
use crate::store::rows::{self, CountedRow, LinkRow, TargetRow};
use crate::store::{
    CreateLinkError, CreatedLink, CreatedOfMany, Deleted, EditLink, Edited, IsExpected, LinkMade,
    LinkSearch, Links, NewLink, Position, ScannedLinks, StoreError, ToCount, UsedKey,
    WrittenClicks,
};

/// A link of an owner by its code, as it is now.
macro_rules! link_of_owner {
    () => {
        concat!(
            "SELECT ",
            link_columns!(),
            " FROM links WHERE short_code = $2
             AND owner_id = (SELECT user_id FROM account_keys WHERE user_id = $1 AND key = $3)"
        )
    };
}

pub(super) use link_of_owner;

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

    async fn link_of(
        &self,
        owner: Principal,
        code: &ShortCode,
    ) -> Result<Option<ToCount<Link>>, StoreError> {
        let found = self.pool.run(async |session| {
            sqlx::query_as(link_of_owner!())
                .bind(owner.user.0)
                .bind(code.as_str())
                .bind(owner.key.as_bytes())
                .fetch_optional(session)
                .await
        });
        let found: Option<LinkRow> = found.await?;
        found
            .map(|row| rows::link_to_count(owner.user, row))
            .transpose()
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

    async fn link_target(&self, code: &ShortCode) -> Result<Option<LinkTarget>, StoreError> {
        let found: Option<TargetRow> = self
            .pool
            .run_with_priority(async |session| {
                sqlx::query_as(concat!(
                    "SELECT ",
                    target_columns!(),
                    " FROM links WHERE short_code = $1",
                    not_of_deleted_user!()
                ))
                .bind(code.as_str())
                .fetch_optional(session)
                .await
            })
            .await?;
        found.map(rows::target).transpose()
    }

    async fn link_to_count(
        &self,
        code: &ShortCode,
    ) -> Result<Option<ToCount<LinkTarget>>, StoreError> {
        let found: Option<CountedRow> = self
            .pool
            .run(async |session| {
                sqlx::query_as(concat!(
                    "SELECT ",
                    target_columns!(),
                    ", EXISTS (SELECT FROM click_journal WHERE parked) FROM links WHERE short_code = $1",
                    not_of_deleted_user!()
                ))
                .bind(code.as_str())
                .fetch_optional(session)
                .await
            })
            .await?;
        found.map(rows::counted).transpose()
    }

    async fn link_made(&self, code: &ShortCode) -> Result<Option<LinkMade>, StoreError> {
        let found: Option<(i64, Option<i64>)> = self
            .pool
            .run(async |session| {
                sqlx::query_as("SELECT created_at, max_clicks FROM links WHERE short_code = $1")
                    .bind(code.as_str())
                    .fetch_optional(session)
                    .await
            })
            .await?;
        found.map(rows::link_made).transpose()
    }

    async fn links_made(&self) -> Result<u64, StoreError> {
        let made: i64 = self
            .pool
            .run(async |session| {
                sqlx::query_scalar(
                    "SELECT CASE WHEN is_called THEN last_value - link_ids_left_out ELSE 0 END
                     FROM links_id_seq, database_history",
                )
                .fetch_one(session)
                .await
            })
            .await?;
        Ok(made.unsigned_abs())
    }

    async fn links_of(
        &self,
        owner: Principal,
        after: Option<Position>,
        limit: u32,
    ) -> Result<ToCount<Vec<Link>>, StoreError> {
        let after = after.unwrap_or_else(Position::newest);
        let found: Vec<LinkRow> = self
            .pool
            .run(async |session| {
                sqlx::query_as(concat!(
                    "SELECT ",
                    link_columns!(),
                    " FROM links WHERE owner_id = (SELECT user_id FROM account_keys WHERE user_id = $1 AND key = $5)
                     AND (created_at, id) < ($2, $3) ORDER BY created_at DESC, id DESC LIMIT $4"
                ))
                .bind(owner.user.0)
                .bind(after.key)
                .bind(after.id.number())
                .bind(i64::from(limit))
                .bind(owner.key.as_bytes())
                .fetch_all(session)
                .await
            })
            .await?;
        rows::links(owner.user, found)
    }

    async fn ending_links(
        &self,
        owner: Principal,
        now: Timestamp,
        limit: u32,
    ) -> Result<ToCount<Vec<Link>>, StoreError> {
        let found: Vec<LinkRow> = self
            .pool
            .run(async |session| {
                sqlx::query_as(concat!(
                    "SELECT ",
                    link_columns!(),
                    " FROM links WHERE owner_id = (SELECT user_id FROM account_keys WHERE user_id = $1 AND key = $2)
                     AND is_active AND removed_status IS NULL AND expires_at > $3 ORDER BY expires_at, id LIMIT $4"
                ))
                .bind(owner.user.0)
                .bind(owner.key.as_bytes())
                .bind(now.micros())
                .bind(i64::from(limit))
                .fetch_all(session)
                .await
            })
            .await?;
        rows::links(owner.user, found)
    }

    async fn scan_links(
        &self,
        owner: Principal,
        search: &LinkSearch<'_>,
    ) -> Result<ScannedLinks, StoreError> {
        self.scan(owner, search).await
    }

    async fn links_by_clicks(
        &self,
        owner: Principal,
        search: &LinkSearch<'_>,
    ) -> Result<ScannedLinks, StoreError> {
        self.by_clicks(owner, search).await
    }

    async fn scan_among(
        &self,
        owner: Principal,
        ids: &[LinkId],
        filter: &LinkFilter,
        now: Timestamp,
    ) -> Result<ScannedLinks, StoreError> {
        self.scan_ids(owner, ids, filter, now).await
    }

    async fn has_links(
        &self,
        owner: Principal,
        filter: &LinkFilter,
        count: u32,
    ) -> Result<bool, StoreError> {
        self.owner_has(owner, filter, count).await
    }

    async fn clicks_of_links(
        &self,
        owner: UserId,
        after: Option<Position>,
        limit: u32,
    ) -> Result<Vec<WrittenClicks>, StoreError> {
        self.written_clicks(owner, after, limit).await
    }

    async fn links_among(
        &self,
        owner: Principal,
        ids: &[LinkId],
        filter: &LinkFilter,
        now: Timestamp,
    ) -> Result<ToCount<Vec<Link>>, StoreError> {
        self.links_among_ids(owner, ids, filter, now).await
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

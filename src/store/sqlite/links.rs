//! Links in SQLite.

use std::collections::HashSet;

use async_trait::async_trait;

use super::{SqliteStore, link_columns, not_of_deleted_user, target_columns};
use crate::domain::{
    Link, LinkFilter, LinkId, LinkTarget, Principal, ShortCode, Timestamp, UserId,
};
use crate::store::rows::{self, CountedRow, LinkRow, TargetRow, UsedKeyRow};
use crate::store::{
    CreateLinkError, CreatedLink, CreatedOfMany, Deleted, EditLink, Edited, IsExpected, LinkMade,
    LinkSearch, Links, NewLink, Position, ScannedLinks, StoreError, ToCount, UsedKey,
    WrittenClicks,
};

/// A link of an owner by its code, as it is now.
pub(super) const LINK_OF_OWNER: &str = concat!(
    "SELECT ",
    link_columns!(),
    " FROM links WHERE short_code = ?2
     AND owner_id = (SELECT user_id FROM account_keys WHERE user_id = ?1 AND key = ?3)"
);

#[async_trait]
impl Links for SqliteStore {
    async fn create_link(
        &self,
        link: NewLink<'_>,
        max_links: u64,
    ) -> Result<CreatedLink, CreateLinkError> {
        self.insert_link(&link, max_links).await
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
        let codes: serde_json::Value = codes.iter().map(|code| code.as_str()).collect();
        let taken: Vec<String> = sqlx::query_scalar(
            "SELECT short_code FROM links WHERE short_code IN (SELECT value FROM json_each(?1))
             UNION SELECT short_code FROM retired_codes
             WHERE short_code IN (SELECT value FROM json_each(?1)) AND owner_id IS NOT ?2",
        )
        .bind(codes.to_string())
        .bind(owner.0)
        .fetch_all(&mut *self.reader.get().await?)
        .await?;
        taken.iter().map(|code| rows::code(code)).collect()
    }

    async fn used_key(
        &self,
        owner: Principal,
        key: &str,
        since: Timestamp,
    ) -> Result<Option<UsedKey>, StoreError> {
        let mut writer = self.writer.get().await?;
        sqlx::query(
            "DELETE FROM idempotency_keys WHERE owner_id = ?1 AND key = ?2 AND used_at < ?3",
        )
        .bind(owner.user.0)
        .bind(key)
        .bind(since.micros())
        .execute(&mut *writer)
        .await?;
        let found: Option<UsedKeyRow> = sqlx::query_as(
            "SELECT fingerprint, link_id, short_code, used_at, (SELECT removed_status FROM links WHERE id = link_id)
             FROM idempotency_keys
             WHERE owner_id = (SELECT user_id FROM account_keys WHERE user_id = ?1 AND key = ?3) AND key = ?2",
        )
        .bind(owner.user.0)
        .bind(key)
        .bind(owner.key.as_bytes())
        .fetch_optional(&mut *writer)
        .await?;
        found.map(rows::used_key).transpose()
    }

    async fn prune_keys(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let pruned = sqlx::query(
            "DELETE FROM idempotency_keys WHERE (owner_id, key) IN (
                 SELECT owner_id, key FROM idempotency_keys WHERE used_at < ?1 LIMIT ?2)",
        )
        .bind(before.micros())
        .bind(limit)
        .execute(&mut *self.writer.get().await?)
        .await?;
        Ok(pruned.rows_affected())
    }

    async fn link_of(
        &self,
        owner: Principal,
        code: &ShortCode,
    ) -> Result<Option<ToCount<Link>>, StoreError> {
        let found: Option<LinkRow> = sqlx::query_as(LINK_OF_OWNER)
            .bind(owner.user.0)
            .bind(code.as_str())
            .bind(owner.key.as_bytes())
            .fetch_optional(&mut *self.reader.get().await?)
            .await?;
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
        let found: Option<TargetRow> = sqlx::query_as(concat!(
            "SELECT ",
            target_columns!(),
            " FROM links WHERE short_code = ?1",
            not_of_deleted_user!()
        ))
        .bind(code.as_str())
        .fetch_optional(&mut *self.reader.get_with_priority().await?)
        .await?;
        found.map(rows::target).transpose()
    }

    async fn link_to_count(
        &self,
        code: &ShortCode,
    ) -> Result<Option<ToCount<LinkTarget>>, StoreError> {
        let found: Option<CountedRow> = sqlx::query_as(concat!(
            "SELECT ",
            target_columns!(),
            ", EXISTS (SELECT 1 FROM click_journal WHERE parked) FROM links WHERE short_code = ?1",
            not_of_deleted_user!()
        ))
        .bind(code.as_str())
        .fetch_optional(&mut *self.reader.get().await?)
        .await?;
        found.map(rows::counted).transpose()
    }

    async fn link_made(&self, code: &ShortCode) -> Result<Option<LinkMade>, StoreError> {
        let found: Option<(i64, Option<i64>)> =
            sqlx::query_as("SELECT created_at, max_clicks FROM links WHERE short_code = ?1")
                .bind(code.as_str())
                .fetch_optional(&mut *self.reader.get().await?)
                .await?;
        found.map(rows::link_made).transpose()
    }

    async fn links_made(&self) -> Result<u64, StoreError> {
        let made: Option<i64> =
            sqlx::query_scalar("SELECT seq FROM sqlite_sequence WHERE name = 'links'")
                .fetch_optional(&mut *self.reader.get().await?)
                .await?;
        Ok(made.unwrap_or_default().unsigned_abs())
    }

    async fn links_of(
        &self,
        owner: Principal,
        after: Option<Position>,
        limit: u32,
    ) -> Result<ToCount<Vec<Link>>, StoreError> {
        let after = after.unwrap_or_else(Position::newest);
        let found: Vec<LinkRow> = sqlx::query_as(concat!(
            "SELECT ",
            link_columns!(),
            " FROM links
             WHERE owner_id = ?1 AND EXISTS (SELECT 1 FROM account_keys WHERE user_id = ?1 AND key = ?5)
             AND (created_at, id) < (?2, ?3)
             ORDER BY created_at DESC, id DESC LIMIT ?4"
        ))
        .bind(owner.user.0)
        .bind(after.key)
        .bind(after.id.number())
        .bind(i64::from(limit))
        .bind(owner.key.as_bytes())
        .fetch_all(&mut *self.reader.get().await?)
        .await?;
        rows::links(owner.user, found)
    }

    async fn ending_links(
        &self,
        owner: Principal,
        now: Timestamp,
        limit: u32,
    ) -> Result<ToCount<Vec<Link>>, StoreError> {
        let found: Vec<LinkRow> = sqlx::query_as(concat!(
            "SELECT ",
            link_columns!(),
            " FROM links
             WHERE owner_id = ?1 AND EXISTS (SELECT 1 FROM account_keys WHERE user_id = ?1 AND key = ?2)
             AND is_active AND removed_status IS NULL AND expires_at > ?3
             ORDER BY expires_at, id LIMIT ?4"
        ))
        .bind(owner.user.0)
        .bind(owner.key.as_bytes())
        .bind(now.micros())
        .bind(i64::from(limit))
        .fetch_all(&mut *self.reader.get().await?)
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
        _: Option<LinkId>,
        _: u32,
    ) -> Result<Option<LinkId>, StoreError> {
        // Clicks are in the row of their link, and go with it.
        Ok(None)
    }
}

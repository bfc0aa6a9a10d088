//! Links in SQLite.

use std::collections::HashSet;

use async_trait::async_trait;

use super::SqliteStore;
use crate::domain::{LinkId, Principal, ShortCode, Timestamp, UserId};
use crate::store::rows::{self, UsedKeyRow};
use crate::store::{
    CreateLinkError, CreatedLink, CreatedOfMany, Deleted, EditLink, Edited, IsExpected, Links,
    NewLink, StoreError, UsedKey,
};

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
        _: Option<LinkId>,
        _: u32,
    ) -> Result<Option<LinkId>, StoreError> {
        // Clicks are in the row of their link, and go with it.
        Ok(None)
    }
}

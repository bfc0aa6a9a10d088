//! Links in SQLite.

use async_trait::async_trait;

use super::SqliteStore;
use crate::domain::{Link, LinkId, LinkTarget, Principal, ShortCode};
use crate::store::links::quota;
use crate::store::rows::{self, CountedRow, LinkRow, TargetRow};
use crate::store::{Change, CreateLinkError, Links, NewLink, Position, StoreError, ToCount};

#[async_trait]
impl Links for SqliteStore {
    async fn create_link(
        &self,
        link: NewLink<'_>,
        max_links: u64,
    ) -> Result<Link, CreateLinkError> {
        const TOTAL: &str =
            "SELECT coalesce(links, 0) FROM users LEFT JOIN link_totals ON owner_id = users.id
             WHERE users.id = ?1 AND token_key = ?2";
        let quota = quota(max_links);
        let mut writer = self.writer.get().await?;
        // There is one writer at a time, and a trigger adds the link to the owner's total.
        let created: Vec<i64> = sqlx::query_scalar(
            "INSERT INTO links (short_code, target_url, owner_id, created_at) SELECT ?1, ?2, users.id, ?4
             FROM users WHERE users.id = ?3 AND token_key = ?5
             AND NOT EXISTS (SELECT 1 FROM retired_codes WHERE short_code = ?1)
             AND coalesce((SELECT links FROM link_totals WHERE owner_id = ?3), 0) < ?6
             ON CONFLICT (short_code) DO NOTHING RETURNING id",
        )
        .bind(link.code.as_str())
        .bind(link.target.as_str())
        .bind(link.owner.user.0)
        .bind(link.created_at.micros())
        .bind(link.owner.key.as_bytes())
        .bind(quota)
        .fetch_all(&mut *writer)
        .await
        .map_err(StoreError::from)?;
        if let Some(id) = rows::written(created) {
            return Ok(link.with_id(rows::link_id(id)?));
        }
        let total: Option<i64> = sqlx::query_scalar(TOTAL)
            .bind(link.owner.user.0)
            .bind(link.owner.key.as_bytes())
            .fetch_optional(&mut *writer)
            .await
            .map_err(StoreError::from)?;
        Err(match total {
            None => CreateLinkError::OwnerGone,
            Some(total) if total >= quota => CreateLinkError::QuotaReached,
            Some(_) => CreateLinkError::CodeTaken,
        })
    }

    async fn link_target(&self, code: &ShortCode) -> Result<Option<LinkTarget>, StoreError> {
        let found: Option<TargetRow> =
            sqlx::query_as("SELECT id, target_url, is_active FROM links WHERE short_code = ?1")
                .bind(code.as_str())
                .fetch_optional(&mut *self.reader.get_with_priority().await?)
                .await?;
        found.map(rows::target).transpose()
    }

    async fn link_to_count(
        &self,
        code: &ShortCode,
    ) -> Result<Option<ToCount<LinkTarget>>, StoreError> {
        let found: Option<CountedRow> = sqlx::query_as(
            "SELECT id, target_url, is_active, EXISTS (SELECT 1 FROM click_journal WHERE held)
             FROM links WHERE short_code = ?1",
        )
        .bind(code.as_str())
        .fetch_optional(&mut *self.reader.get().await?)
        .await?;
        found.map(rows::counted).transpose()
    }

    async fn links_of(
        &self,
        owner: Principal,
        after: Option<Position>,
        limit: u32,
    ) -> Result<ToCount<Vec<Link>>, StoreError> {
        let after = after.unwrap_or(Position::NEWEST);
        let found: Vec<LinkRow> = sqlx::query_as(
            "SELECT id, short_code, target_url, is_active, created_at,
                 EXISTS (SELECT 1 FROM click_journal WHERE held) FROM links
             WHERE owner_id = ?1 AND EXISTS (SELECT 1 FROM users WHERE id = ?1 AND token_key = ?5)
             AND (created_at, id) < (?2, ?3)
             ORDER BY created_at DESC, id DESC LIMIT ?4",
        )
        .bind(owner.user.0)
        .bind(after.created_at.micros())
        .bind(after.id.number())
        .bind(i64::from(limit))
        .bind(owner.key.as_bytes())
        .fetch_all(&mut *self.reader.get().await?)
        .await?;
        rows::links(owner.user, found)
    }

    async fn delete_link(
        &self,
        owner: Principal,
        code: &ShortCode,
    ) -> Result<Option<Change>, StoreError> {
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        // A trigger notes the change and retires the code.
        let deleted = sqlx::query(
            "DELETE FROM links
             WHERE owner_id = ?1 AND short_code = ?2
             AND EXISTS (SELECT 1 FROM users WHERE id = ?1 AND token_key = ?3)",
        )
        .bind(owner.user.0)
        .bind(code.as_str())
        .bind(owner.key.as_bytes())
        .execute(&mut *transaction)
        .await?;
        if deleted.rows_affected() == 0 {
            return Ok(None);
        }
        // No other writer comes in between: the newest change of the code is this one.
        let number =
            sqlx::query_scalar("SELECT max(number) FROM link_changes WHERE short_code = ?1")
                .bind(code.as_str())
                .fetch_one(&mut *transaction)
                .await?;
        transaction.commit().await?;
        Ok(Some(Change {
            number,
            code: Some(code.clone()),
        }))
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

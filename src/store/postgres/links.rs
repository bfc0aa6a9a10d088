//! Links in Postgres.

use async_trait::async_trait;

use super::{PostgresStore, micros, moment};
use crate::domain::{Link, LinkTarget, ShortCode, UserId};
use crate::store::links::quota;
use crate::store::rows::{self, CountedRow, LinkRow, TargetRow};
use crate::store::{Change, CreateLinkError, Links, NewLink, Position, StoreError, ToCount};

#[async_trait]
impl Links for PostgresStore {
    async fn create_link(
        &self,
        link: NewLink<'_>,
        max_links: u64,
    ) -> Result<Link, CreateLinkError> {
        // The owner's total is locked before it is compared: of links that are made at once, each is compared with a total
        // that has the ones before. A trigger then adds this one.
        let created: Result<Vec<(Option<i64>, bool)>, _> = self
            .pool
            .run(async |session| {
                sqlx::query_as(concat!(
                    "WITH owner AS (SELECT links FROM link_totals WHERE owner_id = $3 FOR UPDATE),
                     made AS (INSERT INTO links (short_code, target_url, owner_id, created_at)
                         SELECT $1, $2, $3, ",
                    moment!("$4"),
                    " WHERE NOT EXISTS (SELECT FROM retired_codes WHERE short_code = $1)
                         AND coalesce((SELECT links FROM owner), 0) < $5 RETURNING id)
                     SELECT (SELECT id FROM made), coalesce((SELECT links FROM owner), 0) >= $5"
                ))
                .bind(link.code.as_str())
                .bind(link.target.as_str())
                .bind(link.owner.0)
                .bind(link.created_at.micros())
                .bind(quota(max_links))
                .fetch_all(session)
                .await
            })
            .await;
        match created.map(rows::written) {
            Ok(Some((Some(id), _))) => Ok(link.with_id(rows::link_id(id)?)),
            Ok(Some((None, true))) => Err(CreateLinkError::QuotaReached),
            Ok(Some((None, false)) | None) => Err(CreateLinkError::CodeTaken),
            Err(sqlx::Error::Database(error)) => match error.constraint() {
                Some("links_short_code_unique") => Err(CreateLinkError::CodeTaken),
                Some("links_owner_exists") => Err(CreateLinkError::OwnerGone),
                _ => Err(StoreError::from(sqlx::Error::Database(error)).into()),
            },
            Err(error) => Err(StoreError::from(error).into()),
        }
    }

    async fn link_target(&self, code: &ShortCode) -> Result<Option<LinkTarget>, StoreError> {
        let found: Option<TargetRow> = self
            .pool
            .run_with_priority(async |session| {
                sqlx::query_as("SELECT id, target_url, is_active FROM links WHERE short_code = $1")
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
                sqlx::query_as(
                    "SELECT id, target_url, is_active, EXISTS (SELECT FROM click_journal WHERE held)
                     FROM links WHERE short_code = $1",
                )
                .bind(code.as_str())
                .fetch_optional(session)
                .await
            })
            .await?;
        found.map(rows::counted).transpose()
    }

    async fn links_of(
        &self,
        owner: UserId,
        after: Option<Position>,
        limit: u32,
    ) -> Result<ToCount<Vec<Link>>, StoreError> {
        let after = after.unwrap_or(Position::NEWEST);
        let found: Vec<LinkRow> = self
            .pool
            .run(async |session| {
                sqlx::query_as(concat!(
                    "SELECT id, short_code, target_url, is_active, ",
                    micros!("created_at"),
                    ", EXISTS (SELECT FROM click_journal WHERE held)
                     FROM links WHERE owner_id = $1 AND (created_at, id) < (",
                    moment!("$2"),
                    ", $3) ORDER BY created_at DESC, id DESC LIMIT $4"
                ))
                .bind(owner.0)
                .bind(after.created_at.micros())
                .bind(after.id.number())
                .bind(i64::from(limit))
                .fetch_all(session)
                .await
            })
            .await?;
        rows::links(owner, found)
    }

    async fn delete_link(
        &self,
        owner: UserId,
        code: &ShortCode,
    ) -> Result<Option<Change>, StoreError> {
        // A trigger notes the change and retires the code.
        let number: Option<i64> = self
            .pool
            .transaction(async |session| {
                let deleted = sqlx::query(
                    "WITH gone AS (DELETE FROM links WHERE owner_id = $1 AND short_code = $2 RETURNING id),
                     uncounted AS (DELETE FROM link_clicks WHERE link_id = (SELECT id FROM gone))
                     SELECT FROM gone",
                )
                .bind(owner.0)
                .bind(code.as_str())
                .fetch_optional(&mut *session)
                .await?;
                if deleted.is_none() {
                    return Ok(None);
                }
                // The number that the trigger drew in this session, and in this transaction.
                sqlx::query_scalar("SELECT currval(pg_get_serial_sequence('link_changes', 'number'))")
                    .fetch_one(session)
                    .await
                    .map(Some)
            })
            .await?;
        Ok(number.map(|number| Change {
            number,
            code: Some(code.clone()),
        }))
    }
}

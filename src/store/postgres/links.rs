//! Links in Postgres.

use async_trait::async_trait;

use super::{PostgresStore, micros, moment};
use crate::domain::{Link, LinkTarget, Principal, ShortCode};
use crate::store::rows::{self, CountedRow, LinkRow, TargetRow};
use crate::store::{Change, CreateLinkError, Links, NewLink, Position, StoreError, ToCount};

#[async_trait]
impl Links for PostgresStore {
    async fn create_link(&self, link: NewLink<'_>) -> Result<Link, CreateLinkError> {
        let created: Result<Vec<(Option<i64>, bool)>, _> = self
            .pool
            .run(async |session| {
                sqlx::query_as(concat!(
                    "WITH owner AS (SELECT id FROM users WHERE id = $3 AND token_key = $5),
                     created AS (
                         INSERT INTO links (short_code, target_url, owner_id, created_at)
                         SELECT $1, $2, owner.id, ",
                    moment!("$4"),
                    "    FROM owner WHERE NOT EXISTS (SELECT FROM retired_codes WHERE short_code = $1)
                         RETURNING id
                     )
                     SELECT (SELECT id FROM created), EXISTS (SELECT FROM owner)"
                ))
                .bind(link.code.as_str())
                .bind(link.target.as_str())
                .bind(link.owner.user.0)
                .bind(link.created_at.micros())
                .bind(link.owner.key.as_bytes())
                .fetch_all(session)
                .await
            })
            .await;
        match created.map(rows::written) {
            Ok(Some((Some(id), _))) => Ok(link.with_id(rows::link_id(id)?)),
            Ok(Some((None, true))) => Err(CreateLinkError::CodeTaken),
            Ok(Some((None, false)) | None) => Err(CreateLinkError::OwnerGone),
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
        owner: Principal,
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
                     FROM links WHERE owner_id = (SELECT id FROM users WHERE id = $1 AND token_key = $5)
                     AND (created_at, id) < (",
                    moment!("$2"),
                    ", $3) ORDER BY created_at DESC, id DESC LIMIT $4"
                ))
                .bind(owner.user.0)
                .bind(after.created_at.micros())
                .bind(after.id.number())
                .bind(i64::from(limit))
                .bind(owner.key.as_bytes())
                .fetch_all(session)
                .await
            })
            .await?;
        rows::links(owner.user, found)
    }

    async fn delete_link(
        &self,
        owner: Principal,
        code: &ShortCode,
    ) -> Result<Option<Change>, StoreError> {
        // A trigger notes the change and retires the code.
        let number: Option<i64> = self
            .pool
            .transaction(async |session| {
                let deleted = sqlx::query(
                    "WITH gone AS (
                         DELETE FROM links WHERE short_code = $2
                         AND owner_id = (SELECT id FROM users WHERE id = $1 AND token_key = $3)
                         RETURNING id
                     ),
                     uncounted AS (DELETE FROM link_clicks WHERE link_id = (SELECT id FROM gone))
                     SELECT FROM gone",
                )
                .bind(owner.user.0)
                .bind(code.as_str())
                .bind(owner.key.as_bytes())
                .fetch_optional(&mut *session)
                .await?;
                if deleted.is_none() {
                    return Ok(None);
                }
                // The number that the trigger drew in this session, and in this transaction.
                sqlx::query_scalar(
                    "SELECT currval(pg_get_serial_sequence('link_changes', 'number'))",
                )
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

//! Links in Postgres.

use async_trait::async_trait;

use super::history::{CHECKS, unchecked};
use super::{PostgresStore, micros, moment};
use crate::domain::{Link, LinkId, LinkTarget, Principal, ShortCode};
use crate::store::links::quota;
use crate::store::rows::{self, CountedRow, LinkRow, TargetRow};
use crate::store::{Change, CreateLinkError, Links, NewLink, Position, StoreError, ToCount};

/// The new link, and whether the owner is there, the server was checked, and the quota is reached.
type CreatedRow = (Option<i64>, bool, bool, bool);

#[async_trait]
impl Links for PostgresStore {
    async fn create_link(
        &self,
        link: NewLink<'_>,
        max_links: u64,
    ) -> Result<Link, CreateLinkError> {
        for _ in 0..CHECKS {
            if let Some(created) = self.insert_link(&link, max_links).await? {
                self.seen.created(created.id, &created.code);
                return Ok(created);
            }
            self.check_server().await?;
        }
        Err(unchecked().into())
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
        // A trigger notes the change, retires the code, and leaves the clicks to `uncount_deleted`.
        let number: Option<i64> = self
            .pool
            .transaction(async |session| {
                let deleted = sqlx::query(
                    "DELETE FROM links WHERE short_code = $2
                     AND owner_id = (SELECT id FROM users WHERE id = $1 AND token_key = $3)",
                )
                .bind(owner.user.0)
                .bind(code.as_str())
                .bind(owner.key.as_bytes())
                .execute(&mut *session)
                .await?;
                if deleted.rows_affected() == 0 {
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
        if number.is_some() {
            self.seen.deleted(code);
        }
        Ok(number.map(|number| Change {
            number,
            code: Some(code.clone()),
        }))
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
                         WHERE link_id > $1 AND (recheck_at IS NULL OR recheck_at < now())
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
                     limits AS (
                         DELETE FROM link_limits WHERE link_id = ANY (ARRAY(
                             SELECT link_id FROM link_limits WHERE link_id = ANY (ARRAY(SELECT link_id FROM batch))
                             ORDER BY link_id FOR UPDATE SKIP LOCKED))
                     ),
                     done AS (
                         DELETE FROM deleted_links WHERE link_id = ANY (ARRAY(SELECT link_id FROM state WHERE is_done))
                     ),
                     again AS (
                         UPDATE deleted_links SET recheck_at = now() + interval '1 minute'
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

impl PostgresStore {
    /// `None` on a server that has to be checked before it gives ids out.
    async fn insert_link(
        &self,
        link: &NewLink<'_>,
        max_links: u64,
    ) -> Result<Option<Link>, CreateLinkError> {
        // The owner's total is locked before it is compared: of links that are made at once, each is compared with a total
        // that has the ones before. A trigger then adds this one.
        let created: Result<Vec<CreatedRow>, _> = self
            .pool
            .run(async |session| {
                sqlx::query_as(concat!(
                    "WITH owner AS (SELECT id FROM users WHERE id = $3 AND token_key = $5),
                     total AS (SELECT links FROM link_totals WHERE owner_id = (SELECT id FROM owner) FOR UPDATE),
                     server AS (SELECT checked_on = pg_postmaster_start_time() AS is_checked FROM database_history),
                     created AS (
                         INSERT INTO links (short_code, target_url, owner_id, created_at)
                         SELECT $1, $2, owner.id, ",
                    moment!("$4"),
                    "    FROM owner, server WHERE is_checked
                         AND NOT EXISTS (SELECT FROM retired_codes WHERE short_code = $1)
                         AND coalesce((SELECT links FROM total), 0) < $6
                         RETURNING id
                     )
                     SELECT (SELECT id FROM created), EXISTS (SELECT FROM owner), (SELECT is_checked FROM server),
                         coalesce((SELECT links FROM total), 0) >= $6"
                ))
                .bind(link.code.as_str())
                .bind(link.target.as_str())
                .bind(link.owner.user.0)
                .bind(link.created_at.micros())
                .bind(link.owner.key.as_bytes())
                .bind(quota(max_links))
                .fetch_all(session)
                .await
            })
            .await;
        match created.map(rows::written) {
            Ok(Some((Some(id), ..))) => Ok(Some(link.with_id(rows::link_id(id)?))),
            Ok(Some((None, _, false, _)) | None) => Ok(None),
            Ok(Some((None, false, true, _))) => Err(CreateLinkError::OwnerGone),
            Ok(Some((None, true, true, true))) => Err(CreateLinkError::QuotaReached),
            Ok(Some((None, true, true, false))) => Err(CreateLinkError::CodeTaken),
            Err(sqlx::Error::Database(error)) => match error.constraint() {
                Some("links_short_code_unique") => Err(CreateLinkError::CodeTaken),
                Some("links_owner_exists") => Err(CreateLinkError::OwnerGone),
                _ => Err(StoreError::from(sqlx::Error::Database(error)).into()),
            },
            Err(error) => Err(StoreError::from(error).into()),
        }
    }
}

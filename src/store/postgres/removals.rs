//! Removals in Postgres.

use async_trait::async_trait;

use super::removal_steps::{CHANGES, cover, put_back, step};
use super::session::Session;
use super::{PostgresStore, not_of_deleted_user};
use crate::domain::{Removal, RemovalId, RemovalTarget, ShortCode, Timestamp};
use crate::store::admin_rows::{self, RemovalRow};
use crate::store::removals::{Covers, IN_FORCE, IS_LOOKED_THROUGH, NO_PASSWORD, REASON_OF};
use crate::store::rows;
use crate::store::{Actor, Change, NewRemoval, Removals, Removed, Step, StoreError};

/// The columns of a `RemovalRow`.
macro_rules! removal_columns {
    () => {
        "id, kind, value, reason, status, removed_by, removed_at, taken_back_at,
             (SELECT count(*) FROM (SELECT FROM link_removals WHERE removal_id = removals.id LIMIT 100000) AS counted),
             CASE WHEN look_again_at IS NULL THEN looking_after END"
    };
}

#[async_trait]
impl Removals for PostgresStore {
    async fn remove(&self, removal: NewRemoval<'_>) -> Result<Removed, StoreError> {
        let removed = self
            .pool
            .transaction(async |session| removed(session, removal).await);
        match removed.await? {
            Outcome::Unknown => Ok(Removed::Unknown),
            Outcome::Already(id) => Ok(Removed::Already(RemovalId(id))),
            Outcome::Done(row, changes) => {
                let done = admin_rows::removal(*row)?;
                Ok(Removed::Done(Box::new(done), rows::changes(changes)))
            }
        }
    }

    async fn revoke(
        &self,
        id: RemovalId,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<Option<(Removal, Vec<Change>)>, StoreError> {
        let taken_back = self
            .pool
            .transaction(async |session| taken_back(session, id, by, at).await);
        let Some((row, changes)) = taken_back.await? else {
            return Ok(None);
        };
        Ok(Some((admin_rows::removal(row)?, rows::changes(changes))))
    }

    async fn removals(
        &self,
        before: Option<RemovalId>,
        limit: u32,
    ) -> Result<Vec<Removal>, StoreError> {
        let found = self.pool.run(async |session| {
            sqlx::query_as(concat!(
                "SELECT ",
                removal_columns!(),
                " FROM removals WHERE id < $1 ORDER BY id DESC LIMIT $2"
            ))
            .bind(before.map_or(i64::MAX, |id| id.0))
            .bind(i64::from(limit))
            .fetch_all(session)
            .await
        });
        let found: Vec<RemovalRow> = found.await?;
        found.into_iter().map(admin_rows::removal).collect()
    }

    async fn in_force(&self, target: &RemovalTarget) -> Result<Option<RemovalId>, StoreError> {
        let found = self.pool.run(async |session| {
            sqlx::query_scalar(IN_FORCE)
                .bind(target.kind())
                .bind(target.value())
                .fetch_optional(session)
                .await
        });
        Ok(found.await?.map(RemovalId))
    }

    async fn reason_of(&self, code: &ShortCode) -> Result<Option<String>, StoreError> {
        let found = self.pool.run(async |session| {
            sqlx::query_scalar(REASON_OF)
                .bind(code.as_str())
                .fetch_optional(session)
                .await
        });
        Ok(found.await?)
    }

    async fn removed_hosts(&self, patterns: &[String]) -> Result<Vec<String>, StoreError> {
        let found = self.pool.run(async |session| {
            sqlx::query_scalar(
                "SELECT value FROM removals WHERE kind = 'host' AND value = ANY ($1) AND taken_back_at IS NULL",
            )
            .bind(patterns)
            .fetch_all(session)
            .await
        });
        Ok(found.await?)
    }

    async fn begin_blocklist(&self, digest: &str, at: Timestamp) -> Result<bool, StoreError> {
        let begun = self.pool.run(async |session| {
            sqlx::query(
                "INSERT INTO removals (kind, value, reason, status, removed_at, looking_after, digest)
                 SELECT 'blocklist', '', 'The target is on the blocklist', 410, $2, 0, $1
                 WHERE $1 <> '' OR EXISTS (SELECT FROM removals WHERE kind = 'blocklist')
                 ON CONFLICT (kind, value) WHERE taken_back_at IS NULL
                 DO UPDATE SET digest = excluded.digest, looking_after = 0, look_again_at = NULL, removed_at = excluded.removed_at
                 WHERE removals.digest <> excluded.digest",
            )
            .bind(digest)
            .bind(at.micros())
            .execute(session)
            .await
        });
        Ok(begun.await?.rows_affected() > 0)
    }

    async fn is_scanned(&self, id: RemovalId) -> Result<bool, StoreError> {
        let found = self.pool.run(async |session| {
            sqlx::query_scalar(IS_LOOKED_THROUGH)
                .bind(id.0)
                .fetch_optional(session)
                .await
        });
        Ok(found.await?.unwrap_or(true))
    }

    async fn step(&self, covers: Covers<'_>, now: Timestamp) -> Result<Option<Step>, StoreError> {
        let step = self
            .pool
            .transaction(async |session| step(session, covers, now).await);
        let Some((changes, looked_at)) = step.await? else {
            return Ok(None);
        };
        Ok(Some(Step {
            changes: rows::changes(changes),
            looked_at,
        }))
    }
}

enum Outcome {
    Unknown,
    Already(i64),
    Done(Box<RemovalRow>, Vec<(i64, String)>),
}

async fn removed(session: &mut Session, removal: NewRemoval<'_>) -> Result<Outcome, sqlx::Error> {
    let mut link: Option<i64> = None;
    if let RemovalTarget::Link(code) = removal.target {
        link = sqlx::query_scalar(concat!(
            "SELECT id FROM links WHERE short_code = $1",
            not_of_deleted_user!(),
            " FOR UPDATE OF links"
        ))
        .bind(code.as_str())
        .fetch_optional(&mut *session)
        .await?;
        if link.is_none() {
            return Ok(Outcome::Unknown);
        }
    }
    let (kind, value) = (removal.target.kind(), removal.target.value());
    let noted: Option<i64> = sqlx::query_scalar(
        "INSERT INTO removals (kind, value, reason, status, removed_by, removed_at, looking_after)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (kind, value) WHERE taken_back_at IS NULL DO NOTHING RETURNING id",
    )
    .bind(kind)
    .bind(&value)
    .bind(removal.reason.as_str())
    .bind(i64::from(removal.status.code()))
    .bind(removal.by.user.map(|user| user.0))
    .bind(removal.at.micros())
    .bind(link.is_none().then_some(0_i64))
    .fetch_optional(&mut *session)
    .await?;
    let Some(id) = noted else {
        let id = sqlx::query_scalar(IN_FORCE)
            .bind(kind)
            .bind(&value)
            .fetch_optional(session)
            .await?;
        return Ok(id.map_or(Outcome::Unknown, Outcome::Already));
    };
    if let RemovalTarget::User(user) = removal.target
        && !ban(session, user.0, id).await?
    {
        sqlx::query("DELETE FROM removals WHERE id = $1")
            .bind(id)
            .execute(session)
            .await?;
        return Ok(Outcome::Unknown);
    }
    if let Some(link) = link {
        cover(session, id, &[link]).await?;
    }
    let subject = format!("removal {id}");
    let detail = format!("{kind} {value}: {}", removal.reason.as_str());
    note(session, removal.by, removal.at, "remove", &subject, &detail).await?;
    let (row, changes) = shown(session, id).await?;
    Ok(Outcome::Done(Box::new(row), changes))
}

/// Ends all that an account may be used with. `false`: there is no such account.
async fn ban(session: &mut Session, user: i64, removal: i64) -> Result<bool, sqlx::Error> {
    let banned = sqlx::query(
        "WITH banned AS (
             INSERT INTO banned_users (user_id, password_hash, removal_id)
             SELECT id, password_hash, $2 FROM users
             WHERE id = $1 AND NOT EXISTS (SELECT FROM deleted_users WHERE user_id = users.id)
             ON CONFLICT DO NOTHING RETURNING user_id
         ),
         keys AS (DELETE FROM api_keys WHERE user_id = (SELECT user_id FROM banned)),
         sessions AS (DELETE FROM web_sessions WHERE user_id = (SELECT user_id FROM banned)),
         roles AS (DELETE FROM user_roles WHERE user_id = (SELECT user_id FROM banned))
         UPDATE users SET password_hash = $3, token_key = DEFAULT WHERE id = (SELECT user_id FROM banned)",
    )
    .bind(user)
    .bind(removal)
    .bind(NO_PASSWORD)
    .execute(session)
    .await?;
    Ok(banned.rows_affected() > 0)
}

async fn taken_back(
    session: &mut Session,
    id: RemovalId,
    by: Actor<'_>,
    at: Timestamp,
) -> Result<Option<(RemovalRow, Vec<(i64, String)>)>, sqlx::Error> {
    let taken: Option<(String, String)> = sqlx::query_as(
        "UPDATE removals SET taken_back_at = $2, looking_after = CASE WHEN kind <> 'link' THEN 0 END, look_again_at = NULL
         WHERE id = $1 AND taken_back_at IS NULL AND kind <> 'blocklist' RETURNING kind, value",
    )
    .bind(id.0)
    .bind(at.micros())
    .fetch_optional(&mut *session)
    .await?;
    let Some((kind, value)) = taken else {
        return Ok(None);
    };
    match kind.as_str() {
        "link" => {
            let links: Vec<i64> =
                sqlx::query_scalar("SELECT link_id FROM link_removals WHERE removal_id = $1")
                    .bind(id.0)
                    .fetch_all(&mut *session)
                    .await?;
            put_back(session, id.0, &links).await?;
        }
        "user" => {
            sqlx::query(
                "WITH banned AS (DELETE FROM banned_users WHERE removal_id = $1 RETURNING user_id, password_hash)
                 UPDATE users SET password_hash = banned.password_hash FROM banned WHERE id = banned.user_id",
            )
            .bind(id.0)
            .execute(&mut *session)
            .await?;
        }
        _ => {}
    }
    let subject = format!("removal {}", id.0);
    let detail = format!("{kind} {value}");
    note(session, by, at, "revoke", &subject, &detail).await?;
    shown(session, id.0).await.map(Some)
}

async fn shown(
    session: &mut Session,
    id: i64,
) -> Result<(RemovalRow, Vec<(i64, String)>), sqlx::Error> {
    let row = sqlx::query_as(concat!(
        "SELECT ",
        removal_columns!(),
        " FROM removals WHERE id = $1"
    ))
    .bind(id)
    .fetch_one(&mut *session)
    .await?;
    let changes = sqlx::query_as(CHANGES).fetch_all(session).await?;
    Ok((row, changes))
}

/// Notes what was done, for the audit.
pub(super) async fn note(
    session: &mut Session,
    by: Actor<'_>,
    at: Timestamp,
    action: &str,
    subject: &str,
    detail: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO audit_log (at, user_id, address, action, subject, detail) VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(at.micros())
    .bind(by.user.map(|user| user.0))
    .bind(by.address)
    .bind(action)
    .bind(subject)
    .bind(detail)
    .execute(session)
    .await?;
    Ok(())
}

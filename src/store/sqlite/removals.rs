//! Removals in SQLite.

use async_trait::async_trait;
use sqlx::SqliteConnection;

use super::SqliteStore;
use super::removal_steps::{cover, looked_at, put_back, under_way};
use crate::domain::{Removal, RemovalId, RemovalTarget, ShortCode, Timestamp};
use crate::store::admin_rows::{self, RemovalRow};
use crate::store::removals::{
    Covers, IN_FORCE, IS_LOOKED_THROUGH, LOOK_AGAIN_AFTER_MICROS, NO_PASSWORD, REASON_OF, Source,
    sorted,
};
use crate::store::rows;
use crate::store::{
    Actor, Change, LOOKED_AT_IN_STEP, NewRemoval, Removals, Removed, Step, StoreError,
};

/// The columns of a `RemovalRow`.
macro_rules! removal_columns {
    () => {
        "id, kind, value, reason, status, removed_by, removed_at, taken_back_at,
         (SELECT count(*) FROM (SELECT 1 FROM link_removals WHERE removal_id = removals.id LIMIT 100000)),
         CASE WHEN look_again_at IS NULL THEN looking_after END"
    };
}

#[async_trait]
impl Removals for SqliteStore {
    async fn remove(&self, removal: NewRemoval<'_>) -> Result<Removed, StoreError> {
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        let newest = newest_change(&mut transaction).await?;
        let mut link: Option<i64> = None;
        if let RemovalTarget::Link(code) = removal.target {
            link = sqlx::query_scalar(concat!(
                "SELECT id FROM links WHERE short_code = ?1",
                super::not_of_deleted_user!()
            ))
            .bind(code.as_str())
            .fetch_optional(&mut *transaction)
            .await?;
            if link.is_none() {
                return Ok(Removed::Unknown);
            }
        }
        let (kind, value) = (removal.target.kind(), removal.target.value());
        let earlier: Option<i64> = sqlx::query_scalar(IN_FORCE)
            .bind(kind)
            .bind(&value)
            .fetch_optional(&mut *transaction)
            .await?;
        if let Some(id) = earlier {
            return Ok(Removed::Already(RemovalId(id)));
        }
        let id = sqlx::query(
            "INSERT INTO removals (kind, value, reason, status, removed_by, removed_at, looking_after)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )
        .bind(kind)
        .bind(&value)
        .bind(removal.reason.as_str())
        .bind(i64::from(removal.status.code()))
        .bind(removal.by.user.map(|user| user.0))
        .bind(removal.at.micros())
        .bind(link.is_none().then_some(0_i64))
        .execute(&mut *transaction)
        .await?
        .last_insert_rowid();
        if let RemovalTarget::User(user) = removal.target
            && !ban(&mut transaction, user.0, id).await?
        {
            return Ok(Removed::Unknown);
        }
        if let Some(link) = link {
            cover(&mut transaction, id, &[link]).await?;
        }
        let subject = format!("removal {id}");
        let detail = format!("{kind} {value}: {}", removal.reason.as_str());
        note(
            &mut transaction,
            removal.by,
            removal.at,
            "remove",
            &subject,
            &detail,
        )
        .await?;
        let shown = shown(&mut transaction, id).await?;
        let changes = changes(&mut transaction, newest).await?;
        transaction.commit().await?;
        Ok(Removed::Done(Box::new(shown), changes))
    }

    async fn revoke(
        &self,
        id: RemovalId,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<Option<(Removal, Vec<Change>)>, StoreError> {
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        let newest = newest_change(&mut transaction).await?;
        let taken: Vec<(String, String)> = sqlx::query_as(
            "UPDATE removals SET taken_back_at = ?2, looking_after = CASE WHEN kind <> 'link' THEN 0 END, look_again_at = NULL
             WHERE id = ?1 AND taken_back_at IS NULL AND kind <> 'blocklist' RETURNING kind, value",
        )
        .bind(id.0)
        .bind(at.micros())
        .fetch_all(&mut *transaction)
        .await?;
        let Some((kind, value)) = rows::written(taken) else {
            return Ok(None);
        };
        match kind.as_str() {
            "link" => {
                let links: Vec<i64> =
                    sqlx::query_scalar("SELECT link_id FROM link_removals WHERE removal_id = ?1")
                        .bind(id.0)
                        .fetch_all(&mut *transaction)
                        .await?;
                put_back(&mut transaction, id.0, &links).await?;
            }
            "user" => {
                for sql in [
                    "UPDATE users SET password_hash = banned.password_hash FROM banned_users AS banned
                     WHERE banned.removal_id = ?1 AND users.id = banned.user_id",
                    "DELETE FROM banned_users WHERE removal_id = ?1",
                ] {
                    sqlx::query(sql)
                        .bind(id.0)
                        .execute(&mut *transaction)
                        .await?;
                }
            }
            _ => {}
        }
        let subject = format!("removal {}", id.0);
        let detail = format!("{kind} {value}");
        note(&mut transaction, by, at, "revoke", &subject, &detail).await?;
        let shown = shown(&mut transaction, id.0).await?;
        let changes = changes(&mut transaction, newest).await?;
        transaction.commit().await?;
        Ok(Some((shown, changes)))
    }

    async fn removals(
        &self,
        before: Option<RemovalId>,
        limit: u32,
    ) -> Result<Vec<Removal>, StoreError> {
        let found: Vec<RemovalRow> = sqlx::query_as(concat!(
            "SELECT ",
            removal_columns!(),
            " FROM removals WHERE id < ?1 ORDER BY id DESC LIMIT ?2"
        ))
        .bind(before.map_or(i64::MAX, |id| id.0))
        .bind(limit)
        .fetch_all(&mut *self.reader.get().await?)
        .await?;
        found.into_iter().map(admin_rows::removal).collect()
    }

    async fn in_force(&self, target: &RemovalTarget) -> Result<Option<RemovalId>, StoreError> {
        let found = sqlx::query_scalar(IN_FORCE).bind(target.kind());
        let found = found.bind(target.value());
        let mut reader = self.reader.get().await?;
        let found: Option<i64> = found.fetch_optional(&mut *reader).await?;
        Ok(found.map(RemovalId))
    }

    async fn reason_of(&self, code: &ShortCode) -> Result<Option<String>, StoreError> {
        let found = sqlx::query_scalar(REASON_OF).bind(code.as_str());
        Ok(found.fetch_optional(&mut *self.reader.get().await?).await?)
    }

    async fn removed_hosts(&self, patterns: &[String]) -> Result<Vec<String>, StoreError> {
        Ok(sqlx::query_scalar(
            "SELECT value FROM removals WHERE kind = 'host' AND value IN (SELECT value FROM json_each(?1)) AND taken_back_at IS NULL",
        )
        .bind(serde_json::json!(patterns).to_string())
        .fetch_all(&mut *self.reader.get().await?)
        .await?)
    }

    async fn begin_blocklist(&self, digest: &str, at: Timestamp) -> Result<bool, StoreError> {
        let begun = sqlx::query(
            "INSERT INTO removals (kind, value, reason, status, removed_at, looking_after, digest)
             SELECT 'blocklist', '', 'The target is on the blocklist', 410, ?2, 0, ?1
             WHERE ?1 <> '' OR EXISTS (SELECT 1 FROM removals WHERE kind = 'blocklist')
             ON CONFLICT (kind, value) WHERE taken_back_at IS NULL
             DO UPDATE SET digest = excluded.digest, looking_after = 0, look_again_at = NULL, removed_at = excluded.removed_at
             WHERE removals.digest <> excluded.digest",
        )
        .bind(digest)
        .bind(at.micros())
        .execute(&mut *self.writer.get().await?)
        .await?;
        Ok(begun.rows_affected() > 0)
    }

    async fn is_scanned(&self, id: RemovalId) -> Result<bool, StoreError> {
        let found = sqlx::query_scalar(IS_LOOKED_THROUGH)
            .bind(id.0)
            .fetch_optional(&mut *self.reader.get().await?)
            .await?;
        Ok(found.unwrap_or(true))
    }

    async fn step(&self, covers: Covers<'_>, now: Timestamp) -> Result<Option<Step>, StoreError> {
        let found = under_way(&mut *self.reader.get().await?, now).await?;
        if found.is_empty() {
            return Ok(None);
        }
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        let newest = newest_change(&mut transaction).await?;
        for (id, kind, value, is_taken_back, after, is_second) in
            under_way(&mut transaction, now).await?
        {
            let source = Source::of(&kind, &value, is_taken_back);
            let rows = looked_at(&mut transaction, source, id, after).await?;
            let names = (kind.as_str(), value.as_str());
            let Some((to_cover, to_put_back)) = sorted(source, names, &rows, covers) else {
                continue;
            };
            cover(&mut transaction, id, &to_cover).await?;
            put_back(&mut transaction, id, &to_put_back).await?;
            let is_end = rows.len() < LOOKED_AT_IN_STEP as usize;
            let is_over = is_end && (is_second || source == Source::Covered);
            let place = match rows.last() {
                Some((_, place, ..)) if !is_end => *place,
                _ => 0,
            };
            let again = (is_end && !is_over).then(|| now.micros() + LOOK_AGAIN_AFTER_MICROS);
            sqlx::query(
                "UPDATE removals SET looking_after = CASE WHEN ?3 THEN NULL ELSE ?2 END, look_again_at = coalesce(?4, look_again_at)
                 WHERE id = ?1",
            )
            .bind(id)
            .bind(place)
            .bind(is_over)
            .bind(again)
            .execute(&mut *transaction)
            .await?;
            let changes = changes(&mut transaction, newest).await?;
            transaction.commit().await?;
            return Ok(Some(Step {
                changes,
                looked_at: rows.len() as u64,
            }));
        }
        Ok(None)
    }
}

/// The number of the newest change. There is one writer at a time: those above it are of the transaction under way.
async fn newest_change(connection: &mut SqliteConnection) -> Result<i64, StoreError> {
    let newest = sqlx::query_scalar("SELECT coalesce(max(number), 0) FROM link_changes");
    Ok(newest.fetch_one(connection).await?)
}

async fn changes(
    connection: &mut SqliteConnection,
    newest: i64,
) -> Result<Vec<Change>, StoreError> {
    let noted = sqlx::query_as(
        "SELECT number, short_code FROM link_changes WHERE number > ?1 ORDER BY number",
    );
    let noted = noted.bind(newest).fetch_all(connection).await?;
    Ok(rows::changes(noted))
}

async fn shown(connection: &mut SqliteConnection, id: i64) -> Result<Removal, StoreError> {
    let row = sqlx::query_as(concat!(
        "SELECT ",
        removal_columns!(),
        " FROM removals WHERE id = ?1"
    ));
    admin_rows::removal(row.bind(id).fetch_one(connection).await?)
}

/// Notes what was done, for the audit.
pub(super) async fn note(
    connection: &mut SqliteConnection,
    by: Actor<'_>,
    at: Timestamp,
    action: &str,
    subject: &str,
    detail: &str,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO audit_log (at, user_id, address, action, subject, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )
    .bind(at.micros())
    .bind(by.user.map(|user| user.0))
    .bind(by.address)
    .bind(action)
    .bind(subject)
    .bind(detail)
    .execute(connection)
    .await?;
    Ok(())
}

/// Ends all that an account may be used with. `false`: there is no such account.
async fn ban(
    connection: &mut SqliteConnection,
    user: i64,
    removal: i64,
) -> Result<bool, StoreError> {
    let banned = sqlx::query(
        "INSERT INTO banned_users (user_id, password_hash, removal_id)
         SELECT id, password_hash, ?2 FROM users
         WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM deleted_users WHERE user_id = users.id) ON CONFLICT DO NOTHING",
    );
    let banned = banned.bind(user).bind(removal);
    if banned.execute(&mut *connection).await?.rows_affected() == 0 {
        return Ok(false);
    }
    for sql in [
        "DELETE FROM api_keys WHERE user_id = ?1",
        "DELETE FROM web_sessions WHERE user_id = ?1",
        "DELETE FROM user_roles WHERE user_id = ?1",
    ] {
        sqlx::query(sql)
            .bind(user)
            .execute(&mut *connection)
            .await?;
    }
    sqlx::query("UPDATE users SET password_hash = ?2, token_key = randomblob(16) WHERE id = ?1")
        .bind(user)
        .bind(NO_PASSWORD)
        .execute(connection)
        .await?;
    Ok(true)
}

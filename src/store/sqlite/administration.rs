//! Administration in SQLite.

use async_trait::async_trait;
use sqlx::SqliteConnection;

use super::removals::note;
use super::{SqliteStore, not_of_deleted_user};
use crate::domain::{
    AuditEntry, Newest, NewestWanted, Principal, Reason, Report, SeenLink, SeenUser, ShortCode,
    Timestamp, TokenKey, UserId,
};
use crate::store::admin_rows::{self, AuditRow, ReportRow};
use crate::store::reports::PRUNE;
use crate::store::{Actor, Administration, Kept, ScannedLinks, StoreError};

#[async_trait]
impl Administration for SqliteStore {
    async fn is_admin(&self, principal: Principal) -> Result<Option<bool>, StoreError> {
        Ok(sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM user_roles WHERE user_id = users.id AND role = 'admin')
             FROM users WHERE id = ?1 AND token_key = ?2",
        )
        .bind(principal.user.0)
        .bind(principal.key.as_bytes())
        .fetch_optional(&mut *self.reader.get().await?)
        .await?)
    }

    async fn set_role(
        &self,
        user: UserId,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        let granted = sqlx::query(
            "INSERT INTO user_roles (user_id, role, granted_at)
             SELECT id, 'admin', ?2 FROM users WHERE id = ?1 AND NOT EXISTS (
                     SELECT 1 FROM banned_users WHERE user_id = users.id UNION ALL SELECT 1 FROM deleted_users WHERE user_id = users.id)
             ON CONFLICT (user_id) DO UPDATE SET role = excluded.role",
        )
        .bind(user.0)
        .bind(at.micros())
        .execute(&mut *transaction)
        .await?;
        let granted = granted.rows_affected();
        let is_granted = noted(&mut transaction, granted, by, at, "grant", user).await?;
        transaction.commit().await?;
        Ok(is_granted)
    }

    async fn reset_password(
        &self,
        user: UserId,
        password_hash: &str,
        key: TokenKey,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        let reset = sqlx::query(
            "UPDATE users SET password_hash = ?2, token_key = ?3 WHERE id = ?1 AND NOT EXISTS (
                     SELECT 1 FROM banned_users WHERE user_id = users.id UNION ALL SELECT 1 FROM deleted_users WHERE user_id = users.id)",
        )
        .bind(user.0)
        .bind(password_hash)
        .bind(key.as_bytes())
        .execute(&mut *transaction)
        .await?;
        let reset = reset.rows_affected();
        let is_reset = noted(&mut transaction, reset, by, at, "reset_password", user).await?;
        transaction.commit().await?;
        Ok(is_reset)
    }

    async fn scan_seen_links(&self, wanted: &NewestWanted) -> Result<ScannedLinks, StoreError> {
        self.scan_all_links(wanted).await
    }

    async fn seen_links(&self, numbers: &[i64]) -> Result<Vec<SeenLink>, StoreError> {
        self.links_as_seen(numbers).await
    }

    async fn scan_seen_users(&self, wanted: &NewestWanted) -> Result<ScannedLinks, StoreError> {
        self.scan_all_users(wanted).await
    }

    async fn seen_users(&self, numbers: &[i64]) -> Result<Vec<SeenUser>, StoreError> {
        self.users_as_seen(numbers).await
    }

    async fn report(
        &self,
        code: &ShortCode,
        reason: &Reason,
        reporter: &str,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        let link: Option<i64> = sqlx::query_scalar(concat!(
            "SELECT id FROM links WHERE short_code = ?1",
            not_of_deleted_user!()
        ))
        .bind(code.as_str())
        .fetch_optional(&mut *transaction)
        .await?;
        let Some(link) = link else { return Ok(false) };
        let report: i64 = sqlx::query_scalar(
            "INSERT INTO reports (link_id, reason, address, reported_at) VALUES (?1, ?2, ?3, ?4) RETURNING id",
        )
        .bind(link)
        .bind(reason.as_str())
        .bind(reporter)
        .bind(at.micros())
        .fetch_one(&mut *transaction)
        .await?;
        for (statement, kept) in PRUNE {
            sqlx::query(statement)
                .bind(reporter)
                .bind(report)
                .bind(kept)
                .bind(link)
                .execute(&mut *transaction)
                .await?;
        }
        transaction.commit().await?;
        Ok(true)
    }

    async fn close_report(
        &self,
        report: i64,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        let closed: Option<(String, String)> = sqlx::query_as(
            "DELETE FROM reports WHERE id = ?1
             RETURNING (SELECT short_code FROM links WHERE links.id = link_id), reason",
        )
        .bind(report)
        .fetch_optional(&mut *transaction)
        .await?;
        let Some((code, reason)) = closed else {
            return Ok(false);
        };
        let subject = format!("link {code}");
        note(&mut transaction, by, at, "close_report", &subject, &reason).await?;
        transaction.commit().await?;
        Ok(true)
    }

    async fn reports(&self, wanted: &NewestWanted) -> Result<Newest<Report>, StoreError> {
        let found: Vec<ReportRow> = sqlx::query_as(
            "SELECT reports.id, short_code, target_url, removed_status, reason, address, reported_at
             FROM reports JOIN links ON links.id = link_id WHERE reports.id < ?1 ORDER BY reports.id DESC LIMIT ?2",
        )
        .bind(wanted.before.unwrap_or(i64::MAX))
        .bind(i64::from(wanted.limit) + 1)
        .fetch_all(&mut *self.reader.get().await?)
        .await?;
        admin_rows::reports(found, wanted.limit)
    }

    async fn audit(&self, wanted: &NewestWanted) -> Result<Newest<AuditEntry>, StoreError> {
        let found: Vec<AuditRow> = sqlx::query_as(
            "SELECT id, at, user_id, address, action, subject, detail FROM audit_log WHERE id < ?1 ORDER BY id DESC LIMIT ?2",
        )
        .bind(wanted.before.unwrap_or(i64::MAX))
        .bind(i64::from(wanted.limit) + 1)
        .fetch_all(&mut *self.reader.get().await?)
        .await?;
        admin_rows::audit(found, wanted.limit)
    }

    async fn prune(&self, kept: Kept, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let sql = match kept {
            // Links are made in the order of their numbers, and so this needs no index by time.
            Kept::Addresses => {
                "DELETE FROM link_addresses WHERE noted_at < ?1
                 AND link_id IN (SELECT link_id FROM link_addresses ORDER BY link_id LIMIT ?2)"
            }
            Kept::Reports => {
                "DELETE FROM reports WHERE id IN (SELECT id FROM reports WHERE reported_at < ?1 LIMIT ?2)"
            }
            Kept::Audit => {
                "DELETE FROM audit_log WHERE id IN (SELECT id FROM audit_log WHERE at < ?1 LIMIT ?2)"
            }
        };
        let pruned = sqlx::query(sql).bind(before.micros()).bind(limit);
        let pruned = pruned.execute(&mut *self.writer.get().await?).await?;
        Ok(pruned.rows_affected())
    }
}

/// Notes what was done to an account, where something was.
async fn noted(
    connection: &mut SqliteConnection,
    accounts: u64,
    by: Actor<'_>,
    at: Timestamp,
    action: &str,
    user: UserId,
) -> Result<bool, StoreError> {
    if accounts > 0 {
        note(connection, by, at, action, &format!("user {}", user.0), "").await?;
    }
    Ok(accounts > 0)
}

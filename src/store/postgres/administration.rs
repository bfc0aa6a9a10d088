//! Administration in Postgres.

use async_trait::async_trait;

use super::removals::note;
use super::session::Session;
use super::{PostgresStore, not_of_deleted_user};
use crate::domain::{
    AuditEntry, Newest, NewestWanted, Principal, Reason, Report, SeenLink, SeenUser, ShortCode,
    Timestamp, TokenKey, UserId,
};
use crate::store::admin_rows::{self, AuditRow, ReportRow};
use crate::store::reports::PRUNE;
use crate::store::{Actor, Administration, Kept, ScannedLinks, StoreError};

#[async_trait]
impl Administration for PostgresStore {
    async fn is_admin(&self, principal: Principal) -> Result<Option<bool>, StoreError> {
        let found = self.pool.run(async |session| {
            sqlx::query_scalar(
                "SELECT EXISTS (SELECT FROM user_roles WHERE user_id = users.id AND role = 'admin')
                 FROM users WHERE id = $1 AND token_key = $2",
            )
            .bind(principal.user.0)
            .bind(principal.key.as_bytes())
            .fetch_optional(session)
            .await
        });
        Ok(found.await?)
    }

    async fn set_role(
        &self,
        user: UserId,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let granted = self.pool.transaction(async |session| {
            let granted = sqlx::query(
                "INSERT INTO user_roles (user_id, role, granted_at) SELECT id, 'admin', $2 FROM users WHERE id = $1 AND NOT EXISTS (
                     SELECT FROM banned_users WHERE user_id = users.id UNION ALL SELECT FROM deleted_users WHERE user_id = users.id)
                 ON CONFLICT (user_id) DO UPDATE SET role = excluded.role",
            )
            .bind(user.0)
            .bind(at.micros())
            .execute(&mut *session)
            .await?;
            noted(session, granted.rows_affected(), by, at, "grant", user).await
        });
        Ok(granted.await?)
    }

    async fn reset_password(
        &self,
        user: UserId,
        password_hash: &str,
        key: TokenKey,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let reset = self.pool.transaction(async |session| {
            let reset = sqlx::query(
                "UPDATE users SET password_hash = $2, token_key = $3 WHERE id = $1 AND NOT EXISTS (
                     SELECT FROM banned_users WHERE user_id = users.id UNION ALL SELECT FROM deleted_users WHERE user_id = users.id)",
            )
            .bind(user.0)
            .bind(password_hash)
            .bind(key.as_bytes())
            .execute(&mut *session)
            .await?;
            noted(session, reset.rows_affected(), by, at, "reset_password", user).await
        });
        Ok(reset.await?)
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
        let noted = self.pool.transaction(async |session| {
            // Reports of one link are made one after the other.
            let link: Option<i64> = sqlx::query_scalar(concat!(
                "SELECT id FROM links WHERE short_code = $1",
                not_of_deleted_user!(),
                " FOR NO KEY UPDATE"
            ))
            .bind(code.as_str())
            .fetch_optional(&mut *session)
            .await?;
            let Some(link) = link else { return Ok(false) };
            let report: i64 = sqlx::query_scalar(
                "INSERT INTO reports (link_id, reason, address, reported_at) VALUES ($1, $2, $3, $4) RETURNING id",
            )
            .bind(link)
            .bind(reason.as_str())
            .bind(reporter)
            .bind(at.micros())
            .fetch_one(&mut *session)
            .await?;
            for (statement, kept) in PRUNE {
                sqlx::query(statement)
                    .bind(reporter)
                    .bind(report)
                    .bind(kept)
                    .bind(link)
                    .execute(&mut *session)
                    .await?;
            }
            Ok(true)
        });
        Ok(noted.await?)
    }

    async fn close_report(
        &self,
        report: i64,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let closed = self.pool.transaction(async |session| {
            let closed: Option<(String, String)> = sqlx::query_as(
                "DELETE FROM reports USING links WHERE reports.id = $1 AND links.id = link_id RETURNING short_code, reason",
            )
            .bind(report)
            .fetch_optional(&mut *session)
            .await?;
            let Some((code, reason)) = closed else {
                return Ok(false);
            };
            note(session, by, at, "close_report", &format!("link {code}"), &reason).await?;
            Ok(true)
        });
        Ok(closed.await?)
    }

    async fn reports(&self, wanted: &NewestWanted) -> Result<Newest<Report>, StoreError> {
        let found = self.pool.run(async |session| {
            sqlx::query_as(
                "SELECT reports.id, short_code, target_url, removed_status, reason, address, reported_at
                 FROM reports JOIN links ON links.id = link_id WHERE reports.id < $1 ORDER BY reports.id DESC LIMIT $2",
            )
            .bind(wanted.before.unwrap_or(i64::MAX))
            .bind(i64::from(wanted.limit) + 1)
            .fetch_all(session)
            .await
        });
        let found: Vec<ReportRow> = found.await?;
        admin_rows::reports(found, wanted.limit)
    }

    async fn audit(&self, wanted: &NewestWanted) -> Result<Newest<AuditEntry>, StoreError> {
        let found = self.pool.run(async |session| {
            sqlx::query_as(
                "SELECT id, at, user_id, address, action, subject, detail FROM audit_log WHERE id < $1 ORDER BY id DESC LIMIT $2",
            )
            .bind(wanted.before.unwrap_or(i64::MAX))
            .bind(i64::from(wanted.limit) + 1)
            .fetch_all(session)
            .await
        });
        let found: Vec<AuditRow> = found.await?;
        admin_rows::audit(found, wanted.limit)
    }

    async fn prune(&self, kept: Kept, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let sql = match kept {
            // Links are made in the order of their numbers, and so this needs no index by time.
            Kept::Addresses => {
                "DELETE FROM link_addresses WHERE noted_at < $1
                 AND link_id = ANY (ARRAY(SELECT link_id FROM link_addresses ORDER BY link_id LIMIT $2))"
            }
            Kept::Reports => {
                "DELETE FROM reports WHERE id = ANY (ARRAY(SELECT id FROM reports WHERE reported_at < $1 LIMIT $2))"
            }
            Kept::Audit => {
                "DELETE FROM audit_log WHERE id = ANY (ARRAY(SELECT id FROM audit_log WHERE at < $1 LIMIT $2))"
            }
        };
        let pruned = self.pool.run(async |session| {
            sqlx::query(sql)
                .bind(before.micros())
                .bind(i64::from(limit))
                .execute(session)
                .await
        });
        Ok(pruned.await?.rows_affected())
    }
}

/// Notes what was done to an account, where something was.
async fn noted(
    session: &mut Session,
    accounts: u64,
    by: Actor<'_>,
    at: Timestamp,
    action: &str,
    user: UserId,
) -> Result<bool, sqlx::Error> {
    if accounts > 0 {
        note(session, by, at, action, &format!("user {}", user.0), "").await?;
    }
    Ok(accounts > 0)
}

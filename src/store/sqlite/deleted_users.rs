//! Deleting accounts in SQLite: one short transaction, and then the rows in batches.

use super::SqliteStore;
use crate::domain::{Principal, Timestamp};
use crate::store::rows;
use crate::store::{Change, MAX_CHANGES_OF_ACCOUNT, StoreError};

impl SqliteStore {
    pub(super) async fn mark_deleted(
        &self,
        principal: Principal,
        now: Timestamp,
    ) -> Result<Option<Vec<Change>>, StoreError> {
        let user = principal.user.0;
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        // No address has a space without quotes: this key is no account's.
        let marked = sqlx::query(
            "UPDATE users SET email = '', email_key = 'deleted ' || id, password_hash = '', token_key = randomblob(16)
             WHERE id = ?1 AND token_key = ?2",
        )
        .bind(user)
        .bind(principal.key.as_bytes())
        .execute(&mut *transaction)
        .await?;
        if marked.rows_affected() == 0 {
            return Ok(None);
        }
        for removal in [
            "DELETE FROM known_addresses WHERE user_id = ?1",
            "DELETE FROM api_keys WHERE user_id = ?1",
        ] {
            sqlx::query(removal)
                .bind(user)
                .execute(&mut *transaction)
                .await?;
        }
        sqlx::query("INSERT INTO deleted_users (user_id, deleted_at) VALUES (?1, ?2)")
            .bind(user)
            .bind(now.micros())
            .execute(&mut *transaction)
            .await?;
        let mut codes: Vec<String> =
            sqlx::query_scalar("SELECT short_code FROM links WHERE owner_id = ?1 LIMIT ?2")
                .bind(user)
                .bind(i64::from(MAX_CHANGES_OF_ACCOUNT) + 1)
                .fetch_all(&mut *transaction)
                .await?;
        if codes.len() > MAX_CHANGES_OF_ACCOUNT as usize {
            codes = vec![Change::OF_ALL.to_owned()];
        }
        let changes = sqlx::query_as(
            "INSERT INTO link_changes (short_code) SELECT value FROM json_each(?1) RETURNING number, short_code",
        )
        .bind(serde_json::json!(codes).to_string())
        .fetch_all(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(Some(rows::changes(changes)))
    }

    pub(super) async fn remove_rows_of_deleted(&self, limit: u32) -> Result<bool, StoreError> {
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        let user: Option<i64> =
            sqlx::query_scalar("SELECT user_id FROM deleted_users ORDER BY user_id LIMIT 1")
                .fetch_optional(&mut *transaction)
                .await?;
        let Some(user) = user else { return Ok(false) };
        let newest: i64 = sqlx::query_scalar("SELECT coalesce(max(number), 0) FROM link_changes")
            .fetch_one(&mut *transaction)
            .await?;
        let mut is_removed = false;
        for removal in [
            "DELETE FROM links WHERE id IN (SELECT id FROM links WHERE owner_id = ?1 LIMIT ?2)",
            "DELETE FROM idempotency_keys WHERE owner_id = ?1 AND key IN (
                 SELECT key FROM idempotency_keys WHERE owner_id = ?1 LIMIT ?2)",
        ] {
            let removed = sqlx::query(removal)
                .bind(user)
                .bind(limit)
                .execute(&mut *transaction)
                .await?;
            is_removed |= removed.rows_affected() > 0;
        }
        // Triggers noted the links; they were announced with the account.
        sqlx::query("DELETE FROM link_changes WHERE number > ?1")
            .bind(newest)
            .execute(&mut *transaction)
            .await?;
        if !is_removed {
            for removal in [
                "DELETE FROM users WHERE id = ?1",
                "DELETE FROM deleted_users WHERE user_id = ?1",
            ] {
                sqlx::query(removal)
                    .bind(user)
                    .execute(&mut *transaction)
                    .await?;
            }
        }
        transaction.commit().await?;
        Ok(true)
    }
}

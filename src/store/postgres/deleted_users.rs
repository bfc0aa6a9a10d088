//! Deleting accounts in Postgres: one short transaction, and then the rows in batches.

use super::PostgresStore;
use crate::domain::{Principal, Timestamp};
use crate::store::rows;
use crate::store::{Change, MAX_CHANGES_OF_ACCOUNT, StoreError};

impl PostgresStore {
    pub(super) async fn mark_deleted(
        &self,
        principal: Principal,
        now: Timestamp,
    ) -> Result<Option<Vec<Change>>, StoreError> {
        let changes: Option<Vec<(i64, String)>> = self
            .pool
            .transaction(async |session| {
                // No address has a space without quotes: this key is no account's.
                let marked = sqlx::query(
                    "WITH marked AS (
                         UPDATE users SET email = '', email_key = 'deleted ' || id, password_hash = '', token_key = DEFAULT
                         WHERE id = $1 AND token_key = $2 RETURNING id
                     ),
                     forgotten AS (DELETE FROM known_addresses WHERE user_id = (SELECT id FROM marked)),
                     ended AS (DELETE FROM api_keys WHERE user_id = (SELECT id FROM marked))
                     INSERT INTO deleted_users (user_id, deleted_at) SELECT id, $3 FROM marked",
                )
                .bind(principal.user.0)
                .bind(principal.key.as_bytes())
                .bind(now.micros())
                .execute(&mut *session)
                .await?;
                if marked.rows_affected() == 0 {
                    return Ok(None);
                }
                let mut codes: Vec<String> =
                    sqlx::query_scalar("SELECT short_code FROM links WHERE owner_id = $1 LIMIT $2")
                        .bind(principal.user.0)
                        .bind(i64::from(MAX_CHANGES_OF_ACCOUNT) + 1)
                        .fetch_all(&mut *session)
                        .await?;
                if codes.len() > MAX_CHANGES_OF_ACCOUNT as usize {
                    codes = vec![Change::OF_ALL.to_owned()];
                }
                sqlx::query_as(
                    "INSERT INTO link_changes (short_code) SELECT unnest($1::text[]) RETURNING number, short_code",
                )
                .bind(codes)
                .fetch_all(session)
                .await
                .map(Some)
            })
            .await?;
        Ok(changes.map(rows::changes))
    }

    pub(super) async fn remove_rows_of_deleted(&self, limit: u32) -> Result<bool, StoreError> {
        let limit = i64::from(limit);
        let is_at_it = self
            .pool
            .transaction(async |session| {
                // Another instance may be at it.
                let user: Option<i64> = sqlx::query_scalar(
                    "SELECT user_id FROM deleted_users ORDER BY user_id LIMIT 1 FOR UPDATE SKIP LOCKED",
                )
                .fetch_optional(&mut *session)
                .await?;
                let Some(user) = user else { return Ok(false) };
                let links = sqlx::query(
                    "DELETE FROM links WHERE id = ANY (ARRAY(SELECT id FROM links WHERE owner_id = $1 LIMIT $2))",
                )
                .bind(user)
                .bind(limit)
                .execute(&mut *session)
                .await?;
                if links.rows_affected() > 0 {
                    // A trigger noted them; they were announced with the account.
                    sqlx::query("DELETE FROM link_changes WHERE changed_in = txid_current()")
                        .execute(session)
                        .await?;
                    return Ok(true);
                }
                let keys = sqlx::query(
                    "DELETE FROM idempotency_keys WHERE owner_id = $1 AND key = ANY (ARRAY(
                         SELECT key FROM idempotency_keys WHERE owner_id = $1 LIMIT $2))",
                )
                .bind(user)
                .bind(limit)
                .execute(&mut *session)
                .await?;
                if keys.rows_affected() > 0 {
                    return Ok(true);
                }
                for removal in [
                    "DELETE FROM users WHERE id = $1",
                    "DELETE FROM deleted_users WHERE user_id = $1",
                ] {
                    sqlx::query(removal).bind(user).execute(&mut *session).await?;
                }
                Ok(true)
            })
            .await?;
        Ok(is_at_it)
    }
}

//! API keys in SQLite.

use async_trait::async_trait;

use super::SqliteStore;
use crate::domain::{ApiKey, Principal, Scope, Timestamp};
use crate::store::rows::{self, NullableApiKeyRow};
use crate::store::{ApiKeys, CreateKeyError, NewApiKey, StoreError};

#[async_trait]
impl ApiKeys for SqliteStore {
    async fn create_key(&self, key: NewApiKey<'_>, max: u32) -> Result<ApiKey, CreateKeyError> {
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        let owner: Option<i64> =
            sqlx::query_scalar("SELECT id FROM users WHERE id = ?1 AND token_key = ?2")
                .bind(key.owner.user.0)
                .bind(key.owner.key.as_bytes())
                .fetch_optional(&mut *transaction)
                .await
                .map_err(StoreError::from)?;
        if owner.is_none() {
            return Err(CreateKeyError::OwnerGone);
        }
        let made: Vec<i64> = sqlx::query_scalar(
            "INSERT INTO api_keys (user_id, hash, name, may_write, created_at, expires_at)
             SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE (SELECT count(*) FROM api_keys WHERE user_id = ?1) < ?7 RETURNING id",
        )
        .bind(key.owner.user.0)
        .bind(key.hash.as_bytes())
        .bind(key.name.as_str())
        .bind(key.scope == Scope::Write)
        .bind(key.created_at.micros())
        .bind(key.expires_at.map(Timestamp::micros))
        .bind(max)
        .fetch_all(&mut *transaction)
        .await
        .map_err(StoreError::from)?;
        transaction.commit().await.map_err(StoreError::from)?;
        let made = rows::written(made).ok_or(CreateKeyError::TooMany)?;
        Ok(key.with_id(made))
    }

    async fn keys_of(&self, owner: Principal) -> Result<Option<Vec<ApiKey>>, StoreError> {
        // An account without keys has one row, without a key.
        let found: Vec<NullableApiKeyRow> = sqlx::query_as(
            "SELECT api_keys.id, name, may_write, api_keys.created_at, expires_at, last_used_on
             FROM users LEFT JOIN api_keys ON user_id = users.id
             WHERE users.id = ?1 AND token_key = ?2 ORDER BY api_keys.id DESC",
        )
        .bind(owner.user.0)
        .bind(owner.key.as_bytes())
        .fetch_all(&mut *self.reader.get().await?)
        .await?;
        rows::api_keys(found)
    }

    async fn delete_key(&self, owner: Principal, id: i64) -> Result<bool, StoreError> {
        let deleted = sqlx::query(
            "DELETE FROM api_keys WHERE id = ?3
             AND user_id = (SELECT id FROM users WHERE id = ?1 AND token_key = ?2)",
        )
        .bind(owner.user.0)
        .bind(owner.key.as_bytes())
        .bind(id)
        .execute(&mut *self.writer.get().await?)
        .await?;
        Ok(deleted.rows_affected() > 0)
    }

    async fn note_use(&self, key: Principal, day: &str) -> Result<bool, StoreError> {
        // Read first: a key that has ended, or never was one, costs no write.
        let used: Option<(i64, Option<String>)> = sqlx::query_as(
            "SELECT id, last_used_on FROM api_keys WHERE user_id = ?1 AND hash = ?2
             AND EXISTS (SELECT 1 FROM account_keys WHERE user_id = ?1 AND key = ?2)",
        )
        .bind(key.user.0)
        .bind(key.key.as_bytes())
        .fetch_optional(&mut *self.reader.get().await?)
        .await?;
        let Some((id, last)) = used else {
            return Ok(false);
        };
        if last.is_none_or(|last| *last < *day) {
            sqlx::query("UPDATE api_keys SET last_used_on = ?2 WHERE id = ?1")
                .bind(id)
                .bind(day)
                .execute(&mut *self.writer.get().await?)
                .await?;
        }
        Ok(true)
    }
}

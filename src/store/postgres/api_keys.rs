//! API keys in Postgres.

use async_trait::async_trait;

use super::PostgresStore;
use crate::domain::{ApiKey, Principal, Scope, Timestamp};
use crate::store::rows::{self, NullableApiKeyRow};
use crate::store::{ApiKeys, CreateKeyError, NewApiKey, StoreError};

#[async_trait]
impl ApiKeys for PostgresStore {
    async fn create_key(&self, key: NewApiKey<'_>, max: u32) -> Result<ApiKey, CreateKeyError> {
        type Made = Result<i64, CreateKeyError>;
        let made: Made = self
            .pool
            .transaction(async |session| {
                // Keys of one account are made one after the other; its links are made meanwhile.
                let owner: Option<i64> = sqlx::query_scalar(
                    "SELECT id FROM users WHERE id = $1 AND token_key = $2 FOR NO KEY UPDATE",
                )
                .bind(key.owner.user.0)
                .bind(key.owner.key.as_bytes())
                .fetch_optional(&mut *session)
                .await?;
                if owner.is_none() {
                    return Ok(Err(CreateKeyError::OwnerGone));
                }
                let made: Vec<i64> = sqlx::query_scalar(
                    "INSERT INTO api_keys (user_id, hash, name, may_write, created_at, expires_at)
                     SELECT $1, $2, $3, $4, $5, $6 WHERE (SELECT count(*) FROM api_keys WHERE user_id = $1) < $7 RETURNING id",
                )
                .bind(key.owner.user.0)
                .bind(key.hash.as_bytes())
                .bind(key.name.as_str())
                .bind(key.scope == Scope::Write)
                .bind(key.created_at.micros())
                .bind(key.expires_at.map(Timestamp::micros))
                .bind(i64::from(max))
                .fetch_all(session)
                .await?;
                Ok(rows::written(made).ok_or(CreateKeyError::TooMany))
            })
            .await
            .map_err(StoreError::from)?;
        Ok(key.with_id(made?))
    }

    async fn keys_of(&self, owner: Principal) -> Result<Option<Vec<ApiKey>>, StoreError> {
        // An account without keys has one row, without a key.
        let found: Vec<NullableApiKeyRow> = self
            .pool
            .run(async |session| {
                sqlx::query_as(
                    "SELECT api_keys.id, name, may_write, api_keys.created_at, expires_at, last_used_on
                     FROM users LEFT JOIN api_keys ON user_id = users.id
                     WHERE users.id = $1 AND token_key = $2 ORDER BY api_keys.id DESC",
                )
                .bind(owner.user.0)
                .bind(owner.key.as_bytes())
                .fetch_all(session)
                .await
            })
            .await?;
        rows::api_keys(found)
    }

    async fn delete_key(&self, owner: Principal, id: i64) -> Result<bool, StoreError> {
        let deleted = self.pool.run(async |session| {
            sqlx::query(
                "DELETE FROM api_keys WHERE id = $3
                 AND user_id = (SELECT id FROM users WHERE id = $1 AND token_key = $2)",
            )
            .bind(owner.user.0)
            .bind(owner.key.as_bytes())
            .bind(id)
            .execute(session)
            .await
        });
        Ok(deleted.await?.rows_affected() > 0)
    }

    async fn note_use(&self, key: Principal, day: &str) -> Result<bool, StoreError> {
        let found: Vec<bool> = self
            .pool
            .run(async |session| {
                sqlx::query_scalar(
                    "WITH used AS (
                         SELECT id, last_used_on FROM api_keys
                         WHERE user_id = $1 AND hash = $2 AND (expires_at IS NULL OR expires_at > now_micros())
                     ),
                     noted AS (
                         UPDATE api_keys SET last_used_on = $3 WHERE id = (
                             SELECT id FROM used WHERE last_used_on IS NULL OR last_used_on < $3)
                     )
                     SELECT EXISTS (SELECT FROM used)",
                )
                .bind(key.user.0)
                .bind(key.key.as_bytes())
                .bind(day)
                .fetch_all(session)
                .await
            })
            .await?;
        Ok(rows::written(found).unwrap_or_default())
    }
}

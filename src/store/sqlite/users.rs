//! Accounts in SQLite.

use async_trait::async_trait;

use super::SqliteStore;
use crate::domain::{EmailAddress, Principal, Timestamp, TokenKey, User, UserId};
use crate::store::rows::{self, CredentialsRow};
use crate::store::{CreateUserError, Credentials, StoreError, Users};

#[async_trait]
impl Users for SqliteStore {
    async fn create_user(
        &self,
        email: &EmailAddress,
        password_hash: &str,
        key: TokenKey,
        now: Timestamp,
    ) -> Result<UserId, CreateUserError> {
        let created: Vec<i64> = sqlx::query_scalar(
            "INSERT INTO users (email, email_key, password_hash, token_key, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (email_key) DO NOTHING RETURNING id",
        )
        .bind(email.as_str())
        .bind(email.lookup_key())
        .bind(password_hash)
        .bind(key.as_bytes())
        .bind(now.micros())
        .fetch_all(&mut *self.writer.get().await?)
        .await
        .map_err(StoreError::from)?;
        let created = rows::written(created);
        created.map(UserId).ok_or(CreateUserError::EmailTaken)
    }

    async fn credentials(&self, email: &EmailAddress) -> Result<Option<Credentials>, StoreError> {
        let found: Option<CredentialsRow> =
            sqlx::query_as("SELECT id, token_key, password_hash FROM users WHERE email_key = ?1")
                .bind(email.lookup_key())
                .fetch_optional(&mut *self.reader.get().await?)
                .await?;
        found.map(rows::credentials).transpose()
    }

    async fn user(&self, principal: Principal) -> Result<Option<User>, StoreError> {
        let email: Option<String> =
            sqlx::query_scalar("SELECT email FROM users WHERE id = ?1 AND token_key = ?2")
                .bind(principal.user.0)
                .bind(principal.key.as_bytes())
                .fetch_optional(&mut *self.reader.get().await?)
                .await?;
        Ok(email.map(|email| User {
            id: principal.user,
            email: EmailAddress::from_stored(email),
        }))
    }
}

//! Accounts in SQLite.

use async_trait::async_trait;

use super::SqliteStore;
use crate::domain::{EmailAddress, Principal, Timestamp, TokenKey, User, UserId};
use crate::store::rows::{self, CredentialsRow};
use crate::store::{Change, CreateUserError, Credentials, MAX_KNOWN_ADDRESSES, StoreError, Users};

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
        let [first, second, third] = email.lookup_keys();
        let found: Option<CredentialsRow> = sqlx::query_as(
            "SELECT id, token_key, email, password_hash FROM users WHERE email_key IN (?1, ?2, ?3)
             ORDER BY email_key = ?1 DESC, email_key = ?2 DESC LIMIT 1",
        )
        .bind(first)
        .bind(second)
        .bind(third)
        .fetch_optional(&mut *self.reader.get().await?)
        .await?;
        found.map(rows::credentials).transpose()
    }

    async fn user(&self, principal: Principal) -> Result<Option<User>, StoreError> {
        let email: Option<String> =
            sqlx::query_scalar(
                "SELECT email FROM users WHERE id = (SELECT user_id FROM account_keys WHERE user_id = ?1 AND key = ?2)",
            )
                .bind(principal.user.0)
                .bind(principal.key.as_bytes())
                .fetch_optional(&mut *self.reader.get().await?)
                .await?;
        Ok(email.map(|email| User {
            id: principal.user,
            email: EmailAddress::from_stored(email),
        }))
    }

    async fn credentials_of(
        &self,
        principal: Principal,
    ) -> Result<Option<Credentials>, StoreError> {
        let found: Option<CredentialsRow> = sqlx::query_as(
            "SELECT id, token_key, email, password_hash FROM users WHERE id = ?1 AND token_key = ?2",
        )
        .bind(principal.user.0)
        .bind(principal.key.as_bytes())
        .fetch_optional(&mut *self.reader.get().await?)
        .await?;
        found.map(rows::credentials).transpose()
    }

    async fn change_password(
        &self,
        principal: Principal,
        password_hash: &str,
        key: TokenKey,
    ) -> Result<bool, StoreError> {
        let changed = sqlx::query(
            "UPDATE users SET password_hash = ?3, token_key = ?4 WHERE id = ?1 AND token_key = ?2",
        )
        .bind(principal.user.0)
        .bind(principal.key.as_bytes())
        .bind(password_hash)
        .bind(key.as_bytes())
        .execute(&mut *self.writer.get().await?)
        .await?;
        Ok(changed.rows_affected() > 0)
    }

    async fn end_tokens(&self, principal: Principal, key: TokenKey) -> Result<bool, StoreError> {
        let ended = sqlx::query("UPDATE users SET token_key = ?3 WHERE id = ?1 AND token_key = ?2")
            .bind(principal.user.0)
            .bind(principal.key.as_bytes())
            .bind(key.as_bytes())
            .execute(&mut *self.writer.get().await?)
            .await?;
        Ok(ended.rows_affected() > 0)
    }

    async fn delete_user(
        &self,
        principal: Principal,
        now: Timestamp,
    ) -> Result<Option<Vec<Change>>, StoreError> {
        self.mark_deleted(principal, now).await
    }

    async fn remove_deleted(&self, limit: u32) -> Result<bool, StoreError> {
        self.remove_rows_of_deleted(limit).await
    }

    async fn remember_address(
        &self,
        user: UserId,
        address: i64,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut writer = self.writer.get().await?;
        let mut transaction = writer.begin_immediate().await?;
        sqlx::query(
            "INSERT INTO known_addresses (user_id, address, last_used)
             SELECT id, ?2, ?3 FROM users WHERE id = ?1
             ON CONFLICT (user_id, address) DO UPDATE SET last_used = excluded.last_used",
        )
        .bind(user.0)
        .bind(address)
        .bind(now.micros())
        .execute(&mut *transaction)
        .await?;
        sqlx::query(
            "DELETE FROM known_addresses WHERE user_id = ?1 AND address IN (
                 SELECT address FROM known_addresses WHERE user_id = ?1 AND address <> ?2
                 ORDER BY last_used DESC LIMIT -1 OFFSET ?3)",
        )
        .bind(user.0)
        .bind(address)
        .bind(MAX_KNOWN_ADDRESSES - 1)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(())
    }

    async fn knows_address(&self, email: &EmailAddress, address: i64) -> Result<bool, StoreError> {
        let [first, second, third] = email.lookup_keys();
        let known = sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM known_addresses WHERE address = ?4 AND user_id IN (
                 SELECT id FROM users WHERE email_key IN (?1, ?2, ?3)))",
        )
        .bind(first)
        .bind(second)
        .bind(third)
        .bind(address)
        .fetch_one(&mut *self.reader.get().await?)
        .await?;
        Ok(known)
    }
}

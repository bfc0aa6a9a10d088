//! Accounts in Postgres.

use async_trait::async_trait;

use super::PostgresStore;
use super::history::{CHECKS, unchecked};
use crate::domain::{EmailAddress, Principal, Timestamp, TokenKey, User, UserId};
use crate::store::rows::{self, CredentialsRow};
use crate::store::{Change, CreateUserError, Credentials, MAX_KNOWN_ADDRESSES, StoreError, Users};

#[async_trait]
impl Users for PostgresStore {
    async fn create_user(
        &self,
        email: &EmailAddress,
        password_hash: &str,
        key: TokenKey,
        now: Timestamp,
    ) -> Result<UserId, CreateUserError> {
        for _ in 0..CHECKS {
            if let Some(user) = self.insert_user(email, password_hash, key, now).await? {
                self.seen.registered(user);
                return Ok(user);
            }
            self.check_server().await?;
        }
        Err(unchecked().into())
    }

    async fn credentials(&self, email: &EmailAddress) -> Result<Option<Credentials>, StoreError> {
        let keys = email.lookup_keys();
        let found: Option<CredentialsRow> = self
            .pool
            .run(async |session| {
                sqlx::query_as(
                    "SELECT id, token_key, email, password_hash FROM users WHERE email_key = ANY ($1)
                     ORDER BY array_position($1, email_key) LIMIT 1",
                )
                .bind(&keys[..])
                .fetch_optional(session)
                .await
            })
            .await?;
        found.map(rows::credentials).transpose()
    }

    async fn user(&self, principal: Principal) -> Result<Option<User>, StoreError> {
        let email: Option<String> = self
            .pool
            .run(async |session| {
                sqlx::query_scalar(
                    "SELECT email FROM users WHERE id = (SELECT user_id FROM account_keys WHERE user_id = $1 AND key = $2)",
                )
                    .bind(principal.user.0)
                    .bind(principal.key.as_bytes())
                    .fetch_optional(session)
                    .await
            })
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
        let found: Option<CredentialsRow> = self
            .pool
            .run(async |session| {
                sqlx::query_as(
                    "SELECT id, token_key, email, password_hash FROM users WHERE id = $1 AND token_key = $2",
                )
                .bind(principal.user.0)
                .bind(principal.key.as_bytes())
                .fetch_optional(session)
                .await
            })
            .await?;
        found.map(rows::credentials).transpose()
    }

    async fn change_password(
        &self,
        principal: Principal,
        password_hash: &str,
        key: TokenKey,
    ) -> Result<bool, StoreError> {
        let changed = self.pool.run(async |session| {
            sqlx::query(
                "UPDATE users SET password_hash = $3, token_key = $4 WHERE id = $1 AND token_key = $2",
            )
            .bind(principal.user.0)
            .bind(principal.key.as_bytes())
            .bind(password_hash)
            .bind(key.as_bytes())
            .execute(session)
            .await
        });
        Ok(changed.await?.rows_affected() > 0)
    }

    async fn end_tokens(&self, principal: Principal, key: TokenKey) -> Result<bool, StoreError> {
        let ended = self.pool.run(async |session| {
            sqlx::query("UPDATE users SET token_key = $3 WHERE id = $1 AND token_key = $2")
                .bind(principal.user.0)
                .bind(principal.key.as_bytes())
                .bind(key.as_bytes())
                .execute(session)
                .await
        });
        Ok(ended.await?.rows_affected() > 0)
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
        let remembered = self.pool.run(async |session| {
            sqlx::query(
                "WITH noted AS (
                     INSERT INTO known_addresses (user_id, address, last_used)
                     SELECT id, $2, $3 FROM users WHERE id = $1
                     ON CONFLICT (user_id, address) DO UPDATE SET last_used = excluded.last_used)
                 DELETE FROM known_addresses WHERE user_id = $1 AND address IN (
                     SELECT address FROM known_addresses WHERE user_id = $1 AND address <> $2
                     ORDER BY last_used DESC OFFSET $4)",
            )
            .bind(user.0)
            .bind(address)
            .bind(now.micros())
            .bind(MAX_KNOWN_ADDRESSES - 1)
            .execute(session)
            .await
        });
        remembered.await?;
        Ok(())
    }

    async fn knows_address(&self, email: &EmailAddress, address: i64) -> Result<bool, StoreError> {
        let keys = email.lookup_keys();
        let known = self.pool.run(async |session| {
            sqlx::query_scalar(
                "SELECT EXISTS (SELECT FROM known_addresses WHERE address = $2 AND user_id IN (
                     SELECT id FROM users WHERE email_key = ANY ($1)))",
            )
            .bind(&keys[..])
            .bind(address)
            .fetch_one(session)
            .await
        });
        Ok(known.await?)
    }
}

impl PostgresStore {
    /// `None` on a server that has to be checked before it gives ids out.
    async fn insert_user(
        &self,
        email: &EmailAddress,
        password_hash: &str,
        key: TokenKey,
        now: Timestamp,
    ) -> Result<Option<UserId>, CreateUserError> {
        let created: Result<Vec<i64>, _> = self
            .pool
            .run(async |session| {
                sqlx::query_scalar(
                    "INSERT INTO users (email, email_key, password_hash, token_key, created_at)
                     SELECT $1, $2, $3, $4, $5 FROM database_history WHERE checked_on = pg_postmaster_start_time() RETURNING id",
                )
                .bind(email.as_str())
                .bind(email.lookup_key())
                .bind(password_hash)
                .bind(key.as_bytes())
                .bind(now.micros())
                .fetch_all(session)
                .await
            })
            .await;
        match created {
            Ok(created) => Ok(rows::written(created).map(UserId)),
            Err(sqlx::Error::Database(error))
                if error.constraint() == Some("users_email_key_unique") =>
            {
                Err(CreateUserError::EmailTaken)
            }
            Err(error) => Err(StoreError::from(error).into()),
        }
    }
}

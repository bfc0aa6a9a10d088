//! Accounts in Postgres.

use async_trait::async_trait;

use super::{PostgresStore, moment};
use crate::domain::{EmailAddress, Timestamp, User, UserId};
use crate::store::rows;
use crate::store::{CreateUserError, Credentials, MAX_KNOWN_ADDRESSES, StoreError, Users};

#[async_trait]
impl Users for PostgresStore {
    async fn create_user(
        &self,
        email: &EmailAddress,
        password_hash: &str,
        now: Timestamp,
    ) -> Result<UserId, CreateUserError> {
        let created: Result<Vec<i64>, _> = self
            .pool
            .run(async |session| {
                sqlx::query_scalar(concat!(
            "INSERT INTO users (email, email_key, password_hash, created_at) VALUES ($1, $2, $3, ",
            moment!("$4"),
            ") RETURNING id"
        ))
        .bind(email.as_str())
        .bind(email.lookup_key())
        .bind(password_hash)
        .bind(now.micros())
        .fetch_all(session).await
            })
            .await;
        match created.map(rows::written) {
            Ok(Some(id)) => Ok(UserId(id)),
            Ok(None) => Err(StoreError::Unexpected("a new account has no id".into()).into()),
            Err(sqlx::Error::Database(error))
                if error.constraint() == Some("users_email_key_unique") =>
            {
                Err(CreateUserError::EmailTaken)
            }
            Err(error) => Err(StoreError::from(error).into()),
        }
    }

    async fn credentials(&self, email: &EmailAddress) -> Result<Option<Credentials>, StoreError> {
        let keys = email.lookup_keys();
        let found: Option<(i64, String)> = self
            .pool
            .run(async |session| {
                sqlx::query_as(
                    "SELECT id, password_hash FROM users WHERE email_key = ANY ($1)
                     ORDER BY array_position($1, email_key) LIMIT 1",
                )
                .bind(&keys[..])
                .fetch_optional(session)
                .await
            })
            .await?;
        Ok(found.map(|(id, password_hash)| Credentials {
            user: UserId(id),
            password_hash,
        }))
    }

    async fn user(&self, id: UserId) -> Result<Option<User>, StoreError> {
        let email: Option<String> = self
            .pool
            .run(async |session| {
                sqlx::query_scalar("SELECT email FROM users WHERE id = $1")
                    .bind(id.0)
                    .fetch_optional(session)
                    .await
            })
            .await?;
        Ok(email.map(|email| User {
            id,
            email: EmailAddress::from_stored(email),
        }))
    }

    async fn remember_address(
        &self,
        user: UserId,
        address: i64,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let remembered = self.pool.run(async |session| {
            sqlx::query(concat!(
                "WITH noted AS (
                     INSERT INTO known_addresses (user_id, address, last_used)
                     SELECT id, $2, ",
                moment!("$3"),
                " FROM users WHERE id = $1
                     ON CONFLICT (user_id, address) DO UPDATE SET last_used = excluded.last_used)
                 DELETE FROM known_addresses WHERE user_id = $1 AND address IN (
                     SELECT address FROM known_addresses WHERE user_id = $1 AND address <> $2
                     ORDER BY last_used DESC OFFSET $4)"
            ))
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

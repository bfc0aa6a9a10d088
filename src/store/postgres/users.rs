//! Accounts in Postgres.

use async_trait::async_trait;

use super::{PostgresStore, moment};
use crate::domain::{EmailAddress, Timestamp, User, UserId};
use crate::store::rows;
use crate::store::{CreateUserError, Credentials, StoreError, Users};

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
        let found: Option<(i64, String)> = self
            .pool
            .run(async |session| {
                sqlx::query_as("SELECT id, password_hash FROM users WHERE email_key = $1")
                    .bind(email.lookup_key())
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
}

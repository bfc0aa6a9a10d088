//! Sessions of browsers in Postgres.

use async_trait::async_trait;

use super::PostgresStore;
use crate::domain::{Principal, Timestamp, TokenKey};
use crate::store::rows::{self, OpenSessionRow, WebSessionRow};
use crate::store::{MAX_SESSIONS, NewSession, OpenSession, Sessions, StoreError, WebSession};

#[async_trait]
impl Sessions for PostgresStore {
    async fn begin_session(&self, session: NewSession<'_>) -> Result<(), StoreError> {
        // The new session is none of those that the second part sees.
        let begun = self.pool.run(async |connection| {
            sqlx::query(
                "WITH begun AS (
                     INSERT INTO web_sessions (user_id, token_key, hash, agent, created_at, expires_at)
                     SELECT id, token_key, $3, $4, $5, $6 FROM users WHERE id = $1 AND token_key = $2)
                 DELETE FROM web_sessions WHERE id IN (
                     SELECT id FROM web_sessions WHERE user_id = $1 ORDER BY id DESC OFFSET $7)",
            )
            .bind(session.owner.user.0)
            .bind(session.owner.key.as_bytes())
            .bind(session.hash.as_bytes())
            .bind(session.agent)
            .bind(session.created_at.micros())
            .bind(session.expires_at.micros())
            .bind(MAX_SESSIONS - 1)
            .execute(connection)
            .await
        });
        begun.await?;
        Ok(())
    }

    async fn session(
        &self,
        hash: TokenKey,
        now: Timestamp,
    ) -> Result<Option<OpenSession>, StoreError> {
        let found: Option<OpenSessionRow> = self
            .pool
            .run(async |connection| {
                sqlx::query_as(
                    "SELECT web_sessions.id, users.id, users.token_key, email,
                     EXISTS (SELECT FROM user_roles WHERE user_roles.user_id = users.id AND role = 'admin') FROM web_sessions
                     JOIN users ON users.id = web_sessions.user_id AND users.token_key = web_sessions.token_key
                     WHERE hash = $1 AND expires_at > $2",
                )
                .bind(hash.as_bytes())
                .bind(now.micros())
                .fetch_optional(connection)
                .await
            })
            .await?;
        found.map(rows::open_session).transpose()
    }

    async fn sessions_of(
        &self,
        owner: Principal,
        now: Timestamp,
    ) -> Result<Vec<WebSession>, StoreError> {
        let found: Vec<WebSessionRow> = self
            .pool
            .run(async |connection| {
                sqlx::query_as(
                    "SELECT id, agent, created_at FROM web_sessions
                     WHERE user_id = $1 AND token_key = $2 AND expires_at > $3 ORDER BY id DESC",
                )
                .bind(owner.user.0)
                .bind(owner.key.as_bytes())
                .bind(now.micros())
                .fetch_all(connection)
                .await
            })
            .await?;
        found.into_iter().map(rows::web_session).collect()
    }

    async fn end_session(&self, owner: Principal, id: i64) -> Result<bool, StoreError> {
        let ended = self.pool.run(async |connection| {
            sqlx::query(
                "DELETE FROM web_sessions WHERE id = $3 AND user_id = $1 AND token_key = $2",
            )
            .bind(owner.user.0)
            .bind(owner.key.as_bytes())
            .bind(id)
            .execute(connection)
            .await
        });
        Ok(ended.await?.rows_affected() > 0)
    }

    async fn prune_sessions(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let removed = self.pool.run(async |connection| {
            sqlx::query(
                "DELETE FROM web_sessions WHERE id IN (
                     SELECT id FROM web_sessions WHERE expires_at <= $1 LIMIT $2)",
            )
            .bind(now.micros())
            .bind(i64::from(limit))
            .execute(connection)
            .await
        });
        Ok(removed.await?.rows_affected())
    }
}

//! Sessions of browsers. All of an account end when it gets another key.

use super::sql::{Row, query};
use super::{Store, StoreError};
use crate::domain::{Principal, Timestamp, TokenKey, User};

/// Sessions kept of one account; a further one ends the oldest.
pub const MAX_SESSIONS: i64 = 50;

/// A session to be begun.
#[derive(Clone, Copy, Debug)]
pub struct NewSession<'a> {
    /// The account, which was just logged in to.
    pub owner: Principal,
    /// The hash of the cookie.
    pub hash: TokenKey,
    /// What the browser calls itself, in a few words.
    pub agent: &'a str,
    /// When it begins.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Timestamp,
}

/// A session as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebSession {
    /// The database's own number.
    pub id: i64,
    /// What the browser calls itself.
    pub agent: String,
    /// When it began.
    pub created_at: Timestamp,
}

/// A session that a cookie names, and its account.
#[derive(Clone, Debug)]
pub struct OpenSession {
    /// The database's own number.
    pub id: i64,
    /// The account with the key that it had when the session began, and has now.
    pub principal: Principal,
    /// The account.
    pub user: User,
    /// Whether it administers the service.
    pub is_admin: bool,
}

impl Store {
    /// Begins a session. The newest [`MAX_SESSIONS`] of the account are kept.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn begin_session(&self, session: NewSession<'_>) -> Result<(), StoreError> {
        let (user, key) = (session.owner.user, &session.owner.key);
        let begin = query(
            "INSERT INTO web_sessions (user_id, token_key, hash, agent, created_at, expires_at)
             SELECT id, token_key, $3, $4, $5, $6 FROM users WHERE id = $1 AND token_key = $2",
        )
        .bind(user)
        .bind(key)
        .bind(&session.hash)
        .bind(session.agent)
        .bind(session.created_at)
        .bind(session.expires_at);
        let end_oldest = query(
            "DELETE FROM web_sessions WHERE user_id = $1 AND id <= (
                 SELECT id FROM web_sessions WHERE user_id = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)",
        )
        .bind(user)
        .bind(MAX_SESSIONS);
        let done = self.engine.transaction(async |connection| {
            connection.execute(begin).await?;
            connection.execute(end_oldest).await
        });
        done.await.map(drop)
    }

    /// The session with this hash; `None` if it has ended, or its account has another key by now.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn session(
        &self,
        hash: TokenKey,
        now: Timestamp,
    ) -> Result<Option<OpenSession>, StoreError> {
        let find = query(
            "SELECT web_sessions.id, users.id AS user_id, users.token_key, email,
                 EXISTS (SELECT 1 FROM user_roles WHERE user_roles.user_id = users.id AND role = 'admin') AS is_admin
             FROM web_sessions
             JOIN users ON users.id = web_sessions.user_id AND users.token_key = web_sessions.token_key
             WHERE hash = $1 AND expires_at > $2",
        );
        let found = self.engine.read_one(find.bind(&hash).bind(now)).await?;
        found.as_ref().map(open_session).transpose()
    }

    /// The open sessions of an account, newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn sessions_of(
        &self,
        owner: Principal,
        now: Timestamp,
    ) -> Result<Vec<WebSession>, StoreError> {
        let find = query(
            "SELECT id, agent, created_at FROM web_sessions
             WHERE user_id = $1 AND token_key = $2 AND expires_at > $3 ORDER BY id DESC",
        );
        let find = find.bind(owner.user).bind(&owner.key).bind(now);
        let found = self.engine.read(find).await?;
        found.iter().map(web_session).collect()
    }

    /// Ends a session of this account, on every instance at once. `false` without such a session.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn end_session(&self, owner: Principal, id: i64) -> Result<bool, StoreError> {
        let end =
            query("DELETE FROM web_sessions WHERE id = $3 AND user_id = $1 AND token_key = $2");
        let end = end.bind(owner.user).bind(&owner.key).bind(id);
        Ok(self.engine.execute(end).await? > 0)
    }

    /// Removes up to `limit` sessions that ended before `now`. Returns how many.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn prune_sessions(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let prune = query(
            "DELETE FROM web_sessions WHERE id IN (
                 SELECT id FROM web_sessions WHERE expires_at <= $1 LIMIT $2)",
        );
        self.engine.execute(prune.bind(now).bind(limit)).await
    }
}

fn open_session(row: &Row) -> Result<OpenSession, StoreError> {
    let user = row.get("user_id")?;
    let key = row.get("token_key")?;
    Ok(OpenSession {
        id: row.get("id")?,
        principal: Principal { user, key },
        user: User {
            id: user,
            email: row.get("email")?,
        },
        is_admin: row.get("is_admin")?,
    })
}

fn web_session(row: &Row) -> Result<WebSession, StoreError> {
    Ok(WebSession {
        id: row.get("id")?,
        agent: row.get("agent")?,
        created_at: row.get("created_at")?,
    })
}

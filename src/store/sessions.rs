//! Sessions of browsers. All of an account end when it gets another key.

use super::sql::{Row, query};
use super::{Store, StoreError};
use crate::domain::{GroupName, GroupRole, Principal, Timestamp, TokenKey, User, UserId};

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
    /// What began it.
    pub by: SessionBy<'a>,
}

/// What began a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionBy<'a> {
    /// A password.
    Password,
    /// A second factor beside it.
    SecondFactor,
    /// A session at the identity provider, empty if the provider names none.
    Provider(&'a str),
}

impl SessionBy<'_> {
    /// Whether the identity provider began the session.
    #[must_use]
    pub fn is_provider(self) -> bool {
        matches!(self, Self::Provider(_))
    }

    /// Whether more than a password began it: a second factor, or the identity provider, which asks for as many as it likes.
    #[must_use]
    pub fn is_strong(self) -> bool {
        self != Self::Password
    }
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
    /// The group whose links its pages show, as long as the account is a member of it.
    pub group: Option<ActingFor>,
    /// Whether it administers the service.
    pub is_admin: bool,
    /// Whether the account is a member of any group.
    pub has_groups: bool,
    /// The tag of the language that the account chose for its pages; empty: the browser's.
    pub language: String,
    /// What began it; a session at the identity provider is not named.
    pub by: SessionBy<'static>,
    /// When it began.
    pub created_at: Timestamp,
}

/// The group for which an account acts in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActingFor {
    /// The number of the group.
    pub group: UserId,
    /// Its name.
    pub name: GroupName,
    /// How far it may act.
    pub role: GroupRole,
}

impl Store {
    /// Begins a session. The newest [`MAX_SESSIONS`] of the account are kept.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn begin_session(&self, session: NewSession<'_>) -> Result<(), StoreError> {
        let (user, key) = (session.owner.user, &session.owner.key);
        let provider_session = match session.by {
            SessionBy::Provider(name) => Some(name),
            SessionBy::Password | SessionBy::SecondFactor => None,
        };
        let begin = query(
            "INSERT INTO web_sessions (user_id, token_key, hash, agent, created_at, expires_at, provider_session,
                 has_second_factor)
             SELECT id, token_key, $3, $4, $5, $6, $7, $8 FROM users WHERE id = $1 AND token_key = $2",
        )
        .bind(user)
        .bind(key)
        .bind(&session.hash)
        .bind(session.agent)
        .bind(session.created_at)
        .bind(session.expires_at)
        .bind(provider_session)
        .bind(session.by == SessionBy::SecondFactor);
        let end_oldest = query(
            "DELETE FROM web_sessions WHERE user_id = $1 AND id <= (
                 SELECT id FROM web_sessions WHERE user_id = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)",
        )
        .bind(user)
        .bind(MAX_SESSIONS);
        self.engine.execute(begin).await?;
        self.engine.execute(end_oldest).await.map(drop)
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
            "SELECT web_sessions.id, users.id AS user_id, users.token_key, users.email, users.language,
                 provider_session IS NOT NULL AS is_of_provider, has_second_factor, web_sessions.created_at,
                 EXISTS (SELECT 1 FROM user_roles WHERE user_roles.user_id = users.id AND role = 'admin') AS is_admin,
                 EXISTS (SELECT 1 FROM group_members AS joined WHERE joined.user_id = users.id) AS has_groups,
                 groups.id AS group_id, groups.group_name, group_members.role AS group_role
             FROM web_sessions
             JOIN users ON users.id = web_sessions.user_id AND users.token_key = web_sessions.token_key
             LEFT JOIN group_members ON group_members.group_id = web_sessions.group_id AND group_members.user_id = users.id
             LEFT JOIN users AS groups ON groups.id = group_members.group_id
                 AND NOT EXISTS (SELECT 1 FROM banned_users WHERE banned_users.user_id = groups.id)
             WHERE hash = $1 AND expires_at > $2",
        );
        let found = self.engine.read_one(find.bind(&hash).bind(now)).await?;
        found.as_ref().map(open_session).transpose()
    }

    /// Lets the pages of a session of this account show the links of a group that it is a member of, or its own again. `false`: there is
    /// no such session, or it is no member.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn choose_group(
        &self,
        owner: Principal,
        session: i64,
        group: Option<UserId>,
    ) -> Result<bool, StoreError> {
        let choose = query(
            "UPDATE web_sessions SET group_id = $4 WHERE id = $3 AND user_id = $1 AND token_key = $2
             AND (CAST($4 AS bigint) IS NULL OR EXISTS (SELECT 1 FROM group_members WHERE group_id = $4 AND group_members.user_id = $1))",
        );
        let choose = choose.bind(owner.user).bind(&owner.key);
        let choose = choose.bind(session).bind(group);
        Ok(self.engine.execute(choose).await? > 0)
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
    let by = match (row.get("is_of_provider")?, row.get("has_second_factor")?) {
        (true, _) => SessionBy::Provider(""),
        (false, true) => SessionBy::SecondFactor,
        (false, false) => SessionBy::Password,
    };
    Ok(OpenSession {
        id: row.get("id")?,
        principal: Principal { user, key },
        user: User {
            id: user,
            email: row.get("email")?,
            group: None,
        },
        group: acting_for(row)?,
        is_admin: row.get("is_admin")?,
        has_groups: row.get("has_groups")?,
        language: row.get("language")?,
        by,
        created_at: row.get("created_at")?,
    })
}

/// `None` without a group, and if the account is no member of it any more.
fn acting_for(row: &Row) -> Result<Option<ActingFor>, StoreError> {
    let Some(group) = row.get("group_id")? else {
        return Ok(None);
    };
    Ok(Some(ActingFor {
        group,
        name: row.get("group_name")?,
        role: row.get("group_role")?,
    }))
}

fn web_session(row: &Row) -> Result<WebSession, StoreError> {
    Ok(WebSession {
        id: row.get("id")?,
        agent: row.get("agent")?,
        created_at: row.get("created_at")?,
    })
}

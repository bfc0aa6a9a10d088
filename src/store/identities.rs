//! Who signs in by an identity provider.

use super::administration::note;
use super::connection::Connection;
use super::sql::{Row, query};
use super::{Actor, CreateUserError, Store, StoreError};
use crate::domain::{EmailAddress, Principal, Timestamp, TokenKey, UserId};

/// In the place of the hash of an account that has no password. No password has this hash, and to check one is as much work as ever.
const NO_PASSWORD: &str = "$argon2id$v=19$m=19456,t=2,p=1$bm8gcGFzc3dvcmQgYXQgYWxs$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// A person, by the names of the provider.
#[derive(Clone, Copy, Debug)]
pub struct Identity<'a> {
    /// The provider.
    pub issuer: &'a str,
    /// The person.
    pub subject: &'a str,
}

/// The account of a person.
#[derive(Clone, Debug)]
pub struct IdentifiedUser {
    /// The account.
    pub principal: Principal,
    /// Whether administrators banned it.
    pub is_banned: bool,
}

/// The account that has the e-mail address of a person, and that the person has not joined.
#[derive(Clone, Debug)]
pub struct UserToJoin {
    /// The account.
    pub principal: Principal,
    /// Whether administrators banned it.
    pub is_banned: bool,
    /// Whether it has a password.
    pub has_password: bool,
    /// Whether another person of the same provider has it.
    pub is_of_another: bool,
}

/// How sessions of the identity provider are named that end.
#[derive(Clone, Copy, Debug)]
pub struct ProviderSessions<'a> {
    /// The provider.
    pub issuer: &'a str,
    /// Of this person.
    pub subject: Option<&'a str>,
    /// With this name; `None`: all of the person.
    pub session: Option<&'a str>,
}

impl Store {
    /// The account of a person; `None` if the person has none yet.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn identified_user(
        &self,
        identity: Identity<'_>,
    ) -> Result<Option<IdentifiedUser>, StoreError> {
        let find = query(
            "SELECT id, token_key, EXISTS (SELECT 1 FROM banned_users WHERE user_id = users.id) AS is_banned
             FROM users WHERE id = (SELECT user_id FROM identities WHERE issuer = $1 AND subject = $2)",
        );
        let find = find.bind(identity.issuer).bind(identity.subject);
        let found = self.engine.read_one(find).await?;
        let user = found.map(|row| {
            Ok(IdentifiedUser {
                principal: principal(&row)?,
                is_banned: row.get("is_banned")?,
            })
        });
        user.transpose()
    }

    /// The account with an e-mail address of which a provider says that it is a person's, as [`Store::credentials`] finds it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn user_to_join(
        &self,
        email: &EmailAddress,
        issuer: &str,
    ) -> Result<Option<UserToJoin>, StoreError> {
        let [first, second, third] = email.lookup_keys();
        let find = query(
            "SELECT id, token_key, password_hash <> $5 AS has_password,
                 EXISTS (SELECT 1 FROM banned_users WHERE user_id = users.id) AS is_banned,
                 EXISTS (SELECT 1 FROM identities WHERE user_id = users.id AND issuer = $4) AS is_of_another
             FROM users WHERE email_key IN ($1, $2, $3)
             ORDER BY email_key = $1 DESC, email_key = $2 DESC LIMIT 1",
        );
        let find = find.bind(first).bind(second).bind(third);
        let find = find.bind(issuer).bind(NO_PASSWORD);
        let found = self.engine.read_one(find).await?;
        let user = found.map(|row| {
            Ok(UserToJoin {
                principal: principal(&row)?,
                is_banned: row.get("is_banned")?,
                has_password: row.get("has_password")?,
                is_of_another: row.get("is_of_another")?,
            })
        });
        user.transpose()
    }

    /// Whether an account has a password; `None` if it is gone, or has another key by now.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn has_password(&self, principal: Principal) -> Result<Option<bool>, StoreError> {
        let find = query(
            "SELECT password_hash <> $3 AS has_password FROM users WHERE id = $1 AND token_key = $2",
        );
        let find = find.bind(principal.user).bind(&principal.key);
        let found = self.engine.read_one(find.bind(NO_PASSWORD)).await?;
        found.map(|row| row.get("has_password")).transpose()
    }

    /// Creates an account without a password for a person, as [`Store::create_user`].
    ///
    /// # Errors
    /// [`CreateUserError::EmailTaken`] also if the person has an account by now.
    pub async fn create_identified_user(
        &self,
        email: &EmailAddress,
        identity: Identity<'_>,
        key: TokenKey,
        now: Timestamp,
    ) -> Result<UserId, CreateUserError> {
        let insert = || self.insert_identified_user(email, identity, &key, now);
        let user = self.engine.with_new_ids(insert).await?;
        if let Some(seen) = self.engine.seen() {
            seen.registered(user);
        }
        Ok(user)
    }

    async fn insert_identified_user(
        &self,
        email: &EmailAddress,
        identity: Identity<'_>,
        key: &TokenKey,
        now: Timestamp,
    ) -> Result<Option<UserId>, CreateUserError> {
        let inserted = self.engine.transaction(async |connection| {
            let insert = query(
                "INSERT INTO users (email, email_key, password_hash, token_key, created_at)
                 SELECT $1, $2, $3, $4, $5 FROM checked_server WHERE true
                 ON CONFLICT (email_key) DO NOTHING RETURNING id",
            );
            let insert = insert.bind(email.as_str()).bind(email.lookup_key());
            let insert = insert.bind(NO_PASSWORD).bind(key).bind(now);
            let Some(inserted) = connection.optional(insert).await? else {
                let find = query("SELECT id FROM users WHERE email_key = $1");
                let find = find.bind(email.lookup_key());
                return match connection.optional(find).await? {
                    Some(_) => Err(CreateUserError::EmailTaken),
                    None => Ok(None),
                };
            };
            let user: UserId = inserted.get("id")?;
            if insert_identity(connection, user, identity, now).await? {
                Ok(Some(user))
            } else {
                Err(CreateUserError::EmailTaken)
            }
        });
        inserted.await
    }

    /// Joins a person to an account. `false` if the account is gone or has another key by now, or the person has an account.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn join_identity(
        &self,
        principal: Principal,
        identity: Identity<'_>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let join = query(
            "INSERT INTO identities (issuer, subject, user_id, joined_at)
             SELECT $3, $4, id, $5 FROM users WHERE id = $1 AND token_key = $2
             ON CONFLICT (issuer, subject) DO NOTHING",
        );
        let join = join.bind(principal.user).bind(&principal.key);
        let join = join.bind(identity.issuer).bind(identity.subject).bind(now);
        Ok(self.engine.execute(join).await? > 0)
    }

    /// Gives an account the role of an administrator, or takes it, also from the last one, as a group at the provider says. Returns
    /// whether that changed anything, which is noted for the audit.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn set_role_by_group(
        &self,
        principal: Principal,
        is_admin: bool,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let give = query(
            "INSERT INTO user_roles (user_id, role, granted_at) SELECT id, 'admin', $3 FROM users WHERE id = $1 AND token_key = $2
             ON CONFLICT (user_id) DO NOTHING",
        );
        let take = query("DELETE FROM user_roles WHERE user_id = $1 AND role = 'admin'");
        let (set, action) = if is_admin {
            let give = give.bind(principal.user).bind(&principal.key).bind(at);
            (give, "grant")
        } else {
            (take.bind(principal.user), "revoke_role")
        };
        let set = self.engine.transaction(async |connection| {
            let is_changed = connection.execute(set).await? > 0;
            if is_changed {
                let subject = format!("user {}", principal.user.0);
                note(
                    connection,
                    by,
                    at,
                    action,
                    &subject,
                    "by a group at the identity provider",
                )
                .await?;
            }
            Ok(is_changed)
        });
        set.await
    }

    /// Ends sessions that the provider began, on every instance at once. Returns whose they were.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn end_provider_sessions(
        &self,
        sessions: ProviderSessions<'_>,
    ) -> Result<Vec<UserId>, StoreError> {
        let of_person =
            "user_id = (SELECT user_id FROM identities WHERE issuer = $1 AND subject = $2)";
        let end = match (sessions.subject, sessions.session) {
            (Some(subject), Some(session)) => super::sql::Query::built(format!(
                "DELETE FROM web_sessions WHERE provider_session = $3 AND {of_person} RETURNING user_id"
            ))
            .bind(sessions.issuer)
            .bind(subject)
            .bind(session),
            (Some(subject), None) => super::sql::Query::built(format!(
                "DELETE FROM web_sessions WHERE provider_session IS NOT NULL AND {of_person} RETURNING user_id"
            ))
            .bind(sessions.issuer)
            .bind(subject),
            (None, Some(session)) => {
                query("DELETE FROM web_sessions WHERE provider_session = $1 RETURNING user_id")
                    .bind(session)
            }
            (None, None) => return Ok(Vec::new()),
        };
        let ended = self.engine.write(end).await?;
        ended.iter().map(|row| row.get("user_id")).collect()
    }
}

async fn insert_identity(
    connection: &mut Connection<'_>,
    user: UserId,
    identity: Identity<'_>,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let insert = query(
        "INSERT INTO identities (issuer, subject, user_id, joined_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (issuer, subject) DO NOTHING",
    );
    let insert = insert.bind(identity.issuer).bind(identity.subject);
    let inserted = connection.execute(insert.bind(user).bind(now)).await?;
    Ok(inserted > 0)
}

fn principal(row: &Row) -> Result<Principal, StoreError> {
    Ok(Principal {
        user: row.get("id")?,
        key: row.get("token_key")?,
    })
}

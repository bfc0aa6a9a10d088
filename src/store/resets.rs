//! Forgotten passwords: a link by mail with which the owner of an account chooses another one.

use std::time::Duration;

use super::administration::note;
use super::sql::query;
use super::{Actor, Store, StoreError};
use crate::domain::{EmailAddress, Timestamp, TokenKey, UserId};

/// An account gets no second link before this time has passed.
pub const MIN_RESET_INTERVAL: Duration = Duration::from_mins(5);

/// The account that a link was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reset {
    /// The account.
    pub user: UserId,
    /// Its address, as it was given.
    pub email: EmailAddress,
    /// The tag of the language of its pages; empty: the browser's.
    pub language: String,
}

/// An account that may get another password. It has the key that it had when the link was made.
macro_rules! open_reset {
    () => {
        "hash = $1 AND expires_at > $2 AND users.token_key = password_resets.token_key
         AND NOT EXISTS (SELECT 1 FROM banned_users WHERE user_id = users.id)
         AND NOT EXISTS (SELECT 1 FROM deleted_users WHERE user_id = users.id)"
    };
}

impl Store {
    /// Keeps the hash of a link's token for the account with this address, in the place of an earlier one. `None`: there is no such
    /// account, it is banned, or it got a link just now.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn begin_reset(
        &self,
        email: &EmailAddress,
        hash: TokenKey,
        now: Timestamp,
        expires_at: Timestamp,
    ) -> Result<Option<Reset>, StoreError> {
        let [first, second, third] = email.lookup_keys();
        let begin = query(
            "INSERT INTO password_resets (user_id, token_key, hash, created_at, expires_at)
             SELECT id, token_key, $4, $5, $6 FROM users WHERE id = (
                 SELECT id FROM users WHERE email_key IN ($1, $2, $3)
                 ORDER BY email_key = $1 DESC, email_key = $2 DESC LIMIT 1)
             AND NOT EXISTS (SELECT 1 FROM banned_users WHERE user_id = users.id)
             AND NOT EXISTS (SELECT 1 FROM deleted_users WHERE user_id = users.id)
             ON CONFLICT (user_id) DO UPDATE SET token_key = excluded.token_key, hash = excluded.hash,
                 created_at = excluded.created_at, expires_at = excluded.expires_at
             WHERE password_resets.created_at <= $7
             RETURNING user_id",
        )
        .bind(first)
        .bind(second)
        .bind(third)
        .bind(&hash)
        .bind(now)
        .bind(expires_at)
        .bind(now.before(MIN_RESET_INTERVAL));
        if self.engine.write(begin).await?.is_empty() {
            return Ok(None);
        }
        self.reset(hash, now).await
    }

    /// The account of a link whose token has this hash; `None` if it was used or replaced, has expired, or the account got another
    /// key since.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn reset(&self, hash: TokenKey, now: Timestamp) -> Result<Option<Reset>, StoreError> {
        let find = query(concat!(
            "SELECT users.id, email, language FROM password_resets JOIN users ON users.id = user_id WHERE ",
            open_reset!()
        ));
        let found = self.engine.read_one(find.bind(&hash).bind(now)).await?;
        let reset = found.map(|row| {
            Ok(Reset {
                user: row.get("id")?,
                email: row.get("email")?,
                language: row.get("language")?,
            })
        });
        reset.transpose()
    }

    /// Gives the account of a link another password and another key: all its tokens and sessions end, and so does the link. That is
    /// noted for the audit. `None` as for [`Store::reset`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn use_reset(
        &self,
        hash: TokenKey,
        password_hash: &str,
        key: TokenKey,
        address: &str,
        now: Timestamp,
    ) -> Result<Option<UserId>, StoreError> {
        let used = self.engine.transaction(async |connection| {
            let find = query(concat!(
                "SELECT users.id FROM password_resets JOIN users ON users.id = user_id WHERE ",
                open_reset!()
            ));
            let find = find.bind(&hash).bind(now).locked("users");
            let Some(row) = connection.optional(find).await? else {
                return Ok(None);
            };
            let user: UserId = row.get("id")?;
            let change = query("UPDATE users SET password_hash = $2, token_key = $3 WHERE id = $1");
            let change = change.bind(user).bind(password_hash).bind(&key);
            connection.execute(change).await?;
            let end = query("DELETE FROM password_resets WHERE user_id = $1");
            connection.execute(end.bind(user)).await?;
            let by = Actor {
                user: Some(user),
                address,
            };
            let subject = format!("user {}", user.0);
            note(connection, by, now, "reset_forgotten", &subject, "").await?;
            Ok(Some(user))
        });
        used.await
    }

    /// Removes up to `limit` links that ended before `now`. Returns how many.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn prune_resets(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let prune = query(
            "DELETE FROM password_resets WHERE user_id IN (
                 SELECT user_id FROM password_resets WHERE expires_at <= $1 LIMIT $2)",
        );
        self.engine.execute(prune.bind(now).bind(limit)).await
    }
}

//! Links that are mailed to owners of accounts, which work once: to choose another password, and to confirm another e-mail address.

use std::time::Duration;

use super::administration::{note, subject};
use super::emails::{change_email, end_links};
use super::sql::{Query, Row, query};
use super::{Actor, Store, StoreError};
use crate::domain::{EmailAddress, EmailChange, Principal, Timestamp, TokenKey, UserId};

/// An account gets no second link of a kind before this time has passed.
pub const MIN_MAIL_INTERVAL: Duration = Duration::from_mins(5);

/// The account that a link for another password was made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reset {
    /// The account.
    pub user: UserId,
    /// Its address, as it was given.
    pub email: EmailAddress,
    /// The tag of the language of its pages; empty: the browser's.
    pub language: String,
}

/// A link that is to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewMailedLink {
    /// The hash of its secret.
    pub hash: TokenKey,
    /// When it begins.
    pub at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Timestamp,
}

impl NewMailedLink {
    fn bound_to<'a>(&'a self, begin: Query<'a>) -> Query<'a> {
        let begin = begin.bind(&self.hash).bind(self.at);
        let begin = begin.bind(self.expires_at);
        begin.bind(self.at.before(MIN_MAIL_INTERVAL))
    }
}

/// The result of asking for a link that confirms another address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BegunEmailChange {
    /// The link is made.
    Done(EmailChange),
    /// The account got a link just now; it gets another one from this moment on.
    TooSoon(Timestamp),
    /// The account is gone, banned, or has another key by now.
    Gone,
}

/// The result of confirming another address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EmailChanged {
    /// The account has it.
    Done(EmailChange),
    /// Another account has it.
    Taken,
    /// The link was used or replaced, has expired, is another account's, or never was.
    Over,
}

/// Keeps the hash of a link's secret for an account, in the place of an earlier link of this kind.
macro_rules! begin {
    ($purpose:literal, $email:literal, $account:literal) => {
        concat!(
            "INSERT INTO mailed_links (user_id, purpose, token_key, hash, created_at, expires_at, new_email)
             SELECT id, '",
            $purpose,
            "', token_key, $1, $2, $3, ",
            $email,
            " FROM users WHERE ",
            $account,
            " AND group_name IS NULL
             AND NOT EXISTS (SELECT 1 FROM banned_users WHERE user_id = users.id)
             AND NOT EXISTS (SELECT 1 FROM deleted_users WHERE user_id = users.id)
             ON CONFLICT (user_id, purpose) DO UPDATE SET token_key = excluded.token_key, hash = excluded.hash,
                 created_at = excluded.created_at, expires_at = excluded.expires_at, new_email = excluded.new_email
             WHERE mailed_links.created_at <= $4
             RETURNING user_id"
        )
    };
}

/// The account of a link that works. It has the key that it had when the link was made.
macro_rules! find {
    ($purpose:literal) => {
        concat!(
            "SELECT users.id, email, language, new_email FROM mailed_links JOIN users ON users.id = user_id
             WHERE purpose = '",
            $purpose,
            "' AND hash = $1 AND expires_at > $2 AND users.token_key = mailed_links.token_key
             AND NOT EXISTS (SELECT 1 FROM banned_users WHERE user_id = users.id)
             AND NOT EXISTS (SELECT 1 FROM deleted_users WHERE user_id = users.id)"
        )
    };
}

impl Store {
    /// Makes a link for another password of the account with this address. `None`: there is no such account, it is banned, or it
    /// got a link just now.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn begin_reset(
        &self,
        email: &EmailAddress,
        link: NewMailedLink,
    ) -> Result<Option<Reset>, StoreError> {
        let [first, second, third] = email.lookup_keys();
        let begin = query(begin!(
            "password",
            "NULL",
            "id = (SELECT id FROM users WHERE email_key IN ($5, $6, $7)
                 ORDER BY email_key = $5 DESC, email_key = $6 DESC LIMIT 1)"
        ));
        let begin = link.bound_to(begin).bind(first).bind(second).bind(third);
        if self.engine.write(begin).await?.is_empty() {
            return Ok(None);
        }
        self.reset(link.hash, link.at).await
    }

    /// The account of a link for another password; `None` if the link was used or replaced, has expired, or the account got another
    /// key since.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn reset(&self, hash: TokenKey, now: Timestamp) -> Result<Option<Reset>, StoreError> {
        let find = query(find!("password")).bind(&hash).bind(now);
        let found = self.engine.read_one(find).await?;
        let reset = found.map(|row| {
            Ok(Reset {
                user: row.get("id")?,
                email: row.get("email")?,
                language: row.get("language")?,
            })
        });
        reset.transpose()
    }

    /// Gives the account of a link another password and another key: all its tokens and sessions end, and so do its links. That is
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
            let find = query(find!("password"))
                .bind(&hash)
                .bind(now)
                .locked("users");
            let Some(row) = connection.optional(find).await? else {
                return Ok(None);
            };
            let user: UserId = row.get("id")?;
            let change = query("UPDATE users SET password_hash = $2, token_key = $3 WHERE id = $1");
            let change = change.bind(user).bind(password_hash).bind(&key);
            connection.execute(change).await?;
            connection.execute(end_links(user)).await?;
            let by = Actor {
                user: Some(user),
                address,
            };
            note(connection, by, now, "reset_forgotten", &subject(user), "").await?;
            Ok(Some(user))
        });
        used.await
    }

    /// Makes a link by which an account confirms another address. Whether the address is free is not looked at.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn begin_email_change(
        &self,
        owner: Principal,
        to: &EmailAddress,
        link: NewMailedLink,
    ) -> Result<BegunEmailChange, StoreError> {
        let begin = query(begin!("email", "$5", "id = $6 AND token_key = $7"));
        let begin = link.bound_to(begin).bind(to.as_str());
        let begin = begin.bind(owner.user).bind(&owner.key);
        if !self.engine.write(begin).await?.is_empty() {
            let change = self.email_change(owner, link.hash, link.at).await?;
            return Ok(change.map_or(BegunEmailChange::Gone, BegunEmailChange::Done));
        }
        let find = query(
            "SELECT mailed_links.created_at FROM mailed_links JOIN users ON users.id = user_id
             WHERE user_id = $1 AND purpose = 'email' AND users.token_key = $2",
        );
        let find = find.bind(owner.user).bind(&owner.key);
        let Some(row) = self.engine.read_one(find).await? else {
            return Ok(BegunEmailChange::Gone);
        };
        let former: Timestamp = row.get("created_at")?;
        Ok(BegunEmailChange::TooSoon(former.after(MIN_MAIL_INTERVAL)))
    }

    /// The change of address that a link of this account confirms; `None` as for [`EmailChanged::Over`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn email_change(
        &self,
        owner: Principal,
        hash: TokenKey,
        now: Timestamp,
    ) -> Result<Option<EmailChange>, StoreError> {
        let find = find_change(&owner, &hash, now);
        let found = self.engine.read_one(find).await?;
        found.as_ref().map(email_change).transpose()
    }

    /// Gives an account the address that a link confirms, and another key: all its tokens and sessions end, and so do its links, also
    /// those for another password that went to the former address. That is noted for the audit.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn use_email_change(
        &self,
        owner: Principal,
        hash: TokenKey,
        key: TokenKey,
        address: &str,
        now: Timestamp,
    ) -> Result<EmailChanged, StoreError> {
        let used = self.engine.transaction(async |connection| {
            let find = find_change(&owner, &hash, now).locked("users");
            let Some(row) = connection.optional(find).await? else {
                return Ok(EmailChanged::Over);
            };
            let change = email_change(&row)?;
            if !change_email(connection, change.user, &change.to, &key).await? {
                return Ok(EmailChanged::Taken);
            }
            let by = Actor {
                user: Some(change.user),
                address,
            };
            let subject = subject(change.user);
            note(connection, by, now, "change_email", &subject, "").await?;
            Ok(EmailChanged::Done(change))
        });
        used.await
    }

    /// Removes up to `limit` links that ended before `now`. Returns how many.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn prune_mailed_links(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let prune = query(
            "DELETE FROM mailed_links WHERE hash IN (
                 SELECT hash FROM mailed_links WHERE expires_at <= $1 LIMIT $2)",
        );
        self.engine.execute(prune.bind(now).bind(limit)).await
    }
}

/// The link of this account, with the key of the session: a link that went to somebody else's mailbox by a slip is of no use there.
fn find_change<'a>(owner: &'a Principal, hash: &'a TokenKey, now: Timestamp) -> Query<'a> {
    let find = query(concat!(
        find!("email"),
        " AND users.id = $3 AND users.token_key = $4"
    ));
    let find = find.bind(hash).bind(now);
    find.bind(owner.user).bind(&owner.key)
}

fn email_change(row: &Row) -> Result<EmailChange, StoreError> {
    Ok(EmailChange {
        user: row.get("id")?,
        from: row.get("email")?,
        to: row.get("new_email")?,
        language: row.get("language")?,
    })
}

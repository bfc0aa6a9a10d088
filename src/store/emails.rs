//! E-mail addresses of accounts that change.

use super::administration::{note, subject};
use super::connection::Connection;
use super::sql::{Query, query};
use super::{Actor, Store, StoreError};
use crate::domain::{EmailAddress, Timestamp, TokenKey, UserId};

/// The result of giving an account another address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmailSet {
    /// The account has it.
    Done,
    /// Another account has it.
    Taken,
    /// There is no such account of a person, or it is banned.
    NotInUse,
}

impl Store {
    /// The tag of the language of another account that has an address; `None` if no other account has it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn language_of_other(
        &self,
        email: &EmailAddress,
        user: UserId,
    ) -> Result<Option<String>, StoreError> {
        let [first, second, third] = email.lookup_keys();
        let find = query(
            "SELECT language FROM users WHERE email_key IN ($1, $2, $3) AND id <> $4
             ORDER BY email_key = $1 DESC, email_key = $2 DESC LIMIT 1",
        );
        let find = find.bind(first).bind(second).bind(third).bind(user);
        let found = self.engine.read_one(find).await?;
        found.map(|row| row.get("language")).transpose()
    }

    /// Gives an account another address and another key, and notes that for the audit.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn set_email(
        &self,
        user: UserId,
        to: &EmailAddress,
        key: TokenKey,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<EmailSet, StoreError> {
        let set = self.engine.transaction(async |connection| {
            let find = query(
                "SELECT id FROM users WHERE id = $1 AND group_name IS NULL
                 AND NOT EXISTS (SELECT 1 FROM banned_users WHERE user_id = users.id)
                 AND NOT EXISTS (SELECT 1 FROM deleted_users WHERE user_id = users.id)",
            );
            let find = find.bind(user).locked("users");
            if connection.optional(find).await?.is_none() {
                return Ok(EmailSet::NotInUse);
            }
            if !change_email(connection, user, to, &key).await? {
                return Ok(EmailSet::Taken);
            }
            note(connection, by, at, "set_email", &subject(user), "").await?;
            Ok(EmailSet::Done)
        });
        set.await
    }
}

/// Gives an account another address and another key, and ends its links by mail. `false`: another account has the address, perhaps
/// in another spelling. If another account takes it at this very moment, the statement fails as one that may be repeated.
pub(super) async fn change_email(
    connection: &mut Connection<'_>,
    user: UserId,
    to: &EmailAddress,
    key: &TokenKey,
) -> Result<bool, StoreError> {
    let [older, own, in_letters] = to.lookup_keys();
    let change = query(
        "UPDATE users SET email = $2, email_key = $3, token_key = $4 WHERE id = $1 AND NOT EXISTS (
             SELECT 1 FROM users AS others WHERE others.email_key IN ($3, $5, $6) AND others.id <> $1)",
    );
    let change = change.bind(user).bind(to.as_str()).bind(own).bind(key);
    let change = change.bind(older).bind(in_letters);
    if connection.execute(change).await? == 0 {
        return Ok(false);
    }
    connection.execute(end_links(user)).await?;
    Ok(true)
}

/// Ends the links that were mailed for an account. They would not work with its next key; without them the next one can be made at once.
pub(super) fn end_links(user: UserId) -> Query<'static> {
    query("DELETE FROM mailed_links WHERE user_id = $1").bind(user)
}

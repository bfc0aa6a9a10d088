//! Accounts: their credentials, and the addresses that logged in to them.

use super::sql::{Row, query};
use super::{Store, StoreError};
use crate::domain::{EmailAddress, Principal, Timestamp, TokenKey, User, UserId};

/// Why an account was not created.
#[derive(Debug, thiserror::Error)]
pub enum CreateUserError {
    /// Another account has this address, perhaps in another spelling.
    #[error("the e-mail address is taken")]
    EmailTaken,
    /// See [`StoreError`].
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a login is checked against.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// The account that they belong to.
    pub principal: Principal,
    /// Its address, as it was given.
    pub email: EmailAddress,
    /// PHC string of the password.
    pub password_hash: String,
}

/// Addresses kept of one account.
pub const MAX_KNOWN_ADDRESSES: i64 = 32;

impl Store {
    /// Creates an account; `email` is kept as given and unique by [`EmailAddress::lookup_key`]. `key` was just drawn.
    ///
    /// # Errors
    /// [`CreateUserError`].
    pub async fn create_user(
        &self,
        email: &EmailAddress,
        password_hash: &str,
        key: TokenKey,
        now: Timestamp,
    ) -> Result<UserId, CreateUserError> {
        let insert = || self.insert_user(email, password_hash, &key, now);
        let user = self.engine.with_new_ids(insert).await?;
        if let Some(seen) = self.engine.seen() {
            seen.registered(user);
        }
        Ok(user)
    }

    /// `None` on a server that has to be checked before it gives ids out.
    async fn insert_user(
        &self,
        email: &EmailAddress,
        password_hash: &str,
        key: &TokenKey,
        now: Timestamp,
    ) -> Result<Option<UserId>, CreateUserError> {
        let insert = query(
            "INSERT INTO users (email, email_key, password_hash, token_key, created_at)
             SELECT $1, $2, $3, $4, $5 FROM checked_server WHERE true
             ON CONFLICT (email_key) DO NOTHING RETURNING id",
        )
        .bind(email.as_str())
        .bind(email.lookup_key())
        .bind(password_hash)
        .bind(key)
        .bind(now);
        if let Some(inserted) = self.engine.write(insert).await?.first() {
            return Ok(Some(inserted.get("id")?));
        }
        let find = query("SELECT id FROM users WHERE email_key = $1").bind(email.lookup_key());
        match self.engine.read_one(find).await? {
            Some(_) => Err(CreateUserError::EmailTaken),
            None => Ok(None),
        }
    }

    /// The credentials of the account with this address: of several, the first by [`EmailAddress::lookup_keys`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn credentials(
        &self,
        email: &EmailAddress,
    ) -> Result<Option<Credentials>, StoreError> {
        let [first, second, third] = email.lookup_keys();
        let find = query(
            "SELECT id, token_key, email, password_hash FROM users WHERE email_key IN ($1, $2, $3)
             ORDER BY email_key = $1 DESC, email_key = $2 DESC LIMIT 1",
        );
        let find = find.bind(first).bind(second).bind(third);
        let found = self.engine.read_one(find).await?;
        found.as_ref().map(credentials).transpose()
    }

    /// The account that a token or an API key names; `None` if it is gone, or the token or the key has ended.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn user(&self, principal: Principal) -> Result<Option<User>, StoreError> {
        let find = query(
            "SELECT email, group_name FROM users WHERE id = (SELECT user_id FROM account_keys WHERE user_id = $1 AND key = $2)",
        );
        let find = find.bind(principal.user).bind(&principal.key);
        let found = self.engine.read_one(find).await?;
        found
            .map(|row| {
                Ok(User {
                    id: principal.user,
                    email: row.get("email")?,
                    group: row.get("group_name")?,
                })
            })
            .transpose()
    }

    /// The credentials of the account that a token names; `None` if it is gone, or has another key by now.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn credentials_of(
        &self,
        principal: Principal,
    ) -> Result<Option<Credentials>, StoreError> {
        let find = query(
            "SELECT id, token_key, email, password_hash FROM users WHERE id = $1 AND token_key = $2",
        );
        let find = find.bind(principal.user).bind(&principal.key);
        let found = self.engine.read_one(find).await?;
        found.as_ref().map(credentials).transpose()
    }

    /// Gives an account another password, and another key: all its tokens end. `false` if the account is gone, or has
    /// another key than its principal by now.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn change_password(
        &self,
        principal: Principal,
        password_hash: &str,
        key: TokenKey,
    ) -> Result<bool, StoreError> {
        let change = query(
            "UPDATE users SET password_hash = $3, token_key = $4 WHERE id = $1 AND token_key = $2",
        )
        .bind(principal.user)
        .bind(&principal.key)
        .bind(password_hash)
        .bind(&key);
        Ok(self.engine.execute(change).await? > 0)
    }

    /// Gives an account another key: all its tokens end. `false` as for [`Store::change_password`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn end_tokens(
        &self,
        principal: Principal,
        key: TokenKey,
    ) -> Result<bool, StoreError> {
        let end = query("UPDATE users SET token_key = $3 WHERE id = $1 AND token_key = $2");
        let end = end.bind(principal.user).bind(&principal.key).bind(&key);
        Ok(self.engine.execute(end).await? > 0)
    }

    /// Keeps the language of an account's pages, by its tag; empty: the browser's. `false` as for [`Store::change_password`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn choose_language(
        &self,
        principal: Principal,
        tag: &str,
    ) -> Result<bool, StoreError> {
        let choose = query("UPDATE users SET language = $3 WHERE id = $1 AND token_key = $2");
        let choose = choose.bind(principal.user).bind(&principal.key).bind(tag);
        Ok(self.engine.execute(choose).await? > 0)
    }

    /// Notes that an address, as a hash, logged in to an account. The newest [`MAX_KNOWN_ADDRESSES`] of it are kept.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn remember_address(
        &self,
        user: UserId,
        address: i64,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let note = query(
            "INSERT INTO known_addresses (user_id, address, last_used) SELECT id, $2, $3 FROM users WHERE id = $1
             ON CONFLICT (user_id, address) DO UPDATE SET last_used = excluded.last_used",
        );
        let note = note.bind(user).bind(address).bind(now);
        let forget_oldest = query(
            "DELETE FROM known_addresses WHERE user_id = $1 AND address IN (
                 SELECT address FROM known_addresses WHERE user_id = $1 AND address <> $2
                 ORDER BY last_used DESC LIMIT $3 OFFSET $3)",
        );
        let forget_oldest = forget_oldest
            .bind(user)
            .bind(address)
            .bind(MAX_KNOWN_ADDRESSES - 1);
        self.engine.execute(note).await?;
        self.engine.execute(forget_oldest).await.map(drop)
    }

    /// Whether an address, as a hash, logged in to the account with this e-mail address before.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn knows_address(
        &self,
        email: &EmailAddress,
        address: i64,
    ) -> Result<bool, StoreError> {
        let [first, second, third] = email.lookup_keys();
        let find = query(
            "SELECT user_id FROM known_addresses WHERE address = $4 AND user_id IN (
                 SELECT id FROM users WHERE email_key IN ($1, $2, $3)) LIMIT 1",
        );
        let find = find.bind(first).bind(second).bind(third).bind(address);
        Ok(self.engine.read_one(find).await?.is_some())
    }
}

fn credentials(row: &Row) -> Result<Credentials, StoreError> {
    Ok(Credentials {
        principal: Principal {
            user: row.get("id")?,
            key: row.get("token_key")?,
        },
        email: row.get("email")?,
        password_hash: row.get("password_hash")?,
    })
}

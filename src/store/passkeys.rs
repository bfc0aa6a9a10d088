//! Passkeys of accounts: public keys, by which their owners sign in to the pages.

use super::connection::Connection;
use super::factors::{change_key, note_own};
use super::sql::{Row, query};
use super::{Store, StoreError};
use crate::domain::{KeyName, Principal, Timestamp, TokenKey, UserId};

/// A passkey as its owner sees it.
#[derive(Clone, Debug)]
pub struct Passkey {
    /// The database's own number.
    pub id: i64,
    /// The authenticator's own name of the passkey.
    pub credential_id: Vec<u8>,
    /// The owner's name for it.
    pub name: KeyName,
    /// When it was added.
    pub added_at: Timestamp,
    /// When the challenge of its last sign-in was made.
    pub used_at: Option<Timestamp>,
}

/// A passkey that may sign in.
#[derive(Clone, Debug)]
pub struct KnownPasskey {
    /// The database's own number.
    pub id: i64,
    /// Its account.
    pub principal: Principal,
    /// The public key and its counter, as they were stored.
    pub credential: String,
}

/// A passkey that is added to an account.
pub struct NewPasskey<'a> {
    /// The account.
    pub owner: Principal,
    /// The account's key from then on, if the passkey is its first second factor: all its tokens and sessions end.
    pub key: TokenKey,
    /// The authenticator's own name of the passkey.
    pub credential_id: &'a [u8],
    /// The public key and its counter.
    pub credential: &'a str,
    /// The owner's name for it.
    pub name: &'a KeyName,
}

/// What became of a passkey that was to be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddedPasskey {
    /// It is added. The account has this key now.
    Added(TokenKey),
    /// The account has as many as it may have.
    TooMany,
    /// It is there already.
    Known,
    /// The account is gone, or has another key by now.
    Gone,
}

impl Store {
    /// The passkeys of an account, newest first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn passkeys_of(&self, user: UserId) -> Result<Vec<Passkey>, StoreError> {
        let find = query(
            "SELECT id, credential_id, name, added_at, used_at FROM passkeys WHERE user_id = $1 ORDER BY id DESC",
        );
        let found = self.engine.read(find.bind(user)).await?;
        found.iter().map(passkey).collect()
    }

    /// The passkey with this name of the authenticator's; `None` if it is gone, or its account is banned or deleted.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn passkey(&self, credential_id: &[u8]) -> Result<Option<KnownPasskey>, StoreError> {
        let find = query(
            "SELECT passkeys.id, users.id AS user_id, token_key, credential FROM passkeys JOIN users ON users.id = user_id
             WHERE credential_id = $1
             AND NOT EXISTS (SELECT 1 FROM banned_users WHERE banned_users.user_id = users.id)
             AND NOT EXISTS (SELECT 1 FROM deleted_users WHERE deleted_users.user_id = users.id)",
        );
        let found = self.engine.read_one(find.bind(credential_id)).await?;
        let known = found.map(|row| {
            Ok(KnownPasskey {
                id: row.get("id")?,
                principal: Principal {
                    user: row.get("user_id")?,
                    key: row.get("token_key")?,
                },
                credential: row.get("credential")?,
            })
        });
        known.transpose()
    }

    /// Notes a sign-in by a passkey. `false` if its challenge, or a later one, was used before, or the passkey is gone: of two
    /// requests with one answer, one is told `true`.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn use_passkey(
        &self,
        id: i64,
        credential: &str,
        challenged_at: Timestamp,
    ) -> Result<bool, StoreError> {
        let using = query(
            "UPDATE passkeys SET credential = $2, used_at = $3 WHERE id = $1 AND (used_at IS NULL OR used_at < $3)",
        );
        let using = using.bind(id).bind(credential).bind(challenged_at);
        Ok(self.engine.execute(using).await? > 0)
    }

    /// Adds a passkey to an account that has fewer than `max`, which is noted for the audit.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn add_passkey(
        &self,
        new: NewPasskey<'_>,
        max: u32,
        address: &str,
        now: Timestamp,
    ) -> Result<AddedPasskey, StoreError> {
        let NewPasskey { owner, key, .. } = new;
        let user = owner.user;
        let added = self.engine.transaction(async |connection| {
            if !is_locked(connection, owner).await? {
                return Ok(AddedPasskey::Gone);
            }
            // In a statement of its own, which sees what was committed before the lock was free.
            let count = query(
                "SELECT (SELECT count(*) FROM passkeys WHERE user_id = $1) AS passkeys,
                     EXISTS (SELECT 1 FROM totp_factors WHERE user_id = $1) AS has_app",
            );
            let row = connection.one(count.bind(user)).await?;
            let passkeys: i64 = row.get("passkeys")?;
            if passkeys >= i64::from(max) {
                return Ok(AddedPasskey::TooMany);
            }
            let add = query(
                "INSERT INTO passkeys (user_id, credential_id, credential, name, added_at) VALUES ($1, $2, $3, $4, $5)
                 ON CONFLICT (credential_id) DO NOTHING",
            );
            let add = add.bind(user).bind(new.credential_id).bind(new.credential);
            let add = add.bind(new.name.as_str()).bind(now);
            if connection.execute(add).await? == 0 {
                return Ok(AddedPasskey::Known);
            }
            note_own(connection, user, address, now, "add_passkey").await?;
            let has_app: bool = row.get("has_app")?;
            if has_app || passkeys > 0 {
                return Ok(AddedPasskey::Added(owner.key));
            }
            // What began with a password and no more ends.
            change_key(connection, owner, &key).await?;
            Ok(AddedPasskey::Added(key))
        });
        added.await
    }

    /// Takes a passkey from an account, which gets another key: all its tokens and sessions end. That is noted for the audit.
    /// `false` if the account is gone, has another key by now, or has no such passkey.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn remove_passkey(
        &self,
        owner: Principal,
        id: i64,
        key: TokenKey,
        address: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let removed = self.engine.transaction(async |connection| {
            let remove = query("DELETE FROM passkeys WHERE id = $1 AND user_id = $2");
            let remove = remove.bind(id).bind(owner.user);
            if !is_locked(connection, owner).await? || connection.execute(remove).await? == 0 {
                return Ok(false);
            }
            change_key(connection, owner, &key).await?;
            note_own(connection, owner.user, address, now, "remove_passkey").await?;
            Ok(true)
        });
        removed.await
    }
}

/// Has an account for this transaction only. `false` if it is gone, or has another key by now.
async fn is_locked(connection: &mut Connection<'_>, owner: Principal) -> Result<bool, StoreError> {
    let find = query("SELECT id FROM users WHERE id = $1 AND token_key = $2");
    let find = find.bind(owner.user).bind(&owner.key).locked("users");
    Ok(connection.optional(find).await?.is_some())
}

fn passkey(row: &Row) -> Result<Passkey, StoreError> {
    Ok(Passkey {
        id: row.get("id")?,
        credential_id: row.get("credential_id")?,
        name: KeyName::from_stored(row.get("name")?),
        added_at: row.get("added_at")?,
        used_at: row.get("used_at")?,
    })
}

//! Second factors of accounts: an app that shows codes, and recovery codes.

use super::administration::{note, subject};
use super::connection::Connection;
use super::sql::query;
use super::{Actor, Store, StoreError};
use crate::domain::{EmailAddress, Principal, Timestamp, TokenKey, TotpSecret, UserId};

/// What an account has beside its password.
#[derive(Clone)]
pub struct Factors {
    /// The account.
    pub principal: Principal,
    /// Its address, as it was given.
    pub email: EmailAddress,
    /// Its app.
    pub totp: Option<Totp>,
    /// How many recovery codes are left.
    pub recovery_codes: i64,
    /// Whether it administers the service.
    pub is_admin: bool,
}

/// An app that shows codes.
#[derive(Clone)]
pub struct Totp {
    /// What the app and the service share.
    pub secret: TotpSecret,
    /// Codes up to this step were used.
    pub last_step: i64,
    /// When it was added.
    pub added_at: Timestamp,
}

/// An app that is added to an account.
pub struct NewTotp<'a> {
    /// The account.
    pub owner: Principal,
    /// Its key from then on: all its tokens and sessions end.
    pub key: TokenKey,
    /// What the app and the service share.
    pub secret: &'a TotpSecret,
    /// The step of the code that was given.
    pub step: i64,
    /// The hashes of the recovery codes.
    pub recovery_codes: &'a [TokenKey],
}

impl Store {
    /// What an account has beside its password; `None` if it is gone.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn factors(&self, user: UserId) -> Result<Option<Factors>, StoreError> {
        let find = query(
            "SELECT id, token_key, email, secret, last_step, added_at,
                 (SELECT count(*) FROM recovery_codes WHERE recovery_codes.user_id = users.id) AS recovery_codes,
                 EXISTS (SELECT 1 FROM user_roles WHERE user_roles.user_id = users.id AND role = 'admin') AS is_admin
             FROM users LEFT JOIN totp_factors ON totp_factors.user_id = users.id
             WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM deleted_users WHERE deleted_users.user_id = users.id)",
        );
        let Some(row) = self.engine.read_one(find.bind(user)).await? else {
            return Ok(None);
        };
        let secret: Option<Vec<u8>> = row.get("secret")?;
        let totp = match secret {
            None => None,
            Some(secret) => {
                let secret = TotpSecret::from_bytes(&secret);
                let invalid = || StoreError::Unexpected("the secret of an app is invalid".into());
                Some(Totp {
                    secret: secret.ok_or_else(invalid)?,
                    last_step: row.get("last_step")?,
                    added_at: row.get("added_at")?,
                })
            }
        };
        Ok(Some(Factors {
            principal: Principal {
                user: row.get("id")?,
                key: row.get("token_key")?,
            },
            email: row.get("email")?,
            totp,
            recovery_codes: row.get("recovery_codes")?,
            is_admin: row.get("is_admin")?,
        }))
    }

    /// Whether an account has more than a password: a second factor, or the identity provider, which asks for as many as it likes.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn has_second_factor(&self, user: UserId) -> Result<bool, StoreError> {
        let find = query(
            "SELECT EXISTS (SELECT 1 FROM totp_factors WHERE user_id = $1)
                 OR EXISTS (SELECT 1 FROM passkeys WHERE user_id = $1)
                 OR EXISTS (SELECT 1 FROM identities WHERE user_id = $1) AS has_factor",
        );
        let found = self.engine.read_one(find.bind(user)).await?;
        found.map_or(Ok(false), |row| row.get("has_factor"))
    }

    /// Uses the code of a step up. `false` if that code or one of a later step was used, or the app is gone: of two requests with
    /// one code, one is told `true`.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn use_step(
        &self,
        user: UserId,
        secret: &TotpSecret,
        step: i64,
    ) -> Result<bool, StoreError> {
        let using = query(
            "UPDATE totp_factors SET last_step = $3 WHERE user_id = $1 AND secret = $2 AND last_step < $3",
        );
        let using = using.bind(user).bind(secret.as_bytes()).bind(step);
        Ok(self.engine.execute(using).await? > 0)
    }

    /// Uses a recovery code up, which is noted for the audit. `false` if it was used, or never was.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn use_recovery_code(
        &self,
        user: UserId,
        hash: TokenKey,
        address: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let using = query("DELETE FROM recovery_codes WHERE user_id = $1 AND hash = $2");
        let using = using.bind(user).bind(&hash);
        let outcome = self.engine.transaction(async |connection| {
            let is_used = connection.execute(using).await? > 0;
            if is_used {
                note_own(connection, user, address, now, "recovery_code").await?;
            }
            Ok(is_used)
        });
        outcome.await
    }

    /// Adds an app to an account that has no app. `false` if the account is gone or has another key by now.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn add_totp(
        &self,
        new: NewTotp<'_>,
        address: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let user = new.owner.user;
        let added = self.engine.transaction(async |connection| {
            if !change_key(connection, new.owner, &new.key).await? {
                return Ok(false);
            }
            let add = query(
                "INSERT INTO totp_factors (user_id, secret, last_step, added_at) VALUES ($1, $2, $3, $4)",
            );
            let add = add.bind(user).bind(new.secret.as_bytes());
            connection.execute(add.bind(new.step).bind(now)).await?;
            replace_codes(connection, user, new.recovery_codes).await?;
            note_own(connection, user, address, now, "add_factor").await?;
            Ok(true)
        });
        added.await
    }

    /// Takes the app and the recovery codes from an account, which gets another key: all its tokens and sessions end. `false` as
    /// for [`Store::add_totp`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn remove_totp(
        &self,
        owner: Principal,
        key: TokenKey,
        address: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let removed = self.engine.transaction(async |connection| {
            if !change_key(connection, owner, &key).await? {
                return Ok(false);
            }
            for remove in [
                "DELETE FROM totp_factors WHERE user_id = $1",
                "DELETE FROM recovery_codes WHERE user_id = $1",
            ] {
                connection.execute(query(remove).bind(owner.user)).await?;
            }
            note_own(connection, owner.user, address, now, "remove_factor").await?;
            Ok(true)
        });
        removed.await
    }

    /// Gives an account other recovery codes. `false` as for [`Store::add_totp`], and without an app.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn replace_recovery_codes(
        &self,
        owner: Principal,
        hashes: &[TokenKey],
        address: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let replaced = self.engine.transaction(async |connection| {
            let find = query(
                "SELECT users.id FROM users JOIN totp_factors ON user_id = users.id WHERE users.id = $1 AND token_key = $2",
            );
            let find = find.bind(owner.user).bind(&owner.key).locked("users");
            if connection.optional(find).await?.is_none() {
                return Ok(false);
            }
            replace_codes(connection, owner.user, hashes).await?;
            note_own(connection, owner.user, address, now, "new_recovery_codes").await?;
            Ok(true)
        });
        replaced.await
    }

    /// Takes all factors beside the password from an account whose owner has lost them, and ends all its tokens and sessions; that
    /// is noted for the audit. `false` if it has none.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn reset_factors(
        &self,
        user: UserId,
        key: TokenKey,
        by: Actor<'_>,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let reset = self.engine.transaction(async |connection| {
            let end = query(
                "UPDATE users SET token_key = $2 WHERE id = $1 AND (EXISTS (SELECT 1 FROM totp_factors WHERE user_id = users.id)
                     OR EXISTS (SELECT 1 FROM passkeys WHERE user_id = users.id))",
            );
            if connection.execute(end.bind(user).bind(&key)).await? == 0 {
                return Ok(false);
            }
            for remove in [
                "DELETE FROM totp_factors WHERE user_id = $1",
                "DELETE FROM recovery_codes WHERE user_id = $1",
                "DELETE FROM passkeys WHERE user_id = $1",
            ] {
                connection.execute(query(remove).bind(user)).await?;
            }
            note(connection, by, at, "reset_factors", &subject(user), "").await?;
            Ok(true)
        });
        reset.await
    }
}

pub(super) async fn change_key(
    connection: &mut Connection<'_>,
    owner: Principal,
    key: &TokenKey,
) -> Result<bool, StoreError> {
    let change = query("UPDATE users SET token_key = $3 WHERE id = $1 AND token_key = $2");
    let change = change.bind(owner.user).bind(&owner.key).bind(key);
    Ok(connection.execute(change).await? > 0)
}

async fn replace_codes(
    connection: &mut Connection<'_>,
    user: UserId,
    hashes: &[TokenKey],
) -> Result<(), StoreError> {
    let forget = query("DELETE FROM recovery_codes WHERE user_id = $1");
    connection.execute(forget.bind(user)).await?;
    for hash in hashes {
        let add = query("INSERT INTO recovery_codes (user_id, hash) VALUES ($1, $2)");
        connection.execute(add.bind(user).bind(hash)).await?;
    }
    Ok(())
}

/// Notes what the owner of an account did with its factors.
pub(super) async fn note_own(
    connection: &mut Connection<'_>,
    user: UserId,
    address: &str,
    at: Timestamp,
    action: &str,
) -> Result<(), StoreError> {
    let by = Actor {
        user: Some(user),
        address,
    };
    note(connection, by, at, action, &subject(user), "").await
}

//! API keys: a program's own way into an account.

use super::sql::{Row, query};
use super::{Store, StoreError};
use crate::domain::{ApiKey, KeyName, Principal, Scope, Timestamp, TokenKey};

/// Why a key was not made.
#[derive(Debug, thiserror::Error)]
pub enum CreateKeyError {
    /// The owner's account is gone, or has another key.
    #[error("the owner does not exist")]
    OwnerGone,
    /// The owner has as many keys as an account may have.
    #[error("the owner has as many keys as an account may have")]
    TooMany,
    /// See [`StoreError`].
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A key to be made.
#[derive(Clone, Debug)]
pub struct NewApiKey<'a> {
    /// The account that makes it, by a token.
    pub owner: Principal,
    /// The hash of the key.
    pub hash: TokenKey,
    /// The owner's name for it.
    pub name: &'a KeyName,
    /// What it may do.
    pub scope: Scope,
    /// When it is made.
    pub created_at: Timestamp,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
}

impl NewApiKey<'_> {
    /// The key, once the database gave it a number.
    fn with_id(&self, id: i64) -> ApiKey {
        ApiKey {
            id,
            name: self.name.clone(),
            scope: self.scope,
            created_at: self.created_at,
            expires_at: self.expires_at,
            last_used_on: None,
            made_by: None,
        }
    }
}

/// That the account `$1` has its key `$2` in a token: its own, or that of an owner of the group that it is.
macro_rules! has_keys {
    () => {
        "users.id = $1 AND (users.token_key = $2 OR EXISTS (
             SELECT 1 FROM group_members JOIN users AS member ON member.id = group_members.user_id
             WHERE group_id = $1 AND member.token_key = $2 AND role = 'owner'
             AND NOT EXISTS (SELECT 1 FROM banned_users WHERE banned_users.user_id = group_id)))"
    };
}

/// The operations need a token's principal, for a group an owner's; an API key's own principal makes and sees no keys.
impl Store {
    /// Makes a key of an owner who has fewer than `max`, exactly so under concurrency, too.
    ///
    /// # Errors
    /// [`CreateKeyError`].
    pub async fn create_api_key(
        &self,
        key: NewApiKey<'_>,
        max: u32,
    ) -> Result<ApiKey, CreateKeyError> {
        let owner = key.owner;
        // Keys of one account are made one after the other; its links are made meanwhile.
        let lock = query("SELECT id FROM users WHERE id = $1 FOR NO KEY UPDATE").bind(owner.user);
        let count = query(concat!(
            "SELECT count(api_keys.id) AS keys FROM users LEFT JOIN api_keys ON user_id = users.id WHERE ",
            has_keys!(),
            " GROUP BY users.id"
        ));
        let count = count.bind(owner.user).bind(&owner.key);
        let insert = query(
            "INSERT INTO api_keys (user_id, hash, name, scope, created_at, expires_at, made_by)
             VALUES ($1, $2, $3, $4, $5, $6, (
                 SELECT member.id FROM group_members JOIN users AS member ON member.id = group_members.user_id
                 WHERE group_id = $1 AND member.token_key = $7)) RETURNING id",
        )
        .bind(owner.user)
        .bind(&key.hash)
        .bind(key.name.as_str())
        .bind(key.scope.name())
        .bind(key.created_at)
        .bind(key.expires_at)
        .bind(&owner.key);
        self.engine
            .transaction(async |connection| {
                connection.lock(lock).await?;
                let counted = connection.optional(count).await?;
                let keys: i64 = counted.ok_or(CreateKeyError::OwnerGone)?.get("keys")?;
                if keys >= i64::from(max) {
                    return Err(CreateKeyError::TooMany);
                }
                let made = connection.one(insert).await?;
                Ok(key.with_id(made.get("id")?))
            })
            .await
    }

    /// An owner's keys, newest first; `None` if the account is gone, or has another key.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn api_keys_of(&self, owner: Principal) -> Result<Option<Vec<ApiKey>>, StoreError> {
        // An account without keys has one row, without a key.
        let find = query(concat!(
            "SELECT api_keys.id, name, scope, api_keys.created_at, expires_at, last_used_on,
                 (SELECT nullif(maker.email, '') FROM users AS maker WHERE maker.id = made_by) AS made_by
             FROM users LEFT JOIN api_keys ON user_id = users.id WHERE ",
            has_keys!(),
            " ORDER BY api_keys.id DESC"
        ));
        let found = self
            .engine
            .read(find.bind(owner.user).bind(&owner.key))
            .await?;
        if found.is_empty() {
            return Ok(None);
        }
        let keys = found.iter().filter_map(|row| api_key(row).transpose());
        keys.collect::<Result<_, _>>().map(Some)
    }

    /// Ends a key of this owner, on every instance at once. `false` without such a key.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn delete_api_key(&self, owner: Principal, id: i64) -> Result<bool, StoreError> {
        let delete = query(concat!(
            "DELETE FROM api_keys WHERE id = $3 AND user_id = (SELECT id FROM users WHERE ",
            has_keys!(),
            ")"
        ));
        let delete = delete.bind(owner.user).bind(&owner.key).bind(id);
        Ok(self.engine.execute(delete).await? > 0)
    }

    /// Notes the day on which a key was used, once a day. `key` is the key's own principal; `false` if it has ended.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn note_api_key_use(&self, key: Principal, day: &str) -> Result<bool, StoreError> {
        // Read first: a key that has ended, or never was one, costs no write.
        let find = query(
            "SELECT id, last_used_on FROM api_keys WHERE user_id = $1 AND hash = $2
             AND EXISTS (SELECT 1 FROM account_keys WHERE user_id = $1 AND key = $2)",
        );
        let found = self
            .engine
            .read_one(find.bind(key.user).bind(&key.key))
            .await?;
        let Some(found) = found else {
            return Ok(false);
        };
        let last: Option<String> = found.get("last_used_on")?;
        if last.is_none_or(|last| *last < *day) {
            let note = query(
                "UPDATE api_keys SET last_used_on = $2 WHERE id = $1 AND (last_used_on IS NULL OR last_used_on < $2)",
            );
            let note = note.bind(found.get::<i64>("id")?).bind(day);
            self.engine.execute(note).await?;
        }
        Ok(true)
    }
}

/// `None` in the row of an account without keys.
fn api_key(row: &Row) -> Result<Option<ApiKey>, StoreError> {
    let Some(id) = row.get("id")? else {
        return Ok(None);
    };
    Ok(Some(ApiKey {
        id,
        name: row.get("name")?,
        scope: row.get("scope")?,
        created_at: row.get("created_at")?,
        expires_at: row.get("expires_at")?,
        last_used_on: row.get("last_used_on")?,
        made_by: row.get("made_by")?,
    }))
}

//! Requests that may be repeated: each creates a link once.

use super::connection::Connection;
use super::sql::{Row, query};
use super::{CreateLinkError, NewLink, Store, StoreError};
use crate::domain::{LinkId, Principal, RemovalStatus, ShortCode, Timestamp};

/// A request that its client may repeat: it creates a link once.
#[derive(Clone, Copy, Debug)]
pub struct IdempotentRequest<'a> {
    /// The client's key.
    pub key: &'a str,
    /// A digest of all that the request asks for.
    pub fingerprint: &'a [u8],
}

/// The link that an earlier request with a key of idempotency created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedKey {
    /// The digest of that request.
    pub fingerprint: Vec<u8>,
    /// Its link.
    pub id: LinkId,
    /// The link's code.
    pub code: ShortCode,
    /// When the link was created.
    pub created_at: Timestamp,
    /// How it is answered, if it was removed meanwhile.
    pub removed: Option<RemovalStatus>,
}

impl Store {
    /// The link that a request with this key created since `since`. Older uses of the key are forgotten.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn used_key(
        &self,
        owner: Principal,
        key: &str,
        since: Timestamp,
    ) -> Result<Option<UsedKey>, StoreError> {
        let find = query(
            "SELECT fingerprint, link_id, short_code, used_at,
                 (SELECT removed_status FROM links WHERE id = link_id) AS removed_status
             FROM idempotency_keys
             WHERE owner_id = (SELECT user_id FROM account_keys WHERE user_id = $1 AND key = $2) AND key = $3",
        );
        let find = find.bind(owner.user).bind(&owner.key).bind(key);
        let Some(used) = self.engine.read_one(find).await? else {
            return Ok(None);
        };
        let used = used_key(&used)?;
        if used.created_at >= since {
            return Ok(Some(used));
        }
        let forget =
            query("DELETE FROM idempotency_keys WHERE owner_id = $1 AND key = $2 AND used_at < $3");
        let forget = forget.bind(owner.user).bind(key).bind(since);
        self.engine.execute(forget).await?;
        Ok(None)
    }

    /// Removes up to `limit` uses of keys before `before`; returns how many were removed.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn prune_keys(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let prune = query(
            "DELETE FROM idempotency_keys WHERE (owner_id, key) IN (
                 SELECT owner_id, key FROM idempotency_keys WHERE used_at < $1 LIMIT $2)",
        );
        self.engine.execute(prune.bind(before).bind(limit)).await
    }
}

/// Notes that a request created a link, unless another one used its key.
pub(super) async fn note_request(
    connection: &mut Connection<'_>,
    link: &NewLink<'_>,
    request: IdempotentRequest<'_>,
    id: LinkId,
) -> Result<(), CreateLinkError> {
    let note = query(
        "INSERT INTO idempotency_keys (owner_id, key, fingerprint, link_id, short_code, used_at)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (owner_id, key) DO NOTHING",
    );
    let note = note
        .bind(link.owner.user)
        .bind(request.key)
        .bind(request.fingerprint)
        .bind(id)
        .bind(link.code)
        .bind(link.created_at);
    match connection.execute(note).await? {
        0 => Err(CreateLinkError::KeyUsed),
        _ => Ok(()),
    }
}

fn used_key(row: &Row) -> Result<UsedKey, StoreError> {
    Ok(UsedKey {
        fingerprint: row.get("fingerprint")?,
        id: row.get("link_id")?,
        code: row.get("short_code")?,
        created_at: row.get("used_at")?,
        removed: row.get("removed_status")?,
    })
}

//! The deletion of accounts: one short transaction ends an account, and its rows go in batches.

use super::connection::Connection;
use super::groups::{GroupError, GroupWork, note_work, owner_of, without_other_owner};
use super::outbox::change;
use super::sql::{query, query_of_each};
use super::{Change, Store, StoreError};
use crate::domain::{GroupName, Principal, Timestamp, TokenKey, UserId};

/// Changes of a deleted account's links that are announced one by one; past that, every cached link is dropped.
pub const MAX_CHANGES_OF_ACCOUNT: u32 = 10_000;

/// What became of an account that was to be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeletedUser {
    /// It is gone already, or has another key.
    Gone,
    /// It is the only owner of this group.
    OnlyOwner(GroupName),
    /// It has links, and was to be deleted without any.
    HasLinks,
    /// The changes of its links, or one change that may be of any link if there are more than [`MAX_CHANGES_OF_ACCOUNT`].
    Done(Vec<Change>),
}

impl DeletedUser {
    /// The changes of its links, if it was deleted now.
    #[must_use]
    pub fn changes(self) -> Option<Vec<Change>> {
        match self {
            Self::Done(changes) => Some(changes),
            Self::Gone | Self::OnlyOwner(_) | Self::HasLinks => None,
        }
    }
}

/// Why a transaction is rolled back.
enum NotDeleted {
    Because(DeletedUser),
    Store(StoreError),
}

impl From<StoreError> for NotDeleted {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Store {
    /// Deletes an account, if it has no links or may have some: its tokens end, its address is free, its links are unknown, in one short
    /// transaction; what is left of it goes by [`Store::remove_deleted_users`].
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn delete_user(
        &self,
        principal: Principal,
        may_have_links: bool,
        now: Timestamp,
    ) -> Result<DeletedUser, StoreError> {
        let user = principal.user;
        let deleted = self.engine.transaction(async |connection| {
            if let Some(group) = without_other_owner(connection, user).await? {
                let find = query("SELECT id FROM users WHERE id = $1 AND token_key = $2");
                let found = connection
                    .optional(find.bind(user).bind(&principal.key))
                    .await?;
                return Ok(found.map_or(DeletedUser::Gone, |_| DeletedUser::OnlyOwner(group)));
            }
            if !may_have_links {
                lock_total(connection, user).await?;
            }
            if !end(connection, user, Some(&principal.key)).await? {
                return Ok(DeletedUser::Gone);
            }
            let count = query("SELECT links FROM link_totals WHERE owner_id = $1");
            let links: i64 = connection.one(count.bind(user)).await?.get("links")?;
            if links > 0 && !may_have_links {
                return Err(NotDeleted::Because(DeletedUser::HasLinks));
            }
            forget(connection, user, now)
                .await
                .map(DeletedUser::Done)
                .map_err(NotDeleted::Store)
        });
        match deleted.await {
            Ok(deleted) | Err(NotDeleted::Because(deleted)) => Ok(deleted),
            Err(NotDeleted::Store(error)) => Err(error),
        }
    }

    /// Deletes a group, as [`Store::delete_user`] an account: `None` if it has links, also in its bin, and may have none.
    ///
    /// # Errors
    /// [`GroupError::NoGroup`], [`GroupError::RoleTooSmall`], [`GroupError::Store`].
    pub async fn delete_group(
        &self,
        work: &GroupWork<'_>,
        may_have_links: bool,
    ) -> Result<Option<Vec<Change>>, GroupError> {
        let deleted = self.engine.transaction(async |connection| {
            owner_of(connection, work).await?;
            lock_total(connection, work.group).await?;
            let find = query("SELECT id FROM links WHERE owner_id = $1 LIMIT 1");
            if !may_have_links && connection.optional(find.bind(work.group)).await?.is_some() {
                return Ok(None);
            }
            end(connection, work.group, None).await?;
            note_work(connection, work, "end_group", "").await?;
            Ok::<_, GroupError>(Some(forget(connection, work.group, work.at).await?))
        });
        deleted.await
    }

    /// Removes up to `limit` rows of one deleted account. Its codes are retired; the changes of its links were announced
    /// with the account. `false` if nothing is left, or other instances are at it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn remove_deleted_users(&self, limit: u32) -> Result<bool, StoreError> {
        // Another instance may be at it. SQLite has one writer, and no locks of rows.
        let next = query_of_each(
            "SELECT user_id FROM deleted_users ORDER BY user_id LIMIT 1 FOR UPDATE SKIP LOCKED",
            "SELECT user_id FROM deleted_users ORDER BY user_id LIMIT 1",
        );
        // Postgres might join all links with the few, so it is given a list.
        let remove_links = query_of_each(
            "DELETE FROM links WHERE id = ANY (ARRAY(SELECT id FROM links WHERE owner_id = $1 LIMIT $2))",
            "DELETE FROM links WHERE id IN (SELECT id FROM links WHERE owner_id = $1 LIMIT $2)",
        );
        let remove_keys = query(
            "DELETE FROM idempotency_keys WHERE owner_id = $1 AND key <= (
                 SELECT max(key) FROM (
                     SELECT key FROM idempotency_keys WHERE owner_id = $1 ORDER BY key LIMIT $2) AS first)",
        );
        let remove_deliveries = query(
            "DELETE FROM hook_deliveries WHERE id IN (
                 SELECT hook_deliveries.id FROM hooks JOIN hook_deliveries ON hook_id = hooks.id WHERE owner_id = $1 LIMIT $2)",
        );
        self.engine
            .transaction(async |connection| {
                let Some(found) = connection.optional(next).await? else {
                    return Ok(false);
                };
                let user: UserId = found.get("user_id")?;
                for remove in [remove_links, remove_keys, remove_deliveries] {
                    if connection.execute(remove.bind(user).bind(limit)).await? > 0 {
                        return Ok(true);
                    }
                }
                for remove in [
                    "DELETE FROM users WHERE id = $1",
                    "DELETE FROM deleted_users WHERE user_id = $1",
                ] {
                    connection.execute(query(remove).bind(user)).await?;
                }
                Ok(true)
            })
            .await
    }
}

/// No link of the account is made until the transaction ends.
async fn lock_total(connection: &mut Connection<'_>, user: UserId) -> Result<(), StoreError> {
    let lock = query("SELECT owner_id FROM link_totals WHERE owner_id = $1 FOR UPDATE");
    connection.lock(lock.bind(user)).await
}

/// Ends what an account may be used with, and frees its address. `false` if it has another key than it should have.
async fn end(
    connection: &mut Connection<'_>,
    user: UserId,
    key: Option<&TokenKey>,
) -> Result<bool, StoreError> {
    // No address has a space without quotes: this key is no account's.
    macro_rules! end {
        ($has_key:literal) => {
            query(concat!(
                "UPDATE users SET email = '', email_key = 'deleted ' || id, password_hash = '', token_key = randomblob(16) WHERE id = $1",
                $has_key
            ))
        };
    }
    let end = match key {
        Some(key) => end!(" AND token_key = $2").bind(user).bind(key),
        None => end!("").bind(user),
    };
    Ok(connection.execute(end).await? > 0)
}

/// Notes that an account is deleted, and forgets what it needs no longer. Returns the changes of its links, which are to be announced.
async fn forget(
    connection: &mut Connection<'_>,
    user: UserId,
    now: Timestamp,
) -> Result<Vec<Change>, StoreError> {
    let note = query("INSERT INTO deleted_users (user_id, deleted_at) VALUES ($1, $2)");
    connection.execute(note.bind(user).bind(now)).await?;
    for forget in [
        "DELETE FROM known_addresses WHERE user_id = $1",
        "DELETE FROM api_keys WHERE user_id = $1",
        "DELETE FROM identities WHERE user_id = $1",
        "DELETE FROM totp_factors WHERE user_id = $1",
        "DELETE FROM recovery_codes WHERE user_id = $1",
        "DELETE FROM passkeys WHERE user_id = $1",
        "DELETE FROM group_members WHERE user_id = $1",
        "DELETE FROM group_members WHERE group_id = $1",
        "UPDATE invitations SET group_id = NULL WHERE group_id = $1",
    ] {
        connection.execute(query(forget).bind(user)).await?;
    }
    let count = query("SELECT links + aliases AS codes FROM link_totals WHERE owner_id = $1");
    let codes: i64 = connection.one(count.bind(user)).await?.get("codes")?;
    let announce = if codes > i64::from(MAX_CHANGES_OF_ACCOUNT) {
        query("INSERT INTO link_changes (short_code) VALUES ($1) RETURNING number, short_code, link_code")
            .bind(Change::OF_ALL)
    } else {
        query(
            "INSERT INTO link_changes (short_code, link_code)
             SELECT short_code, NULL FROM links WHERE owner_id = $1
             UNION ALL
             SELECT more.short_code, links.short_code FROM links JOIN links AS more ON more.alias_of = links.id
             WHERE links.owner_id = $1 AND links.aliases <> '[]'
             RETURNING number, short_code, link_code",
        )
        .bind(user)
    };
    let announced = connection.all(announce).await?;
    announced.iter().map(change).collect()
}

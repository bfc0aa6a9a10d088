//! The deletion of accounts: one short transaction ends an account, and its rows go in batches.

use super::outbox::change;
use super::sql::{query, query_of_each};
use super::{Change, Store, StoreError};
use crate::domain::{Principal, Timestamp, UserId};

/// Changes of a deleted account's links that are announced one by one; past that, every cached link is dropped.
pub const MAX_CHANGES_OF_ACCOUNT: u32 = 10_000;

impl Store {
    /// Deletes an account: its tokens end, its address is free, its links are unknown, in one short transaction; what is
    /// left of it goes by [`Store::remove_deleted_users`]. Returns the changes of its links, or one change that may be of
    /// any link if there are more than [`MAX_CHANGES_OF_ACCOUNT`]. `None` if the account is gone, or has another key.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn delete_user(
        &self,
        principal: Principal,
        now: Timestamp,
    ) -> Result<Option<Vec<Change>>, StoreError> {
        let user = principal.user;
        // No address has a space without quotes: this key is no account's.
        let end = query(
            "UPDATE users SET email = '', email_key = 'deleted ' || id, password_hash = '', token_key = randomblob(16)
             WHERE id = $1 AND token_key = $2",
        );
        let end = end.bind(user).bind(&principal.key);
        self.engine
            .transaction(async |connection| {
                if connection.execute(end).await? == 0 {
                    return Ok(None);
                }
                let note = query("INSERT INTO deleted_users (user_id, deleted_at) VALUES ($1, $2)");
                connection.execute(note.bind(user).bind(now)).await?;
                for forget in [
                    "DELETE FROM known_addresses WHERE user_id = $1",
                    "DELETE FROM api_keys WHERE user_id = $1",
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
                announced.iter().map(change).collect::<Result<_, _>>().map(Some)
            })
            .await
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
        self.engine
            .transaction(async |connection| {
                let Some(found) = connection.optional(next).await? else {
                    return Ok(false);
                };
                let user: UserId = found.get("user_id")?;
                for remove in [remove_links, remove_keys] {
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

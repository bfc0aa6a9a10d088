//! Lists of an owner's links.

use super::finding::{link_columns, links, of_owner};
use super::scanned::{self, IN_ONE_TEXT};
use super::sql::{Values, query};
use super::{Position, Store, StoreError, ToCount, WrittenClicks};
use crate::domain::{Link, Principal, Timestamp, UserId};

impl Store {
    /// Up to `limit` links of an owner, newest first (`created_at` falling, then `id` falling),
    /// from just after `after`. Empty if the owner's account is gone or has
    /// another key.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn links_of(
        &self,
        owner: Principal,
        after: Option<Position>,
        limit: u32,
    ) -> Result<ToCount<Vec<Link>>, StoreError> {
        let after = after.unwrap_or_else(Position::newest);
        let find = query(concat!(
            "SELECT ",
            link_columns!(),
            " FROM links WHERE ",
            of_owner!(),
            " AND (created_at, id) < ($3, $4) ORDER BY created_at DESC, id DESC LIMIT $5"
        ));
        let find = find.bind(owner.user).bind(&owner.key);
        let find = find.bind(after.key).bind(after.id).bind(limit);
        links(owner.user, &self.engine.read(find).await?)
    }

    /// Up to `limit` active links of an owner that end after `now`, the earliest end first. Empty if the owner's
    /// account is gone or has another key.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn ending_links(
        &self,
        owner: Principal,
        now: Timestamp,
        limit: u32,
    ) -> Result<ToCount<Vec<Link>>, StoreError> {
        let find = query(concat!(
            "SELECT ",
            link_columns!(),
            " FROM links WHERE ",
            of_owner!(),
            " AND is_active AND removed_status IS NULL AND expires_at > $3 ORDER BY expires_at, id LIMIT $4"
        ));
        let find = find.bind(owner.user).bind(&owner.key).bind(now).bind(limit);
        links(owner.user, &self.engine.read(find).await?)
    }

    /// Up to `limit` links of an owner with the clicks that are written back, in the order in which they were made, from just
    /// after `after`, a position by moments. Asks for no key: its caller shows nothing of it to a client.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn clicks_of_links(
        &self,
        owner: UserId,
        after: Option<Position>,
        limit: u32,
    ) -> Result<Vec<WrittenClicks>, StoreError> {
        let clicks = self.clicks_of_link();
        let mut values = Values::default();
        let (owner, limit) = (values.name(owner), values.name(limit));
        // No link is older than the epoch.
        let (key, id) = after.map_or((-1, -1), |after| (after.key, after.id.number()));
        let (key, id) = (values.name(key), values.name(id));
        let find = values.query(format!(
            "{IN_ONE_TEXT} (SELECT created_at AS key, id, {clicks} AS text FROM links
                 WHERE owner_id = {owner} AND trashed_at = 0 AND (created_at, id) > ({key}, {id})
                 ORDER BY created_at, id LIMIT {limit}) AS scanned"
        ));
        let rows = self.in_one_text(find).await?;
        scanned::written_clicks(rows.as_deref()).await
    }

    /// How many links an owner has, and their clicks that are written back; nothing if the account is gone or has another key.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn totals_of(&self, owner: Principal) -> Result<OwnerTotals, StoreError> {
        let clicks = self.clicks_of_link();
        let mut values = Values::default();
        let (user, key) = (values.name(owner.user), values.name(&owner.key));
        let sum = values.query(format!(
            "SELECT count(*) AS links, CAST(coalesce(sum({clicks}), 0) AS bigint) AS clicks FROM links
                 WHERE trashed_at = 0 AND owner_id = (SELECT user_id FROM account_keys WHERE user_id = {user} AND key = {key})"
        ));
        let Some(row) = self.engine.read_one(sum.of_search()).await? else {
            return Ok(OwnerTotals::default());
        };
        let (links, clicks): (i64, i64) = (row.get("links")?, row.get("clicks")?);
        Ok(OwnerTotals {
            links: links.unsigned_abs(),
            clicks: clicks.unsigned_abs(),
        })
    }
}

/// All links of an owner together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnerTotals {
    /// How many they are.
    pub links: u64,
    /// Their clicks that are written back.
    pub clicks: u64,
}

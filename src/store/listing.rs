//! Lists of an owner's links.

use super::finding::{link_columns, links, of_owner};
use super::scanned::{self, IN_ONE_TEXT};
use super::sql::{Values, query};
use super::{Position, Store, StoreError, ToCount, WrittenClicks};
use crate::domain::{Link, Principal, Timestamp, UserId};

impl Store {
    /// Up to `limit` links of an owner, newest first (`created_at` falling, then `id` falling),
    /// from just after `after`. None of an owner whose account is gone or has
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

    /// Up to `limit` active links of an owner that end after `now`, those that end first at the beginning. None of an owner
    /// whose account is gone or has another key.
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
                 WHERE owner_id = {owner} AND (created_at, id) > ({key}, {id})
                 ORDER BY created_at, id LIMIT {limit}) AS looked_at"
        ));
        let rows = self.in_one_text(find).await?;
        scanned::written_clicks(rows.as_deref()).await
    }
}

//! Changing and deleting links. Changes of one link come one after the other.

use std::sync::LazyLock;

use super::connection::Connection;
use super::finding::{link_of_owner, link_to_count};
use super::properties::{COLUMNS, GIVEN, GivenRow, in_json};
use super::sql::{Query, query};
use super::{Change, Store, StoreError, ToCount};
use crate::domain::{Link, LinkId, LinkProperties, Principal, ShortCode, Timestamp};

/// The result of an edit.
#[derive(Clone, Debug)]
pub enum Edited {
    /// There is no such link, it is another's or the owner's account is gone or has another key.
    NotFound,
    /// The link is not as the client expected.
    Refused,
    /// It is changed, or was so already.
    Done(Box<EditedLink>),
}

/// A link that was edited.
#[derive(Clone, Debug)]
pub struct EditedLink {
    /// The link as it is now.
    pub link: ToCount<Link>,
    /// The clicks that the database has, read in the same transaction: as [`Clicks::counts`] without flushes.
    ///
    /// [`Clicks::counts`]: super::Clicks::counts
    pub clicks: u64,
    /// The change to announce, if something changed.
    pub change: Option<Change>,
}

/// The result of a deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// There is no such link, it is another's or the owner's account is gone or has another key.
    NotFound,
    /// The link is not as the client expected.
    Refused,
    /// The change to announce.
    Done(Change),
}

/// Makes new properties of a link, or refuses to.
pub type EditLink<'a> = &'a (dyn Fn(&Link) -> Option<LinkProperties> + Send + Sync);

/// Whether a link is as its owner expects it.
pub type IsExpected<'a> = &'a (dyn Fn(&Link) -> bool + Send + Sync);

/// The link `$2` gets the properties in `$1`. A trigger notes the change.
static UPDATE: LazyLock<Query<'static>> = LazyLock::new(|| {
    let columns = &*COLUMNS;
    let [postgres, sqlite] = GIVEN.each_ref().map(|given| {
        format!("UPDATE links SET ({columns}, updated_at) = (SELECT {columns}, $3 FROM {given}) WHERE id = $2")
    });
    Query::built_of_each(postgres, sqlite)
});

impl Store {
    /// Gives a link of this owner the properties that `edit` makes of its present ones, and notes the change in the outbox,
    /// in one transaction; edits of one link come one after the other. `edit` returns `None` to leave the link alone.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn edit_link(
        &self,
        owner: Principal,
        code: &ShortCode,
        edit: EditLink<'_>,
        now: Timestamp,
    ) -> Result<Edited, StoreError> {
        let edited = self.engine.transaction(async |connection| {
            let find = link_of_owner(&owner, code).locked("links");
            let Some(found) = connection.optional(find).await? else {
                return Ok(Edited::NotFound);
            };
            let mut link = link_to_count(owner.user, &found)?;
            let Some(properties) = edit(&link.value) else {
                return Ok(Edited::Refused);
            };
            let clicks = connection.written_clicks(link.value.id, now).await?;
            let mut change = None;
            if properties != link.value.properties {
                let row = GivenRow {
                    place_and_code: None,
                    properties: &properties,
                };
                let update: Query<'_> = UPDATE.clone();
                let update = update.bind(in_json(&[row])?).bind(link.value.id).bind(now);
                connection.execute(update).await?;
                change = newest_change(connection, code).await?;
                link.value.properties = properties;
                link.value.updated_at = now;
            }
            let edited = EditedLink {
                link,
                clicks,
                change,
            };
            Ok(Edited::Done(Box::new(edited)))
        });
        edited.await
    }

    /// Deletes a link of this owner if it is as expected, retires its code and notes the change in the outbox, in one
    /// transaction: no edit comes in between. `None` expects nothing.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn delete_link(
        &self,
        owner: Principal,
        code: &ShortCode,
        is_expected: Option<IsExpected<'_>>,
    ) -> Result<Deleted, StoreError> {
        let deleted = self.engine.transaction(async |connection| {
            if let Some(is_expected) = is_expected {
                let find = link_of_owner(&owner, code).locked("links");
                let Some(found) = connection.optional(find).await? else {
                    return Ok(Deleted::NotFound);
                };
                if !is_expected(&link_to_count(owner.user, &found)?.value) {
                    return Ok(Deleted::Refused);
                }
            }
            // Triggers note the change, retire the code, and leave the clicks to `uncount_deleted`.
            let delete = query(
                "DELETE FROM links WHERE short_code = $3
                 AND owner_id = (SELECT user_id FROM account_keys WHERE user_id = $1 AND key = $2)",
            );
            let delete = delete.bind(owner.user).bind(&owner.key).bind(code);
            if connection.execute(delete).await? == 0 {
                return Ok(Deleted::NotFound);
            }
            let change = newest_change(connection, code).await?;
            Ok::<_, StoreError>(change.map_or(Deleted::NotFound, Deleted::Done))
        });
        let deleted = deleted.await?;
        if let (Deleted::Done(_), Some(seen)) = (&deleted, self.engine.seen()) {
            seen.deleted(code);
        }
        Ok(deleted)
    }

    /// Removes the counted clicks of up to `limit` deleted links above `after`, in rising order of ids, and waits for no
    /// flush. Clicks that come later still count for no link. Returns the last of these links, if there may be more.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn uncount_deleted(
        &self,
        after: Option<LinkId>,
        limit: u32,
    ) -> Result<Option<LinkId>, StoreError> {
        if self.has_one_process() {
            // In SQLite the clicks are in the row of their link, and go with it.
            return Ok(None);
        }
        // A link leaves the list if it had no row a minute after it was looked at first.
        let uncount = query(
            "WITH batch AS (
                 SELECT link_id, rescan_at FROM deleted_links
                 WHERE link_id > $1 AND (rescan_at IS NULL OR rescan_at < now_micros())
                 ORDER BY link_id LIMIT $2 FOR UPDATE SKIP LOCKED
             ),
             state AS (
                 SELECT link_id, rescan_at IS NOT NULL AND NOT EXISTS (
                     SELECT FROM link_clicks WHERE link_clicks.link_id = batch.link_id) AS is_done
                 FROM batch
             ),
             uncounted AS (
                 DELETE FROM link_clicks WHERE link_id = ANY (ARRAY(
                     SELECT link_id FROM link_clicks WHERE link_id = ANY (ARRAY(SELECT link_id FROM batch))
                     ORDER BY link_id FOR UPDATE SKIP LOCKED))
             ),
             series AS (
                 DELETE FROM link_series WHERE ctid = ANY (ARRAY(
                     SELECT ctid FROM link_series WHERE link_id = ANY (ARRAY(SELECT link_id FROM batch)) FOR UPDATE SKIP LOCKED))
             ),
             limits AS (
                 DELETE FROM link_limits WHERE link_id = ANY (ARRAY(
                     SELECT link_id FROM link_limits WHERE link_id = ANY (ARRAY(SELECT link_id FROM batch))
                     ORDER BY link_id FOR UPDATE SKIP LOCKED))
             ),
             done AS (
                 DELETE FROM deleted_links WHERE link_id = ANY (ARRAY(SELECT link_id FROM state WHERE is_done))
             ),
             again AS (
                 UPDATE deleted_links SET rescan_at = now_micros() + 60000000
                 WHERE link_id = ANY (ARRAY(SELECT link_id FROM state WHERE NOT is_done))
             )
             SELECT max(link_id) AS last, count(*) AS links FROM batch",
        );
        let uncount = uncount.bind(after.map_or(-1, LinkId::number)).bind(limit);
        let scanned = self.engine.write(uncount).await?;
        match scanned.first() {
            Some(scanned) if scanned.get::<i64>("links")? == i64::from(limit) => {
                scanned.get("last")
            }
            _ => Ok(None),
        }
    }
}

/// The change that a trigger has just noted. The link was locked before, so it is the newest one of its code. `None` if its
/// account is deleted at this moment: the changes of its links are announced with it.
pub(super) async fn newest_change(
    connection: &mut Connection<'_>,
    code: &ShortCode,
) -> Result<Option<Change>, StoreError> {
    let find = query("SELECT max(number) AS number FROM link_changes WHERE short_code = $1");
    let number: Option<i64> = connection.one(find.bind(code)).await?.get("number")?;
    Ok(number.map(|number| Change::of(number, code)))
}

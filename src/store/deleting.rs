//! Deleting links: a link goes into the bin of its owner, from where it may come back, or ends at once.
//!
//! A link in a bin is unknown by all of its codes, and in no list, search or tag of its owner, nor in the owner's quota. Its row stays with its
//! clicks: also those that were answered before and are counted later are its own. The sums over all links of its owner have them until
//! it ends, and who reads the sums subtracts them.

use super::creating::quota;
use super::editing::codes_of;
use super::finding::{link_columns, link_of_owner, link_to_count, links, of_owner};
use super::outbox::newest_changes;
use super::sql::{query, query_of_each};
use super::{Change, Position, Store, StoreError, ToCount};
use crate::domain::{Link, LinkId, Principal, ShortCode, Timestamp, UserId};

/// The result of a deletion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deleted {
    /// There is no such link, it is another's or the owner's account is gone or has another key.
    NotFound,
    /// The link is not as the client expected.
    Refused,
    /// The changes to announce, of each of its codes; empty if its account is deleted at this moment, as they are announced with it.
    Done(Vec<Change>),
}

/// What becomes of a link that is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// It goes into the bin of its owner at this moment.
    IntoBin(Timestamp),
    /// It is gone.
    AtOnce,
}

/// A link in the bin of its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrashedLink {
    /// The link, as it was when it was deleted.
    pub link: Link,
    /// When it was deleted.
    pub at: Timestamp,
}

/// What became of a link that was to be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restored {
    /// There is no such link in the bin, it is another's or the owner's account is gone or has another key.
    NotFound,
    /// The owner would have more links and aliases than an account may have.
    QuotaReached,
    /// Its own code, and the changes to announce, of each of its codes.
    Done(ShortCode, Vec<Change>),
}

/// Why a transaction is rolled back.
enum NotRestored {
    Because(Restored),
    Store(StoreError),
}

impl From<StoreError> for NotRestored {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Whether a link is as its owner expects it.
pub type IsExpected<'a> = &'a (dyn Fn(&Link) -> bool + Send + Sync);

/// That a row is in the bin of the account `$1`, which has the key `$2`.
macro_rules! in_bin {
    () => {
        "trashed_at > 0 AND owner_id = (SELECT user_id FROM account_keys WHERE user_id = $1 AND key = $2)"
    };
}

impl Store {
    /// Deletes a link of this owner if it is as expected, retires its codes and notes the changes in the outbox, in one
    /// transaction: no edit comes in between. `None` expects nothing.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn delete_link(
        &self,
        owner: Principal,
        code: &ShortCode,
        is_expected: Option<IsExpected<'_>>,
        deletion: Deletion,
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
            // Triggers note the change, retire the codes, and leave the clicks of a link that is gone to `uncount_deleted`.
            macro_rules! of_code {
                ($delete:literal) => {
                    concat!(
                        $delete,
                        " WHERE id = (SELECT link_id FROM link_codes WHERE code = $3) AND ",
                        of_owner!(),
                        " RETURNING short_code, aliases"
                    )
                };
            }
            let delete = match deletion {
                Deletion::AtOnce => query(of_code!("DELETE FROM links")),
                Deletion::IntoBin(_) => query(of_code!("UPDATE links SET trashed_at = $4")),
            };
            let mut delete = delete.bind(owner.user).bind(&owner.key).bind(code);
            if let Deletion::IntoBin(at) = deletion {
                delete = delete.bind(at);
            }
            let Some(deleted) = connection.optional(delete).await? else {
                return Ok(Deleted::NotFound);
            };
            let codes = codes_of(&deleted.get("short_code")?, &[&deleted.get("aliases")?]);
            let changes = newest_changes(connection, &codes).await?;
            Ok::<_, StoreError>(Deleted::Done(changes))
        });
        let deleted = deleted.await?;
        if let (Deleted::Done(changes), Some(seen)) = (&deleted, self.engine.seen()) {
            for code in changes.iter().filter_map(|change| change.code.as_ref()) {
                seen.deleted(code);
            }
        }
        Ok(deleted)
    }

    /// Up to `limit` links that went into the bin of an owner at `since` or later, the last first, from just after `after`, a position by
    /// these moments. Empty if the owner's account is gone or has another key.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn trashed_links(
        &self,
        owner: Principal,
        after: Option<Position>,
        since: Timestamp,
        limit: u32,
    ) -> Result<ToCount<Vec<TrashedLink>>, StoreError> {
        let after = after.unwrap_or_else(Position::newest);
        let find = query(concat!(
            "SELECT trashed_at, ",
            link_columns!(),
            " FROM links WHERE ",
            in_bin!(),
            " AND trashed_at >= $5 AND (trashed_at, id) < ($3, $4) ORDER BY trashed_at DESC, id DESC LIMIT $6"
        ));
        let find = find.bind(owner.user).bind(&owner.key);
        let find = find.bind(after.key).bind(after.id).bind(since).bind(limit);
        let rows = self.engine.read(find).await?;
        let ToCount { value, has_parked } = links(owner.user, &rows)?;
        let trashed = value.into_iter().zip(&rows).map(|(link, row)| {
            let at = row.get("trashed_at")?;
            Ok(TrashedLink { link, at })
        });
        Ok(ToCount {
            value: trashed.collect::<Result<_, StoreError>>()?,
            has_parked,
        })
    }

    /// Brings a link of this owner back, which went into the bin at `since` or later, as it was, and notes the changes in the outbox. The
    /// owner has `max_links` links and aliases at most (0: any number).
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn restore_link(
        &self,
        owner: Principal,
        code: &ShortCode,
        since: Timestamp,
        max_links: u64,
    ) -> Result<Restored, StoreError> {
        let restored = self.engine.transaction(async |connection| {
            let restore = query(concat!(
                "UPDATE links SET trashed_at = 0 WHERE id = (SELECT link_id FROM link_codes WHERE code = $3) AND ",
                in_bin!(),
                " AND trashed_at >= $4 RETURNING short_code, aliases"
            ));
            let restore = restore.bind(owner.user).bind(&owner.key);
            let restore = restore.bind(code).bind(since);
            let Some(restored) = connection.optional(restore).await? else {
                return Err(NotRestored::Because(Restored::NotFound));
            };
            // A trigger has locked the total, and added the link to it.
            let total = query("SELECT links + aliases AS codes FROM link_totals WHERE owner_id = $1");
            let total = connection.one(total.bind(owner.user)).await?;
            if total.get::<i64>("codes")? > quota(max_links) {
                return Err(NotRestored::Because(Restored::QuotaReached));
            }
            let own: ShortCode = restored.get("short_code")?;
            let codes = codes_of(&own, &[&restored.get("aliases")?]);
            Ok(Restored::Done(own, newest_changes(connection, &codes).await?))
        });
        match restored.await {
            Ok(restored) | Err(NotRestored::Because(restored)) => Ok(restored),
            Err(NotRestored::Store(error)) => Err(error),
        }
    }

    /// Whether a link in the bin of this owner has this code.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn is_in_bin(&self, owner: Principal, code: &ShortCode) -> Result<bool, StoreError> {
        let find = query(concat!(
            "SELECT id FROM links WHERE id = (SELECT link_id FROM link_codes WHERE code = $3) AND ",
            in_bin!()
        ));
        let find = find.bind(owner.user).bind(&owner.key).bind(code);
        Ok(self.engine.read_one(find).await?.is_some())
    }

    /// Ends a link in the bin of this owner. `false` if there is no such link.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn end_trashed_link(
        &self,
        owner: Principal,
        code: &ShortCode,
    ) -> Result<bool, StoreError> {
        let end = query(concat!(
            "DELETE FROM links WHERE id = (SELECT link_id FROM link_codes WHERE code = $3) AND ",
            in_bin!(),
            " RETURNING id"
        ));
        let end = end.bind(owner.user).bind(&owner.key).bind(code);
        Ok(!self.engine.write(end).await?.is_empty())
    }

    /// Ends up to `limit` links that went into a bin before this moment. Returns how many these were.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn empty_bins(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let end = query_of_each(
            "DELETE FROM links WHERE id = ANY (ARRAY(
                 SELECT id FROM links WHERE trashed_at > 0 AND trashed_at < $1 ORDER BY trashed_at LIMIT $2 FOR UPDATE SKIP LOCKED))",
            "DELETE FROM links WHERE id IN (SELECT id FROM links WHERE trashed_at > 0 AND trashed_at < $1 ORDER BY trashed_at LIMIT $2)",
        );
        let end = end.bind(before).bind(limit);
        self.engine
            .transaction(async |connection| connection.execute(end).await)
            .await
    }

    /// Ends the links in the bin of this owner that have one of these codes, which belong to links: the owner gives the code to another
    /// link. A link that is removed keeps its codes. Returns whether any link ended.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) async fn free_codes(
        &self,
        owner: UserId,
        codes: &[&ShortCode],
    ) -> Result<bool, StoreError> {
        // Most are in no bin: nothing is written then.
        let taken = self.taken_codes(owner, codes).await?;
        if codes.iter().all(|code| taken.contains(*code)) {
            return Ok(false);
        }
        let codes: serde_json::Value = codes.iter().map(|code| code.as_key()).collect();
        let end = query_of_each(
            "DELETE FROM links WHERE id = ANY (ARRAY(
                 SELECT coalesce(alias_of, id) FROM links WHERE short_code = ANY (ARRAY(SELECT value FROM json_each($1)))))
             AND owner_id = $2 AND trashed_at > 0 AND removed_status IS NULL RETURNING id",
            "DELETE FROM links WHERE id IN (
                 SELECT coalesce(alias_of, id) FROM links WHERE short_code IN (SELECT value FROM json_each($1)))
             AND owner_id = $2 AND trashed_at > 0 AND removed_status IS NULL RETURNING id",
        );
        let end = end.bind(codes.to_string()).bind(owner);
        Ok(!self.engine.write(end).await?.is_empty())
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

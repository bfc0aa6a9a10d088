//! Links of a hook with so many waiting deliveries that their further events stay in the feed.

use std::collections::{HashMap, HashSet};

use super::deliveries::{READY, insert_deliveries};
use super::{HeldLink, LeasedHook, NewDelivery};
use crate::domain::{EventPlace, Timestamp};
use crate::store::sql::{Turn, query};
use crate::store::{Store, StoreError};

/// The links of a hook that have something waiting.
#[derive(Debug, Default)]
pub struct WaitingLinks {
    /// How many deliveries of each link wait, unless it is held.
    pub deliveries: HashMap<String, u32>,
    /// The links that are held.
    pub held: HashSet<String>,
}

impl Store {
    /// Which links of a hook have something waiting.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn waiting_links(&self, hook: i64) -> Result<WaitingLinks, StoreError> {
        let find = query(
            "SELECT link, count(*) AS deliveries FROM hook_deliveries WHERE hook_id = $1 AND done_at IS NULL GROUP BY link
             UNION ALL SELECT link, NULL FROM hook_held_links WHERE hook_id = $1",
        );
        let mut found = WaitingLinks::default();
        for row in self.engine.read(find.bind(hook)).await? {
            let link: String = row.get("link")?;
            match row.get::<Option<i64>>("deliveries")? {
                None => {
                    found.held.insert(link);
                }
                Some(deliveries) => {
                    let deliveries = u32::try_from(deliveries).unwrap_or(u32::MAX);
                    found.deliveries.insert(link, deliveries);
                }
            }
        }
        Ok(found)
    }

    /// A held link of a hook of which nothing waits.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn next_held_link(&self, hook: i64) -> Result<Option<HeldLink>, StoreError> {
        let find = query(
            "SELECT link, read_step, read_index FROM hook_held_links WHERE hook_id = $1 AND NOT EXISTS (
                 SELECT 1 FROM hook_deliveries WHERE hook_id = $1 AND hook_deliveries.link = hook_held_links.link AND done_at IS NULL)
             ORDER BY read_step, read_index LIMIT 1",
        );
        let Some(row) = self.engine.read_one(find.bind(hook)).await? else {
            return Ok(None);
        };
        Ok(Some(HeldLink {
            link: row.get("link")?,
            read: EventPlace {
                step: row.get("read_step")?,
                index: row.get("read_index")?,
            },
        }))
    }

    /// Puts events of a held link in line. It is held from the next place on, or no more without one. `false` if the lease is over, or
    /// the hook was changed meanwhile: then nothing is noted.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn add_held_deliveries(
        &self,
        hook: &LeasedHook,
        holder: &str,
        held: &HeldLink,
        (deliveries, next): (&[NewDelivery], Option<EventPlace>),
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let id = hook.hook.id;
        // A replay sets the place back: it is looked at under the lock of the hook.
        let lock = query("SELECT id FROM hooks WHERE id = $1 FOR NO KEY UPDATE").bind(id);
        let note = query(
            "UPDATE hooks SET waiting = waiting + $3 WHERE id = $1 AND lease_holder = $2 AND lease_until >= now_micros()
             AND EXISTS (SELECT 1 FROM hook_held_links WHERE hook_id = $1 AND link = $4 AND read_step = $5 AND read_index = $6)
             AND EXISTS (SELECT 1 FROM account_keys WHERE user_id = owner_id AND key = $7)",
        );
        let waiting = i64::try_from(deliveries.len()).unwrap_or(i64::MAX);
        let note = note.bind(id).bind(holder).bind(waiting);
        let note = note.bind(held.link.as_str());
        let note = note.bind(held.read.step).bind(held.read.index);
        // With another key nothing was read.
        let note = note.bind(&hook.owner.key);
        let note = self.engine.by_its_clock(note);
        let go_on = match next {
            None => query("DELETE FROM hook_held_links WHERE hook_id = $1 AND link = $2"),
            Some(_) => query(
                "UPDATE hook_held_links SET read_step = $3, read_index = $4 WHERE hook_id = $1 AND link = $2",
            ),
        };
        let mut go_on = go_on.bind(id).bind(held.link.as_str());
        if let Some(next) = next {
            go_on = go_on.bind(next.step).bind(next.index);
        }
        self.engine
            .transaction_in_turn(Turn::WithPermit, async |connection| {
                connection.lock(lock).await?;
                if connection.execute(note).await? == 0 {
                    return Ok(false);
                }
                connection.execute(go_on).await?;
                if !deliveries.is_empty() {
                    let insert = insert_deliveries(id, deliveries, now);
                    connection.execute(insert).await?;
                    let ready = query(READY).bind(id).bind(now);
                    connection.execute(ready).await?;
                }
                Ok(true)
            })
            .await
    }
}

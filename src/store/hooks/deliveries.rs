//! What was sent, and what waits.

use serde_json::json;

use super::NewDelivery;
use crate::domain::{Principal, Timestamp};
use crate::store::sql::{Query, Row, query, query_of_each};
use crate::store::{Store, StoreError};

/// An event for a receiver, as the owner of the hook sees it.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The database's own number, which rises.
    pub id: i64,
    /// The event.
    pub event_id: String,
    /// Its type.
    pub of: String,
    /// When the event was put in line.
    pub made_at: Timestamp,
    /// How many times it was sent.
    pub attempts: u64,
    /// When the receiver took it.
    pub done_at: Option<Timestamp>,
    /// When it is sent next; `None`: it is done, or waits for an earlier event of its link.
    pub next_at: Option<Timestamp>,
    /// The status of the last answer.
    pub status: Option<u16>,
    /// Why the last attempt failed.
    pub error: Option<String>,
}

/// Puts deliveries of a hook in line, or notes what became of them.
pub(super) fn insert_deliveries(
    hook: i64,
    deliveries: &[NewDelivery],
    now: Timestamp,
) -> Query<'static> {
    let micros = now.micros();
    let rows = deliveries.iter().map(|delivery| {
        let attempt = delivery.attempt.as_ref();
        let failed = attempt.and_then(|attempt| attempt.failed.as_ref());
        let is_done = attempt.is_some() && failed.is_none();
        json!([
            delivery.event_id,
            delivery.of,
            delivery.link,
            if is_done { "" } else { &delivery.body },
            u8::from(attempt.is_some()),
            attempt.and_then(|attempt| attempt.status),
            failed.map(|(error, _)| error),
            failed.map(|(_, next_at)| next_at.micros()),
            failed.map(|_| micros),
            is_done.then_some(micros),
        ])
    });
    let rows = rows.collect::<serde_json::Value>().to_string();
    let insert = query_of_each(
        "INSERT INTO hook_deliveries (hook_id, made_at, event_id, type, link, body, attempts, status, error, next_at, failing_since, done_at)
         SELECT $1, $2, row ->> 0, row ->> 1, row ->> 2, row ->> 3, (row ->> 4)::bigint, (row ->> 5)::bigint, row ->> 6,
             (row ->> 7)::bigint, (row ->> 8)::bigint, (row ->> 9)::bigint
         FROM json_array_elements($3::text::json) WITH ORDINALITY AS rows (row, place) ORDER BY place",
        "INSERT INTO hook_deliveries (hook_id, made_at, event_id, type, link, body, attempts, status, error, next_at, failing_since, done_at)
         SELECT $1, $2, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7, value ->> 8, value ->> 9
         FROM json_each($3) ORDER BY key",
    );
    insert.bind(hook).bind(now).bind(rows)
}

/// Gives the hook `$1` a moment, `$2`, for the first delivery of each link, unless an earlier one has its moment already.
pub(super) const READY: &str = "UPDATE hook_deliveries SET next_at = $2 WHERE hook_id = $1 AND done_at IS NULL AND next_at IS NULL
     AND NOT EXISTS (
         SELECT 1 FROM hook_deliveries AS earlier WHERE earlier.hook_id = $1 AND earlier.link = hook_deliveries.link
         AND earlier.done_at IS NULL AND earlier.id < hook_deliveries.id)";

impl Store {
    /// Deliveries of a hook before this one, the newest first; `None` if the owner has no such hook.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn hook_deliveries(
        &self,
        owner: Principal,
        hook: i64,
        before: i64,
        limit: u32,
    ) -> Result<Option<Vec<Delivery>>, StoreError> {
        if self.hook_of(owner, hook).await?.is_none() {
            return Ok(None);
        }
        let find = query(
            "SELECT id, event_id, type, made_at, attempts, done_at, next_at, status, error FROM hook_deliveries
             WHERE hook_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3",
        );
        let found = self.engine.read(find.bind(hook).bind(before).bind(limit));
        let deliveries = found.await?;
        let deliveries = deliveries.iter().map(read);
        deliveries.collect::<Result<_, _>>().map(Some)
    }

    /// Removes deliveries that were done before a moment; returns how many.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn prune_deliveries(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let remove = query(
            "DELETE FROM hook_deliveries WHERE id IN (SELECT id FROM hook_deliveries WHERE done_at < $1 ORDER BY done_at LIMIT $2)",
        );
        self.engine.execute(remove.bind(before).bind(limit)).await
    }

    /// Removes what was put in line before a moment and was not taken since, also of hooks that are off.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn prune_waiting(&self, before: Timestamp, now: Timestamp) -> Result<(), StoreError> {
        let find = query(
            "SELECT DISTINCT hook_id FROM hook_deliveries WHERE next_at IS NOT NULL AND made_at < $1",
        );
        for row in self.engine.read(find.bind(before)).await? {
            let hook: i64 = row.get("hook_id")?;
            // As where attempts are noted: what is removed was not taken meanwhile.
            let lock = query("SELECT id FROM hooks WHERE id = $1 FOR NO KEY UPDATE").bind(hook);
            let remove = query(
                "DELETE FROM hook_deliveries WHERE hook_id = $1 AND done_at IS NULL AND made_at < $2",
            );
            // A hook with nothing left to send is not failing.
            let note = query(
                "UPDATE hooks SET waiting = waiting - $2,
                     failures = CASE WHEN waiting = $2 THEN 0 ELSE failures END,
                     failing_since = CASE WHEN waiting = $2 THEN NULL ELSE failing_since END
                 WHERE id = $1",
            );
            let ready = query(READY).bind(hook).bind(now);
            let pruned = self.engine.transaction(async |connection| {
                connection.lock(lock).await?;
                let removed = connection.execute(remove.bind(hook).bind(before)).await?;
                let removed = i64::try_from(removed).unwrap_or(i64::MAX);
                connection.execute(note.bind(hook).bind(removed)).await?;
                connection.execute(ready).await?;
                Ok::<_, StoreError>(())
            });
            pruned.await?;
        }
        Ok(())
    }

    /// Keeps the newest deliveries of a hook, and those that are not done.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn keep_newest_deliveries(&self, hook: i64, most: u32) -> Result<(), StoreError> {
        let remove = query(
            "DELETE FROM hook_deliveries WHERE hook_id = $1 AND done_at IS NOT NULL
             AND id <= (SELECT id FROM hook_deliveries WHERE hook_id = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)",
        );
        self.engine.execute(remove.bind(hook).bind(most)).await?;
        Ok(())
    }
}

fn read(row: &Row) -> Result<Delivery, StoreError> {
    let status: Option<i64> = row.get("status")?;
    Ok(Delivery {
        id: row.get("id")?,
        event_id: row.get("event_id")?,
        of: row.get("type")?,
        made_at: row.get("made_at")?,
        attempts: row.get::<i64>("attempts")?.unsigned_abs(),
        done_at: row.get("done_at")?,
        next_at: row.get("next_at")?,
        status: status.and_then(|status| status.try_into().ok()),
        error: row.get("error")?,
    })
}

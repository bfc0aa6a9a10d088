//! Removes old events of the feeds.

use crate::domain::Timestamp;
use crate::store::sql::query;
use crate::store::{Store, StoreError};

impl Store {
    /// Removes events that got their place before a moment, those of the oldest steps at a time; returns how many rows are removed.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn prune_events(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let pruned = self.engine.transaction(async |connection| {
            let oldest = query(
                "SELECT max(step) AS step FROM (SELECT step, told_at FROM events ORDER BY step LIMIT $1) AS oldest WHERE told_at < $2",
            );
            let oldest = connection.one(oldest.bind(limit).bind(before)).await?;
            let Some(last): Option<i64> = oldest.get("step")? else {
                return Ok(0);
            };
            // What a reader missed who comes too late.
            let note = query(
                "INSERT INTO events_pruned (owner_id, step, last_index)
                 SELECT owner_id, step, last_index FROM (
                     SELECT owner_id, step, first + size - 1 AS last_index,
                         row_number() OVER (PARTITION BY owner_id ORDER BY step DESC, first DESC) AS place
                     FROM events WHERE step <= $1) AS old
                 WHERE place = 1
                     AND EXISTS (SELECT 1 FROM users WHERE id = owner_id)
                 ON CONFLICT (owner_id) DO UPDATE SET step = excluded.step, last_index = excluded.last_index
                 WHERE (events_pruned.step, events_pruned.last_index) < (excluded.step, excluded.last_index)",
            );
            connection.execute(note.bind(last)).await?;
            let remove = query("DELETE FROM events WHERE step <= $1");
            connection.execute(remove.bind(last)).await
        });
        pruned.await
    }
}

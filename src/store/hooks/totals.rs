//! All hooks of the service, for the metrics.

use crate::domain::Timestamp;
use crate::store::sql::query_of_each;
use crate::store::{Store, StoreError};

impl Store {
    /// How many hooks are switched on, switched off and failing, and how many deliveries wait.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn hook_totals(&self) -> Result<HookTotals, StoreError> {
        let count = query_of_each(
            "SELECT count(*) FILTER (WHERE is_active) AS active, count(*) FILTER (WHERE NOT is_active) AS off,
                 count(*) FILTER (WHERE is_active AND failing_since IS NOT NULL) AS failing,
                 coalesce(sum(waiting), 0)::bigint AS waiting, (
                     SELECT min((SELECT told_at FROM events WHERE events.owner_id = behind.owner_id
                         AND step >= read_step AND (step > read_step OR first + size - 1 > read_index) ORDER BY step, first LIMIT 1))
                     FROM hooks AS behind WHERE is_active AND failing_since IS NULL
                         AND NOT EXISTS (SELECT 1 FROM banned_users WHERE user_id = behind.owner_id)
                         AND NOT EXISTS (SELECT 1 FROM deleted_users WHERE user_id = behind.owner_id)) AS oldest
             FROM hooks",
            "SELECT count(*) FILTER (WHERE is_active) AS active, count(*) FILTER (WHERE NOT is_active) AS off,
                 count(*) FILTER (WHERE is_active AND failing_since IS NOT NULL) AS failing,
                 coalesce(sum(waiting), 0) AS waiting, (
                     SELECT min((SELECT told_at FROM events WHERE events.owner_id = behind.owner_id
                         AND step >= read_step AND (step > read_step OR first + size - 1 > read_index) ORDER BY step, first LIMIT 1))
                     FROM hooks AS behind WHERE is_active AND failing_since IS NULL
                         AND NOT EXISTS (SELECT 1 FROM banned_users WHERE user_id = behind.owner_id)
                         AND NOT EXISTS (SELECT 1 FROM deleted_users WHERE user_id = behind.owner_id)) AS oldest
             FROM hooks",
        );
        let Some(row) = self.engine.read_one(count).await? else {
            return Ok(HookTotals::default());
        };
        let number = |name: &str| row.get::<i64>(name).map(i64::unsigned_abs);
        Ok(HookTotals {
            active: number("active")?,
            off: number("off")?,
            failing: number("failing")?,
            waiting: number("waiting")?,
            oldest: row.get("oldest")?,
        })
    }
}

/// All hooks of the service.
#[derive(Clone, Copy, Debug, Default)]
pub struct HookTotals {
    /// Switched on.
    pub active: u64,
    /// Switched off.
    pub off: u64,
    /// Switched on, and their receivers took nothing last.
    pub failing: u64,
    /// Deliveries that are not done.
    pub waiting: u64,
    /// Since when an event is in its feed that a receiver that works was neither sent nor has in line.
    pub oldest: Option<Timestamp>,
}

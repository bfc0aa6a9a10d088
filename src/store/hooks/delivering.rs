//! Working hooks off: which have something to send, and what became of it.
//!
//! An instance has a hook for as long as its lease lasts, and writes nothing without it. So the deliveries of a link go out one after the
//! other: only the first of them that is not done has a moment at which it is sent.

use std::time::Duration;

use serde_json::json;

use super::{Hook, read_hook};
use crate::domain::{EventPlace, HookSecret, Timestamp, UserId};
use crate::store::sql::{Row, query, query_of_each};
use crate::store::{Store, StoreError};

/// How long a process has a hook without renewing it: longer than a round takes.
const LEASE: Duration = Duration::from_secs(30);

/// The link of events that belong to none.
const NO_LINK: i64 = i64::MAX;

/// A hook that this process works off.
pub struct LeasedHook {
    /// The hook.
    pub hook: Hook,
    /// Its account.
    pub owner: UserId,
    /// All that happened up to here has its deliveries.
    pub read: EventPlace,
    /// Rounds in a row in which the receiver took nothing.
    pub failures: u32,
    /// When the next round is.
    pub retry_at: Timestamp,
    /// The secrets that sign, the newest first.
    pub secrets: Vec<HookSecret>,
}

/// An event for a receiver.
#[derive(Clone, Debug)]
pub struct NewDelivery {
    /// The event.
    pub event_id: String,
    /// Its type.
    pub of: &'static str,
    /// The code of its link: events of one link are sent one after the other.
    pub link: String,
    /// What is sent.
    pub body: String,
}

/// A delivery whose moment has come.
#[derive(Clone, Debug)]
pub struct DueDelivery {
    /// The database's own number.
    pub id: i64,
    /// The event.
    pub event_id: String,
    /// The code of its link.
    pub link: String,
    /// What is sent.
    pub body: String,
    /// How many times it was sent already.
    pub attempts: u32,
    /// When it failed first.
    pub failing_since: Option<Timestamp>,
}

/// What became of a delivery.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The delivery.
    pub delivery: DueDelivery,
    /// The answer's status, if there was an answer.
    pub status: Option<u16>,
    /// Why the receiver did not take it, and when it is sent again; `None`: the receiver took it.
    pub failed: Option<(String, Timestamp)>,
}

/// What a round came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What became of each delivery.
    pub attempts: Vec<Attempt>,
    /// If the receiver took nothing: when the next round is.
    pub retry_at: Option<Timestamp>,
    /// The hook is switched off, for this reason.
    pub off: Option<String>,
}

impl Store {
    /// Hooks with something to send that no other process works off, the longest waiting ones first.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn due_hooks(
        &self,
        holder: &str,
        now: Timestamp,
        max_waiting: u32,
        limit: u32,
    ) -> Result<Vec<i64>, StoreError> {
        let find = query(
            "SELECT id FROM hooks WHERE is_active AND (lease_until < now_micros() OR lease_holder = $2)
                 AND NOT EXISTS (SELECT 1 FROM banned_users WHERE user_id = owner_id)
                 AND (waiting < $3 AND EXISTS (
                         SELECT 1 FROM events WHERE events.owner_id = hooks.owner_id
                         AND step >= read_step AND (step > read_step OR first + size - 1 > read_index))
                     OR retry_at <= $1 AND EXISTS (
                         SELECT 1 FROM hook_deliveries WHERE hook_id = hooks.id AND next_at <= $1))
             ORDER BY lease_until, id LIMIT $4",
        );
        let find = find.bind(now).bind(holder).bind(max_waiting).bind(limit);
        let found = self.engine.read(self.engine.by_its_clock(find)).await?;
        found.iter().map(|row| row.get("id")).collect()
    }

    /// Takes or renews the lease of a hook; `None` if it is switched off or gone, or another process has one of the
    /// account's hooks.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn lease_hook(
        &self,
        id: i64,
        holder: &str,
        now: Timestamp,
    ) -> Result<Option<LeasedHook>, StoreError> {
        let lease = query(
            "UPDATE hooks SET lease_holder = $2, lease_until = now_micros() + $3 WHERE id = $1 AND is_active AND NOT EXISTS (
                 SELECT 1 FROM hooks AS other WHERE other.owner_id = hooks.owner_id
                 AND other.lease_holder <> $2 AND other.lease_until >= now_micros())
             RETURNING *",
        );
        let micros = i64::try_from(LEASE.as_micros()).unwrap_or(i64::MAX);
        let lease = self.engine.by_its_clock(lease.bind(id).bind(holder).bind(micros));
        let leased = self.engine.write(lease).await?;
        leased.first().map(|row| read_leased(row, now)).transpose()
    }

    /// Gives a hook back.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn release_hook(&self, id: i64, holder: &str) -> Result<(), StoreError> {
        let release =
            query("UPDATE hooks SET lease_until = 0 WHERE id = $1 AND lease_holder = $2");
        self.engine.execute(release.bind(id).bind(holder)).await?;
        Ok(())
    }

    /// Puts events in line, and notes up to where they were read. `false` if the lease is over, or the hook was changed meanwhile.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn add_deliveries(
        &self,
        hook: &LeasedHook,
        holder: &str,
        deliveries: &[NewDelivery],
        next: EventPlace,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let rows = deliveries.iter().map(|delivery| {
            json!([delivery.event_id, delivery.of, delivery.link, delivery.body])
        });
        let rows = serde_json::Value::from_iter(rows).to_string();
        let number = u32::try_from(deliveries.len()).unwrap_or(u32::MAX);
        let id = hook.hook.id;
        let note = query(
            "UPDATE hooks SET read_step = $5, read_index = $6, waiting = waiting + $7
             WHERE id = $1 AND lease_holder = $2 AND lease_until >= now_micros() AND is_active AND read_step = $3 AND read_index = $4",
        );
        let note = note.bind(id).bind(holder);
        let note = note.bind(hook.read.step).bind(hook.read.index);
        let note = note.bind(next.step).bind(next.index);
        let note = self.engine.by_its_clock(note.bind(number));
        let insert = query_of_each(
            "INSERT INTO hook_deliveries (hook_id, event_id, type, link, body, made_at)
             SELECT $1, row ->> 0, row ->> 1, row ->> 2, row ->> 3, $2
             FROM json_array_elements($3::text::json) WITH ORDINALITY AS rows (row, place) ORDER BY place",
            "INSERT INTO hook_deliveries (hook_id, event_id, type, link, body, made_at)
             SELECT $1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, $2 FROM json_each($3) ORDER BY key",
        );
        let insert = insert.bind(id).bind(now).bind(rows);
        // The first of each link, unless an earlier one has its moment already.
        let ready = query(
            "UPDATE hook_deliveries SET next_at = $2 WHERE hook_id = $1 AND done_at IS NULL AND next_at IS NULL
             AND NOT EXISTS (
                 SELECT 1 FROM hook_deliveries AS earlier WHERE earlier.hook_id = $1 AND earlier.link = hook_deliveries.link
                 AND earlier.done_at IS NULL AND earlier.id < hook_deliveries.id)",
        );
        let ready = ready.bind(id).bind(now);
        self.engine
            .transaction(async |connection| {
                if connection.execute(note).await? == 0 {
                    return Ok(false);
                }
                if !deliveries.is_empty() {
                    connection.execute(insert).await?;
                    connection.execute(ready).await?;
                }
                Ok(true)
            })
            .await
    }

    /// Deliveries of a hook whose moment has come, in the order in which they were put in line.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn due_deliveries(
        &self,
        hook: i64,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<DueDelivery>, StoreError> {
        let find = query(
            "SELECT id, event_id, link, body, attempts, failing_since FROM hook_deliveries
             WHERE hook_id = $1 AND next_at <= $2 ORDER BY next_at, id LIMIT $3",
        );
        let found = self.engine.read(find.bind(hook).bind(now).bind(limit));
        found.await?.iter().map(read_due).collect()
    }

    /// Notes what became of deliveries. `false` if the lease is over: then another process sends them again.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn note_outcome(
        &self,
        hook: &LeasedHook,
        holder: &str,
        outcome: &Outcome,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let id = hook.hook.id;
        let done = outcome.attempts.iter().filter(|attempt| attempt.failed.is_none());
        let done = u32::try_from(done.count()).unwrap_or(u32::MAX);
        let failed = outcome.attempts.iter().find_map(|attempt| attempt.failed.as_ref());
        let error = outcome.off.as_deref();
        let error = error.or(failed.map(|(error, _)| error.as_str()));
        // What the receiver takes shows that it works again.
        let note = query(
            "UPDATE hooks SET waiting = waiting - $3,
                 failures = CASE WHEN $3 > 0 THEN 0 ELSE failures + 1 END,
                 failing_since = CASE WHEN $3 > 0 THEN NULL ELSE coalesce(failing_since, $4) END,
                 retry_at = coalesce($5, 0), last_error = $6, is_active = is_active AND $7
             WHERE id = $1 AND lease_holder = $2 AND lease_until >= now_micros()",
        );
        let note = note.bind(id).bind(holder).bind(done).bind(now);
        let note = note.bind(outcome.retry_at).bind(error).bind(outcome.off.is_none());
        let note = self.engine.by_its_clock(note);
        self.engine
            .transaction(async |connection| {
                if connection.execute(note).await? == 0 {
                    return Ok(false);
                }
                for attempt in &outcome.attempts {
                    let delivery = &attempt.delivery;
                    let status = attempt.status.map(u32::from).map(i64::from);
                    if let Some((error, next_at)) = &attempt.failed {
                        let again = query(
                            "UPDATE hook_deliveries SET attempts = attempts + 1, next_at = $2, status = $3, error = $4,
                                 failing_since = coalesce(failing_since, $5) WHERE id = $1 AND next_at IS NOT NULL",
                        );
                        let again = again.bind(delivery.id).bind(*next_at).bind(status);
                        connection.execute(again.bind(error.as_str()).bind(now)).await?;
                        continue;
                    }
                    let done = query(
                        "UPDATE hook_deliveries SET attempts = attempts + 1, next_at = NULL, done_at = $2, status = $3,
                             error = NULL, failing_since = NULL, body = '' WHERE id = $1",
                    );
                    let done = done.bind(delivery.id).bind(now).bind(status);
                    connection.execute(done).await?;
                    let next = query(
                        "UPDATE hook_deliveries SET next_at = $3 WHERE id = (
                             SELECT min(id) FROM hook_deliveries WHERE hook_id = $1 AND link = $2 AND done_at IS NULL)",
                    );
                    let next = next.bind(id).bind(delivery.link.as_str()).bind(now);
                    connection.execute(next).await?;
                }
                if let Some(reason) = &outcome.off {
                    let tell = query(
                        "INSERT INTO event_queue (owner_id, link_id, type, at, short_code, target_url, title, tags)
                         VALUES ($1, $2, 'hook.off', $3, '', $4, $5, '[]')",
                    );
                    let tell = tell.bind(hook.owner).bind(NO_LINK).bind(now);
                    let tell = tell.bind(hook.hook.url.as_str()).bind(reason.as_str());
                    connection.execute(tell).await?;
                }
                Ok(true)
            })
            .await
    }

    /// How many hooks are switched on, switched off and failing, and how many deliveries wait.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn hook_totals(&self) -> Result<HookTotals, StoreError> {
        let count = query_of_each(
            "SELECT count(*) FILTER (WHERE is_active) AS active, count(*) FILTER (WHERE NOT is_active) AS off,
                 count(*) FILTER (WHERE is_active AND failing_since IS NOT NULL) AS failing,
                 coalesce(sum(waiting), 0)::bigint AS waiting FROM hooks",
            "SELECT count(*) FILTER (WHERE is_active) AS active, count(*) FILTER (WHERE NOT is_active) AS off,
                 count(*) FILTER (WHERE is_active AND failing_since IS NOT NULL) AS failing,
                 coalesce(sum(waiting), 0) AS waiting FROM hooks",
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
}

fn read_leased(row: &Row, now: Timestamp) -> Result<LeasedHook, StoreError> {
    let secret = |stored: Vec<u8>| {
        let invalid = || StoreError::Unexpected("the secret of a hook is invalid".into());
        HookSecret::from_bytes(&stored).ok_or_else(invalid)
    };
    let mut secrets = vec![secret(row.get("secret")?)?];
    let old: Option<Vec<u8>> = row.get("old_secret")?;
    if let Some(old) = old
        && row.get::<Timestamp>("old_secret_until")? > now
    {
        secrets.push(secret(old)?);
    }
    let failures: i64 = row.get("failures")?;
    Ok(LeasedHook {
        hook: read_hook(row)?,
        owner: UserId(row.get("owner_id")?),
        read: EventPlace {
            step: row.get("read_step")?,
            index: row.get("read_index")?,
        },
        failures: u32::try_from(failures).unwrap_or_default(),
        retry_at: row.get("retry_at")?,
        secrets,
    })
}

fn read_due(row: &Row) -> Result<DueDelivery, StoreError> {
    let attempts: i64 = row.get("attempts")?;
    Ok(DueDelivery {
        id: row.get("id")?,
        event_id: row.get("event_id")?,
        link: row.get("link")?,
        body: row.get("body")?,
        attempts: u32::try_from(attempts).unwrap_or(u32::MAX),
        failing_since: row.get("failing_since")?,
    })
}

//! Working hooks off: which have something to send, and what became of it.
//!
//! An instance has a hook for as long as its lease lasts, and writes nothing without it. So the deliveries of a link go out one after the
//! other: only the first of them that is not done has a moment at which it is sent.

use std::time::Duration;

use super::deliveries::{READY, insert_deliveries};
use super::{HeldLink, Hook, read_hook};
use crate::domain::{EventPlace, HookSecret, LinkId, Principal, Timestamp};
use crate::store::sql::{Query, Row, Turn, query};
use crate::store::{Store, StoreError};

/// How long a process has a hook without renewing it: longer than a round takes.
const LEASE: Duration = Duration::from_secs(30);

/// The link of events that belong to none.
const NO_LINK: LinkId = LinkId::LAST;

/// A hook that this process works off.
pub struct LeasedHook {
    /// The hook.
    pub hook: Hook,
    /// Its account.
    pub owner: Principal,
    /// All that happened up to here has its deliveries, apart from that to held links.
    pub read: EventPlace,
    /// How many links are held.
    pub held: u64,
    /// Rounds in a row in which the receiver took nothing.
    pub failures: u32,
    /// When the next round is.
    pub retry_at: Timestamp,
    /// The secrets that sign, the newest first.
    pub secrets: Vec<HookSecret>,
    /// When it was leased, by the clock of the database: all instances note moments by it.
    pub leased_at: Timestamp,
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
    /// What became of it, if it was sent already.
    pub attempt: Option<Attempt>,
}

/// What was read of the feed of a hook's account.
#[derive(Debug)]
pub struct NewDeliveries {
    /// What the receiver wants.
    pub deliveries: Vec<NewDelivery>,
    /// Links whose events after their places stay in the feed.
    pub held: Vec<HeldLink>,
    /// All other events up to here are in `deliveries`, or are not wanted.
    pub next: EventPlace,
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

/// What became of a delivery that was sent.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The answer's status, if there was an answer.
    pub status: Option<u16>,
    /// Why the receiver did not take it, and when it is sent again; `None`: the receiver took it.
    pub failed: Option<(String, Timestamp)>,
}

/// What a round came to.
#[derive(Clone, Debug, Default)]
pub struct Round {
    /// Deliveries that the receiver took.
    pub taken: u32,
    /// Deliveries that it did not take.
    pub failed: u32,
    /// Why it did not take the last one.
    pub error: Option<String>,
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
        max_waiting: u32,
        limit: u32,
    ) -> Result<Vec<i64>, StoreError> {
        let find = query(
            "SELECT id FROM hooks WHERE is_active AND (lease_until < now_micros() OR lease_holder = $1)
                 AND NOT EXISTS (SELECT 1 FROM banned_users WHERE user_id = owner_id)
                 AND NOT EXISTS (SELECT 1 FROM deleted_users WHERE user_id = owner_id)
                 AND (waiting < $2 AND EXISTS (
                         SELECT 1 FROM events WHERE events.owner_id = hooks.owner_id
                         AND step >= read_step AND (step > read_step OR first + size - 1 > read_index))
                     OR retry_at <= now_micros() AND EXISTS (
                         SELECT 1 FROM hook_deliveries WHERE hook_id = hooks.id AND next_at <= now_micros())
                     OR EXISTS (
                         SELECT 1 FROM hook_held_links AS held WHERE held.hook_id = hooks.id AND NOT EXISTS (
                             SELECT 1 FROM hook_deliveries AS waiting WHERE waiting.hook_id = hooks.id
                             AND waiting.link = held.link AND done_at IS NULL)))
             ORDER BY lease_until, id LIMIT $3",
        );
        let find = find.bind(holder).bind(max_waiting).bind(limit);
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
    ) -> Result<Option<LeasedHook>, StoreError> {
        macro_rules! lease {
            ($if:literal) => {
                query(concat!(
                    "UPDATE hooks SET lease_holder = $2, lease_until = now_micros() + $3 WHERE id = $1 AND is_active",
                    $if,
                    " AND NOT EXISTS (SELECT 1 FROM banned_users WHERE user_id = owner_id)
                      AND NOT EXISTS (SELECT 1 FROM deleted_users WHERE user_id = owner_id)
                      RETURNING *, now_micros() AS leased_at, (SELECT token_key FROM users WHERE id = owner_id) AS owner_key,
                          (SELECT count(*) FROM hook_held_links WHERE hook_id = hooks.id) AS held"
                ))
            };
        }
        let micros = i64::try_from(LEASE.as_micros()).unwrap_or(i64::MAX);
        let bound = |lease: Query<'static>| {
            let lease = lease.bind(id).bind(holder.to_owned()).bind(micros);
            self.engine.by_its_clock(lease)
        };
        let renew = bound(lease!(
            " AND lease_holder = $2 AND lease_until >= now_micros()"
        ));
        if let Some(row) = self.engine.write(renew).await?.first() {
            return read_leased(row).map(Some);
        }
        // Two processes look at the leases of an account one after the other.
        let lock = query(
            "SELECT id FROM users WHERE id = (SELECT owner_id FROM hooks WHERE id = $1) FOR NO KEY UPDATE",
        );
        let take = bound(lease!(
            " AND (lease_holder = $2 OR lease_until < now_micros()) AND NOT EXISTS (
                  SELECT 1 FROM hooks AS other WHERE other.owner_id = hooks.owner_id
                  AND other.lease_holder <> $2 AND other.lease_until >= now_micros())"
        ));
        let taken = self
            .engine
            .transaction_in_turn(Turn::WithPermit, async |connection| {
                connection.lock(lock.bind(id)).await?;
                connection.optional(take).await
            });
        taken.await?.as_ref().map(read_leased).transpose()
    }

    /// Gives back the hooks of all processes: a database of one process has no other.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn release_all_hooks(&self) -> Result<(), StoreError> {
        let release = query("UPDATE hooks SET lease_until = 0 WHERE lease_until > 0");
        self.engine.execute(release).await?;
        Ok(())
    }

    /// Gives back all hooks of a process that ends.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn release_hooks(&self, holder: &str) -> Result<(), StoreError> {
        let release = query("UPDATE hooks SET lease_until = 0 WHERE lease_holder = $1");
        self.engine.execute(release.bind(holder)).await?;
        Ok(())
    }

    /// Notes what was read, and what became of the events that were sent already; the others are put in line. `false` if the lease is
    /// over, or the hook was changed meanwhile: then nothing is noted.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn add_deliveries(
        &self,
        hook: &LeasedHook,
        holder: &str,
        read: &NewDeliveries,
        round: &Round,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let NewDeliveries {
            deliveries,
            held,
            next,
        } = read;
        let id = hook.hook.id;
        let waiting = i64::try_from(deliveries.len()).unwrap_or(i64::MAX) - i64::from(round.taken);
        let note = self.noted(hook, holder, (waiting, Some(*next)), round, now);
        let are_waiting = deliveries.iter().any(|delivery| delivery.attempt.is_none());
        let ready = query(READY);
        let ready = ready.bind(id).bind(now);
        self.engine
            .transaction_in_turn(Turn::WithPermit, async |connection| {
                if connection.execute(note).await? == 0 {
                    return Ok(false);
                }
                if !deliveries.is_empty() {
                    connection
                        .execute(insert_deliveries(id, deliveries, now))
                        .await?;
                }
                for HeldLink { link, read } in held {
                    let hold = query(
                        "INSERT INTO hook_held_links (hook_id, link, read_step, read_index) VALUES ($1, $2, $3, $4)",
                    );
                    let hold = hold.bind(id).bind(link.as_str());
                    let hold = hold.bind(read.step).bind(read.index);
                    connection.execute(hold).await?;
                }
                if are_waiting {
                    connection.execute(ready).await?;
                }
                if let Some(off) = off_event(hook, round, now) {
                    connection.execute(off).await?;
                }
                Ok(true)
            })
            .await
    }

    /// Deliveries of a hook whose moment has come, those first that were sent least often: what a receiver refuses again and again stops
    /// no other link.
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
             WHERE hook_id = $1 AND next_at <= $2 ORDER BY attempts, next_at, id LIMIT $3",
        );
        let found = self.engine.read(find.bind(hook).bind(now).bind(limit));
        found.await?.iter().map(read_due).collect()
    }

    /// Notes what became of deliveries. `false` if the lease is over: then another process sends them again.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn note_attempts(
        &self,
        hook: &LeasedHook,
        holder: &str,
        attempts: &[(DueDelivery, Attempt)],
        round: &Round,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let id = hook.hook.id;
        let note = self.noted(hook, holder, (-i64::from(round.taken), None), round, now);
        self.engine
            .transaction_in_turn(Turn::WithPermit, async |connection| {
                if connection.execute(note).await? == 0 {
                    return Ok(false);
                }
                for (delivery, attempt) in attempts {
                    let status = attempt.status.map(i64::from);
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
                if let Some(off) = off_event(hook, round, now) {
                    connection.execute(off).await?;
                }
                Ok(true)
            })
            .await
    }

    /// Notes what a round came to with the hook, if it still has the lease, and was read up to where it was if it is read on now.
    fn noted<'q>(
        &self,
        hook: &LeasedHook,
        holder: &'q str,
        (waiting, next): (i64, Option<EventPlace>),
        round: &'q Round,
        now: Timestamp,
    ) -> Query<'q> {
        // What the receiver takes shows that it works again.
        let note = query(
            "UPDATE hooks SET waiting = waiting + $3,
                 failures = CASE WHEN $4 > 0 THEN 0 WHEN $5 > 0 THEN failures + 1 ELSE failures END,
                 failing_since = CASE WHEN $4 > 0 THEN NULL WHEN $5 > 0 THEN coalesce(failing_since, $6) ELSE failing_since END,
                 last_error = CASE WHEN $5 > 0 THEN $7 WHEN $4 > 0 THEN NULL ELSE last_error END,
                 retry_at = CASE WHEN $4 > 0 THEN 0 ELSE coalesce($8, retry_at) END,
                 is_active = is_active AND $9, read_step = coalesce($10, read_step), read_index = coalesce($11, read_index)
             WHERE id = $1 AND lease_holder = $2 AND lease_until >= now_micros()
                 AND ($10 IS NULL OR is_active AND read_step = $12 AND read_index = $13)",
        );
        let error = round.off.as_deref().or(round.error.as_deref());
        let note = note.bind(hook.hook.id).bind(holder).bind(waiting);
        let note = note.bind(round.taken).bind(round.failed).bind(now);
        let note = note.bind(error).bind(round.retry_at);
        let note = note.bind(round.off.is_none());
        let note = note.bind(next.map(|next| next.step));
        let note = note.bind(next.map(|next| next.index));
        let note = note.bind(hook.read.step).bind(hook.read.index);
        self.engine.by_its_clock(note)
    }
}

/// Tells in the feed that a hook is switched off.
fn off_event<'q>(hook: &'q LeasedHook, round: &'q Round, now: Timestamp) -> Option<Query<'q>> {
    let reason = round.off.as_deref()?;
    let tell = query(
        "INSERT INTO event_queue (owner_id, link_id, type, at, short_code, target_url, title, tags, clicks)
         VALUES ($1, $2, 'hook.off', $3, '', $4, $5, '[]', $6)",
    );
    let tell = tell.bind(hook.owner.user).bind(NO_LINK).bind(now);
    let tell = tell.bind(hook.hook.url.authority()).bind(reason);
    Some(tell.bind(hook.hook.id))
}

fn read_leased(row: &Row) -> Result<LeasedHook, StoreError> {
    let secret = |stored: Vec<u8>| {
        let invalid = || StoreError::Unexpected("the secret of a hook is invalid".into());
        HookSecret::from_bytes(&stored).ok_or_else(invalid)
    };
    let leased_at: Timestamp = row.get("leased_at")?;
    let mut secrets = vec![secret(row.get("secret")?)?];
    let old: Option<Vec<u8>> = row.get("old_secret")?;
    if let Some(old) = old
        && row.get::<Timestamp>("old_secret_until")? > leased_at
    {
        secrets.push(secret(old)?);
    }
    let failures: i64 = row.get("failures")?;
    Ok(LeasedHook {
        hook: read_hook(row)?,
        owner: Principal {
            user: row.get("owner_id")?,
            key: row.get("owner_key")?,
        },
        read: EventPlace {
            step: row.get("read_step")?,
            index: row.get("read_index")?,
        },
        held: row.get::<i64>("held")?.unsigned_abs(),
        failures: u32::try_from(failures).unwrap_or_default(),
        retry_at: row.get("retry_at")?,
        secrets,
        leased_at,
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

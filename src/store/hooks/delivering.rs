//! Working hooks off: what was sent, and what became of it.
//!
//! The deliveries of a link go out one after the other: only the first of them that is not done has a moment at which it is sent.

use super::deliveries::{READY, insert_deliveries};
use super::{Attempt, DueDelivery, HeldLink, LeasedHook, NewDeliveries, Round};
use crate::domain::{EventPlace, LinkId, Timestamp};
use crate::store::connection::Connection;
use crate::store::sql::{Query, Row, Turn, query};
use crate::store::{Store, StoreError};

/// The link of events that belong to none.
const NO_LINK: LinkId = LinkId::LAST;

impl Store {
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
                let Some(noted) = connection.optional(note).await? else {
                    return Ok(false);
                };
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
                tell_off(connection, hook, round, &noted, now).await?;
                Ok(true)
            })
            .await
    }

    /// Deliveries of a hook whose moment has come: the oldest moments first, or with `fresh_first` the fewest attempts.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn due_deliveries(
        &self,
        hook: i64,
        now: Timestamp,
        fresh_first: bool,
        limit: u32,
    ) -> Result<Vec<DueDelivery>, StoreError> {
        let find = query(
            "SELECT id, event_id, link, body, attempts, failing_since FROM hook_deliveries
             WHERE hook_id = $1 AND next_at <= $2 ORDER BY CASE $3 WHEN 1 THEN attempts ELSE 0 END, next_at, id LIMIT $4",
        );
        let find = find.bind(hook).bind(now).bind(i64::from(fresh_first));
        let found = self.engine.read(find.bind(limit));
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
        let note = self.noted(hook, holder, (0, None), round, now);
        self.engine
            .transaction_in_turn(Turn::WithPermit, async |connection| {
                let Some(noted) = connection.optional(note).await? else {
                    return Ok(false);
                };
                let mut taken = 0;
                for (delivery, attempt) in attempts {
                    let status = attempt.status.map(i64::from);
                    if let Some((error, next_at)) = &attempt.failed {
                        let again = query(
                            "UPDATE hook_deliveries SET attempts = attempts + 1, next_at = $2, status = $3, error = $4,
                                 failing_since = coalesce(failing_since, $5) WHERE id = $1 AND next_at IS NOT NULL AND attempts = $6",
                        );
                        let again = again.bind(delivery.id).bind(*next_at).bind(status);
                        let again = again.bind(error.as_str()).bind(now);
                        connection.execute(again.bind(delivery.attempts)).await?;
                        continue;
                    }
                    let done = query(
                        "UPDATE hook_deliveries SET attempts = attempts + 1, next_at = NULL, done_at = $2, status = $3,
                             error = NULL, failing_since = NULL, body = '' WHERE id = $1 AND done_at IS NULL",
                    );
                    let done = done.bind(delivery.id).bind(now).bind(status);
                    taken += connection.execute(done).await?;
                    let next = query(
                        "UPDATE hook_deliveries SET next_at = $3 WHERE id = (
                             SELECT min(id) FROM hook_deliveries WHERE hook_id = $1 AND link = $2 AND done_at IS NULL)",
                    );
                    let next = next.bind(id).bind(delivery.link.as_str()).bind(now);
                    connection.execute(next).await?;
                }
                let count = query("UPDATE hooks SET waiting = waiting - $2 WHERE id = $1");
                let count = count.bind(id).bind(i64::try_from(taken).unwrap_or(i64::MAX));
                connection.execute(count).await?;
                tell_off(connection, hook, round, &noted, now).await?;
                Ok(true)
            })
            .await
    }

    /// Notes what a round came to with the hook, if it still has the lease, and was read up to where it was if it is read on now. What
    /// failed is not noted if the hook has another receiver meanwhile, or begins anew.
    fn noted<'q>(
        &self,
        hook: &'q LeasedHook,
        holder: &'q str,
        (waiting, next): (i64, Option<EventPlace>),
        round: &'q Round,
        now: Timestamp,
    ) -> Query<'q> {
        // What the receiver takes shows that it works again.
        let note = query(
            "UPDATE hooks SET waiting = waiting + $3,
                 failures = CASE WHEN $4 > 0 THEN 0 WHEN $5 > 0 AND url = $14 AND failures = $15 THEN failures + 1 ELSE failures END,
                 failing_since = CASE WHEN $4 > 0 THEN NULL WHEN $5 > 0 AND url = $14 AND failures = $15 THEN coalesce(failing_since, $6)
                     ELSE failing_since END,
                 last_error = CASE WHEN $5 > 0 AND url = $14 AND failures = $15 THEN $7 WHEN $4 > 0 THEN NULL ELSE last_error END,
                 retry_at = CASE WHEN $4 > 0 THEN 0 WHEN url = $14 AND failures = $15 THEN coalesce($8, retry_at) ELSE retry_at END,
                 is_active = is_active AND ($9 OR url <> $14 OR failures <> $15), read_step = coalesce($10, read_step), read_index = coalesce($11, read_index)
             WHERE id = $1 AND lease_holder = $2 AND lease_until >= now_micros()
                 AND ($10 IS NULL OR is_active AND read_step = $12 AND read_index = $13)
             RETURNING is_active",
        );
        let error = round.off.as_deref().or(round.error.as_deref());
        let note = note.bind(hook.hook.id).bind(holder).bind(waiting);
        let note = note.bind(round.taken).bind(round.failed).bind(now);
        let note = note.bind(error).bind(round.retry_at);
        let note = note.bind(round.off.is_none());
        let note = note.bind(next.map(|next| next.step));
        let note = note.bind(next.map(|next| next.index));
        let note = note.bind(hook.read.step).bind(hook.read.index);
        let note = note.bind(hook.hook.url.as_str()).bind(hook.failures);
        self.engine.by_its_clock(note)
    }
}

/// Tells in the feed that a hook is switched off now, if it is.
async fn tell_off(
    connection: &mut Connection<'_>,
    hook: &LeasedHook,
    round: &Round,
    noted: &Row,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(reason) = round.off.as_deref() else {
        return Ok(());
    };
    if noted.get("is_active")? {
        return Ok(());
    }
    let tell = query(
        "INSERT INTO event_queue (owner_id, link_id, type, at, short_code, target_url, title, tags, clicks)
         VALUES ($1, $2, 'hook.off', $3, '', $4, $5, '[]', $6)",
    );
    let tell = tell.bind(hook.owner.user).bind(NO_LINK).bind(now);
    let tell = tell.bind(hook.hook.url.authority()).bind(reason);
    connection.execute(tell.bind(hook.hook.id)).await?;
    Ok(())
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

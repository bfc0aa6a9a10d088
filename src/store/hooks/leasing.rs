//! Which hooks have something to send, and which process works them off.
//!
//! A process has a hook for as long as its lease lasts, and writes nothing without it.

use std::time::Duration;

use super::{Hook, read_hook};
use crate::domain::{EventPlace, HookSecret, Principal, Timestamp};
use crate::store::sql::{Query, Row, Turn, query};
use crate::store::{Store, StoreError};

/// How long a process has a hook without renewing it: longer than a round takes.
const LEASE: Duration = Duration::from_secs(30);

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

//! Removes from the database what no instance needs any longer: links of deleted accounts, links that were long in a bin, old changes of links, clicks of
//! deleted links, keys of requests that may no longer be repeated, sessions of browsers, invitations and mailed links that have ended; events and deliveries;
//! and what is kept against abuse for some days.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::runner::every;
use crate::config::KeptSettings;
use crate::domain::Clock;
use crate::links::{keys_expire_before, trash_ends_before};
use crate::store::{Kept, Store, StoreError};

/// Pause between two runs.
const PAUSE: Duration = Duration::from_mins(1);

/// 24 hours.
const DAY: Duration = Duration::from_hours(24);

/// Rows removed in one step: it takes some milliseconds.
const ROWS_PER_STEP: u32 = 1_000;

/// The same for links, each of which has rows in other tables, too.
const LINKS_PER_STEP: u32 = 250;

/// For so many days deliveries are kept that the receivers of hooks took.
const DELIVERY_DAYS: u32 = 7;

pub(super) async fn run(store: Store, clock: Arc<dyn Clock>, kept: KeptSettings) {
    every(PAUSE, "removing what is no longer needed", || async {
        remove_deleted_users(&store).await?;
        empty_bins(&store, &*clock, kept.trash_days).await?;
        remove_changes(&store).await?;
        remove_keys(&store, &*clock).await?;
        remove_sessions(&store, &*clock).await?;
        remove_invitations(&store, &*clock).await?;
        remove_mailed_links(&store, &*clock).await?;
        remove_audited(&store, &*clock, kept.audit_days).await?;
        remove_events(&store, &*clock, kept.events_days).await?;
        remove_deliveries(&store, &*clock, kept.events_days).await?;
        remove_clicks(&store).await
    })
    .await;
}

async fn remove_deleted_users(store: &Store) -> Result<(), StoreError> {
    loop {
        let started = Instant::now();
        if !store.remove_deleted_users(LINKS_PER_STEP).await? {
            return Ok(());
        }
        sleep(started.elapsed()).await;
    }
}

async fn empty_bins(store: &Store, clock: &dyn Clock, days: u32) -> Result<(), StoreError> {
    let before = trash_ends_before(clock.now(), days);
    loop {
        let started = Instant::now();
        if store.empty_bins(before, LINKS_PER_STEP).await? < u64::from(LINKS_PER_STEP) {
            return Ok(());
        }
        sleep(started.elapsed()).await;
    }
}

async fn remove_changes(store: &Store) -> Result<(), StoreError> {
    loop {
        let started = Instant::now();
        if store.prune_changes(ROWS_PER_STEP).await? < u64::from(ROWS_PER_STEP) {
            return Ok(());
        }
        // Leaves the database half of the time at least.
        sleep(started.elapsed()).await;
    }
}

async fn remove_keys(store: &Store, clock: &dyn Clock) -> Result<(), StoreError> {
    let before = keys_expire_before(clock.now());
    loop {
        let started = Instant::now();
        if store.prune_keys(before, ROWS_PER_STEP).await? < u64::from(ROWS_PER_STEP) {
            return Ok(());
        }
        sleep(started.elapsed()).await;
    }
}

async fn remove_sessions(store: &Store, clock: &dyn Clock) -> Result<(), StoreError> {
    loop {
        let started = Instant::now();
        let removed = store.prune_sessions(clock.now(), ROWS_PER_STEP).await?;
        if removed < u64::from(ROWS_PER_STEP) {
            return Ok(());
        }
        sleep(started.elapsed()).await;
    }
}

async fn remove_invitations(store: &Store, clock: &dyn Clock) -> Result<(), StoreError> {
    loop {
        let started = Instant::now();
        let removed = store.prune_invitations(clock.now(), ROWS_PER_STEP).await?;
        if removed < u64::from(ROWS_PER_STEP) {
            return Ok(());
        }
        sleep(started.elapsed()).await;
    }
}

async fn remove_mailed_links(store: &Store, clock: &dyn Clock) -> Result<(), StoreError> {
    loop {
        let started = Instant::now();
        let removed = store.prune_mailed_links(clock.now(), ROWS_PER_STEP).await?;
        if removed < u64::from(ROWS_PER_STEP) {
            return Ok(());
        }
        sleep(started.elapsed()).await;
    }
}

async fn remove_audited(store: &Store, clock: &dyn Clock, days: u32) -> Result<(), StoreError> {
    let before = |days: u32| clock.now().before(DAY * days);
    for (kept, before) in [
        (Kept::Addresses, before(days)),
        (Kept::Reports, before(days.max(1))),
        (Kept::Audit, before(days.max(1))),
    ] {
        loop {
            let started = Instant::now();
            let removed = store.prune_kept(kept, before, ROWS_PER_STEP).await?;
            if removed < u64::from(ROWS_PER_STEP) {
                break;
            }
            sleep(started.elapsed()).await;
        }
    }
    Ok(())
}

async fn remove_events(store: &Store, clock: &dyn Clock, days: u32) -> Result<(), StoreError> {
    let before = clock.now().before(DAY * days);
    loop {
        let started = Instant::now();
        if store.prune_events(before, ROWS_PER_STEP).await? == 0 {
            return Ok(());
        }
        sleep(started.elapsed()).await;
    }
}

/// What the receivers of hooks took is kept for some days.
async fn remove_deliveries(
    store: &Store,
    clock: &dyn Clock,
    events_days: u32,
) -> Result<(), StoreError> {
    // What was not taken waits for as many days as events are kept.
    let now = clock.now();
    store
        .prune_waiting(now.before(DAY * events_days), now)
        .await?;
    let before = clock.now().before(DAY * DELIVERY_DAYS);
    loop {
        let started = Instant::now();
        if store.prune_deliveries(before, ROWS_PER_STEP).await? < u64::from(ROWS_PER_STEP) {
            return Ok(());
        }
        sleep(started.elapsed()).await;
    }
}

async fn remove_clicks(store: &Store) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let started = Instant::now();
        after = store.uncount_deleted(after, ROWS_PER_STEP).await?;
        if after.is_none() {
            return Ok(());
        }
        sleep(started.elapsed()).await;
    }
}

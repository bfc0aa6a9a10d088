//! Following the changes of links in the database, for clicks that Redis does not acknowledge.
//!
//! An acknowledgement of Redis says where link changes stand, one of the journal does not. So an instance reads the changes in
//! the database before it answers a redirect without Redis. Without Redis at all, it reads them twice a second.

use std::time::{Duration, Instant};

use tokio::sync::Mutex;

use crate::cache::LinkCache;
use crate::domain::ChangedCode;
use crate::store::{Change, ChangePosition, Store, StoreError};

/// Changes that are applied one by one; past that all links are dropped from memory.
const MAX_CHANGES: u32 = 1_000;

/// Changes stay in the database for 10 minutes at least. After half of that without a reading some may be gone.
const MAX_GAP: Duration = Duration::from_mins(5);

/// Follows the changes of links in the database.
pub struct LinkChanges {
    store: Store,
    cache: LinkCache,
    followed: Mutex<Followed>,
}

/// A moment of the database, and when it was asked for.
pub struct Reading {
    position: ChangePosition,
    asked: Instant,
}

#[derive(Default)]
struct Followed {
    /// This process has applied all changes up to here.
    applied: Option<Reading>,
    /// When the last attempt began that failed.
    failed: Option<Instant>,
}

impl LinkChanges {
    /// Applies changes to this cache.
    #[must_use]
    pub fn new(store: Store, cache: LinkCache) -> Self {
        Self {
            store,
            cache,
            followed: Mutex::default(),
        }
    }

    /// Drops the links from memory that changed before this call; all links, where that is not known. Callers share a reading
    /// that began after their calls.
    ///
    /// # Errors
    /// When the database is away; the next call makes up for it.
    pub async fn follow(&self) -> Result<(), StoreError> {
        let called = Instant::now();
        let mut followed = self.followed.lock().await;
        if followed.failed.is_some_and(|failed| failed >= called) {
            return Err(StoreError::Unavailable(
                "the changes of links could not be read".into(),
            ));
        }
        let applied = followed.applied.as_ref();
        if applied.is_some_and(|applied| applied.asked >= called) {
            return Ok(());
        }
        let asked = Instant::now();
        match self.read_on(applied).await {
            Ok(applied) => {
                followed.applied = Some(applied);
                Ok(())
            }
            Err(error) => {
                followed.failed = Some(asked);
                Err(error)
            }
        }
    }

    /// Applies the changes since a reading, and returns the new one.
    async fn read_on(&self, applied: Option<&Reading>) -> Result<Reading, StoreError> {
        let before = self.cache.before_reading();
        let asked = Instant::now();
        let known = applied.filter(|applied| asked.duration_since(applied.asked) < MAX_GAP);
        let position = known.map(|known| &known.position);
        let read = self.store.changes_since(position, MAX_CHANGES).await?;
        if position.is_none() {
            self.cache.clear_process().await;
            self.cache.note_read(&before);
        } else {
            // `None` where one of them is of all links.
            let codes = read.changes.and_then(|changes| {
                let codes = changes.into_iter().map(Change::changed);
                codes.collect::<Option<Vec<ChangedCode>>>()
            });
            self.cache
                .apply_read_changes(codes.as_deref(), &before)
                .await;
        }
        let position = read.position;
        Ok(Reading { position, asked })
    }

    /// The present moment of the database.
    ///
    /// # Errors
    /// When the database is away.
    pub async fn now(&self) -> Result<Reading, StoreError> {
        let asked = Instant::now();
        let position = self.store.changes_since(None, 0).await?.position;
        Ok(Reading { position, asked })
    }

    /// Notes that this process has applied all changes up to this moment, as Redis listed them.
    pub async fn note_applied(&self, reading: Reading) {
        let mut followed = self.followed.lock().await;
        let applied = followed.applied.as_ref();
        if applied.is_none_or(|applied| applied.asked < reading.asked) {
            followed.applied = Some(reading);
        }
    }
}

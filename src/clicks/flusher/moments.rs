//! The moment up to which all clicks are written back, which the ledger keeps: answers name it while Redis cannot be read.
//!
//! It is the moment just before a flush began, once that flush is in the database and no older click is elsewhere. A batch that was
//! parked at that moment may be sent to Redis after the flush, so none may be. Clicks that are in the memory of an instance alone
//! are known to that instance only.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Flusher;
use crate::domain::{Shard, Timestamp};
use crate::redis::Term;
use crate::store::StoreError;

/// How often the moment is noted while nobody follows a link.
const PAUSE_WITHOUT_CLICKS: Duration = Duration::from_secs(5);

/// When this instance last noted a moment of each shard.
#[derive(Default)]
pub(super) struct NotedMoments(Mutex<HashMap<Shard, Instant>>);

impl NotedMoments {
    fn is_due(&self, shard: Shard) -> bool {
        let noted = self.noted();
        let last = noted.get(&shard);
        last.is_none_or(|last| last.elapsed() >= PAUSE_WITHOUT_CLICKS)
    }

    fn note(&self, shard: Shard) {
        self.noted().insert(shard, Instant::now());
    }

    fn forget(&self, shard: Shard) {
        self.noted().remove(&shard);
    }

    fn noted(&self) -> MutexGuard<'_, HashMap<Shard, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Flusher {
    /// The moment that may be noted once a flush that begins now is written back; `None` while batches are parked.
    pub(super) async fn begin_moment(&self) -> Result<Option<Timestamp>, StoreError> {
        let now = self.clock.now();
        let has_parked = !self.clicks.parked(None, 1).await?.is_empty();
        Ok((!has_parked).then_some(now))
    }

    /// Notes such a moment, at once where clicks were written back. Where there is none now, the next one is noted at once.
    pub(super) async fn note_moment(
        &self,
        shard: Shard,
        term: &Term,
        began: Option<Timestamp>,
        has_flushes: bool,
    ) -> Result<(), StoreError> {
        match began {
            Some(began) if has_flushes || self.moments.is_due(shard) => {
                self.clicks
                    .note_written_back(&term.epoch, term.number, began)
                    .await?;
                self.moments.note(shard);
            }
            None if has_flushes => self.moments.forget(shard),
            _ => {}
        }
        Ok(())
    }
}

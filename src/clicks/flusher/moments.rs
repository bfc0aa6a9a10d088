//! The moment up to which all clicks are written back, which the ledger keeps: answers name it while Redis cannot be read.
//!
//! It is the moment just before a flush began, once that flush is in the database and no older click is elsewhere. A batch that was
//! parked at that moment may be sent to Redis after the flush, so none may be. Clicks that are in the memory of an instance alone
//! are known to that instance only. The clock is that of the database: one of an instance may be wrong, and others read the moment.

use super::Flusher;
use crate::domain::{Shard, Timestamp};
use crate::shared_redis::Term;
use crate::store::StoreError;

impl Flusher {
    /// Notes the moment before a flush that is written back, at once if clicks were written back. If there is no moment now, the next moment is noted at once.
    pub(super) async fn note_moment(
        &self,
        shard: Shard,
        term: &Term,
        began: Option<Timestamp>,
        has_flushes: bool,
    ) -> Result<(), StoreError> {
        match began {
            Some(began) if has_flushes || self.moments.is_due(shard) => {
                self.store
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

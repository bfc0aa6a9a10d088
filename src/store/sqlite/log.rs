//! Writing the write-ahead log back into the file, and having it begin anew, beside the one who writes.
//!
//! A writer whose commits did so themselves would keep clicks waiting for the disk. Copying needs no lock and is
//! done on a thread that stands back. Beginning anew locks the writer out while what came during the copying is
//! copied, and twice for the disk: so it waits for a quiet moment, as long as the log is not too long.

use std::sync::atomic::{AtomicI64, Ordering};

use super::pool::{Lease, Pool};
use crate::store::StoreError;

/// Pages of the log (4 KiB each) past which it begins anew in a quiet moment.
const ENOUGH_PAGES: i64 = 4_096;

/// What came since the copying before, at most, for a moment to be quiet.
const QUIET_PAGES: i64 = 64;

/// Pages past which it begins anew whoever waits: 256 MiB.
const MOST_PAGES: i64 = 65_536;

/// The write-ahead log.
pub(super) struct Log {
    /// Pages that it had at the last copying.
    pages: AtomicI64,
    /// One connection that makes the log begin anew, and never waits: while it did, the writer would, too.
    checkpointer: Pool,
    /// Two for what can wait, reading the journal and copying the log, on threads that stand back for all others.
    background: Pool,
}

impl Log {
    pub(super) fn new(checkpointer: Pool, background: Pool) -> Self {
        Self {
            pages: AtomicI64::new(0),
            checkpointer,
            background,
        }
    }

    /// The connection for what can wait.
    pub(super) async fn background(&self) -> Result<Lease, StoreError> {
        self.background.get().await
    }

    /// Writes the log back, and has it begin anew where that is due. To be called every second or so.
    pub(super) async fn checkpoint(&self) -> Result<(), StoreError> {
        let (_, pages, _): (i64, i64, i64) = sqlx::query_as("PRAGMA wal_checkpoint(PASSIVE)")
            .fetch_one(&mut *self.background().await?)
            .await?;
        if pages < 0 {
            // Another process is at it.
            return Ok(());
        }
        let is_quiet = pages - self.pages.swap(pages, Ordering::Relaxed) <= QUIET_PAGES;
        if pages > MOST_PAGES || (pages > ENOUGH_PAGES && is_quiet) {
            // Says "busy" rather than wait for readers; then the next one tries.
            sqlx::query("PRAGMA wal_checkpoint(RESTART)")
                .execute(&mut *self.checkpointer.get().await?)
                .await?;
        }
        Ok(())
    }
}

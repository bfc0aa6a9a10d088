//! Writing the write-ahead log back into the file, and having it begin anew, beside the one who writes.
//!
//! A writer whose commits did so themselves would keep clicks waiting for the disk. Copying needs no lock
//! and is done on a thread that stands back. Beginning anew locks the writer out while what came during the
//! copying is copied, and twice for the disk: so it waits for a quiet moment, in which its space is given
//! back, too, as long as the log is not too long.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};

use super::beside;
use super::pool::{Lease, Pool};
use crate::store::StoreError;

/// Bytes of the log past which its space is given back in a quiet moment.
const LONG: u64 = 16 << 20;

/// Pages that came since the copying before, at most, for a moment to be quiet.
const QUIET_PAGES: i64 = 64;

/// Pages (4 KiB each) past which it begins anew although others have to wait meanwhile: 256 MiB.
const MOST_PAGES: i64 = 65_536;

/// The write-ahead log.
pub(super) struct Log {
    file: PathBuf,
    /// Pages that it had at the last copying.
    pages: AtomicI64,
    /// One connection that makes the log begin anew, and never waits: while it did, the writer would, too.
    checkpointer: Pool,
    /// Two for what can wait, reading the journal and copying the log, on threads that stand back for all
    /// others.
    background: Pool,
}

impl Log {
    /// That of the database at this path.
    pub(super) fn new(database: &Path, checkpointer: Pool, background: Pool) -> Self {
        Self {
            file: beside(database, "-wal"),
            pages: AtomicI64::new(0),
            checkpointer,
            background,
        }
    }

    /// The connection for what can wait.
    pub(super) async fn background(&self) -> Result<Lease<'_>, StoreError> {
        self.background.get().await
    }

    /// Writes the log back, and has it begin anew where that is due. To be called every second or so.
    pub(super) async fn checkpoint(&self) -> Result<(), StoreError> {
        let Some(pages) = self.copy().await? else {
            return Ok(());
        };
        let before = self.pages.swap(pages, Ordering::Relaxed);
        // Fewer than before: it began anew meanwhile.
        let came = pages.checked_sub(before).filter(|came| *came >= 0);
        let is_quiet = came.unwrap_or(pages) <= QUIET_PAGES;
        let begin_anew = if is_quiet && self.bytes() > LONG {
            "PRAGMA wal_checkpoint(TRUNCATE)"
        } else if pages > MOST_PAGES {
            // Under load its place on the disk is kept: overwriting is quicker than growing.
            "PRAGMA wal_checkpoint(RESTART)"
        } else {
            return Ok(());
        };
        // What came during the first copying, so that little is left to do while the writer waits.
        self.copy().await?;
        // Says "busy" rather than wait for readers; then the next one tries.
        sqlx::query(begin_anew)
            .execute(&mut *self.checkpointer.get().await?)
            .await?;
        Ok(())
    }

    /// Writes all of the log back: then the file is whole by itself, for whoever copies it while nothing runs.
    pub(super) async fn close(&self) -> Result<(), StoreError> {
        self.copy().await?;
        sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)")
            .execute(&mut *self.checkpointer.get().await?)
            .await?;
        Ok(())
    }

    fn bytes(&self) -> u64 {
        // Without a file there is no log.
        std::fs::metadata(&self.file).map_or(0, |file| file.len())
    }

    /// Writes the log back. How many pages it has; `None` while another process is at it.
    async fn copy(&self) -> Result<Option<i64>, StoreError> {
        let (_, pages, _): (i64, i64, i64) = sqlx::query_as("PRAGMA wal_checkpoint(PASSIVE)")
            .fetch_one(&mut *self.background().await?)
            .await?;
        Ok(Some(pages).filter(|pages| *pages >= 0))
    }
}

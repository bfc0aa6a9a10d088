//! Writing the write-ahead log back into the file, and having it begin anew, beside the one who writes.
//!
//! A writer whose commits did so themselves would keep clicks waiting for the disk. Copying needs no lock
//! and is done on a thread that stands back. Beginning anew locks the writer out while what came during the
//! copying is copied, and twice for the disk: so it waits for a quiet moment, in which its space is given
//! back, too, as long as the log is not too long. How long is too long depends on the disk: a log that has taken
//! the last of it can not even be copied back, for which the file may have to grow as much.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};

use sqlx::{AssertSqlSafe, SqliteConnection};

use super::pool::{Lease, Pool};
use crate::store::StoreError;

/// Bytes of the log past which its space is given back in a quiet moment.
const LONG: u64 = 16 << 20;

/// Pages that came since the copying before, at most, for a moment to be quiet.
const QUIET_PAGES: i64 = 64;

/// Pages past which it begins anew although others have to wait meanwhile, at most: 256 MiB.
const MOST_PAGES: u64 = 65_536;

/// The same at least, however little room there is: 256 KiB.
const LEAST_PAGES: u64 = 64;

const PAGE_BYTES: u64 = 4_096;

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
    pub(super) fn new(file: PathBuf, checkpointer: Pool, background: Pool) -> Self {
        Self {
            file,
            pages: AtomicI64::new(0),
            checkpointer,
            background,
        }
    }

    /// The connection for what can wait.
    pub(super) async fn background(&self) -> Result<Lease<'_>, StoreError> {
        self.background.get().await
    }

    /// Has the writer's commits write the log back themselves, although clicks wait for the disk then, where it
    /// has become twice as long as it may before anybody else did. The space on the disk changes: to be called
    /// every second or so.
    pub(super) async fn bound(&self, writer: &mut SqliteConnection) -> Result<(), StoreError> {
        let bound = format!("PRAGMA wal_autocheckpoint = {}", last_resort(&self.file));
        sqlx::query(AssertSqlSafe(bound)).execute(writer).await?;
        Ok(())
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
        } else if pages.cast_unsigned() > most_pages(&self.file) {
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
        bytes_of(&self.file)
    }

    /// Writes the log back. How many pages it has; `None` while another process is at it.
    async fn copy(&self) -> Result<Option<i64>, StoreError> {
        let (_, pages, _): (i64, i64, i64) = sqlx::query_as("PRAGMA wal_checkpoint(PASSIVE)")
            .fetch_one(&mut *self.background().await?)
            .await?;
        Ok(Some(pages).filter(|pages| *pages >= 0))
    }
}

/// The pages of a log that a commit has to write back: so it takes half the space that there is for it at most,
/// and the file can grow by the other half.
pub(super) fn last_resort(log: &Path) -> u64 {
    2 * most_pages(log)
}

/// Pages past which a log has to begin anew: a quarter of the space that there is for it.
fn most_pages(log: &Path) -> u64 {
    let folder = log
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    // Where the system does not tell, there is room.
    let free = rustix::fs::statvfs(folder)
        .map_or(u64::MAX, |disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    let room = bytes_of(log).saturating_add(free);
    (room / 4 / PAGE_BYTES).clamp(LEAST_PAGES, MOST_PAGES)
}

fn bytes_of(log: &Path) -> u64 {
    // Without a file there is no log.
    std::fs::metadata(log).map_or(0, |file| file.len())
}

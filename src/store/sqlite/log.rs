//! Writing the write-ahead log back into the file, and having it begin anew, beside the one who writes.
//!
//! A writer whose commits did so themselves would keep clicks waiting for the disk. Copying needs no lock and is done
//! on a thread that stands back: often, for what is brought to the disk at once keeps the disk, and perhaps the core,
//! from the commits. The log begins anew soon, since a file that is overwritten asks less of the file system than one
//! that grows. That locks the writer out for as long as the disk takes, twice: on a slow disk it has to be seldom, and
//! the log becomes longer.
//!
//! How long it may be depends on the room: a log that has taken the last of it can not even be copied, for which the
//! file may have to grow as much.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

use super::pool::{Lease, Pool};
use crate::store::StoreError;

/// Batches of clicks after which the log is written back, a page of 4 KiB or some for each. Fewer cost more CPU, more
/// keep commits waiting for longer (`load/README.md`, "Where the time went").
const BATCHES: u32 = 64;

/// Pages past which the log begins anew, where it did not just now: 16 MiB.
const PAGES: u64 = 4_096;

/// How many times as long as beginning anew took it is not done again: redirects that wait for it are fewer than
/// one in a hundred.
const REST: u32 = 100;

/// Pages past which it begins anew in any case, where there is room: 256 MiB.
const MOST_PAGES: u64 = 65_536;

/// The same, however little room there is: 256 KiB.
const LEAST_PAGES: u64 = 64;

/// Bytes that the file keeps when it was longer for a while: 64 MiB.
const BYTES_KEPT: u64 = 64 << 20;

const PAGE_BYTES: u64 = 4_096;

/// The write-ahead log.
pub(super) struct Log {
    file: PathBuf,
    /// Batches that were written since the last copying.
    batches: AtomicU32,
    are_many: Notify,
    /// Until when the log does not begin anew, unless it has to.
    rests_until: Mutex<Instant>,
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
            batches: AtomicU32::new(0),
            are_many: Notify::new(),
            rests_until: Mutex::new(Instant::now()),
            checkpointer,
            background,
        }
    }

    /// The connection for what can wait.
    pub(super) async fn background(&self) -> Result<Lease<'_>, StoreError> {
        self.background.get().await
    }

    /// Takes note of a batch.
    pub(super) fn grew(&self) {
        if self.batches.fetch_add(1, Ordering::Relaxed) + 1 == BATCHES {
            self.are_many.notify_one();
        }
    }

    /// Returns when the log should be written back.
    pub(super) async fn is_due(&self) {
        self.are_many.notified().await;
    }

    /// Writes the log back, and has it begin anew where it is long. To be called when [`Log::is_due`], and every
    /// second or so.
    pub(super) async fn checkpoint(&self, writer: &Pool) -> Result<(), StoreError> {
        self.batches.store(0, Ordering::Relaxed);
        let Some(pages) = self.copy().await? else {
            return Ok(());
        };
        if !self.has_to_begin_anew(pages.cast_unsigned()) {
            return Ok(());
        }
        // What came during the first copying, so that little is left to do while the writer waits.
        self.copy().await?;
        // Its turn: otherwise it would mostly be in the middle of a commit.
        let _turn = writer.get().await?;
        let begun = Instant::now();
        // Says "busy" rather than wait for readers; then the next one tries.
        sqlx::query("PRAGMA wal_checkpoint(RESTART)")
            .execute(&mut *self.checkpointer.get().await?)
            .await?;
        let rests_until = Instant::now() + begun.elapsed() * REST;
        *self
            .rests_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = rests_until;
        Ok(())
    }

    fn has_to_begin_anew(&self, pages: u64) -> bool {
        let rests_until = *self
            .rests_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        pages > most_pages(&self.file) || pages > PAGES && Instant::now() >= rests_until
    }

    /// Writes all of the log back: then the file is whole by itself, for whoever copies it while nothing runs.
    pub(super) async fn close(&self) -> Result<(), StoreError> {
        self.copy().await?;
        sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)")
            .execute(&mut *self.checkpointer.get().await?)
            .await?;
        Ok(())
    }

    /// Writes the log back. How many pages it has; `None` while another process is at it.
    async fn copy(&self) -> Result<Option<i64>, StoreError> {
        let (_, pages, _): (i64, i64, i64) = sqlx::query_as("PRAGMA wal_checkpoint(PASSIVE)")
            .fetch_one(&mut *self.background().await?)
            .await?;
        Ok(Some(pages).filter(|pages| *pages >= 0))
    }
}

/// What holds the log of a writer to half of the room, whose other half the file may need: where it is twice as long
/// as it may be, a commit writes it back itself; and what it keeps once it began anew.
pub(super) fn bounds(log: &Path) -> [(&'static str, String); 2] {
    let pages = 2 * most_pages(log);
    [
        ("wal_autocheckpoint", pages.to_string()),
        (
            "journal_size_limit",
            BYTES_KEPT.min(pages * PAGE_BYTES).to_string(),
        ),
    ]
}

/// Pages past which a log has to begin anew in any case: a quarter of the space that there is for it.
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

//! Checkpoints: the write-ahead log is copied back into the file, and restarted, apart from the writer's commits.
//!
//! If commits did so themselves, clicks would wait for the disk. Copying needs no lock and runs on a thread of low
//! priority. It runs often: a large copy keeps the disk, and perhaps the core, from the commits. The log restarts soon,
//! since overwriting a file costs the file system less than growing it. A restart locks the writer out for two writes
//! to the disk: on a slow disk restarts are rare, and the log becomes longer.
//!
//! The log's length is bounded by the free space: once the log has filled the disk it cannot be copied, since the
//! database file may have to grow by as much.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

use super::pool::{Lease, Pool};
use crate::store::StoreError;

/// The files of a database, and their disk, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskUsage {
    /// The database file.
    pub database: u64,
    /// Its write-ahead log.
    pub log: u64,
    /// Free on the disk.
    pub free: u64,
    /// Size of the disk.
    pub size: u64,
}

/// Batches of clicks after which the log is copied, with one or a few pages of 4 KiB each. Fewer cost more CPU, more keep
/// commits waiting for longer.
const BATCHES: u32 = 64;

/// Pages past which the log restarts, unless it did so just now: 16 MiB.
const PAGES: u64 = 4_096;

/// The pause after a restart, as a multiple of its duration: fewer than one redirect in a hundred waits for a restart.
const PAUSE_FACTOR: u32 = 100;

/// Pages past which the log restarts in any case, if there is space: 256 MiB.
const MAX_PAGES: u64 = 65_536;

/// The same, however little space there is: 256 KiB.
const MIN_PAGES: u64 = 64;

/// Bytes that the log's file keeps after it was longer: 64 MiB.
const BYTES_KEPT: u64 = 64 << 20;

const PAGE_BYTES: u64 = 4_096;

/// The write-ahead log.
pub(super) struct Log {
    file: PathBuf,
    /// Batches written since the last copy.
    batches: AtomicU32,
    is_due: Notify,
    /// Until when the log does not restart, unless it has to.
    paused_until: Mutex<Instant>,
    /// One connection that restarts the log and never waits for a lock: the writer would wait with it.
    checkpointer: Pool,
    /// Two connections for background work, reading the journal and copying the log, on threads of low priority.
    background: Pool,
}

impl Log {
    pub(super) fn new(file: PathBuf, checkpointer: Pool, background: Pool) -> Self {
        Self {
            file,
            batches: AtomicU32::new(0),
            is_due: Notify::new(),
            paused_until: Mutex::new(Instant::now()),
            checkpointer,
            background,
        }
    }

    /// A connection for background work.
    pub(super) async fn background(&self) -> Result<Lease<'_>, StoreError> {
        self.background.get().await
    }

    /// Counts a batch.
    pub(super) fn batch_written(&self) {
        if self.batches.fetch_add(1, Ordering::Relaxed) + 1 == BATCHES {
            self.is_due.notify_one();
        }
    }

    /// Returns when the log should be copied.
    pub(super) async fn checkpoint_is_due(&self) {
        self.is_due.notified().await;
    }

    /// Copies the log, and restarts it where it is long. To be called when [`Log::checkpoint_is_due`], and about once a
    /// second.
    pub(super) async fn checkpoint(&self, writer: &Pool) -> Result<(), StoreError> {
        self.batches.store(0, Ordering::Relaxed);
        let Some(pages) = self.copy().await? else {
            return Ok(());
        };
        if !self.has_to_restart(pages.cast_unsigned()) {
            return Ok(());
        }
        // Copies what came during the first copy, so that little is left to do while the writer waits.
        self.copy().await?;
        // With the writer's connection: otherwise there would mostly be a commit under way.
        let _writer = writer.get().await?;
        let started = Instant::now();
        // Returns "busy" rather than wait for readers; the next checkpoint tries again.
        sqlx::query("PRAGMA wal_checkpoint(RESTART)")
            .execute(&mut *self.checkpointer.get().await?)
            .await?;
        let paused_until = Instant::now() + started.elapsed() * PAUSE_FACTOR;
        *self
            .paused_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = paused_until;
        Ok(())
    }

    fn has_to_restart(&self, pages: u64) -> bool {
        let paused_until = *self
            .paused_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        pages > max_pages(&self.file) || pages > PAGES && Instant::now() >= paused_until
    }

    /// The files and their disk; `None` where the system gives no number.
    pub(super) fn disk(&self) -> Option<DiskUsage> {
        let disk = rustix::fs::statvfs(folder(&self.file)).ok()?;
        let path = self.file.to_str()?.strip_suffix("-wal")?;
        Some(DiskUsage {
            database: bytes_of(Path::new(path)),
            log: bytes_of(&self.file),
            free: disk.f_bavail.saturating_mul(disk.f_frsize),
            size: disk.f_blocks.saturating_mul(disk.f_frsize),
        })
    }

    /// Copies all of the log: then the file can be copied by itself while no process uses it.
    pub(super) async fn close(&self) -> Result<(), StoreError> {
        self.copy().await?;
        sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)")
            .execute(&mut *self.checkpointer.get().await?)
            .await?;
        Ok(())
    }

    /// Copies the log. Returns its number of pages; `None` while another process copies it.
    async fn copy(&self) -> Result<Option<i64>, StoreError> {
        let (_, pages, _): (i64, i64, i64) = sqlx::query_as("PRAGMA wal_checkpoint(PASSIVE)")
            .fetch_one(&mut *self.background().await?)
            .await?;
        Ok(Some(pages).filter(|pages| *pages >= 0))
    }
}

/// Settings of the writer's connection that keep the log to half of the space; the file may need the other half. At
/// twice the allowed length, a commit copies the log itself. The second one bounds what the log keeps after a restart.
pub(super) fn bounds(log: &Path) -> [(&'static str, String); 2] {
    let pages = 2 * max_pages(log);
    [
        ("wal_autocheckpoint", pages.to_string()),
        (
            "journal_size_limit",
            BYTES_KEPT.min(pages * PAGE_BYTES).to_string(),
        ),
    ]
}

/// Pages past which a log has to restart in any case: a quarter of the space that there is for it.
fn max_pages(log: &Path) -> u64 {
    // Where the system gives no number, there is space.
    let free = rustix::fs::statvfs(folder(log))
        .map_or(u64::MAX, |disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    let space = bytes_of(log).saturating_add(free);
    (space / 4 / PAGE_BYTES).clamp(MIN_PAGES, MAX_PAGES)
}

fn folder(file: &Path) -> &Path {
    let folder = file.parent();
    folder
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

fn bytes_of(file: &Path) -> u64 {
    // Without a file there is no log.
    std::fs::metadata(file).map_or(0, |file| file.len())
}

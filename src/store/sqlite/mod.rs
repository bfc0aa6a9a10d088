//! The store in SQLite: one file, for one process. A second process is refused: it would not learn of the deletions of
//! the first.
//!
//! WAL with `synchronous = NORMAL`: what is committed survives a crash of the process; a power failure
//! may take the last commits with it, and never corrupts the file.

use std::fs::{File, TryLockError};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::Access;
use rustix::io::Errno;
use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};

use self::class_sums::ClassSums;
use self::compaction::Compactor;
use self::log::Log;
use self::pool::{Opener, Pool};
use self::presence::Presence;
use super::migrations::Schema;
use super::{OpenError, StoreError, StoreSettings};
use crate::domain::{Clock, io_reason};
use crate::telemetry::acknowledgements::Acknowledgements;

mod batch;
mod class_days;
mod class_ids;
mod class_mark;
mod class_rows;
mod class_sums;
mod click_limits;
mod clicks;
mod compaction;
mod counted;
mod details;
mod log;
mod migrate;
mod one_row;
mod owner_series;
mod pool;
mod presence;
mod removed_details;
mod series;
mod step_size;

pub(super) use clicks::written_clicks;
pub(super) use counted::{count_clicks, insert_classes};
pub use log::DiskUsage;
pub use migrate::migrate_sqlite;

/// How long a writer waits for a write by hand, such as in the sqlite3 shell.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Connections that only read. Readers never wait for the writer.
const READERS: usize = 4;

/// Users, links and clicks in an SQLite file.
pub struct SqliteStore {
    /// One connection: SQLite has one writer, so writers wait here rather than for the file's lock.
    pub(super) writer: Arc<Pool>,
    pub(super) reader: Pool,
    log: Arc<Log>,
    compactor: Compactor,
    class_sums: ClassSums,
    /// How long batches of clicks wait and take.
    appends: Acknowledgements,
    presence: Arc<Presence>,
    pub(super) installation: String,
    /// Keeps other processes away. The kernel releases the lock when this process ends, however it ends.
    _lock: File,
    pub(super) clock: Arc<dyn Clock>,
}

impl SqliteStore {
    /// Opens the file, creates it where it is missing, and brings the schema up to date; or refuses a file that lacks
    /// something.
    ///
    /// # Errors
    /// [`OpenError::Wrong`] when the file cannot be created, is no database, or is in use by another process.
    pub async fn open(
        path: &Path,
        settings: StoreSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        if matches!(settings.schema, Schema::Require) && !path.exists() {
            return Err(OpenError::Wrong(format!(
                "{}: there is no such file; run `shunt migrate` first, or start without NO_MIGRATE",
                path.display()
            )));
        }
        ordinary(path)?;
        let lock = lock(path)?;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .busy_timeout(BUSY_TIMEOUT)
            .foreign_keys(true)
            .pragma("wal_autocheckpoint", "0");
        writable(path)?;
        let presence = Arc::new(Presence::of(path).map_err(|error| cannot_make(path, &error))?);
        let pool = |opener, connections| {
            let presence = Arc::clone(&presence);
            Pool::open(opener, presence, connections, settings.deadline)
        };
        let log = companion_file(path, "-wal");
        let bounded = |options: SqliteConnectOptions, (name, value)| options.pragma(name, value);
        let writing = log::bounds(&log).into_iter().fold(options.clone(), bounded);
        // A writer may wait for a write by hand first.
        let writer = Opener::bounded(writing, settings.deadline + BUSY_TIMEOUT);
        let writer = pool(writer, 1)
            .await
            .map_err(|error| cannot_open(path, error))?;
        let mut first = writer.get().await?;
        first.without_deadline();
        migrate::bring_up_to_date(&mut first, settings.schema).await?;
        let installation = sqlx::query_scalar("SELECT id FROM installation")
            .fetch_one(&mut *first)
            .await?;
        drop(first);
        let checkpointer = Opener::new(options.clone().busy_timeout(Duration::ZERO));
        let checkpointer = pool(checkpointer, 1).await?;
        let in_background = Opener::background(
            options
                .clone()
                .busy_timeout(Duration::ZERO)
                // It may be slow where other threads are busy: no warning.
                .disable_statement_logging(),
        );
        let background =
            Pool::open(in_background, Arc::clone(&presence), 2, settings.deadline).await?;
        let reader = Opener::bounded(options.read_only(true), settings.deadline);
        let reader = pool(reader, READERS).await?;
        let writer = Arc::new(writer);
        let log = Arc::new(Log::new(log, checkpointer, background));
        Ok(Self {
            compactor: Compactor::new(Arc::clone(&writer), Arc::clone(&log), Arc::clone(&clock)),
            class_sums: ClassSums::new(Arc::clone(&writer), Arc::clone(&log)),
            appends: Acknowledgements::new(Instant::now()),
            writer,
            reader,
            log,
            presence,
            installation,
            _lock: lock,
            clock,
        })
    }

    pub(super) fn disk(&self) -> Option<DiskUsage> {
        self.log.disk()
    }

    pub(super) fn append_delay(&self) -> Option<f64> {
        self.appends.delay(Instant::now())
    }

    pub(super) async fn maintain(&self) -> Result<(), StoreError> {
        self.presence.check();
        self.log.checkpoint(&self.writer).await
    }

    pub(super) async fn maintenance_is_due(&self) {
        self.log.checkpoint_is_due().await;
    }

    pub(super) async fn close(&self) -> Result<(), StoreError> {
        self.log.close().await
    }

    /// Makes the folder of a database.
    ///
    /// # Errors
    /// [`OpenError::Wrong`] when it cannot be made.
    pub fn make_folder(path: &Path) -> Result<(), OpenError> {
        let Some(folder) = folder(path) else {
            return Ok(());
        };
        // The database holds e-mail addresses and password hashes.
        let mut maker = std::fs::DirBuilder::new();
        maker.recursive(true).mode(0o700);
        maker.create(folder).map_err(|error| {
            OpenError::Wrong(format!(
                "{}: {error}; name a file in a folder that can be made",
                folder.display()
            ))
        })
    }
}

/// The folder of a file; `None` where it is the one that the process runs in.
fn folder(path: &Path) -> Option<&Path> {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
}

/// A file that belongs to the database, named in the way of SQLite's own files: no other database has the same.
#[must_use]
pub fn companion_file(database: &Path, ending: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

fn cannot_open(path: &Path, error: sqlx::Error) -> OpenError {
    let (OpenError::Wrong(why) | OpenError::NotYet(why)) = error.into();
    OpenError::Wrong(format!("{}: {why}", path.display()))
}

fn cannot_make(path: &Path, error: &std::io::Error) -> OpenError {
    OpenError::Wrong(format!(
        "{}: {}; name a file in a folder that can be written to",
        path.display(),
        io_reason(error)
    ))
}

/// Refuses a read-only file: SQLite would open it, and fail with the first write. The check does not open the file:
/// closing it would take SQLite's locks from other connections of this process.
fn writable(path: &Path) -> Result<(), OpenError> {
    match rustix::fs::access(path, Access::WRITE_OK) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(OpenError::Wrong(format!(
            "{}: {}; make it writable",
            path.display(),
            io_reason(&error.into())
        ))),
    }
}

/// Refuses what is not a regular file: a pipe would be waited for, and a device would be written to.
fn ordinary(path: &Path) -> Result<(), OpenError> {
    for path in [path, &companion_file(path, ".owner")] {
        if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(OpenError::Wrong(format!(
                "{} is not a regular file; name another file",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Locks a database for this process, before anything is read or written.
fn lock(path: &Path) -> Result<File, OpenError> {
    // A folder that is made for a mistyped path would hide that the links are elsewhere.
    if let Some(folder) = folder(path).filter(|folder| !folder.exists()) {
        return Err(OpenError::Wrong(format!(
            "the folder {} does not exist; make it, or name a file in one that does",
            folder.display()
        )));
    }
    let failed = |error: std::io::Error| cannot_make(path, &error);
    let file = File::options()
        .create(true)
        .append(true)
        .open(companion_file(path, ".owner"))
        .map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::Wrong(format!(
            "{} is in use by another shunt; stop that one first, or name another file",
            path.display()
        ))),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

//! The store in SQLite: one file, for one process. A second process is refused: it would not learn of the deletions of
//! the first. `shunt admin` caches no link, and so may work beside it: its changes are written as changes by hand are, and the
//! service learns of them from the outbox.
//!
//! WAL with `synchronous = NORMAL`: what is committed survives a crash of the process; a power failure
//! may take the last commits with it, and never corrupts the file.

use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::Access;
use rustix::io::Errno;
use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use tokio::sync::Mutex;

use self::class_sums::ClassSums;
use self::compaction::Compactor;
use self::files::{cannot_make, folder};
use self::log::Log;
use self::owner::Owner;
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
mod files;
mod log;
mod migrate;
mod one_row;
mod owner;
mod owner_series;
mod pool;
mod presence;
mod removed_details;
mod series;
mod step_size;
mod untold;

pub(super) use clicks::written_clicks;
pub(super) use counted::{count_clicks, insert_starting_classes};
pub use files::companion_file;
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
    owner: Owner,
    pub(super) clock: Arc<dyn Clock>,
    /// Names the history of the file that this process continues.
    history: String,
    /// One step of the feeds of events is made at a time.
    telling: Mutex<()>,
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
        is_there(path, settings.schema)?;
        ordinary(path)?;
        let owner = Owner::lock(path).await?;
        Self::open_as(owner, path, settings, clock).await
    }

    /// Opens the file for a process that works beside the service that has it, if one runs.
    ///
    /// # Errors
    /// As [`SqliteStore::open`].
    pub async fn open_beside(
        path: &Path,
        settings: StoreSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        is_there(path, settings.schema)?;
        ordinary(path)?;
        Self::open_as(Owner::beside(path), path, settings, clock).await
    }

    async fn open_as(
        owner: Owner,
        path: &Path,
        settings: StoreSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
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
        let history = sqlx::query_scalar("SELECT lower(hex(randomblob(16)))")
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
            owner,
            clock,
            history,
            telling: Mutex::default(),
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
        // The log of a running service is its own.
        if self.has_service_beside() {
            return Ok(());
        }
        self.log.close().await
    }

    /// Whether a service has the file while this process works beside it.
    pub(super) fn has_service_beside(&self) -> bool {
        self.owner.is_another()
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

fn cannot_open(path: &Path, error: sqlx::Error) -> OpenError {
    let (OpenError::Wrong(why) | OpenError::NotYet(why)) = error.into();
    OpenError::Wrong(format!("{}: {why}", path.display()))
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

/// Refuses to make a file that should have its schema already.
fn is_there(path: &Path, schema: Schema) -> Result<(), OpenError> {
    if matches!(schema, Schema::Require) && !path.exists() {
        return Err(OpenError::Wrong(format!(
            "{}: there is no such file; run `shunt migrate` first, or start without NO_MIGRATE",
            path.display()
        )));
    }
    Ok(())
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

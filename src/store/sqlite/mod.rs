//! The store in SQLite: one file, for one process.
//!
//! WAL with `synchronous = NORMAL`: what is committed survives a crash of the process; a power failure
//! may take the last commits with it, and never corrupts the file.

use std::fs::{File, TryLockError};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::Access;
use rustix::io::Errno;
use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use tokio::time::{Instant, sleep};

use self::compaction::Compactor;
use self::log::Log;
use self::pool::{Opener, Pool};
use self::presence::Presence;
use super::{OpenError, StoreSettings, migrations};
use crate::domain::Clock;

mod batch;
mod clicks;
mod compaction;
mod database;
mod ledger;
mod links;
mod log;
mod outbox;
mod pool;
mod presence;
mod users;

/// How long a writer waits for another process's write.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a start waits for another process's start, and the pause between two tries.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// Connections that only read. Readers never wait for the writer.
const READERS: usize = 4;

/// Users, links and clicks in an SQLite file.
pub struct SqliteStore {
    /// One connection: SQLite has one writer, so writers wait here rather than for the file's lock.
    writer: Arc<Pool>,
    reader: Pool,
    log: Arc<Log>,
    compactor: Compactor,
    presence: Arc<Presence>,
    installation: String,
    /// A file that the first process with this database keeps locked: this process alone reads the outbox.
    owner: Option<File>,
    clock: Arc<dyn Clock>,
}

impl SqliteStore {
    /// Opens the file, creates it and its folder where they are missing, and brings the schema up to date.
    ///
    /// # Errors
    /// [`OpenError::Wrong`] when the file cannot be created or is no database.
    pub async fn open(
        path: &Path,
        settings: StoreSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        if let Some(folder) = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            // The database holds e-mail addresses and password hashes.
            let mut maker = std::fs::DirBuilder::new();
            maker.recursive(true).mode(0o700);
            maker.create(folder).map_err(|error| {
                let fault = format!(
                    "{}: {error}; name a file in a folder that can be made",
                    folder.display()
                );
                OpenError::Wrong(fault)
            })?;
        }
        let options = SqliteConnectOptions::new()
            .filename(path)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Normal)
            .busy_timeout(BUSY_TIMEOUT)
            .foreign_keys(true)
            .pragma("wal_autocheckpoint", "0");
        // Until all are connected: switching to WAL does not wait for locks, and migrations are several transactions.
        let _lock = opening_lock(path).await?;
        let owner = locked(&companion_file(path, ".owner"))?;
        writable(path)?;
        let presence = Arc::new(Presence::of(path).map_err(|error| cannot_make(path, &error))?);
        let pool = |options, connections| {
            let presence = Arc::clone(&presence);
            Pool::open(
                Opener::new(options),
                presence,
                connections,
                settings.deadline,
            )
        };
        let log = companion_file(path, "-wal");
        let bounded = |options: SqliteConnectOptions, (name, value)| options.pragma(name, value);
        let writing = log::bounds(&log).into_iter().fold(options.clone(), bounded);
        let writer = pool(writing, 1)
            .await
            .map_err(|error| cannot_open(path, error))?;
        let mut first = writer.get().await?;
        migrations::sqlite().run(&mut *first).await?;
        let installation = sqlx::query_scalar("SELECT id FROM installation")
            .fetch_one(&mut *first)
            .await?;
        drop(first);
        let checkpointer = pool(options.clone().busy_timeout(Duration::ZERO), 1).await?;
        let in_background = Opener::background(
            options
                .clone()
                .busy_timeout(Duration::ZERO)
                // It may be slow where other threads are busy: no warning.
                .disable_statement_logging(),
        );
        let background =
            Pool::open(in_background, Arc::clone(&presence), 2, settings.deadline).await?;
        let reader = pool(options.read_only(true), READERS).await?;
        let writer = Arc::new(writer);
        let log = Arc::new(Log::new(log, checkpointer, background));
        Ok(Self {
            compactor: Compactor::new(Arc::clone(&writer), Arc::clone(&log), Arc::clone(&clock)),
            writer,
            reader,
            log,
            presence,
            installation,
            owner,
            clock,
        })
    }
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
        "{}: {error}; name a file in a folder that can be written to",
        path.display()
    ))
}

/// Refuses a read-only file: SQLite would open it, and fail with the first write. The check does not open the file:
/// closing it would take SQLite's locks from other connections of this process.
fn writable(path: &Path) -> Result<(), OpenError> {
    match rustix::fs::access(path, Access::WRITE_OK) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(OpenError::Wrong(format!(
            "{}: {error}; make it writable",
            path.display()
        ))),
    }
}

/// One process at a time opens the database. The lock ends when the file is closed.
async fn opening_lock(path: &Path) -> Result<File, OpenError> {
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        match locked(&companion_file(path, ".lock"))? {
            Some(lock) => return Ok(lock),
            None if Instant::now() < deadline => sleep(LOCK_PAUSE).await,
            None => {
                return Err(OpenError::NotYet(
                    "another process is opening the database".into(),
                ));
            }
        }
    }
}

/// The file, locked until it is closed; `None` while another process has it.
fn locked(path: &Path) -> Result<Option<File>, OpenError> {
    let failed = |error: std::io::Error| cannot_make(path, &error);
    let file = File::options()
        .create(true)
        .append(true)
        .open(path)
        .map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

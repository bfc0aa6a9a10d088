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
mod links;
mod log;
mod outbox;
mod pool;
mod presence;
mod users;

/// How long a writer waits for another process's write.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How long another process's start is waited for, and how often it is looked at.
const TURN_TIMEOUT: Duration = Duration::from_secs(10);
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// Connections that only read: readers never wait for the writer.
const READERS: usize = 4;

/// Users, links and clicks in an SQLite file.
pub struct SqliteStore {
    /// One connection: SQLite has one writer, so writers queue here rather than in the file's lock.
    writer: Arc<Pool>,
    reader: Pool,
    log: Arc<Log>,
    compactor: Compactor,
    presence: Arc<Presence>,
    installation: String,
    /// A locked file, of the first process that has the database open: the outbox is read by it alone.
    owner: Option<File>,
    clock: Arc<dyn Clock>,
}

impl SqliteStore {
    /// Opens the file, made with its folder where there is none, and brings the schema up to date.
    ///
    /// # Errors
    /// [`OpenError::Wrong`] when the file cannot be made or is no database.
    pub async fn open(
        path: &Path,
        settings: StoreSettings,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, OpenError> {
        if let Some(folder) = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            // There are addresses and hashes of passwords in it.
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
        // Until all are connected: switching to WAL waits for nobody, and migrations are several transactions.
        let _turn = turn(path).await?;
        let owner = locked(&beside(path, ".owner"))?;
        writable(path)?;
        let presence = Arc::new(Presence::begin(path).map_err(|error| cannot_make(path, &error))?);
        let pool = |options, connections| {
            let presence = Arc::clone(&presence);
            Pool::open(
                Opener::new(options),
                presence,
                connections,
                settings.deadline,
            )
        };
        let log = beside(path, "-wal");
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
        let behind = Opener::standing_back(
            options
                .clone()
                .busy_timeout(Duration::ZERO)
                // It is slow where others are busy, and that is as it should be.
                .disable_statement_logging(),
        );
        let background = Pool::open(behind, Arc::clone(&presence), 2, settings.deadline).await?;
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

/// A file that belongs to the database, named as SQLite names its own: no other database has the same.
#[must_use]
pub fn beside(database: &Path, ending: &str) -> PathBuf {
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

/// SQLite itself opens a file that it may only read, and fails with the first write. It is not opened here to see
/// that: closing it would take SQLite's locks from other connections of this process.
fn writable(path: &Path) -> Result<(), OpenError> {
    match rustix::fs::access(path, Access::WRITE_OK) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(OpenError::Wrong(format!(
            "{}: {error}; make it writable",
            path.display()
        ))),
    }
}

/// Processes that start at once take turns; a turn ends when the file is closed.
async fn turn(path: &Path) -> Result<File, OpenError> {
    let deadline = Instant::now() + TURN_TIMEOUT;
    loop {
        match locked(&beside(path, ".lock"))? {
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

//! Connections to the file.
//!
//! The pool of sqlx is not used: it pings a connection before and after each use. A ping switches threads twice, as the
//! batch of clicks itself does.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use deadpool::Runtime;
use deadpool::managed::{self, Manager, Metrics, Object, RecycleError, RecycleResult, Timeouts};
use metrics::Counter;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, Sqlite, SqliteConnection, Transaction};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::presence::Presence;
use crate::store::StoreError;
use crate::store::connection::{affected_in_sqlite, row_of_sqlite, rows_of_sqlite};
use crate::store::failure::{of_pool, unreachable};
use crate::store::permits::{Permit, Permits, searches_at_once};
use crate::store::sql::{Query, Row, Turn};
use crate::telemetry::metrics::{Connections, DATABASE_OPERATIONS};

/// After so long without use, and after so many uses, a connection is pinged: its thread may have died.
const IDLE: Duration = Duration::from_secs(1);
const USES: usize = 64;

/// A statement looks at its deadline each time after so many instructions of SQLite's machine: less than a millisecond.
const INSTRUCTIONS: i32 = 10_000;

/// Name of the threads for background work; the system keeps 15 bytes of it.
const BACKGROUND: &str = "sqlite-backgrnd";

/// Their niceness: a tenth of a core where other threads want the rest.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// A number of connections. An operation waits until one is free.
pub(in crate::store) struct Pool {
    connections: managed::Pool<Opener>,
    presence: Arc<Presence>,
    permits: Permits,
    /// Searches that run at once.
    searches: Semaphore,
    operations: Counter,
    deadline: Duration,
}

/// A connection in use.
pub(in crate::store) struct Lease<'a> {
    connection: Object<Opener>,
    _permit: Option<Permit<'a>>,
    _search: Option<SemaphorePermit<'a>>,
}

/// A connection of the pool.
pub(super) struct Connected {
    sqlite: SqliteConnection,
    /// How long its user may work with it.
    takes_at_most: Option<Duration>,
    /// When statements are interrupted, in milliseconds since [`BEGINNING`].
    interrupted_at: Arc<AtomicU64>,
}

/// What deadlines are counted from.
static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);

fn millis_after(time: Duration) -> u64 {
    let millis = (BEGINNING.elapsed() + time).as_millis();
    u64::try_from(millis).unwrap_or(u64::MAX)
}

impl Pool {
    /// Opens the first connection, which shows whether it can be done.
    pub(super) async fn open(
        opener: Opener,
        presence: Arc<Presence>,
        connections: usize,
        deadline: Duration,
    ) -> Result<Self, sqlx::Error> {
        let pool = managed::Pool::builder(opener)
            .max_size(connections)
            .timeouts(Timeouts {
                wait: Some(deadline),
                create: Some(deadline),
                recycle: Some(deadline),
            })
            .runtime(Runtime::Tokio1)
            .build()
            .expect("it has the runtime that its timeouts need");
        drop(pool.get().await.map_err(of_pool)?);
        Ok(Self {
            connections: pool,
            presence,
            permits: Permits::new(connections),
            searches: searches_at_once(connections),
            operations: metrics::counter!(DATABASE_OPERATIONS),
            deadline,
        })
    }

    /// A connection for a step of a search. All searches together use a part of the connections, however many there are.
    pub(super) async fn get_for_search(&self) -> Result<Lease<'_>, StoreError> {
        let turn = timeout(self.deadline, self.searches.acquire()).await;
        let turn = turn.map_err(|_| sqlx::Error::PoolTimedOut)?;
        Ok(Lease {
            _search: turn.ok(),
            ..self.get().await?
        })
    }

    /// [`Pool::get_for_search`] or [`Pool::get`].
    pub(super) async fn get_for_search_if(&self, is_search: bool) -> Result<Lease<'_>, StoreError> {
        if is_search {
            self.get_for_search().await
        } else {
            self.get().await
        }
    }

    /// The rows of a statement.
    pub(in crate::store) async fn rows(&self, query: Query<'_>) -> Result<Vec<Row>, StoreError> {
        let mut lease = self.lease(query.turn()).await?;
        Ok(rows_of_sqlite(&mut lease, query).await?)
    }

    /// The first row of a statement that only reads: one that writes is committed at its end.
    pub(in crate::store) async fn row(&self, query: Query<'_>) -> Result<Option<Row>, StoreError> {
        let mut lease = self.lease(query.turn()).await?;
        Ok(row_of_sqlite(&mut lease, query).await?)
    }

    /// Runs a statement; returns how many rows it changed.
    pub(in crate::store) async fn affected(&self, query: Query<'_>) -> Result<u64, StoreError> {
        let mut lease = self.lease(query.turn()).await?;
        Ok(affected_in_sqlite(&mut lease, query).await?)
    }

    /// A connection when it is the operation's turn, within the deadline.
    async fn lease(&self, turn: Turn) -> Result<Lease<'_>, StoreError> {
        match turn {
            Turn::First => self.get_with_priority().await,
            Turn::WithPermit => self.get().await,
            Turn::OfSearch => self.get_for_search().await,
        }
    }

    /// A connection, within the deadline.
    pub(in crate::store) async fn get(&self) -> Result<Lease<'_>, StoreError> {
        let lease = async {
            let permit = self.permits.acquire().await?;
            Ok(Lease {
                _permit: Some(permit),
                ..self.get_with_priority().await?
            })
        };
        let lease = timeout(self.deadline, lease).await;
        lease.unwrap_or_else(|_| Err(sqlx::Error::PoolTimedOut.into()))
    }

    /// The same, before operations for which no redirect waits.
    pub(super) async fn get_with_priority(&self) -> Result<Lease<'_>, StoreError> {
        self.operations.increment(1);
        self.presence.require()?;
        let connection = self.connections.get().await.map_err(unreachable)?;
        let interrupted_at = match connection.takes_at_most {
            Some(time) => millis_after(time),
            None => u64::MAX,
        };
        connection
            .interrupted_at
            .store(interrupted_at, Ordering::Relaxed);
        Ok(Lease {
            connection,
            _permit: None,
            _search: None,
        })
    }

    pub(in crate::store) fn connections(&self) -> Connections {
        self.permits.connections(&self.connections.status())
    }
}

impl Lease<'_> {
    /// Begins a transaction that holds the write lock from its first statement on: no deadlock by upgrade.
    pub(in crate::store) async fn begin_immediate(
        &mut self,
    ) -> Result<Transaction<'_, Sqlite>, StoreError> {
        Ok(self.connection.sqlite.begin_with("BEGIN IMMEDIATE").await?)
    }

    /// Lets this use of the connection take as long as it needs: that of a migration, or of a job whose work is not in steps.
    pub(super) fn without_deadline(&mut self) {
        self.connection
            .interrupted_at
            .store(u64::MAX, Ordering::Relaxed);
    }
}

impl Deref for Lease<'_> {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.connection.sqlite
    }
}

impl DerefMut for Lease<'_> {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.connection.sqlite
    }
}

/// Opens connections.
pub(super) struct Opener {
    options: SqliteConnectOptions,
    takes_at_most: Option<Duration>,
    is_background: bool,
}

impl Opener {
    pub(super) fn new(options: SqliteConnectOptions) -> Self {
        Self {
            options,
            takes_at_most: None,
            is_background: false,
        }
    }

    /// Connections with which each user may work for so long: then their statements are interrupted.
    pub(super) fn bounded(options: SqliteConnectOptions, takes_at_most: Duration) -> Self {
        Self {
            takes_at_most: Some(takes_at_most),
            ..Self::new(options)
        }
    }

    /// Connections whose threads have low priority.
    pub(super) fn background(options: SqliteConnectOptions) -> Self {
        Self {
            is_background: true,
            ..Self::new(options.thread_name(|_| BACKGROUND.to_owned()))
        }
    }
}

impl Manager for Opener {
    type Type = Connected;
    type Error = sqlx::Error;

    async fn create(&self) -> Result<Connected, sqlx::Error> {
        let mut sqlite = Box::pin(SqliteConnection::connect_with(&self.options)).await?;
        if self.is_background {
            lower_priority(BACKGROUND);
        }
        let interrupted_at = Arc::new(AtomicU64::new(u64::MAX));
        if self.takes_at_most.is_some() {
            let interrupted_at = Arc::clone(&interrupted_at);
            let goes_on =
                move || millis_after(Duration::ZERO) < interrupted_at.load(Ordering::Relaxed);
            let mut handle = sqlite.lock_handle().await?;
            handle.set_progress_handler(INSTRUCTIONS, goes_on);
        }
        Ok(Connected {
            sqlite,
            takes_at_most: self.takes_at_most,
            interrupted_at,
        })
    }

    async fn recycle(
        &self,
        connected: &mut Connected,
        used: &Metrics,
    ) -> RecycleResult<sqlx::Error> {
        let connection = &mut connected.sqlite;
        // A dropped transaction is rolled back by the connection's thread before it handles the ping.
        if connection.is_in_transaction()
            || used.last_used() > IDLE
            || used.recycle_count.is_multiple_of(USES)
        {
            connection.ping().await?;
        }
        if connection.is_in_transaction() {
            // Neither the commit nor the roll-back was possible, for want of space.
            return Err(RecycleError::message("in a transaction"));
        }
        Ok(())
    }
}

/// Lowers the priority of the threads with this name. They belong to the driver, so they are found by their name.
#[cfg(target_os = "linux")]
fn lower_priority(name: &str) {
    use rustix::process::{Pid, setpriority_process};

    let Ok(threads) = std::fs::read_dir("/proc/self/task") else {
        return;
    };
    for thread in threads.flatten() {
        let is_named = std::fs::read_to_string(thread.path().join("comm"))
            .is_ok_and(|comm| comm.trim_end() == name);
        let id = thread.file_name().to_str().and_then(|id| id.parse().ok());
        if let Some(id) = id.and_then(Pid::from_raw).filter(|_| is_named) {
            // Where the system does not allow it, all threads are equal.
            let _ = setpriority_process(Some(id), NICENESS);
        }
    }
}

/// This system has no such priorities: all threads are equal.
#[cfg(not(target_os = "linux"))]
fn lower_priority(_name: &str) {}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDLESS: &str =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

    /// A pool of one connection with which each user may work for so long.
    async fn bounded(folder: &tempfile::TempDir, takes_at_most: Duration) -> Pool {
        let path = folder.path().join("shunt.db");
        let options = SqliteConnectOptions::new()
            .filename(&path)
            .create_if_missing(true);
        drop(SqliteConnection::connect_with(&options).await.unwrap());
        let presence = Arc::new(Presence::of(&path).unwrap());
        let opener = Opener::bounded(options, takes_at_most);
        let pool = Pool::open(opener, presence, 1, Duration::from_secs(5));
        pool.await.unwrap()
    }

    #[tokio::test]
    async fn a_statement_is_interrupted_at_its_deadline_and_the_connection_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let pool = bounded(&folder, Duration::from_millis(50)).await;
        let mut lease = pool.get().await.unwrap();
        let endless = sqlx::query(ENDLESS).fetch_one(&mut *lease).await;
        let error = StoreError::from(endless.err().unwrap());
        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
        drop(lease);
        let mut transaction_of = pool.get().await.unwrap();
        let mut transaction = transaction_of.begin_immediate().await.unwrap();
        let endless = sqlx::query(ENDLESS).fetch_one(&mut *transaction).await;
        assert!(endless.is_err());
        drop(transaction);
        drop(transaction_of);
        let mut lease = pool.get().await.unwrap();
        let one: i64 = sqlx::query_scalar("SELECT 1")
            .fetch_one(&mut *lease)
            .await
            .unwrap();
        assert_eq!(one, 1);
    }

    #[tokio::test]
    async fn a_use_without_a_deadline_is_not_interrupted_and_the_next_one_has_a_deadline_again() {
        const LONG: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT count(*) FROM n";
        let folder = tempfile::tempdir().unwrap();
        let pool = bounded(&folder, Duration::ZERO).await;
        for has_deadline in [true, false, true] {
            let mut lease = pool.get().await.unwrap();
            if !has_deadline {
                lease.without_deadline();
            }
            let ended = sqlx::query(LONG).fetch_one(&mut *lease).await;
            assert_eq!(ended.is_err(), has_deadline);
        }
    }
}

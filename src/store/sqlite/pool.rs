//! Connections to the file.
//!
//! The pool of sqlx is not used: it pings a connection before each use and after it, and a ping is a change of
//! threads there and back, as a batch of clicks itself is.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use deadpool::Runtime;
use deadpool::managed::{self, Manager, Metrics, Object, RecycleError, RecycleResult, Timeouts};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, Sqlite, SqliteConnection, Transaction};
use tokio::sync::SemaphorePermit;
use tokio::time::timeout;

use super::presence::Presence;
use crate::store::StoreError;
use crate::store::failure::{of_pool, unreachable};
use crate::store::queue::Queue;
use crate::telemetry::metrics::Connections;

/// After how long, and after how many uses, a connection is asked whether its thread still lives.
const IDLE: Duration = Duration::from_secs(1);
const USES: usize = 64;

/// Name of the thread of what can wait; the system keeps 15 bytes of it.
const BACKGROUND: &str = "sqlite-backgrnd";

/// Its niceness: a tenth of a core where others want the rest.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// A number of connections; whoever wants one more waits.
pub(super) struct Pool {
    connections: managed::Pool<Opener>,
    presence: Arc<Presence>,
    queue: Queue,
    deadline: Duration,
}

/// A connection in use.
pub(super) struct Lease<'a> {
    connection: Object<Opener>,
    _turn: Option<SemaphorePermit<'a>>,
}

impl Pool {
    /// Opens the first, to see that it can be done.
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
            queue: Queue::new(connections),
            deadline,
        })
    }

    /// A connection, within the deadline.
    pub(super) async fn get(&self) -> Result<Lease<'_>, StoreError> {
        let lease = async {
            let turn = self.queue.turn().await;
            Ok(Lease {
                _turn: Some(turn),
                ..self.get_for_visitor().await?
            })
        };
        let lease = timeout(self.deadline, lease).await;
        lease.unwrap_or_else(|_| Err(sqlx::Error::PoolTimedOut.into()))
    }

    /// The same, before all for whom no visitor waits.
    pub(super) async fn get_for_visitor(&self) -> Result<Lease<'_>, StoreError> {
        self.presence.check()?;
        Ok(Lease {
            connection: self.connections.get().await.map_err(unreachable)?,
            _turn: None,
        })
    }

    pub(super) fn in_use(&self) -> Connections {
        self.queue.before(&self.connections.status())
    }
}

impl Lease<'_> {
    /// Begins a transaction that holds the write lock from its first statement on: no deadlock by upgrade.
    pub(super) async fn begin_immediate(&mut self) -> Result<Transaction<'_, Sqlite>, StoreError> {
        Ok(self.connection.begin_with("BEGIN IMMEDIATE").await?)
    }
}

impl Deref for Lease<'_> {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.connection
    }
}

impl DerefMut for Lease<'_> {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }
}

/// Opens connections.
pub(super) struct Opener {
    options: SqliteConnectOptions,
    stands_back: bool,
}

impl Opener {
    pub(super) fn new(options: SqliteConnectOptions) -> Self {
        Self {
            options,
            stands_back: false,
        }
    }

    /// Connections whose threads stand back for all others.
    pub(super) fn standing_back(options: SqliteConnectOptions) -> Self {
        Self {
            options: options.thread_name(|_| BACKGROUND.to_owned()),
            stands_back: true,
        }
    }
}

impl Manager for Opener {
    type Type = SqliteConnection;
    type Error = sqlx::Error;

    async fn create(&self) -> Result<SqliteConnection, sqlx::Error> {
        let connection = Box::pin(SqliteConnection::connect_with(&self.options)).await?;
        if self.stands_back {
            stand_back(BACKGROUND);
        }
        Ok(connection)
    }

    async fn recycle(
        &self,
        connection: &mut SqliteConnection,
        used: &Metrics,
    ) -> RecycleResult<sqlx::Error> {
        // A transaction that was dropped is rolled back when its turn comes, which is before the ping's.
        if connection.is_in_transaction()
            || used.last_used() > IDLE
            || used.recycle_count.is_multiple_of(USES)
        {
            connection.ping().await?;
        }
        if connection.is_in_transaction() {
            // What could not be committed, for want of space, could not be left either.
            return Err(RecycleError::message("in a transaction"));
        }
        Ok(())
    }
}

/// Lets the threads of that name have what others leave. The thread is the driver's own, so it is found by
/// its name.
#[cfg(target_os = "linux")]
fn stand_back(name: &str) {
    use rustix::process::{Pid, setpriority_process};

    let Ok(threads) = std::fs::read_dir("/proc/self/task") else {
        return;
    };
    for thread in threads.flatten() {
        let is_named = std::fs::read_to_string(thread.path().join("comm"))
            .is_ok_and(|comm| comm.trim_end() == name);
        let id = thread.file_name().to_str().and_then(|id| id.parse().ok());
        if let Some(id) = id.and_then(Pid::from_raw).filter(|_| is_named) {
            // Where the system does not allow it, all are equal.
            let _ = setpriority_process(Some(id), NICENESS);
        }
    }
}

/// Nothing of the kind is known here: all are equal.
#[cfg(not(target_os = "linux"))]
fn stand_back(_name: &str) {}

//! Connections to the file.
//!
//! The pool of sqlx is not used: it pings a connection before and after each use. A ping switches threads twice, as the
//! batch of clicks itself does.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Duration;

use deadpool::Runtime;
use deadpool::managed::{self, Manager, Metrics, Object, RecycleError, RecycleResult, Timeouts};
use metrics::Counter;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, Sqlite, SqliteConnection, Transaction};
use tokio::time::timeout;

use super::presence::Presence;
use crate::store::StoreError;
use crate::store::failure::{of_pool, unreachable};
use crate::store::permits::{Permit, Permits};
use crate::telemetry::metrics::{Connections, DATABASE_OPERATIONS};

/// After so long without use, and after so many uses, a connection is pinged: its thread may have died.
const IDLE: Duration = Duration::from_secs(1);
const USES: usize = 64;

/// Name of the threads for background work; the system keeps 15 bytes of it.
const BACKGROUND: &str = "sqlite-backgrnd";

/// Their niceness: a tenth of a core where other threads want the rest.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// A number of connections. An operation waits until one is free.
pub(super) struct Pool {
    connections: managed::Pool<Opener>,
    presence: Arc<Presence>,
    permits: Permits,
    operations: Counter,
    deadline: Duration,
}

/// A connection in use.
pub(super) struct Lease<'a> {
    connection: Object<Opener>,
    _permit: Option<Permit<'a>>,
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
            operations: metrics::counter!(DATABASE_OPERATIONS),
            deadline,
        })
    }

    /// A connection, within the deadline.
    pub(super) async fn get(&self) -> Result<Lease<'_>, StoreError> {
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
        Ok(Lease {
            connection: self.connections.get().await.map_err(unreachable)?,
            _permit: None,
        })
    }

    pub(super) fn connections(&self) -> Connections {
        self.permits.connections(&self.connections.status())
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
    is_background: bool,
}

impl Opener {
    pub(super) fn new(options: SqliteConnectOptions) -> Self {
        Self {
            options,
            is_background: false,
        }
    }

    /// Connections whose threads have low priority.
    pub(super) fn background(options: SqliteConnectOptions) -> Self {
        Self {
            options: options.thread_name(|_| BACKGROUND.to_owned()),
            is_background: true,
        }
    }
}

impl Manager for Opener {
    type Type = SqliteConnection;
    type Error = sqlx::Error;

    async fn create(&self) -> Result<SqliteConnection, sqlx::Error> {
        let connection = Box::pin(SqliteConnection::connect_with(&self.options)).await?;
        if self.is_background {
            lower_priority(BACKGROUND);
        }
        Ok(connection)
    }

    async fn recycle(
        &self,
        connection: &mut SqliteConnection,
        used: &Metrics,
    ) -> RecycleResult<sqlx::Error> {
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

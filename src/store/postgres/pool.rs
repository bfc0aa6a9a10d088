//! Connections to Postgres, and a deadline for every operation.
//!
//! A proxy such as PgBouncer may give every transaction another server connection. Settings of a session and prepared
//! statements outlive a transaction, so only direct connections use them. Through a proxy every operation is a
//! transaction with its own time-out, and prepares nothing that has a name. The first connection shows which of the two
//! it is.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use deadpool::managed::Object;
use metrics::Counter;
use sqlx::{AssertSqlSafe, Connection as _, SqlSafeStr, SqlStr};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::coop::unconstrained;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use super::server::{Connections, MARK, Server, direct_pool, has_code, options, pool};
use super::session::Session;
use crate::store::connection::{
    Connection, affected_in_postgres, row_of_postgres, rows_of_postgres,
};
use crate::store::failure::{refused, unreachable};
use crate::store::permits::{Permit, Permits, searches_at_once};
use crate::store::sql::{Query, Row, Turn};
use crate::store::{OpenError, StoreError, StoreSettings};
use crate::telemetry::metrics::{Connections as InUse, DATABASE_OPERATIONS};

/// The error code for a write to a server that is read-only, such as a standby.
const READ_ONLY: &str = "25006";

/// Every statement sees what was committed before it, whatever the role's default is.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// How a direct connection plans: each statement once, whatever its parameters. Planning a count each time took
/// longer than counting. Such a plan is kept until the next `ANALYZE`, so one that was made while a table was small must
/// not read all of it. Without sequential scans a join may still read a whole index: statements ask large tables for a
/// row by its key, where there are many in a subquery for each.
const PLANNING: [(&str, &str); 3] = [
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    // A statement that needs a scan all the same looks expensive enough to be compiled.
    ("jit", "off"),
];

/// The pool.
pub(in crate::store) struct Pool {
    connections: Connections,
    permits: Permits,
    /// Searches that run at once.
    searches: Semaphore,
    operations: Counter,
    deadline: Duration,
    /// How a transaction begins.
    begin: SqlStr,
    /// Whether every operation has to be a transaction.
    is_proxied: bool,
}

impl Pool {
    /// Connects once, to see that it can be done, and how.
    pub(super) async fn connect(url: &str, settings: StoreSettings) -> Result<Self, OpenError> {
        let plain = options(url)?;
        let time_out = settings.deadline.as_millis();
        let direct = plain
            .clone()
            .options([
                ("statement_timeout", time_out.to_string()),
                // An idle transaction keeps its locks no longer than this.
                ("idle_in_transaction_session_timeout", time_out.to_string()),
                // Whatever the role's default is: a statement sees what was committed before it.
                ("default_transaction_isolation", "read committed".to_owned()),
            ])
            .options(PLANNING)
            .options([(MARK, "on")]);
        let permits = Permits::adaptive(settings.max_connections);
        let searches = searches_at_once(settings.max_connections as usize);
        let operations = metrics::counter!(DATABASE_OPERATIONS);
        if let Some(connections) = direct_pool(direct, settings).await? {
            return Ok(Self {
                connections,
                permits,
                searches,
                operations,
                deadline: settings.deadline,
                begin: BEGIN.into_sql_str(),
                is_proxied: false,
            });
        }
        tracing::info!("the database is behind a proxy: every operation is a transaction");
        let begin = format!(
            "{BEGIN}; SET LOCAL statement_timeout = {time_out}; SET LOCAL idle_in_transaction_session_timeout = {time_out}"
        );
        Ok(Self {
            connections: pool(plain, settings, false).await?,
            permits,
            searches,
            operations,
            deadline: settings.deadline,
            begin: AssertSqlSafe(begin).into_sql_str(),
            is_proxied: true,
        })
    }

    /// Runs an operation on one connection within the deadline, waiting for the connection included. An operation of
    /// more than one statement is for [`Pool::transaction`].
    ///
    /// # Errors
    /// [`sqlx::Error::PoolTimedOut`] also when Postgres did not respond in time: whether the operation took place is
    /// unknown then. To an operation that waited too long for its permit, one that becomes
    /// [`StoreError::Busy`](crate::store::StoreError::Busy).
    pub(super) fn run<T>(
        &self,
        call: impl AsyncFnOnce(&mut Session) -> Result<T, sqlx::Error>,
    ) -> impl Future<Output = Result<T, sqlx::Error>> {
        self.operate(Turn::WithPermit, self.is_proxied, call)
    }

    /// The same, as a step of a search if it is such a step: all searches together use a part of the connections.
    ///
    /// # Errors
    /// As [`Pool::run`].
    pub(super) fn search_if<T>(
        &self,
        is_search: bool,
        call: impl AsyncFnOnce(&mut Session) -> Result<T, sqlx::Error>,
    ) -> impl Future<Output = Result<T, sqlx::Error>> {
        let turn = if is_search {
            Turn::OfSearch
        } else {
            Turn::WithPermit
        };
        self.operate(turn, self.is_proxied, call)
    }

    /// The same, before operations for which no redirect waits.
    ///
    /// # Errors
    /// As [`Pool::run`].
    pub(super) fn run_with_priority<T>(
        &self,
        call: impl AsyncFnOnce(&mut Session) -> Result<T, sqlx::Error>,
    ) -> impl Future<Output = Result<T, sqlx::Error>> {
        self.operate(Turn::First, self.is_proxied, call)
    }

    /// The same in one transaction; rolled back where it fails.
    ///
    /// # Errors
    /// As [`Pool::run`].
    pub(super) fn transaction<T>(
        &self,
        call: impl AsyncFnOnce(&mut Session) -> Result<T, sqlx::Error>,
    ) -> impl Future<Output = Result<T, sqlx::Error>> {
        self.operate(Turn::First, true, call)
    }

    /// The rows of a statement.
    ///
    /// # Errors
    /// As [`Pool::run`].
    pub(in crate::store) async fn rows(&self, query: Query<'_>) -> Result<Vec<Row>, StoreError> {
        let turn = query.turn();
        let rows = self.operate(turn, self.is_proxied, async |session| {
            rows_of_postgres(session, query).await
        });
        Ok(rows.await?)
    }

    /// The first row of a statement.
    ///
    /// # Errors
    /// As [`Pool::run`].
    pub(in crate::store) async fn row(&self, query: Query<'_>) -> Result<Option<Row>, StoreError> {
        let turn = query.turn();
        let row = self.operate(turn, self.is_proxied, async |session| {
            row_of_postgres(session, query).await
        });
        Ok(row.await?)
    }

    /// Runs a statement; returns how many rows it changed.
    ///
    /// # Errors
    /// As [`Pool::run`].
    pub(in crate::store) async fn affected(&self, query: Query<'_>) -> Result<u64, StoreError> {
        let turn = query.turn();
        let affected = self.operate(turn, self.is_proxied, async |session| {
            affected_in_postgres(session, query).await
        });
        Ok(affected.await?)
    }

    /// [`Pool::transaction`] of statements for both databases.
    ///
    /// # Errors
    /// As [`Pool::run`], and those of the call.
    pub(in crate::store) async fn transaction_of<T, E: From<StoreError>>(
        &self,
        turn: Turn,
        call: impl AsyncFnOnce(&mut Connection<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let lease = self.lease(turn, true).await;
        let mut lease = lease.map_err(StoreError::from)?;
        let ends_at = lease.ends_at;
        let mut connection = Connection::of_postgres(lease.session());
        let done = timeout_at(ends_at, call(&mut connection)).await;
        let failure = match &done {
            Ok(Ok(_)) => None,
            Ok(Err(_)) => Some(connection.into_failure()),
            Err(_) => Some(sqlx::Error::PoolTimedOut),
        };
        let ended = self.end(lease, failure.as_ref()).await;
        let done = done.map_err(|_| StoreError::from(sqlx::Error::PoolTimedOut))??;
        ended.map_err(StoreError::from)?;
        Ok(done)
    }

    /// Compiled for every operation, so what comes before and after the call is in [`Pool::lease`] and [`Pool::end`].
    async fn operate<T>(
        &self,
        turn: Turn,
        is_transaction: bool,
        call: impl AsyncFnOnce(&mut Session) -> Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        let mut lease = self.lease(turn, is_transaction).await?;
        let mut timer = pin!(unconstrained(sleep_until(lease.ends_at)));
        let done = {
            let mut call = pin!(call(lease.session()));
            poll_fn(|context| match call.as_mut().poll(context) {
                Poll::Ready(done) => Poll::Ready(done),
                Poll::Pending => timer
                    .as_mut()
                    .poll(context)
                    .map(|()| Err(sqlx::Error::PoolTimedOut)),
            })
            .await
        };
        self.end(lease, done.as_ref().err()).await?;
        done
    }

    /// A connection, in its transaction if it is to be one.
    async fn lease(&self, turn: Turn, is_transaction: bool) -> Result<Lease<'_>, sqlx::Error> {
        let search = match turn {
            Turn::OfSearch => {
                let turn = timeout(self.deadline, self.searches.acquire()).await;
                turn.map_err(|_| sqlx::Error::PoolTimedOut)?.ok()
            }
            Turn::WithPermit | Turn::First => None,
        };
        let ends_at = Instant::now() + self.deadline;
        let lease = async {
            let permit = match turn {
                Turn::First => None,
                Turn::WithPermit | Turn::OfSearch => {
                    Some(self.permits.acquire().await.map_err(refused)?)
                }
            };
            self.operations.increment(1);
            let mut lease = Lease {
                connection: Some(self.connections.get().await.map_err(unreachable)?),
                ends_at,
                is_transaction,
                _permit: permit,
                _search: search,
            };
            if is_transaction {
                let begun = lease.session().run(self.begin.clone()).await;
                if let Err(error) = begun {
                    self.settle(lease, &error).await;
                    return Err(error);
                }
            }
            Ok(lease)
        };
        let lease = timeout_at(ends_at, lease).await;
        lease.unwrap_or(Err(sqlx::Error::PoolTimedOut))
    }

    /// Ends the transaction, if it is one, and gives the connection back if it can be used again.
    async fn end(
        &self,
        mut lease: Lease<'_>,
        failure: Option<&sqlx::Error>,
    ) -> Result<(), sqlx::Error> {
        if matches!(failure, Some(sqlx::Error::PoolTimedOut)) {
            // Its next user would read the response to this statement: it is closed.
            return Ok(());
        }
        let ends_at = lease.ends_at;
        let ended = async {
            if lease.is_transaction {
                let end = if failure.is_none() {
                    "COMMIT"
                } else {
                    "ROLLBACK"
                };
                if let Err(error) = lease.session().run(end).await {
                    self.settle(lease, &error).await;
                    return Err(error);
                }
            }
            match failure {
                None => lease.give_back(),
                // The roll-back was answered.
                Some(error) if lease.is_transaction && !is_read_only(error) => lease.give_back(),
                Some(error) => self.settle(lease, error).await,
            }
            Ok(())
        };
        let ended = timeout_at(ends_at, ended).await;
        ended.unwrap_or(Err(sqlx::Error::PoolTimedOut))
    }

    /// After a failure: the connection is given back only if the server still answers.
    async fn settle(&self, mut lease: Lease<'_>, error: &sqlx::Error) {
        if is_read_only(error) {
            // This server is no primary any more, or not yet. By now the address may lead to another one.
            self.connections.retain(|_, _| false);
            return;
        }
        // A server that shuts down may have sent it last.
        let usable = matches!(error, sqlx::Error::Database(_) | sqlx::Error::RowNotFound);
        if usable && lease.session().connection.ping().await.is_ok() {
            lease.give_back();
        }
    }

    pub(in crate::store) fn connections(&self) -> InUse {
        self.permits.connections(&self.connections.status())
    }
}

fn is_read_only(error: &sqlx::Error) -> bool {
    has_code(error, READ_ONLY)
}

/// A connection in use. It is closed unless it is given back: after a time-out or a cancelled operation, its next user
/// would read the response to an earlier statement.
struct Lease<'a> {
    /// `None` once it is given back or closed.
    connection: Option<Object<Server>>,
    ends_at: Instant,
    is_transaction: bool,
    _permit: Option<Permit<'a>>,
    _search: Option<SemaphorePermit<'a>>,
}

impl Lease<'_> {
    fn session(&mut self) -> &mut Session {
        self.connection.as_mut().expect("it is given back once")
    }

    fn give_back(mut self) {
        self.connection = None;
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        drop(self.connection.take().map(Object::take));
    }
}

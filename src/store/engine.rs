//! The database that a store is in, and operations on it: each takes a connection when it is its turn, and has a deadline.

use std::sync::Arc;

use super::StoreError;
use super::connection::{Connection, Response};
use super::postgres::{CHECKS, PostgresStore, Seen, unchecked};
use super::sql::{Query, Row, Turn};
use super::sqlite::SqliteStore;

/// The database; cheap to clone.
#[derive(Clone)]
pub enum Engine {
    /// A server, which other instances use, too.
    Postgres(Arc<PostgresStore>),
    /// A file of this process.
    Sqlite(Arc<SqliteStore>),
}

impl From<Arc<PostgresStore>> for Engine {
    fn from(store: Arc<PostgresStore>) -> Self {
        Self::Postgres(store)
    }
}

impl From<Arc<SqliteStore>> for Engine {
    fn from(store: Arc<SqliteStore>) -> Self {
        Self::Sqlite(store)
    }
}

impl Engine {
    /// The rows of a statement that only reads.
    pub(super) fn read<'a>(&'a self, query: Query<'a>) -> Response<'a, Vec<Row>> {
        match self {
            Self::Postgres(store) => Box::pin(store.pool.rows(query)),
            Self::Sqlite(store) => Box::pin(store.reader.rows(query)),
        }
    }

    /// The first row of a statement that only reads.
    pub(super) fn read_one<'a>(&'a self, query: Query<'a>) -> Response<'a, Option<Row>> {
        match self {
            Self::Postgres(store) => Box::pin(store.pool.row(query)),
            Self::Sqlite(store) => Box::pin(store.reader.row(query)),
        }
    }

    /// A part of a statement in the words of this database.
    pub(super) fn either<T>(&self, postgres: T, sqlite: T) -> T {
        match self {
            Self::Postgres(_) => postgres,
            Self::Sqlite(_) => sqlite,
        }
    }

    /// The statement with the moment by the database's own clock as `now_micros()`: instances that share a Postgres do not compare
    /// their clocks. That of SQLite is the clock of its process.
    pub(super) fn by_its_clock<'q>(&self, query: Query<'q>) -> Query<'q> {
        match self {
            Self::Postgres(_) => query,
            Self::Sqlite(store) => query.at(store.clock.now()),
        }
    }

    /// The rows that a writing statement returns.
    pub(super) fn write<'a>(&'a self, query: Query<'a>) -> Response<'a, Vec<Row>> {
        match self {
            Self::Postgres(store) => Box::pin(store.pool.rows(query)),
            Self::Sqlite(store) => Box::pin(store.writer.rows(query)),
        }
    }

    /// Runs a writing statement; returns how many rows it changed.
    pub(super) fn execute<'a>(&'a self, query: Query<'a>) -> Response<'a, u64> {
        match self {
            Self::Postgres(store) => Box::pin(store.pool.affected(query)),
            Self::Sqlite(store) => Box::pin(store.writer.affected(query)),
        }
    }

    /// Runs several statements in one transaction. It is committed if the call returns `Ok`, and rolled back otherwise.
    pub(super) async fn transaction<T, E: From<StoreError>>(
        &self,
        call: impl AsyncFnOnce(&mut Connection<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.transaction_in_turn(Turn::First, call).await
    }

    /// The same, in Postgres with a connection in this turn. SQLite has one writer.
    pub(super) async fn transaction_in_turn<T, E: From<StoreError>>(
        &self,
        turn: Turn,
        call: impl AsyncFnOnce(&mut Connection<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        match self {
            Self::Postgres(store) => store.pool.transaction_of(turn, call).await,
            Self::Sqlite(store) => {
                let mut writer = store.writer.get().await?;
                let mut transaction = writer.begin_immediate().await?;
                let done = call(&mut Connection::of_sqlite(&mut transaction)).await?;
                transaction.commit().await.map_err(StoreError::from)?;
                Ok(done)
            }
        }
    }

    /// Makes rows that get new ids. A statement of the call that gives ids out reads the view `checked_server`, and makes nothing
    /// on a server of Postgres that was started since the last check. Then it returns `None`, the server is checked, and the
    /// call is made again.
    pub(super) async fn with_new_ids<T, E: From<StoreError>, Made>(
        &self,
        call: impl Fn() -> Made,
    ) -> Result<T, E>
    where
        Made: Future<Output = Result<Option<T>, E>>,
    {
        for _ in 0..CHECKS {
            if let Some(made) = call().await? {
                return Ok(made);
            }
            if let Self::Postgres(store) = self {
                store.check_server().await?;
            }
        }
        Err(unchecked().into())
    }

    /// Where to note which rows this instance has seen in Postgres. The file of SQLite does not go back beneath its process.
    pub(super) fn seen(&self) -> Option<&Seen> {
        match self {
            Self::Postgres(store) => Some(&store.seen),
            Self::Sqlite(_) => None,
        }
    }
}

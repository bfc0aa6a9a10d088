//! The database that a store is in, and operations on it: each takes a connection when it is its turn, and has a deadline.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use sqlx::{Executor, SqliteConnection};

use super::StoreError;
use super::postgres::{self, PostgresStore, Session};
use super::sql::{Query, Row};
use super::sqlite::{self, SqliteStore};
use crate::domain::{Interval, LinkId, ShortCode, Timestamp};

/// What an operation returns. It is on the heap, so that the types of its callers stay small.
pub(super) type Response<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

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
        match self {
            Self::Postgres(store) => store.pool.transaction_of(call).await,
            Self::Sqlite(store) => {
                let mut writer = store.writer.get().await?;
                let mut transaction = writer.begin_immediate().await?;
                let done = call(&mut Connection::of_sqlite(&mut transaction)).await?;
                transaction.commit().await.map_err(StoreError::from)?;
                Ok(done)
            }
        }
    }
}

impl Engine {
    /// Checks a server that was started since the last check, before it gives out ids.
    pub(super) async fn check_server(&self) -> Result<(), StoreError> {
        match self {
            Self::Postgres(store) => store.check_server().await,
            Self::Sqlite(_) => Ok(()),
        }
    }

    /// Notes a link that the database has: a server that lacks it went back.
    pub(super) fn note_created(&self, link: LinkId, code: &ShortCode) {
        if let Self::Postgres(store) = self {
            store.seen.created(link, code);
        }
    }

    /// The same of a link that was deleted.
    pub(super) fn note_deleted(&self, code: &ShortCode) {
        if let Self::Postgres(store) = self {
            store.seen.deleted(code);
        }
    }
}

/// A connection in use by an operation.
pub(super) struct Connection<'c> {
    inner: Inner<'c>,
    /// The last failure: it shows whether the connection can be used again.
    failure: Option<sqlx::Error>,
}

enum Inner<'c> {
    Postgres(&'c mut Session),
    Sqlite(&'c mut SqliteConnection),
}

impl<'c> Connection<'c> {
    pub(super) fn of_postgres(session: &'c mut Session) -> Self {
        Self {
            inner: Inner::Postgres(session),
            failure: None,
        }
    }

    pub(super) fn of_sqlite(connection: &'c mut SqliteConnection) -> Self {
        Self {
            inner: Inner::Sqlite(connection),
            failure: None,
        }
    }

    /// All rows of a statement. A statement of SQLite is committed, or fails to be, only at its end: so all rows are read.
    pub(super) fn all<'a>(&'a mut self, query: Query<'a>) -> Response<'a, Vec<Row>> {
        Box::pin(async {
            let rows = match &mut self.inner {
                Inner::Postgres(session) => rows_of_postgres(session, query).await,
                Inner::Sqlite(connection) => rows_of_sqlite(connection, query).await,
            };
            rows.map_err(|error| self.failed(error))
        })
    }

    /// The first row of a statement.
    pub(super) async fn optional(&mut self, query: Query<'_>) -> Result<Option<Row>, StoreError> {
        Ok(self.all(query).await?.into_iter().next())
    }

    /// Runs a statement; returns how many rows it changed.
    pub(super) fn execute<'a>(&'a mut self, query: Query<'a>) -> Response<'a, u64> {
        Box::pin(async {
            let affected = match &mut self.inner {
                Inner::Postgres(session) => affected_in_postgres(session, query).await,
                Inner::Sqlite(connection) => affected_in_sqlite(connection, query).await,
            };
            affected.map_err(|error| self.failed(error))
        })
    }

    /// Locks rows until the transaction ends, by a statement for Postgres. SQLite has one writer at a time, so a transaction is
    /// alone with its rows.
    pub(super) async fn lock(&mut self, query: Query<'_>) -> Result<(), StoreError> {
        if matches!(self.inner, Inner::Postgres(_)) {
            self.all(query).await?;
        }
        Ok(())
    }

    /// Adds clicks of one interval to links, each named once, and to the sums of their owners.
    pub(super) fn count_clicks<'a>(
        &'a mut self,
        clicks: &'a [(LinkId, u64)],
        interval: Interval,
    ) -> Response<'a, ()> {
        Box::pin(async move {
            let counted = match &mut self.inner {
                Inner::Postgres(session) => postgres::count_clicks(session, clicks, interval).await,
                Inner::Sqlite(connection) => {
                    sqlite::count_clicks(connection, clicks, interval).await
                }
            };
            counted.map_err(|error| self.failed(error))
        })
    }

    /// The clicks of a link that the database has.
    pub(super) fn written_clicks(&mut self, link: LinkId, now: Timestamp) -> Response<'_, u64> {
        Box::pin(async move {
            let clicks = match &mut self.inner {
                Inner::Postgres(session) => postgres::written_clicks(session, link).await,
                Inner::Sqlite(connection) => sqlite::written_clicks(connection, link, now).await,
            };
            clicks.map_err(|error| self.failed(error))
        })
    }

    fn failed(&mut self, error: sqlx::Error) -> StoreError {
        let failure = StoreError::from(&error);
        self.failure = Some(error);
        failure
    }

    /// Why the operation failed. An operation that refuses something by itself leaves its connection as it is.
    pub(super) fn into_failure(self) -> sqlx::Error {
        self.failure.unwrap_or(sqlx::Error::RowNotFound)
    }
}

pub(super) async fn rows_of_postgres(
    session: &mut Session,
    query: Query<'_>,
) -> Result<Vec<Row>, sqlx::Error> {
    let (sql, arguments) = query.for_postgres()?;
    let rows = session.fetch_all(sqlx::query_with(sql, arguments)).await?;
    Ok(rows.into_iter().map(Row::Postgres).collect())
}

pub(super) async fn row_of_postgres(
    session: &mut Session,
    query: Query<'_>,
) -> Result<Option<Row>, sqlx::Error> {
    let (sql, arguments) = query.for_postgres()?;
    let row = session
        .fetch_optional(sqlx::query_with(sql, arguments))
        .await?;
    Ok(row.map(Row::Postgres))
}

pub(super) async fn affected_in_postgres(
    session: &mut Session,
    query: Query<'_>,
) -> Result<u64, sqlx::Error> {
    let (sql, arguments) = query.for_postgres()?;
    let result = session.execute(sqlx::query_with(sql, arguments)).await?;
    Ok(result.rows_affected())
}

pub(super) async fn rows_of_sqlite(
    connection: &mut SqliteConnection,
    query: Query<'_>,
) -> Result<Vec<Row>, sqlx::Error> {
    let (sql, arguments) = query.for_sqlite()?;
    let rows = connection
        .fetch_all(sqlx::query_with(sql, arguments))
        .await?;
    Ok(rows.into_iter().map(Row::Sqlite).collect())
}

/// The first row of a statement that only reads: one that writes is committed at its end.
pub(super) async fn row_of_sqlite(
    connection: &mut SqliteConnection,
    query: Query<'_>,
) -> Result<Option<Row>, sqlx::Error> {
    let (sql, arguments) = query.for_sqlite()?;
    let row = connection
        .fetch_optional(sqlx::query_with(sql, arguments))
        .await?;
    Ok(row.map(Row::Sqlite))
}

pub(super) async fn affected_in_sqlite(
    connection: &mut SqliteConnection,
    query: Query<'_>,
) -> Result<u64, sqlx::Error> {
    let (sql, arguments) = query.for_sqlite()?;
    let result = connection.execute(sqlx::query_with(sql, arguments)).await?;
    Ok(result.rows_affected())
}

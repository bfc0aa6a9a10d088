//! A connection to either database, in use by an operation, and how it runs a statement.

use futures_util::future::BoxFuture;
use sqlx::{Executor, SqliteConnection};

use super::StoreError;
use super::postgres::session::Session;
use super::sql::{Query, Row};

/// What an operation returns. It is on the heap, so that the types of its callers stay small.
pub(super) type Response<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// A connection in use by an operation.
pub(super) struct Connection<'c> {
    pub(super) inner: Inner<'c>,
    /// The last failure: it shows whether the connection can be used again.
    failure: Option<sqlx::Error>,
}

/// The connection that it is.
pub(super) enum Inner<'c> {
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

    /// The row of a statement that always has one.
    pub(super) async fn one(&mut self, query: Query<'_>) -> Result<Row, StoreError> {
        let found = self.optional(query).await?;
        found.ok_or_else(|| StoreError::Unexpected("a statement has no row".into()))
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

    pub(super) fn failed(&mut self, error: sqlx::Error) -> StoreError {
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

//! A connection to Postgres, as operations see it.

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgQueryResult, PgRow, PgStatement, PgTypeInfo};
use sqlx::{Either, Error, Execute, Executor, PgConnection, Postgres, SqlSafeStr, SqlStr};

/// A connection, and whether it keeps prepared statements.
#[derive(Debug)]
pub(in crate::store) struct Session {
    pub(super) connection: PgConnection,
    /// Whether statements are prepared once and kept. A proxy may give every transaction another server connection:
    /// there, statements have no name and last until the next one.
    pub(super) keeps_statements: bool,
}

impl Session {
    /// Runs statements without parameters and without results.
    pub(super) async fn run(&mut self, sql: impl SqlSafeStr) -> Result<(), Error> {
        sqlx::raw_sql(sql).execute(&mut self.connection).await?;
        Ok(())
    }
}

impl<'c> Executor<'c> for &'c mut Session {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(
        self,
        query: E,
    ) -> BoxStream<'e, Result<Either<PgQueryResult, PgRow>, Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let keeps = self.keeps_statements;
        self.connection.fetch_many(Prepared { query, keeps })
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, Result<Option<PgRow>, Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let keeps = self.keeps_statements;
        self.connection.fetch_optional(Prepared { query, keeps })
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [PgTypeInfo],
    ) -> BoxFuture<'e, Result<PgStatement, Error>>
    where
        'c: 'e,
    {
        self.connection.prepare_with(sql, parameters)
    }
}

/// A query that is prepared as its session wants it.
struct Prepared<E> {
    query: E,
    keeps: bool,
}

impl<'q, E: Execute<'q, Postgres>> Execute<'q, Postgres> for Prepared<E> {
    fn sql(self) -> SqlStr {
        self.query.sql()
    }

    fn statement(&self) -> Option<&PgStatement> {
        self.query.statement()
    }

    fn take_arguments(&mut self) -> Result<Option<PgArguments>, BoxDynError> {
        self.query.take_arguments()
    }

    fn persistent(&self) -> bool {
        self.keeps && self.query.persistent()
    }
}

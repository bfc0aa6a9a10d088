//! A statement, its values and its rows, over Postgres and SQLite.
//!
//! Both databases keep moments as microseconds and tags as JSON, and both read `$1`: so most statements are one text.
//! `connection.rs` runs them: so each driver is compiled only once, not for every statement.

use std::borrow::Cow;

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Arguments, AssertSqlSafe, ColumnIndex, Decode, SqlSafeStr, SqlStr, Type, ValueRef};

use super::StoreError;
use crate::domain::{
    LinkId, PoolId, RemovalId, RemovalStatus, ShortCode, Timestamp, TokenKey, UserId,
};

/// When an operation gets a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Turn {
    /// Before operations for which no redirect waits.
    First,
    /// With one of the permits.
    #[default]
    WithPermit,
    /// With one of the permits, and as one of the searches that run at once: all of them together use a part of the
    /// connections, however many there are.
    OfSearch,
}

/// A statement with its values.
#[derive(Clone, Debug)]
pub(super) struct Query<'q> {
    postgres: SqlStr,
    sqlite: SqlStr,
    values: Vec<Value<'q>>,
    turn: Turn,
}

/// A statement that both databases understand.
pub(super) fn query<'q>(sql: &'static str) -> Query<'q> {
    query_of_each(sql, sql)
}

/// The same statement in the words of each database.
pub(super) fn query_of_each<'q>(postgres: &'static str, sqlite: &'static str) -> Query<'q> {
    Query {
        postgres: postgres.into_sql_str(),
        sqlite: sqlite.into_sql_str(),
        values: Vec::new(),
        turn: Turn::default(),
    }
}

impl<'q> Query<'q> {
    /// A statement that both databases understand, put together from texts of this program. It has no text of a client.
    pub(super) fn built(sql: String) -> Self {
        Self::built_of_each(sql.clone(), sql)
    }

    /// The same in the words of each database.
    pub(super) fn built_of_each(postgres: String, sqlite: String) -> Self {
        Self {
            postgres: AssertSqlSafe(postgres).into_sql_str(),
            sqlite: AssertSqlSafe(sqlite).into_sql_str(),
            values: Vec::new(),
            turn: Turn::default(),
        }
    }

    /// Locks the rows of a table that it reads until the transaction ends, in Postgres: SQLite has one writer at a time.
    pub(super) fn locked(mut self, table: &'static str) -> Self {
        let locked = format!("{} FOR UPDATE OF {table}", self.postgres.as_str());
        self.postgres = AssertSqlSafe(locked).into_sql_str();
        self
    }

    /// Gives the next parameter its value.
    pub(super) fn bind(mut self, value: impl Into<Value<'q>>) -> Self {
        self.values.push(value.into());
        self
    }

    /// Gives SQLite, which has no function `now_micros()`, this moment instead. To be called after all values are bound.
    pub(super) fn at(mut self, now: Timestamp) -> Self {
        let value = format!("${}", self.values.len() + 1);
        let sql = self.sqlite.as_str().replace("now_micros()", &value);
        self.sqlite = AssertSqlSafe(sql).into_sql_str();
        self.bind(now)
    }

    /// Runs it before operations for which no redirect waits.
    pub(super) fn first(mut self) -> Self {
        self.turn = Turn::First;
        self
    }

    /// Runs it as a step of a search.
    pub(super) fn of_search(mut self) -> Self {
        self.turn = Turn::OfSearch;
        self
    }

    pub(super) fn turn(&self) -> Turn {
        self.turn
    }

    pub(super) fn for_postgres(self) -> Result<(SqlStr, PgArguments), sqlx::Error> {
        let mut arguments = PgArguments::default();
        for value in self.values {
            match value {
                Value::Integer(value) => arguments.add(value),
                Value::Boolean(value) => arguments.add(value),
                Value::Text(value) => arguments.add(value.as_deref()),
                Value::Bytes(value) => arguments.add(value),
            }
            .map_err(sqlx::Error::Encode)?;
        }
        Ok((self.postgres, arguments))
    }

    pub(super) fn for_sqlite(self) -> Result<(SqlStr, SqliteArguments), sqlx::Error> {
        let mut arguments = SqliteArguments::default();
        for value in self.values {
            match value {
                Value::Integer(value) => Arguments::add(&mut arguments, value),
                Value::Boolean(value) => Arguments::add(&mut arguments, value),
                Value::Text(value) => Arguments::add(&mut arguments, value.map(Cow::into_owned)),
                Value::Bytes(value) => Arguments::add(&mut arguments, value.map(<[u8]>::to_vec)),
            }
            .map_err(sqlx::Error::Encode)?;
        }
        Ok((self.sqlite, arguments))
    }
}

/// The value of a parameter.
#[derive(Clone, Debug)]
pub(super) enum Value<'q> {
    Integer(Option<i64>),
    Boolean(bool),
    Text(Option<Cow<'q, str>>),
    Bytes(Option<&'q [u8]>),
}

/// The values of a statement that is put together, each with a name in its text.
#[derive(Debug, Default)]
pub(super) struct Values<'q>(Vec<Value<'q>>);

impl<'q> Values<'q> {
    /// Takes a value, and returns its name: `$1`, `$2` and so on.
    pub(super) fn name(&mut self, value: impl Into<Value<'q>>) -> String {
        self.0.push(value.into());
        format!("${}", self.0.len())
    }

    /// The statement, as [`Query::built`].
    pub(super) fn query(self, sql: String) -> Query<'q> {
        Query {
            values: self.0,
            ..Query::built(sql)
        }
    }
}

/// What becomes a value: each type by one expression, and an `Option` of it. A list is a JSON text.
macro_rules! values {
    ($($variant:ident($($type:ty, $value:ident => $given:expr;)+))+) => {$($(
        impl<'q> From<$type> for Value<'q> {
            fn from($value: $type) -> Self {
                Self::$variant(Some($given))
            }
        }

        impl<'q> From<Option<$type>> for Value<'q> {
            fn from(value: Option<$type>) -> Self {
                Self::$variant(value.map(|$value| $given))
            }
        }
    )+)+};
}

values! {
    Integer(
        i64, number => number;
        u32, number => number.into();
        Timestamp, at => at.micros();
        UserId, user => user.0;
        LinkId, link => link.number();
        PoolId, pool => pool.number();
        RemovalId, removal => removal.0;
        RemovalStatus, status => status.code().into();
    )
    Text(
        &'q str, text => Cow::Borrowed(text);
        String, text => Cow::Owned(text);
        &'q ShortCode, code => Cow::Borrowed(code.as_key());
        &'q [LinkId], links => Cow::Owned(json_list(links));
        &'q [i64], numbers => Cow::Owned(serde_json::Value::from(numbers).to_string());
        &'q [String], texts => Cow::Owned(serde_json::Value::from(texts).to_string());
    )
    Bytes(
        &'q [u8], bytes => bytes;
        &'q TokenKey, key => key.as_bytes();
    )
}

/// Numbers for `json_each`, which both databases have.
fn json_list(links: &[LinkId]) -> String {
    let numbers: serde_json::Value = links.iter().map(|link| link.number()).collect();
    numbers.to_string()
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

/// A row of a result. Its columns are read by their names.
pub(super) enum Row {
    Postgres(PgRow),
    Sqlite(SqliteRow),
}

impl Row {
    /// The value of a column.
    ///
    /// # Errors
    /// [`StoreError::Unexpected`] without such a column, and if its value is not of this type.
    pub(super) fn get<T: Column>(&self, name: &str) -> Result<T, StoreError> {
        T::read(self, name)
    }

    fn is_null(&self, name: &str) -> Result<bool, StoreError> {
        use sqlx::Row as _;
        Ok(match self {
            Self::Postgres(row) => row.try_get_raw(name)?.is_null(),
            Self::Sqlite(row) => row.try_get_raw(name)?.is_null(),
        })
    }

    fn decode<T>(&self, name: &str) -> Result<T, StoreError>
    where
        T: for<'r> Decode<'r, sqlx::Postgres>
            + Type<sqlx::Postgres>
            + for<'r> Decode<'r, sqlx::Sqlite>
            + Type<sqlx::Sqlite>,
        for<'n> &'n str: ColumnIndex<PgRow> + ColumnIndex<SqliteRow>,
    {
        use sqlx::Row as _;
        Ok(match self {
            Self::Postgres(row) => row.try_get(name)?,
            Self::Sqlite(row) => row.try_get(name)?,
        })
    }
}

/// A value of a column.
pub(super) trait Column: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// As [`Row::get`].
    fn read(row: &Row, name: &str) -> Result<Self, StoreError>;
}

macro_rules! plain_columns {
    ($($type:ty),+) => {$(
        impl Column for $type {
            fn read(row: &Row, name: &str) -> Result<Self, StoreError> {
                row.decode(name)
            }
        }
    )+};
}

plain_columns!(i64, bool, String, Vec<u8>);

impl<T: Column> Column for Option<T> {
    fn read(row: &Row, name: &str) -> Result<Self, StoreError> {
        if row.is_null(name)? {
            return Ok(None);
        }
        T::read(row, name).map(Some)
    }
}

//! Errors of the database, and what they mean to the caller.

use deadpool::managed::PoolError;
use sqlx::error::DatabaseError;

use super::queue_delay::QueueStands;
use crate::telemetry::metrics::DATABASE_ERRORS;

/// Why the database did not do what it was asked.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// It cannot be reached, is overloaded or refuses to write (a full disk, a read-only replica): the same request may
    /// succeed later. Whether a write took place is unknown.
    #[error("the database is unavailable: {0}")]
    Unavailable(String),
    /// There was no connection to it: nothing was asked, and nothing took place.
    #[error("the database is unavailable: {0}")]
    Unreachable(String),
    /// Too many operations wait for it: nothing was asked, and nothing took place.
    #[error("too many operations wait for the database")]
    Busy,
    /// It is as large as it may be: nothing that makes it grow takes place.
    #[error("the database is as large as it may be")]
    Full,
    /// Its response is not what the code expects: a defect.
    #[error("the database answered unexpectedly: {0}")]
    Unexpected(String),
}

/// Why a database could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It may be available soon: it is not started yet, starts, or has no free connection.
    #[error("{0}")]
    NotYet(String),
    /// It cannot be opened with this address: a wrong password, an unknown database, no permission.
    #[error("{0}")]
    Wrong(String),
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        Self::from(&error)
    }
}

impl From<&sqlx::Error> for StoreError {
    fn from(error: &sqlx::Error) -> Self {
        if marked::<QueueStands>(error).is_some() {
            return Self::Busy;
        }
        metrics::counter!(DATABASE_ERRORS).increment(1);
        if let Some(NoConnection(why)) = marked(error) {
            return Self::Unreachable(why.clone());
        }
        let passing = match error {
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::Protocol(_) => true,
            sqlx::Error::Database(error) => is_passing(&**error),
            _ => false,
        };
        if passing {
            Self::Unavailable(message(error))
        } else {
            Self::Unexpected(message(error))
        }
    }
}

impl From<QueueStands> for StoreError {
    fn from(_: QueueStands) -> Self {
        Self::Busy
    }
}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(why) | StoreError::Unreachable(why) => Self::NotYet(why),
            StoreError::Busy | StoreError::Full => Self::NotYet(error.to_string()),
            StoreError::Unexpected(why) => Self::Wrong(why),
        }
    }
}

impl From<sqlx::Error> for OpenError {
    fn from(error: sqlx::Error) -> Self {
        if let sqlx::Error::Tls(_) = error {
            let advice = "give another sslmode, or a certificate that is trusted";
            return Self::Wrong(format!("{error}; {advice}"));
        }
        let code = error
            .as_database_error()
            .and_then(|error| Some(error.code()?.into_owned()));
        let advice = match code.as_deref() {
            Some("3D000") => "create it, or name another",
            Some("28P01" | "28000") => "give a user and password that are let in",
            Some("42501") => {
                "let the user CREATE on the database's schema, or run `shunt migrate` as its owner"
            }
            // SQLite's.
            Some("26") => "name another file, or a new one",
            Some("14") => "name a file that can be made and written",
            _ => return StoreError::from(error).into(),
        };
        Self::Wrong(format!("{}; {advice}", message(&error)))
    }
}

/// The database's own message, without the place in its source code.
fn message(error: &sqlx::Error) -> String {
    match error.as_database_error() {
        Some(error) => error.message().to_owned(),
        None => error.to_string(),
    }
}

impl From<sqlx::migrate::MigrateError> for OpenError {
    fn from(error: sqlx::migrate::MigrateError) -> Self {
        match error {
            sqlx::migrate::MigrateError::Execute(error) => error.into(),
            sqlx::migrate::MigrateError::ExecuteMigration(error, version) => match error.into() {
                Self::Wrong(why) => Self::Wrong(format!(
                    "the schema cannot be brought to version {version}: {why}; if the database holds something else, name another"
                )),
                not_yet @ Self::NotYet(_) => not_yet,
            },
            other => Self::Wrong(other.to_string()),
        }
    }
}

/// Why there is no connection for an operation: nothing was sent to the database.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct NoConnection(String);

/// Why there is no connection for an operation, as an error of sqlx. Every cause, even a wrong password, counts as an
/// outage: the database could be reached when the service was started.
pub(super) fn unreachable(error: PoolError<sqlx::Error>) -> sqlx::Error {
    let why = NoConnection(message(&of_pool(error)));
    sqlx::Error::Io(std::io::Error::other(why))
}

/// A refusal as an error of sqlx.
pub(super) fn refused(why: QueueStands) -> sqlx::Error {
    sqlx::Error::Io(std::io::Error::other(why))
}

/// The error of this service's own in one of sqlx.
fn marked<E: std::error::Error + Send + Sync + 'static>(error: &sqlx::Error) -> Option<&E> {
    let sqlx::Error::Io(error) = error else {
        return None;
    };
    error.get_ref()?.downcast_ref()
}

/// Why there is no connection, as an error of sqlx.
pub(super) fn of_pool(error: PoolError<sqlx::Error>) -> sqlx::Error {
    match error {
        PoolError::Backend(error) => error,
        PoolError::Closed => sqlx::Error::PoolClosed,
        _ => sqlx::Error::PoolTimedOut,
    }
}

/// Whether the same operation may succeed later.
fn is_passing(error: &dyn DatabaseError) -> bool {
    let Some(code) = error.code() else {
        return false;
    };
    if error
        .try_downcast_ref::<sqlx::sqlite::SqliteError>()
        .is_some()
    {
        // Low byte of SQLite's extended codes: busy, locked, read-only, interrupted, I/O, full, cannot open.
        let primary = code.parse::<u32>().unwrap_or_default() & 0xff;
        return matches!(primary, 5 | 6 | 8 | 9 | 10 | 13 | 14);
    }
    // Another account took the address at the same moment: the next attempt finds that account.
    if error.constraint() == Some("users_email_key_unique") {
        return true;
    }
    // Postgres' classes: connection, resources, operator intervention (shutdown, statement timeout),
    // system error; read-only transaction; serialization failure and deadlock; a lock that is not available.
    matches!(code.get(..2), Some("08" | "53" | "57" | "58"))
        || matches!(&*code, "25006" | "40001" | "40P01" | "55P03")
}

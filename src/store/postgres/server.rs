//! Connections to a server of Postgres: how they are made and kept, and whether they lead to it directly.

use std::str::FromStr;
use std::time::Duration;

use deadpool::Runtime;
use deadpool::managed::{Manager, Metrics, RecycleError, RecycleResult, Timeouts};
use sqlx::error::DatabaseError;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use tokio::time::timeout;

use super::session::Session;
use crate::store::failure::of_pool;
use crate::store::{OpenError, StoreSettings};

pub(super) type Connections = deadpool::managed::Pool<Server>;

/// A connection that was idle for longer is pinged before it is used. A ping before every use would be a round trip for
/// every statement.
const IDLE: Duration = Duration::from_secs(1);

/// A connection that is older is replaced: a process of Postgres grows with its age.
const LIFETIME: Duration = Duration::from_mins(30);

/// The error code of a proxy that refuses a setting at the start of a connection.
const PROTOCOL_VIOLATION: &str = "08P01";

/// A setting of this service's own. Only a direct connection starts with it: proxies refuse it or leave it out.
pub(super) const MARK: &str = "shunt.direct";

/// How a connection is made, without settings of its session.
pub(super) fn options(url: &str) -> Result<PgConnectOptions, OpenError> {
    let options = PgConnectOptions::from_str(url).map_err(|error| {
        // Sqlx repeats this at every level.
        let message = error.to_string();
        OpenError::Wrong(message.replace("error with configuration: ", ""))
    })?;
    Ok(options
        .application_name("shunt")
        // For floating-point numbers, which no statement returns; PgBouncer does not know it.
        .extra_float_digits(None))
}

/// `None` where a proxy does not pass the settings of a new connection on to Postgres.
pub(super) async fn direct_pool(
    options: PgConnectOptions,
    settings: StoreSettings,
) -> Result<Option<Connections>, sqlx::Error> {
    let connections = match pool(options, settings, true).await {
        Err(error) if is_refused_setting(&error) => return Ok(None),
        connected => connected?,
    };
    let mut session = connections.get().await.map_err(of_pool)?;
    let ask = AssertSqlSafe(format!("SELECT current_setting('{MARK}', true)"));
    let asked = sqlx::raw_sql(ask).fetch_one(&mut session.connection);
    let response = timeout(settings.deadline, asked).await;
    let mark: Option<String> = response
        .unwrap_or(Err(sqlx::Error::PoolTimedOut))?
        .try_get(0)?;
    drop(session);
    Ok((mark.as_deref() == Some("on")).then_some(connections))
}

/// A pool whose first connection shows whether there is a server at all.
pub(super) async fn pool(
    options: PgConnectOptions,
    settings: StoreSettings,
    keeps_statements: bool,
) -> Result<Connections, sqlx::Error> {
    let server = Server {
        options,
        keeps_statements,
    };
    let pool = deadpool::managed::Pool::builder(server)
        .max_size(settings.max_connections as usize)
        .timeouts(Timeouts {
            wait: Some(settings.deadline),
            create: Some(settings.deadline),
            recycle: Some(settings.deadline),
        })
        .runtime(Runtime::Tokio1)
        .build()
        .expect("it has the runtime that its timeouts need");
    drop(pool.get().await.map_err(of_pool)?);
    Ok(pool)
}

/// Opens connections. The pool of sqlx is not used: it pings a connection before and after each use, two round trips
/// in addition to the one of the operation.
pub(super) struct Server {
    options: PgConnectOptions,
    keeps_statements: bool,
}

impl Manager for Server {
    type Type = Session;
    type Error = sqlx::Error;

    async fn create(&self) -> Result<Session, sqlx::Error> {
        // Boxed: the future is large and seldom needed; operations that wait for a connection need not pay for its size.
        Ok(Session {
            connection: Box::pin(PgConnection::connect_with(&self.options)).await?,
            keeps_statements: self.keeps_statements,
        })
    }

    async fn recycle(&self, session: &mut Session, used: &Metrics) -> RecycleResult<sqlx::Error> {
        if used.age() > LIFETIME {
            return Err(RecycleError::message("old"));
        }
        if used.last_used() > IDLE {
            session.connection.ping().await?;
        }
        Ok(())
    }
}

fn is_refused_setting(error: &sqlx::Error) -> bool {
    has_code(error, PROTOCOL_VIOLATION)
}

/// Whether it is an error of Postgres with this code.
pub(super) fn has_code(error: &sqlx::Error, wanted: &str) -> bool {
    error
        .as_database_error()
        .and_then(DatabaseError::code)
        .is_some_and(|code| code == wanted)
}

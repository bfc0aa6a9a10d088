//! Connections to Postgres, and a deadline for whatever is done over one.

use std::str::FromStr;
use std::time::Duration;

use deadpool::Runtime;
use deadpool::managed::{
    Manager, Metrics, Object, PoolError, RecycleError, RecycleResult, Timeouts,
};
use sqlx::error::DatabaseError;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};
use tokio::time::timeout;

use crate::store::{Connections as InUse, OpenError, StoreSettings};

type Connections = deadpool::managed::Pool<Server>;

/// After how long an idle connection is asked whether it still lives, before it is used: asking each time would
/// be a round trip for every statement.
const IDLE: Duration = Duration::from_secs(1);

/// After how long a connection is replaced: its server, or a proxy on the way, may have grown old with it.
const LIFETIME: Duration = Duration::from_mins(30);

/// What instances that start together take turns by, while they look at the schema: any number of this service's own.
const MIGRATION_LOCK: i64 = 0x5348_554e_5400_0001;

/// What a proxy in front of Postgres says of settings that a connection may not begin with.
const PROTOCOL_VIOLATION: &str = "08P01";

/// The pool.
pub(super) struct Pool {
    connections: Connections,
    deadline: Duration,
}

impl Pool {
    /// Connects once, to see that it can be done.
    pub(super) async fn connect(url: &str, settings: StoreSettings) -> Result<Self, OpenError> {
        let plain = PgConnectOptions::from_str(url)
            .map_err(|error| OpenError::Wrong(error.to_string()))?
            .application_name("shunt")
            // For floating-point numbers, of which there are none; PgBouncer does not know it.
            .extra_float_digits(None);
        let limited = plain.clone().options([(
            "statement_timeout",
            settings.deadline.as_millis().to_string(),
        )]);
        let connections = match pool(limited, settings).await {
            Err(error) if is_refused_setting(&error) => {
                tracing::info!(
                    "the database's proxy takes no statement_timeout: set one for the role, see deploy/scaling.md"
                );
                pool(plain, settings).await
            }
            connected => connected,
        }?;
        Ok(Self {
            connections,
            deadline: settings.deadline,
        })
    }

    /// Brings the schema up to date, in one transaction, under a lock that other instances respect. Both are of
    /// the transaction, not of the connection: a proxy may give every transaction another one.
    pub(super) async fn migrate(&self) -> Result<(), OpenError> {
        let mut connection = self.connections.get().await.map_err(sqlx_error)?;
        let mut transaction = connection.begin().await?;
        // Whoever is first may have much to do.
        sqlx::query("SET LOCAL statement_timeout = 0")
            .execute(&mut *transaction)
            .await?;
        sqlx::query("SELECT pg_advisory_xact_lock($1)")
            .bind(MIGRATION_LOCK)
            .execute(&mut *transaction)
            .await?;
        let mut migrations = sqlx::migrate!("migrations/postgres");
        migrations.set_locking(false).run(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Does something over one connection within the deadline, counted from when there is one.
    ///
    /// # Errors
    /// [`sqlx::Error::PoolTimedOut`] also when Postgres did not answer in time: whether it did what it was asked
    /// is unknown then.
    pub(super) async fn run<T>(
        &self,
        call: impl AsyncFnOnce(&mut PgConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        let mut lease = Lease(Some(self.connections.get().await.map_err(sqlx_error)?));
        let done = timeout(self.deadline, async {
            let done = call(lease.connection()).await;
            if let Err(error) = &done {
                // What was begun and is not to be is rolled back now.
                let usable = matches!(error, sqlx::Error::Database(_) | sqlx::Error::RowNotFound);
                if !usable || lease.connection().ping().await.is_err() {
                    return done;
                }
            }
            lease.give_back();
            done
        });
        done.await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
    }

    pub(super) fn in_use(&self) -> InUse {
        let status = self.connections.status();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        InUse {
            in_use: count(status.size.saturating_sub(status.available)),
            idle: count(status.available),
            most: count(status.max_size),
        }
    }
}

async fn pool(
    options: PgConnectOptions,
    settings: StoreSettings,
) -> Result<Connections, sqlx::Error> {
    let pool = deadpool::managed::Pool::builder(Server(options))
        .max_size(settings.max_connections as usize)
        .timeouts(Timeouts {
            wait: Some(settings.deadline),
            create: Some(settings.deadline),
            recycle: Some(settings.deadline),
        })
        .runtime(Runtime::Tokio1)
        .build()
        .expect("it has the runtime that its timeouts need");
    // The first says whether there is a server at all.
    drop(pool.get().await.map_err(sqlx_error)?);
    Ok(pool)
}

/// Makes connections. The pool of sqlx is not used: it pings a connection before each use and after it, two round
/// trips beside the one that is wanted.
struct Server(PgConnectOptions);

impl Manager for Server {
    type Type = PgConnection;
    type Error = sqlx::Error;

    async fn create(&self) -> Result<PgConnection, sqlx::Error> {
        PgConnection::connect_with(&self.0).await
    }

    async fn recycle(
        &self,
        connection: &mut PgConnection,
        used: &Metrics,
    ) -> RecycleResult<sqlx::Error> {
        if used.age() > LIFETIME {
            return Err(RecycleError::message("old"));
        }
        if used.last_used() > IDLE {
            connection.ping().await?;
        }
        Ok(())
    }
}

fn sqlx_error(error: PoolError<sqlx::Error>) -> sqlx::Error {
    match error {
        PoolError::Backend(error) => error,
        PoolError::Closed => sqlx::Error::PoolClosed,
        _ => sqlx::Error::PoolTimedOut,
    }
}

fn is_refused_setting(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .and_then(DatabaseError::code)
        .is_some_and(|code| code == PROTOCOL_VIOLATION)
}

/// A connection in use. One that nobody gives back, because its server does not answer or its user went away,
/// is closed: its next user would get an answer to the past.
struct Lease(Option<Object<Server>>);

impl Lease {
    fn connection(&mut self) -> &mut PgConnection {
        self.0.as_mut().expect("it is there until it is given back")
    }

    fn give_back(mut self) {
        self.0 = None;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        drop(self.0.take().map(Object::take));
    }
}

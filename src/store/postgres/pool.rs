//! Connections to Postgres, and a deadline for whatever is done over one.
//!
//! A proxy such as PgBouncer may give every transaction another server. Whatever would have to outlive a
//! transaction is therefore used on a direct connection alone: settings of the session, and prepared
//! statements. Through a proxy every operation is a transaction of its own, with its own time-out, and
//! prepares nothing that has a name. Which of the two it is shows when the first connection is made.

use std::str::FromStr;
use std::time::Duration;

use deadpool::Runtime;
use deadpool::managed::{Manager, Metrics, Object, RecycleError, RecycleResult, Timeouts};
use sqlx::error::DatabaseError;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row, SqlSafeStr, SqlStr};
use tokio::time::timeout;

use super::session::Session;
use crate::store::failure::{of_pool, unreachable};
use crate::store::queue::Queue;
use crate::store::{OpenError, StoreSettings, migrations};
use crate::telemetry::metrics::Connections as InUse;

type Connections = deadpool::managed::Pool<Server>;

/// After how long an idle connection is asked whether it still lives, before it is used: asking each time would
/// be a round trip for every statement.
const IDLE: Duration = Duration::from_secs(1);

/// After how long a connection is replaced: its server, or a proxy on the way, may have grown old with it.
const LIFETIME: Duration = Duration::from_mins(30);

/// What instances that start together take turns by, while they look at the schema: any number of this
/// service's own.
const MIGRATION_LOCK: i64 = 0x5348_554e_5400_0001;

/// How long an instance waits for its turn at that before it says so and tries again.
const MIGRATION_TIMEOUT: Duration = Duration::from_secs(10);

/// What a proxy in front of Postgres says of settings that a connection may not begin with.
const PROTOCOL_VIOLATION: &str = "08P01";

/// What Postgres says to who would write where nobody can: on a standby, for example.
const READ_ONLY: &str = "25006";

/// Every statement sees what was committed before it, whatever the role's default is.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// A setting of this service's own. Only a direct connection begins with it: proxies refuse it or leave it out.
const MARK: &str = "shunt.direct";

/// How a direct connection plans: each statement once, whatever its parameters. Planning a count anew each time took
/// longer than counting. Such a plan is kept until the next `ANALYZE`, so one that was made while a table was small must
/// not read all of it. Without sequential scans a join may still read a whole index: statements ask large tables for a
/// row by its key, where there are many in a subquery for each.
const PLANNING: [(&str, &str); 3] = [
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    // Forbidding scans makes what needs one look dear enough to be compiled.
    ("jit", "off"),
];

/// The pool.
pub(super) struct Pool {
    connections: Connections,
    queue: Queue,
    deadline: Duration,
    /// How a transaction begins.
    begin: SqlStr,
    /// Whether every operation is to be a transaction.
    is_proxied: bool,
}

impl Pool {
    /// Connects once, to see that it can be done, and how.
    pub(super) async fn connect(url: &str, settings: StoreSettings) -> Result<Self, OpenError> {
        let plain = PgConnectOptions::from_str(url)
            .map_err(|error| {
                // It is said at every step.
                let said = error.to_string();
                OpenError::Wrong(said.replace("error with configuration: ", ""))
            })?
            .application_name("shunt")
            // For floating-point numbers, of which there are none; PgBouncer does not know it.
            .extra_float_digits(None);
        let time_out = settings.deadline.as_millis();
        let direct = plain
            .clone()
            .options([
                ("statement_timeout", time_out.to_string()),
                // Whoever stands still in a transaction keeps nobody from its rows for longer.
                ("idle_in_transaction_session_timeout", time_out.to_string()),
            ])
            .options(PLANNING)
            .options([(MARK, "on")]);
        let queue = Queue::new(settings.max_connections as usize);
        if let Some(connections) = direct_pool(direct, settings).await? {
            return Ok(Self {
                connections,
                queue,
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
            queue,
            deadline: settings.deadline,
            begin: AssertSqlSafe(begin).into_sql_str(),
            is_proxied: true,
        })
    }

    /// Brings the schema up to date, in one transaction, under a lock that other instances respect. Both are of
    /// the transaction, not of the connection.
    pub(super) async fn migrate(&self) -> Result<(), OpenError> {
        let mut session = self.connections.get().await.map_err(of_pool)?;
        let turn = timeout(MIGRATION_TIMEOUT, async {
            let mut transaction = session.connection.begin().await?;
            sqlx::raw_sql("SET LOCAL statement_timeout = 0; SET LOCAL enable_seqscan = on")
                .execute(&mut *transaction)
                .await?;
            sqlx::query("SELECT pg_advisory_xact_lock($1)")
                .bind(MIGRATION_LOCK)
                .execute(&mut *transaction)
                .await?;
            Ok::<_, sqlx::Error>(transaction)
        });
        let mut transaction = turn.await.map_err(|_| {
            OpenError::NotYet("it does not answer, or another instance is migrating it".into())
        })??;
        // However long that takes: whoever is first may have much to do.
        let mut migrations = migrations::postgres();
        migrations.set_locking(false).run(&mut *transaction).await?;
        // They have names: behind a proxy the next one who gets this server would find them taken.
        transaction.clear_cached_statements().await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Does something over one connection within the deadline, waiting for the connection included. What takes
    /// more than one statement is for [`Pool::transaction`].
    ///
    /// # Errors
    /// [`sqlx::Error::PoolTimedOut`] also when Postgres did not answer in time: whether it did what it was asked
    /// is unknown then.
    pub(super) async fn run<T>(
        &self,
        call: impl AsyncFnOnce(&mut Session) -> Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        timeout(self.deadline, async {
            let _turn = self.queue.turn().await;
            self.run_for_visitor(call).await
        })
        .await
        .unwrap_or(Err(sqlx::Error::PoolTimedOut))
    }

    /// The same, before all for whom no visitor waits.
    ///
    /// # Errors
    /// As [`Pool::run`].
    pub(super) async fn run_for_visitor<T>(
        &self,
        call: impl AsyncFnOnce(&mut Session) -> Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        if self.is_proxied {
            self.transaction(call).await
        } else {
            self.leased(call).await
        }
    }

    /// The same in one transaction; rolled back where it fails.
    ///
    /// # Errors
    /// As [`Pool::run`].
    pub(super) async fn transaction<T>(
        &self,
        call: impl AsyncFnOnce(&mut Session) -> Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        self.leased(async |session| {
            session.run(self.begin.clone()).await?;
            let done = call(session).await;
            let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
            session.run(end).await?;
            done
        })
        .await
    }

    async fn leased<T>(
        &self,
        call: impl AsyncFnOnce(&mut Session) -> Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        let done = timeout(self.deadline, async {
            let mut lease = Lease(Some(self.connections.get().await.map_err(unreachable)?));
            let done = call(lease.session()).await;
            if let Err(error) = &done {
                // It may have been the last word of a server that shuts down.
                let usable = matches!(error, sqlx::Error::Database(_) | sqlx::Error::RowNotFound);
                if is_read_only(error) {
                    // Of a server that is no primary any more, or not yet; the address may lead to another by now.
                    self.connections.retain(|_, _| false);
                    return done;
                }
                if !usable || lease.session().connection.ping().await.is_err() {
                    return done;
                }
            }
            lease.give_back();
            done
        });
        done.await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
    }

    pub(super) fn in_use(&self) -> InUse {
        self.queue.before(&self.connections.status())
    }
}

/// `None` where something between here and Postgres does not pass on what a connection is to begin with.
async fn direct_pool(
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
    let answer = timeout(settings.deadline, asked).await;
    let told: Option<String> = answer
        .unwrap_or(Err(sqlx::Error::PoolTimedOut))?
        .try_get(0)?;
    drop(session);
    Ok((told.as_deref() == Some("on")).then_some(connections))
}

async fn pool(
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
    // The first says whether there is a server at all.
    drop(pool.get().await.map_err(of_pool)?);
    Ok(pool)
}

/// Makes connections. The pool of sqlx is not used: it pings a connection before each use and after it, two
/// round trips beside the one that is wanted.
struct Server {
    options: PgConnectOptions,
    keeps_statements: bool,
}

impl Manager for Server {
    type Type = Session;
    type Error = sqlx::Error;

    async fn create(&self) -> Result<Session, sqlx::Error> {
        // Boxed: the future is large and seldom needed; whoever waits for a connection need not pay for its size.
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

fn is_read_only(error: &sqlx::Error) -> bool {
    has_code(error, READ_ONLY)
}

fn is_refused_setting(error: &sqlx::Error) -> bool {
    has_code(error, PROTOCOL_VIOLATION)
}

fn has_code(error: &sqlx::Error, wanted: &str) -> bool {
    error
        .as_database_error()
        .and_then(DatabaseError::code)
        .is_some_and(|code| code == wanted)
}

/// A connection in use. One that nobody gives back, because its server does not answer or its user went away,
/// is closed: its next user would get an answer to the past.
struct Lease(Option<Object<Server>>);

impl Lease {
    fn session(&mut self) -> &mut Session {
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

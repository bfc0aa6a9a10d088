//! Brings the schema of Postgres up to date: each step in a transaction of its own, under a lock that other instances
//! respect.
//!
//! The locks are of transactions, not of connections: behind a proxy a transaction is all that stays on one server
//! connection. An instance asks for the lock again and again rather than waiting for it in Postgres: a waiting statement
//! has a snapshot, and an index that is built concurrently waits for every older snapshot.

use std::time::Duration;

use sqlx::migrate::MigrateError;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection, Row};
use tokio::time::{Instant, sleep, timeout};

use super::pool::{self, Pool};
use super::step_lock::{BEGIN, Locked, TIMEOUT, locked, note, run, transaction_settings};
use crate::store::migrations::{
    History, Migrations, Patience, Progress, Report, Schema, Standing, Step, Way,
};
use crate::store::{OpenError, StoreSettings};

/// The advisory lock of the migrations that sqlx runs: any number of this service's own. Versions that have no others wait
/// for it in Postgres.
const LOCK_OF_SQLX: i64 = 0x5348_554e_5400_0001;

/// The pause between two questions for the lock.
const PAUSE: Duration = Duration::from_millis(100);

/// The error codes for a lock that was not to be had in time, and for a deadlock.
const LOCKED: [&str; 2] = ["55P03", "40P01"];

const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS shunt_migrations (
    version     bigint      PRIMARY KEY,
    description text        NOT NULL,
    checksum    bytea       NOT NULL,
    -- The oldest version that may run once this one is applied; 0: any.
    oldest      bigint      NOT NULL,
    applied_at  timestamptz NOT NULL DEFAULT now()
)";

/// How an attempt at a step ended.
enum Attempt {
    /// It is done, by this instance or by another one.
    Done { here: bool },
    /// One batch is done.
    Further,
    /// Another instance has the lock.
    Busy,
}

/// Brings the schema up to date, or refuses one that lacks something.
pub(super) async fn bring_up_to_date(
    url: &str,
    pool: &Pool,
    schema: Schema,
) -> Result<(), OpenError> {
    let migrations = crate::store::migrations::postgres();
    match schema {
        Schema::Migrate(report) => migrate(url, pool, &migrations, Patience::USUAL, report).await,
        Schema::Require => {
            let history = inspect(pool, &migrations).await?;
            match history.standing(&migrations)? {
                Standing::Complete(progress) => crate::store::migrations::log(&progress),
                Standing::Lacking => return Err(history.refusal(&migrations)),
            }
            Ok(())
        }
    }
}

/// Applies these migrations to the database at `url`, as far as it lacks them.
///
/// # Errors
/// [`OpenError`].
pub async fn migrate_postgres(
    url: &str,
    settings: StoreSettings,
    migrations: &Migrations,
    patience: Patience,
    report: Report,
) -> Result<(), OpenError> {
    let pool = Pool::connect(url, settings).await?;
    migrate(url, &pool, migrations, patience, report).await
}

async fn migrate(
    url: &str,
    pool: &Pool,
    migrations: &Migrations,
    patience: Patience,
    report: Report,
) -> Result<(), OpenError> {
    let history = inspect(pool, migrations).await?;
    if let Standing::Complete(progress) = history.standing(migrations)? {
        report(&progress);
        return Ok(());
    }
    report(&history.beginning(migrations));
    let runner = Runner {
        options: pool::options(url)?,
        is_proxied: pool.is_proxied(),
        migrations,
        patience,
    };
    // Outside the pool, whose connections have deadlines for statements.
    let mut connection = runner.connect(&runner.options).await?;
    let missing = history.missing(migrations);
    if !history.notes_steps
        || missing
            .iter()
            .any(|version| migrations.is_by_sqlx(*version))
    {
        runner.begin_history(&mut connection).await?;
    }
    for migration in migrations.all() {
        let version = migration.version;
        if !missing.contains(&version) {
            continue;
        }
        let here = match migrations.step(version) {
            Some(step) => runner.apply(&mut connection, step).await?,
            None => true,
        };
        if here {
            report(&Progress::Applied {
                version,
                description: &migration.description,
            });
        }
    }
    // A proxy would log a connection that just breaks off.
    let _ = timeout(TIMEOUT, connection.close()).await;
    Ok(())
}

/// Refuses a database that cannot keep every text.
async fn check_encoding(pool: &Pool) -> Result<(), OpenError> {
    let encoding: String = pool
        .run(async |session| {
            sqlx::query_scalar("SELECT current_setting('server_encoding')")
                .fetch_one(session)
                .await
        })
        .await?;
    if encoding == "UTF8" {
        return Ok(());
    }
    Err(OpenError::Wrong(format!(
        "the database has the encoding {encoding}, but shunt needs UTF8; create a database with CREATE DATABASE shunt TEMPLATE template0 ENCODING 'UTF8'"
    )))
}

/// What the database has.
async fn inspect(pool: &Pool, migrations: &Migrations) -> Result<History, OpenError> {
    check_encoding(pool).await?;
    let read = pool.run(async |session| {
        let mut history = History::default();
        let tables = sqlx::raw_sql(
            "SELECT to_regclass('_sqlx_migrations') IS NOT NULL, to_regclass('shunt_migrations') IS NOT NULL",
        );
        let tables = tables.fetch_one(&mut session.connection).await?;
        if tables.try_get(0)? {
            let applied = "SELECT version, checksum FROM _sqlx_migrations WHERE success";
            let applied: Vec<(i64, Vec<u8>)> = sqlx::query_as(applied).fetch_all(&mut *session).await?;
            history.applied.extend(applied);
            history.applied.retain(|version, _| migrations.is_by_sqlx(*version));
        }
        history.notes_steps = tables.try_get(1)?;
        if history.notes_steps {
            let steps = "SELECT version, checksum, oldest FROM shunt_migrations";
            let steps: Vec<(i64, Vec<u8>, i64)> = sqlx::query_as(steps).fetch_all(&mut *session).await?;
            for (version, checksum, oldest) in steps {
                history.applied.insert(version, checksum);
                history.oldest = history.oldest.max(oldest);
            }
        }
        Ok(history)
    });
    Ok(read.await?)
}

struct Runner<'a> {
    options: PgConnectOptions,
    is_proxied: bool,
    migrations: &'a Migrations,
    patience: Patience,
}

impl Runner<'_> {
    async fn connect(&self, options: &PgConnectOptions) -> Result<PgConnection, sqlx::Error> {
        let connected = timeout(TIMEOUT, PgConnection::connect_with(options)).await;
        connected.unwrap_or(Err(sqlx::Error::PoolTimedOut))
    }

    /// The migrations of sqlx in one transaction, and the table for the others.
    async fn begin_history(&self, connection: &mut PgConnection) -> Result<(), OpenError> {
        let mut pauses = self.patience.pauses();
        loop {
            match self.try_to_begin_history(connection).await {
                Err(MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _))
                    if is_locked(&error) =>
                {
                    self.pause("the schema", pauses.next()).await?;
                }
                outcome => return Ok(outcome?),
            }
        }
    }

    async fn try_to_begin_history(
        &self,
        connection: &mut PgConnection,
    ) -> Result<(), MigrateError> {
        let locked = timeout(TIMEOUT, async {
            let mut transaction = connection.begin_with(BEGIN).await?;
            transaction_settings(&mut transaction, Duration::ZERO).await?;
            sqlx::query("SELECT pg_advisory_xact_lock($1)")
                .bind(LOCK_OF_SQLX)
                .persistent(false)
                .execute(&mut *transaction)
                .await?;
            transaction_settings(&mut transaction, self.patience.lock_timeout).await?;
            Ok::<_, sqlx::Error>(transaction)
        });
        let mut transaction = locked.await.unwrap_or(Err(sqlx::Error::PoolTimedOut))?;
        self.migrations.by_sqlx().run(&mut *transaction).await?;
        sqlx::raw_sql(CREATE_TABLE)
            .execute(&mut *transaction)
            .await?;
        // Sqlx's have names: behind a proxy the next client of this server connection would find them taken.
        transaction.clear_cached_statements().await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Applies a step; false if another instance did.
    async fn apply(&self, connection: &mut PgConnection, step: &Step) -> Result<bool, OpenError> {
        let mut pauses = self.patience.pauses();
        let mut busy_until = Instant::now() + TIMEOUT;
        loop {
            let attempt = match step.way() {
                Way::InTransaction | Way::InBatches => self.attempt(connection, step).await,
                Way::Concurrently(index) => self.build_index(connection, step, index).await,
            };
            match attempt {
                Ok(Attempt::Done { here }) => return Ok(here),
                Ok(Attempt::Further) => {
                    pauses = self.patience.pauses();
                    busy_until = Instant::now() + TIMEOUT;
                }
                Ok(Attempt::Busy) if Instant::now() < busy_until => sleep(PAUSE).await,
                Ok(Attempt::Busy) => return Err(busy()),
                Err(error) if is_locked(&error) => {
                    let what = format!("migration {} ({})", step.version(), step.description());
                    self.pause(&what, pauses.next()).await?;
                }
                Err(error) => {
                    return Err(MigrateError::ExecuteMigration(error, step.version()).into());
                }
            }
        }
    }

    /// A step, or one batch of it, in a transaction.
    async fn attempt(
        &self,
        connection: &mut PgConnection,
        step: &Step,
    ) -> Result<Attempt, sqlx::Error> {
        let mut transaction = match locked(connection, step, self.patience.lock_timeout).await? {
            Locked::Here(transaction) => transaction,
            Locked::Elsewhere => return Ok(Attempt::Busy),
            Locked::Done => return Ok(Attempt::Done { here: false }),
        };
        let changed = sqlx::raw_sql(step.sql())
            .execute(&mut *transaction)
            .await?
            .rows_affected();
        if *step.way() == Way::InBatches && changed > 0 {
            transaction.commit().await?;
            return Ok(Attempt::Further);
        }
        note(transaction, step, self.migrations).await?;
        Ok(Attempt::Done { here: true })
    }

    /// An index that is built beside writers, by a connection of its own, while this one has the lock. One that was left
    /// behind unfinished is of no use and built again.
    async fn build_index(
        &self,
        connection: &mut PgConnection,
        step: &Step,
        index: &str,
    ) -> Result<Attempt, sqlx::Error> {
        let transaction = match locked(connection, step, self.patience.lock_timeout).await? {
            Locked::Here(transaction) => transaction,
            Locked::Elsewhere => return Ok(Attempt::Busy),
            Locked::Done => return Ok(Attempt::Done { here: false }),
        };
        let mut options = self.options.clone();
        if !self.is_proxied {
            let waits = self.patience.index_lock_timeout.as_millis();
            // A proxy refuses these: behind it those of the role hold.
            options = options.options([
                ("statement_timeout", "0".to_owned()),
                ("lock_timeout", waits.to_string()),
            ]);
        }
        let mut builder = self.connect(&options).await?;
        // Outside a transaction a proxy may send the two halves of a statement with parameters to two servers.
        let mut reading = builder.begin().await?;
        let is_valid: Option<bool> = sqlx::query_scalar(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)",
        )
        .bind(index)
        .persistent(false)
        .fetch_optional(&mut *reading)
        .await?;
        reading.commit().await?;
        if is_valid == Some(false) {
            tracing::info!("the index {index} was left behind unfinished: building it again");
            run(&mut builder, format!("DROP INDEX CONCURRENTLY {index}")).await?;
        }
        if is_valid != Some(true) {
            sqlx::raw_sql(step.sql()).execute(&mut builder).await?;
        }
        let _ = timeout(TIMEOUT, builder.close()).await;
        note(transaction, step, self.migrations).await?;
        Ok(Attempt::Done { here: true })
    }

    /// Pauses between two tries; fails after the last one.
    async fn pause(&self, what: &str, pause: Option<Duration>) -> Result<(), OpenError> {
        let Some(pause) = pause else {
            return Err(OpenError::Wrong(format!(
                "{what} waits for a lock that another session holds, and was tried {} times; end that session (pg_stat_activity, pg_blocking_pids), then start again",
                self.patience.tries
            )));
        };
        tracing::warn!(
            "{what} waits for a lock that another session holds: trying again in {} ms",
            pause.as_millis()
        );
        sleep(pause).await;
        Ok(())
    }
}

fn is_locked(error: &sqlx::Error) -> bool {
    LOCKED.iter().any(|code| pool::has_code(error, code))
}

fn busy() -> OpenError {
    OpenError::NotYet("it does not answer, or another instance is migrating it".into())
}

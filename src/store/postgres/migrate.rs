//! Brings the schema of Postgres up to date, in one transaction under a lock that other instances respect.
//!
//! The lock is of the transaction, not of the connection: behind a proxy a transaction is all that stays on one server
//! connection.

use std::time::Duration;

use sqlx::migrate::MigrateError;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use tokio::time::{sleep, timeout};

use super::pool::Pool;
use super::server;
use crate::store::migrations::{
    self, Applied, LockWaits, Locks, Migrations, Report, Schema, Standing,
};
use crate::store::{OpenError, StoreSettings};

/// The advisory lock: any number of this service's own.
const LOCK: i64 = 0x5348_554e_5400_0001;

/// How long a connection may take, and how long another instance may have the lock.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How often it is asked whether the lock is free. A session that waits for it in Postgres would stay there when its client leaves.
const PAUSE: Duration = Duration::from_millis(100);

/// The error codes for a lock that was not free in time, and for a deadlock.
const LOCKED: [&str; 2] = ["55P03", "40P01"];

const LOCKS: Locks = Locks {
    held: |error| LOCKED.iter().any(|code| server::has_code(error, code)),
    advice: "end that session (see pg_stat_activity and pg_blocking_pids)",
};

/// Brings the schema up to date, or refuses one that lacks something.
pub(super) async fn bring_up_to_date(
    url: &str,
    pool: &Pool,
    schema: Schema,
) -> Result<(), OpenError> {
    let migrations = migrations::postgres();
    match schema {
        Schema::Migrate(report) => migrate(url, pool, &migrations, LockWaits::USUAL, report).await,
        Schema::Require => match standing(pool, &migrations).await? {
            Standing::Complete(progress) => {
                migrations::log(&progress);
                Ok(())
            }
            Standing::Lacking { newest, .. } => Err(migrations.refusal(newest)),
        },
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
    waits: LockWaits,
    report: Report,
) -> Result<(), OpenError> {
    let pool = Pool::connect(url, settings).await?;
    migrate(url, &pool, migrations, waits, report).await
}

async fn migrate(
    url: &str,
    pool: &Pool,
    migrations: &Migrations,
    waits: LockWaits,
    report: Report,
) -> Result<(), OpenError> {
    let newest = match standing(pool, migrations).await? {
        Standing::Complete(progress) => {
            report(&progress);
            return Ok(());
        }
        Standing::Lacking { newest, .. } => newest,
    };
    // Outside the pool, whose connections have deadlines for statements.
    let options = server::options(url)?;
    let connected = timeout(TIMEOUT, PgConnection::connect_with(&options)).await;
    let mut connection = connected.unwrap_or(Err(sqlx::Error::PoolTimedOut))?;
    let attempt = async || apply(&mut connection, migrations, waits).await;
    let applied = migrations.bring_up_to_date(newest, waits, report, LOCKS, attempt);
    applied.await?;
    // A proxy would log a connection that just breaks off.
    let _ = timeout(TIMEOUT, connection.close()).await;
    Ok(())
}

/// Applies what is missing once the lock is free: another instance may have applied it, and more, since it was looked at.
async fn apply(
    connection: &mut PgConnection,
    migrations: &Migrations,
    waits: LockWaits,
) -> Result<Result<Standing, OpenError>, MigrateError> {
    let locked = timeout(TIMEOUT, async {
        // Every statement sees what was committed before it: what another instance did before it gave the lock back.
        let mut transaction = connection
            .begin_with("BEGIN ISOLATION LEVEL READ COMMITTED")
            .await?;
        // A migration may have much to do, and waits for locks by its own rule.
        let lock_timeout = waits.lock_timeout.as_millis();
        let settings = AssertSqlSafe(format!(
            "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL lock_timeout = {lock_timeout}"
        ));
        sqlx::raw_sql(settings).execute(&mut *transaction).await?;
        let try_lock = || sqlx::query_scalar("SELECT pg_try_advisory_xact_lock($1)");
        while !try_lock()
            .bind(LOCK)
            .persistent(false)
            .fetch_one(&mut *transaction)
            .await?
        {
            sleep(PAUSE).await;
        }
        Ok::<_, sqlx::Error>(transaction)
    });
    let mut transaction = locked.await.unwrap_or(Err(sqlx::Error::PoolTimedOut))?;
    let (_, has_links, applied) = noted(&mut transaction).await?;
    let standing = match migrations.standing(&applied, has_links) {
        Ok(lacking @ Standing::Lacking { .. }) => lacking,
        complete_or_refused => {
            transaction.rollback().await?;
            return Ok(complete_or_refused);
        }
    };
    let ran = migrations.migrator().run(&mut *transaction).await;
    // The statements of sqlx have names: behind a proxy the next client of this server connection would find them taken.
    transaction.clear_cached_statements().await?;
    ran?;
    transaction.commit().await?;
    Ok(Ok(standing))
}

/// How the database stands to these migrations. One that cannot keep every text is refused.
async fn standing(pool: &Pool, migrations: &Migrations) -> Result<Standing, OpenError> {
    let read = pool.run(async |session| Ok(noted(&mut session.connection).await?));
    let (encoding, has_links, applied) = read.await?;
    if encoding != "UTF8" {
        return Err(OpenError::Wrong(format!(
            "the database has the encoding {encoding}, but shunt needs UTF8; create a database with CREATE DATABASE shunt TEMPLATE template0 ENCODING 'UTF8'"
        )));
    }
    migrations.standing(&applied, has_links)
}

/// The encoding of the database, whether it has a table of links, and its migrations.
async fn noted(connection: &mut PgConnection) -> Result<(String, bool, Vec<Applied>), sqlx::Error> {
    let database = sqlx::raw_sql(
        "SELECT current_setting('server_encoding'), to_regclass('links') IS NOT NULL, to_regclass('_sqlx_migrations') IS NOT NULL",
    );
    let database = database.fetch_one(&mut *connection).await?;
    let (encoding, has_links): (String, bool) = (database.try_get(0)?, database.try_get(1)?);
    let mut applied: Vec<Applied> = Vec::new();
    if database.try_get(2)? {
        let noted = "SELECT version, description, checksum FROM _sqlx_migrations";
        let noted = sqlx::query_as(noted).persistent(false);
        applied = noted.fetch_all(connection).await?;
    }
    Ok((encoding, has_links, applied))
}

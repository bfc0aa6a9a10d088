//! The lock under which a step runs, and the note that it is done: both are of its transaction.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, PgConnection, Postgres, SqlSafeStr, SqlStr, Transaction};
use tokio::time::timeout;

use crate::store::migrations::{Migrations, Step};

/// The advisory lock of steps. Not that of sqlx's migrations: an older version that waited for it would hold a snapshot, for
/// which the building of an index would wait.
const LOCK: i64 = 0x5348_554e_5400_0002;

/// How long Postgres may take to say whether the lock is free.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// Every statement sees what was committed before it, and an idle transaction has no snapshot.
pub(super) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// The lock, where it was to be had.
pub(super) enum Locked<'a> {
    Here(Transaction<'a, Postgres>),
    Elsewhere,
    /// Another instance has done the step.
    Done,
}

/// Begins a transaction that has the lock, for a step that is not done yet.
pub(super) async fn locked<'a>(
    connection: &'a mut PgConnection,
    step: &Step,
    lock_timeout: Duration,
) -> Result<Locked<'a>, sqlx::Error> {
    let locked = timeout(TIMEOUT, async {
        let mut transaction = connection.begin_with(BEGIN).await?;
        transaction_settings(&mut transaction, lock_timeout).await?;
        let is_locked: bool = sqlx::query_scalar("SELECT pg_try_advisory_xact_lock($1)")
            .bind(LOCK)
            .persistent(false)
            .fetch_one(&mut *transaction)
            .await?;
        if !is_locked {
            transaction.rollback().await?;
            return Ok(Locked::Elsewhere);
        }
        let is_done: bool =
            sqlx::query_scalar("SELECT EXISTS (SELECT FROM shunt_migrations WHERE version = $1)")
                .bind(step.version())
                .persistent(false)
                .fetch_one(&mut *transaction)
                .await?;
        if is_done {
            transaction.rollback().await?;
            return Ok(Locked::Done);
        }
        Ok(Locked::Here(transaction))
    });
    locked.await.unwrap_or(Err(sqlx::Error::PoolTimedOut))
}

/// Notes that a step is done, and commits.
pub(super) async fn note(
    mut transaction: Transaction<'_, Postgres>,
    step: &Step,
    migrations: &Migrations,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO shunt_migrations (version, description, checksum, oldest) VALUES ($1, $2, $3, $4)",
    )
    .bind(step.version())
    .bind(step.description())
    .bind(step.checksum())
    .bind(step.oldest())
    .persistent(false)
    .execute(&mut *transaction)
    .await?;
    if migrations.keeps_out_all_by_sqlx(step) {
        // Those versions know no mark, and refuse a row of this table that they do not know.
        sqlx::query(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
             VALUES ($1, $2, true, $3, 0) ON CONFLICT DO NOTHING",
        )
        .bind(step.version())
        .bind(step.description())
        .bind(step.checksum())
        .persistent(false)
        .execute(&mut *transaction)
        .await?;
    }
    transaction.commit().await
}

/// Settings of this transaction alone. A wait of zero is one without end.
pub(super) async fn transaction_settings(
    connection: &mut PgConnection,
    lock_timeout: Duration,
) -> Result<(), sqlx::Error> {
    let lock_timeout = lock_timeout.as_millis();
    // A step may have much to do.
    let settings = format!(
        "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0;
         SET LOCAL lock_timeout = {lock_timeout}"
    );
    run(connection, settings).await
}

/// Runs statements without parameters and without results.
pub(super) async fn run(connection: &mut PgConnection, sql: String) -> Result<(), sqlx::Error> {
    let sql: SqlStr = AssertSqlSafe(sql).into_sql_str();
    sqlx::raw_sql(sql).execute(connection).await?;
    Ok(())
}

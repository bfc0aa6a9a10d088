//! Brings the schema of an SQLite file up to date: each step in a transaction of its own. The opening of the file keeps
//! other processes of this service out; any other program may hold the file's lock.

use std::time::Duration;

use sqlx::error::DatabaseError;
use sqlx::migrate::MigrateError;
use sqlx::{Connection, SqliteConnection};
use tokio::time::sleep;

use crate::store::OpenError;
use crate::store::migrations::{
    self, History, Migrations, Patience, Progress, Report, Schema, Standing, Step, Way,
};

/// The errors for a lock that was not to be had in time, in the low byte of SQLite's codes: busy, locked.
const LOCKED: [u32; 2] = [5, 6];

const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS shunt_migrations (
    version     INTEGER PRIMARY KEY,
    description TEXT    NOT NULL,
    checksum    BLOB    NOT NULL,
    -- The oldest version that may run once this one is applied; 0: any.
    oldest      INTEGER NOT NULL,
    applied_at  INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER) * 1000000)
) STRICT";

/// Brings the schema up to date, or refuses one that lacks something.
pub(super) async fn bring_up_to_date(
    connection: &mut SqliteConnection,
    schema: Schema,
) -> Result<(), OpenError> {
    let encoding: String = sqlx::query_scalar("PRAGMA encoding")
        .fetch_one(&mut *connection)
        .await?;
    if encoding != "UTF-8" {
        return Err(OpenError::Wrong(format!(
            "the file has the encoding {encoding}, but shunt needs UTF-8; name another file, or a file that does not exist yet"
        )));
    }
    let migrations = migrations::sqlite();
    match schema {
        Schema::Migrate(report) => {
            migrate_sqlite(connection, &migrations, Patience::USUAL, report).await
        }
        Schema::Require => {
            let history = inspect(connection, &migrations).await?;
            match history.standing(&migrations)? {
                Standing::Complete(progress) => migrations::log(&progress),
                Standing::Lacking => return Err(history.refusal(&migrations)),
            }
            Ok(())
        }
    }
}

/// Applies these migrations, as far as the database lacks them.
///
/// # Errors
/// [`OpenError`].
pub async fn migrate_sqlite(
    connection: &mut SqliteConnection,
    migrations: &Migrations,
    patience: Patience,
    report: Report,
) -> Result<(), OpenError> {
    let history = inspect(connection, migrations).await?;
    if let Standing::Complete(progress) = history.standing(migrations)? {
        report(&progress);
        return Ok(());
    }
    report(&history.beginning(migrations));
    let missing = history.missing(migrations);
    if missing
        .iter()
        .any(|version| migrations.is_by_sqlx(*version))
    {
        migrations.by_sqlx().run(&mut *connection).await?;
    }
    if !history.notes_steps {
        sqlx::raw_sql(CREATE_TABLE)
            .execute(&mut *connection)
            .await?;
    }
    for migration in migrations.all() {
        let version = migration.version;
        if !missing.contains(&version) {
            continue;
        }
        if let Some(step) = migrations.step(version) {
            apply(connection, migrations, step, patience).await?;
        }
        report(&Progress::Applied {
            version,
            description: &migration.description,
        });
    }
    Ok(())
}

/// What the database has.
async fn inspect(
    connection: &mut SqliteConnection,
    migrations: &Migrations,
) -> Result<History, sqlx::Error> {
    let mut history = History::default();
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('_sqlx_migrations', 'shunt_migrations')",
    )
    .fetch_all(&mut *connection)
    .await?;
    if tables.iter().any(|name| name == "_sqlx_migrations") {
        let applied = "SELECT version, checksum FROM _sqlx_migrations WHERE success";
        let applied: Vec<(i64, Vec<u8>)> =
            sqlx::query_as(applied).fetch_all(&mut *connection).await?;
        history.applied.extend(applied);
        history
            .applied
            .retain(|version, _| migrations.is_by_sqlx(*version));
    }
    history.notes_steps = tables.iter().any(|name| name == "shunt_migrations");
    if history.notes_steps {
        let steps = "SELECT version, checksum, oldest FROM shunt_migrations";
        let steps: Vec<(i64, Vec<u8>, i64)> =
            sqlx::query_as(steps).fetch_all(&mut *connection).await?;
        for (version, checksum, oldest) in steps {
            history.applied.insert(version, checksum);
            history.oldest = history.oldest.max(oldest);
        }
    }
    Ok(history)
}

async fn apply(
    connection: &mut SqliteConnection,
    migrations: &Migrations,
    step: &Step,
    patience: Patience,
) -> Result<(), OpenError> {
    let mut pauses = patience.pauses();
    loop {
        match attempt(connection, migrations, step).await {
            Ok(true) => return Ok(()),
            Ok(false) => pauses = patience.pauses(),
            Err(error) if is_locked(&error) => pause(step, pauses.next(), patience).await?,
            Err(error) => return Err(MigrateError::ExecuteMigration(error, step.version()).into()),
        }
    }
}

/// The step, or a batch of it; false where there may be a further one.
async fn attempt(
    connection: &mut SqliteConnection,
    migrations: &Migrations,
    step: &Step,
) -> Result<bool, sqlx::Error> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let changed = sqlx::raw_sql(step.sql())
        .execute(&mut *transaction)
        .await?
        .rows_affected();
    if *step.way() == Way::InBatches && changed > 0 {
        transaction.commit().await?;
        return Ok(false);
    }
    sqlx::query(
        "INSERT INTO shunt_migrations (version, description, checksum, oldest) VALUES (?, ?, ?, ?)",
    )
    .bind(step.version())
    .bind(step.description())
    .bind(step.checksum())
    .bind(step.oldest())
    .execute(&mut *transaction)
    .await?;
    if migrations.keeps_out_all_by_sqlx(step) {
        // Those versions know no mark, and refuse a row of this table that they do not know.
        sqlx::query(
            "INSERT OR IGNORE INTO _sqlx_migrations (version, description, success, checksum, execution_time)
             VALUES (?, ?, true, ?, 0)",
        )
        .bind(step.version())
        .bind(step.description())
        .bind(step.checksum())
        .execute(&mut *transaction)
        .await?;
    }
    transaction.commit().await?;
    Ok(true)
}

/// Pauses between two tries; fails after the last one.
async fn pause(step: &Step, pause: Option<Duration>, patience: Patience) -> Result<(), OpenError> {
    let what = format!("migration {} ({})", step.version(), step.description());
    let Some(pause) = pause else {
        return Err(OpenError::Wrong(format!(
            "{what} waits for another program that writes to the file, and was tried {} times; end that program, then start again",
            patience.tries
        )));
    };
    tracing::warn!(
        "{what} waits for another program that writes to the file: trying again in {} ms",
        pause.as_millis()
    );
    sleep(pause).await;
    Ok(())
}

fn is_locked(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(DatabaseError::code);
    let code = code.and_then(|code| code.parse::<u32>().ok());
    code.is_some_and(|code| LOCKED.contains(&(code & 0xff)))
}

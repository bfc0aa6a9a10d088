//! Brings the schema of an SQLite file up to date, in one transaction. The opening of the file keeps other processes of this
//! service out; any other program may hold the file's lock.

use sqlx::error::DatabaseError;
use sqlx::migrate::MigrateError;
use sqlx::{Connection, SqliteConnection};

use crate::store::OpenError;
use crate::store::migrations::{
    self, Applied, LockWaits, Locks, Migrations, Report, Schema, Standing,
};
use crate::store::rows::Tuples as _;

/// The errors for a lock that was not free in time, in the low byte of SQLite's codes: busy, locked.
const LOCKED: [u32; 2] = [5, 6];

/// Brings the schema up to date, or refuses one that lacks something.
pub(super) async fn bring_up_to_date(
    connection: &mut SqliteConnection,
    schema: Schema,
) -> Result<(), OpenError> {
    let migrations = migrations::sqlite();
    match schema {
        Schema::Migrate(report) => {
            migrate_sqlite(connection, &migrations, LockWaits::USUAL, report).await
        }
        Schema::Require => match standing(connection, &migrations).await? {
            Standing::Complete(progress) => {
                migrations::log(&progress);
                Ok(())
            }
            Standing::Lacking { newest, .. } => Err(migrations.refusal(newest)),
        },
    }
}

/// Applies these migrations, as far as the database lacks them.
///
/// # Errors
/// [`OpenError`].
pub async fn migrate_sqlite(
    connection: &mut SqliteConnection,
    migrations: &Migrations,
    waits: LockWaits,
    report: Report,
) -> Result<(), OpenError> {
    let newest = match standing(connection, migrations).await? {
        Standing::Complete(progress) => {
            report(&progress);
            return Ok(());
        }
        Standing::Lacking { newest, .. } => newest,
    };
    let attempt = async || {
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        let standing = match standing(&mut transaction, migrations).await {
            Ok(lacking @ Standing::Lacking { .. }) => lacking,
            complete_or_refused => {
                transaction.rollback().await?;
                return Ok(complete_or_refused);
            }
        };
        migrations.migrator().run(&mut *transaction).await?;
        transaction.commit().await?;
        Ok::<_, MigrateError>(Ok(standing))
    };
    let locks = Locks {
        held: is_locked,
        advice: "end the program that writes to the file",
    };
    let applied = migrations.bring_up_to_date(newest, waits, report, locks, attempt);
    applied.await
}

/// How the database stands to these migrations. One that keeps text in another encoding is refused.
async fn standing(
    connection: &mut SqliteConnection,
    migrations: &Migrations,
) -> Result<Standing, OpenError> {
    let encoding: String = sqlx::query_scalar("PRAGMA encoding")
        .fetch_one(&mut *connection)
        .await?;
    if encoding != "UTF-8" {
        return Err(OpenError::Wrong(format!(
            "the file has the encoding {encoding}, but shunt needs UTF-8; name another file, or a file that does not exist yet"
        )));
    }
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN ('links', '_sqlx_migrations')",
    )
    .fetch_all(&mut *connection)
    .await?;
    let mut applied: Vec<Applied> = Vec::new();
    if tables.iter().any(|name| name == "_sqlx_migrations") {
        let noted = "SELECT version, description, checksum FROM _sqlx_migrations";
        applied = sqlx::query(noted)
            .fetch_all(&mut *connection)
            .await?
            .tuples()?;
    }
    migrations.standing(&applied, tables.iter().any(|name| name == "links"))
}

fn is_locked(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(DatabaseError::code);
    let code = code.and_then(|code| code.parse::<u32>().ok());
    code.is_some_and(|code| LOCKED.contains(&(code & 0xff)))
}

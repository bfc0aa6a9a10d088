//! The migrations of both databases, embedded.
//!
//! sqlx has a macro for this. It would compile both database drivers a second time, for the compiler's own use: a tenth
//! of a cold build.

use std::borrow::Cow;

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// Version, description and text of each file in a folder of `migrations/`.
type Files = &'static [(i64, &'static str, &'static str)];

macro_rules! files {
    ($folder:literal: $($version:literal $description:literal $file:literal),+ $(,)?) => {
        &[$(($version, $description, include_str!(concat!("../../migrations/", $folder, "/", $file)))),+]
    };
}

const POSTGRES: Files = files! { "postgres":
    1 "initial" "0001_initial.sql",
    2 "link clicks" "0002_link_clicks.sql",
    3 "held epoch" "0003_held_epoch.sql",
    4 "changes by anyone" "0004_changes_by_anyone.sql",
    5 "fences" "0005_fences.sql",
    6 "held and untold" "0006_held_and_untold.sql",
    7 "installation" "0007_installation.sql",
    9 "journal marks" "0009_journal_marks.sql",
    10 "data sets" "0010_data_sets.sql",
    12 "redis shards" "0012_redis_shards.sql",
};

const SQLITE: Files = files! { "sqlite":
    1 "initial" "0001_initial.sql",
    3 "held epoch" "0003_held_epoch.sql",
    4 "journal in one tree" "0004_journal_in_one_tree.sql",
    5 "changes by anyone" "0005_changes_by_anyone.sql",
    6 "fences" "0006_fences.sql",
    7 "held and untold" "0007_held_and_untold.sql",
    8 "installation" "0008_installation.sql",
    9 "data sets" "0009_data_sets.sql",
    12 "redis shards" "0012_redis_shards.sql",
};

/// The migrations of Postgres.
#[must_use]
pub fn postgres() -> Migrator {
    migrator(POSTGRES)
}

/// The migrations of SQLite.
#[must_use]
pub fn sqlite() -> Migrator {
    migrator(SQLITE)
}

fn migrator(files: Files) -> Migrator {
    let migration = |(version, description, sql): &(i64, &'static str, &'static str)| {
        let sql = (*sql).into_sql_str();
        Migration::new(
            *version,
            Cow::Borrowed(*description),
            MigrationType::Simple,
            sql,
            false,
        )
    };
    Migrator::with_migrations(files.iter().map(migration).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[tokio::test]
    async fn every_file_is_embedded_as_sqlx_would_read_it() {
        for (folder, embedded) in [("postgres", postgres()), ("sqlite", sqlite())] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("migrations")
                .join(folder);
            let read = Migrator::new(path).await.unwrap();
            let fields = |migrator: &Migrator| -> Vec<_> {
                migrator
                    .iter()
                    .map(|migration| {
                        let migration = migration.clone();
                        let kind = migration.migration_type;
                        (
                            migration.version,
                            migration.description,
                            kind,
                            migration.checksum,
                            migration.no_tx,
                        )
                    })
                    .collect()
            };
            assert_eq!(fields(&embedded), fields(&read), "{folder}");
        }
    }
}

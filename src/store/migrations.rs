//! The migrations of both databases, embedded.
//!
//! Those that were there before versions ran side by side are run by sqlx, which notes them in a table of its own. A binary
//! of that time refuses to start where it finds an unknown row there. So later migrations are *steps*: they are noted in
//! `shunt_migrations`, each with the oldest version that may run once it is applied. An instance whose own version (that of
//! its newest migration) is not below that mark starts on a newer schema.
//!
//! | file | what it does |
//! | --- | --- |
//! | `set` | all migrations of a program |
//! | `step` | one migration, how it runs, and which versions may run on it |
//! | `history` | what a database has of them, and whether this program may run on it |
//! | `progress` | the reports meanwhile |
//! | `patience` | how long a step waits for locks |
//! | `postgres/migrate.rs`, `sqlite/migrate.rs` | run them |
//!
//! sqlx has a macro that embeds migrations. It would compile both database drivers a second time, for the compiler's own
//! use: a tenth of a cold build.

use set::Files;

mod history;
mod patience;
mod progress;
mod set;
mod step;

pub(in crate::store) use history::{History, Standing};
pub use patience::Patience;
pub use progress::{Progress, Report, Schema, log};
pub use set::Migrations;
pub(in crate::store) use step::{Step, Way};

/// The last migrations that sqlx runs. A binary that knows no later one refuses to start if sqlx's table has one.
const LAST_BY_SQLX: (i64, i64) = (7, 8);

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
    10 "account key column" "0010_account_key_column.sql",
    11 "account keys" "0011_account_keys.sql",
    12 "growth" "0012_growth.sql",
    13 "history" "0013_history.sql",
    14 "clicks of deleted links" "0014_clicks_of_deleted_links.sql",
    15 "known addresses" "0015_known_addresses.sql",
    16 "link totals" "0016_link_totals.sql",
    17 "data sets" "0017_data_sets.sql",
    18 "redis shards" "0018_redis_shards.sql",
    19 "managed links" "0019_managed_links.sql",
    20 "inactive links" "0020_inactive_links.sql",
    21 "ending links" "0021_ending_links.sql",
    22 "limited links" "0022_limited_links.sql",
    30 "deleted users" "0030_deleted_users.sql",
    31 "api keys" "0031_api_keys.sql",
    35 "ids left out" "0035_ids_left_out.sql",
    36 "link series" "0036_link_series.sql",
    37 "click details" "0037_click_details.sql",
    41 "flush names" "0041_flush_names.sql",
    46 "removals" "0046_removals.sql",
    47 "removed links" "0047_removed_links.sql",
    48 "banned users" "0048_banned_users.sql",
    53 "portable locks" "0053_portable_locks.sql",
    56 "web sessions" "0056_web_sessions.sql",
    57 "links by end" "0057_links_by_end.sql",
    60 "owner series" "0060_owner_series.sql",
    61 "owner series of before" "0061_owner_series_of_before.sql",
    75 "bounded details" "0075_bounded_details.sql",
    80 "class sums" "0080_class_sums.sql",
    82 "owners at once" "0082_owners_at_once.sql",
    83 "written back up to" "0083_written_back_up_to.sql",
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
    10 "account keys" "0010_account_keys.sql",
    14 "known addresses" "0014_known_addresses.sql",
    15 "link totals" "0015_link_totals.sql",
    16 "redis shards" "0016_redis_shards.sql",
    17 "managed links" "0017_managed_links.sql",
    18 "links by status" "0018_links_by_status.sql",
    19 "owners of retired codes" "0019_owners_of_retired_codes.sql",
    30 "deleted users" "0030_deleted_users.sql",
    31 "api keys" "0031_api_keys.sql",
    36 "link series" "0036_link_series.sql",
    37 "click details" "0037_click_details.sql",
    41 "flush names" "0041_flush_names.sql",
    46 "removals" "0046_removals.sql",
    48 "banned users" "0048_banned_users.sql",
    56 "web sessions" "0056_web_sessions.sql",
    57 "links by end" "0057_links_by_end.sql",
    75 "bounded details" "0075_bounded_details.sql",
    76 "owner series" "0076_owner_series.sql",
    81 "taken classes" "0081_taken_classes.sql",
    83 "written back up to" "0083_written_back_up_to.sql",
};

/// The migrations of Postgres.
#[must_use]
pub fn postgres() -> Migrations {
    Migrations::of(POSTGRES, LAST_BY_SQLX.0)
}

/// The migrations of SQLite.
#[must_use]
pub fn sqlite() -> Migrations {
    Migrations::of(SQLITE, LAST_BY_SQLX.1)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use sqlx::migrate::{Migration, Migrator};

    use super::*;

    #[tokio::test]
    async fn every_file_is_embedded_as_sqlx_would_read_it() {
        for (folder, embedded) in [("postgres", postgres()), ("sqlite", sqlite())] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("migrations")
                .join(folder);
            let read = Migrator::new(path).await.unwrap();
            let fields = |migrations: &mut dyn Iterator<Item = &Migration>| -> Vec<_> {
                migrations
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
            assert_eq!(
                fields(&mut embedded.all()),
                fields(&mut read.iter()),
                "{folder}"
            );
        }
    }
}

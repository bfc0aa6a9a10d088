//! The migrations of both databases, embedded, and whether this program may run on what a database has of them.
//!
//! sqlx applies them and notes each in `_sqlx_migrations`; [`Schema`] says who does so. All that are missing are applied in one
//! transaction under one lock, so instances may start together. Migrations only add: a program runs on a schema with more
//! migrations than it knows, unless one of these says by its name that it takes something away (`contract N`: only programs
//! whose newest migration is N or later may run).
//!
//! sqlx has a macro that embeds migrations. It would compile both database drivers a second time, for the compiler's own
//! use: a tenth of a cold build.

use std::time::Duration;

use sqlx::SqlSafeStr;
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use tokio::time::sleep;

use super::OpenError;

mod progress;

pub use progress::{Progress, Report, Schema, log};

/// The migrations of Postgres.
#[must_use]
pub fn postgres() -> Migrations {
    let baseline = include_str!("../../migrations/postgres/0001_baseline.sql");
    Migrations(Vec::new()).and(1, "baseline", baseline)
}

/// The migrations of SQLite.
#[must_use]
pub fn sqlite() -> Migrations {
    let baseline = include_str!("../../migrations/sqlite/0001_baseline.sql");
    Migrations(Vec::new()).and(1, "baseline", baseline)
}

/// All migrations of one kind of database, in their order.
pub struct Migrations(Vec<Migration>);

/// A migration that a database has: its version, its description and its checksum.
pub(super) type Applied = (i64, String, Vec<u8>);

/// How a database stands to the migrations of this program.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It has all of them, as this tells.
    Complete(Progress<'static>),
    /// It lacks some migrations.
    Lacking {
        /// The newest that it has.
        newest: Option<i64>,
        missing: Vec<i64>,
    },
}

/// Locks that keep migrations from being applied.
#[derive(Clone, Copy)]
pub(super) struct Locks {
    /// Whether an error says that a lock is held elsewhere.
    pub(super) held: fn(&sqlx::Error) -> bool,
    /// What ends such a lock.
    pub(super) advice: &'static str,
}

impl Migrations {
    /// The same and a later one.
    #[must_use]
    pub fn and(mut self, version: i64, description: &'static str, sql: &'static str) -> Self {
        let (sql, kind) = (sql.into_sql_str(), MigrationType::Simple);
        self.0.push(Migration::new(
            version,
            description.into(),
            kind,
            sql,
            false,
        ));
        self
    }

    /// The version that a database has once all are applied, and the version of a program that has them.
    #[must_use]
    pub fn newest(&self) -> i64 {
        self.0.last().map_or(0, |migration| migration.version)
    }

    pub(super) fn migrator(&self) -> Migrator {
        let mut migrator = Migrator::with_migrations(self.0.clone());
        migrator.set_locking(false).set_ignore_missing(true);
        migrator
    }

    /// How a database with these migrations stands; `has_links`: it has a table of links, whichever program made it.
    ///
    /// # Errors
    /// This program may not run on it.
    pub(super) fn standing(
        &self,
        applied: &[Applied],
        has_links: bool,
    ) -> Result<Standing, OpenError> {
        let newest = applied.iter().map(|(version, ..)| *version).max();
        let checksum_of = |of: i64| {
            let found = applied.iter().find(|(version, ..)| *version == of);
            found.map(|(.., checksum)| checksum.as_slice())
        };
        let is_foreign = match self.0.first() {
            Some(baseline) if newest.is_some() => {
                checksum_of(baseline.version) != Some(&*baseline.checksum)
            }
            _ => has_links,
        };
        if is_foreign {
            return Err(OpenError::Wrong(
                "the database has tables that this shunt cannot use, of another program or of an older shunt; name an empty database, to which `shunt export` of the older shunt and `shunt import` of this one bring the links".into(),
            ));
        }
        let (own, newest) = (self.newest(), newest.unwrap_or_default());
        let oldest = applied.iter().filter_map(contract).max();
        if let Some(oldest) = oldest.filter(|oldest| own < *oldest) {
            return Err(OpenError::Wrong(format!(
                "the schema is at version {newest}, of a newer shunt, and this shunt (version {own}) is older than the oldest that may run on it (version {oldest}); start the newer shunt, or take the links to an empty database by its `shunt export`"
            )));
        }
        let is_changed = |migration: &&Migration| {
            checksum_of(migration.version).is_some_and(|sum| *sum != *migration.checksum)
        };
        if let Some(changed) = self.0.iter().find(is_changed) {
            return Err(OpenError::Wrong(format!(
                "migration {} was applied in another form than this shunt has it; start the shunt that applied it, or restore a backup from before",
                changed.version
            )));
        }
        let versions = self.0.iter().map(|migration| migration.version);
        let missing: Vec<_> = versions.filter(|of| checksum_of(*of).is_none()).collect();
        if !missing.is_empty() {
            let newest = (newest > 0).then_some(newest);
            return Ok(Standing::Lacking { newest, missing });
        }
        Ok(Standing::Complete(if own < newest {
            let version = newest;
            Progress::Newer { version, own }
        } else {
            Progress::UpToDate { version: newest }
        }))
    }

    /// Why an instance that does not migrate cannot start.
    pub(super) fn refusal(&self, newest: Option<i64>) -> OpenError {
        let has = match newest {
            None => "the database has no schema".to_owned(),
            Some(version) => format!("the schema is at version {version}"),
        };
        OpenError::Wrong(format!(
            "{has}, and this shunt needs version {}; run `shunt migrate` of this shunt first, or start without NO_MIGRATE",
            self.newest()
        ))
    }

    /// Reports what is about to be applied, applies it by `attempt`, and reports it. `attempt` has the lock of migrations, and
    /// returns how the database stood when it got the lock. While another lock is held elsewhere, it is tried again.
    pub(super) async fn bring_up_to_date(
        &self,
        newest: Option<i64>,
        waits: LockWaits,
        report: Report,
        locks: Locks,
        mut attempt: impl AsyncFnMut() -> Result<Result<Standing, OpenError>, MigrateError>,
    ) -> Result<(), OpenError> {
        let to = self.newest();
        report(&Progress::Begins { from: newest, to });
        let mut pauses = waits.pauses();
        loop {
            let (error, version) = match attempt().await {
                Ok(stood) => {
                    self.report_applied(&stood?, report);
                    return Ok(());
                }
                Err(MigrateError::Execute(error)) if (locks.held)(&error) => (error, None),
                Err(MigrateError::ExecuteMigration(error, version)) if (locks.held)(&error) => {
                    (error, Some(version))
                }
                Err(MigrateError::Execute(sqlx::Error::PoolTimedOut)) => {
                    let why = "it does not answer, or another instance is migrating it";
                    return Err(OpenError::NotYet(why.into()));
                }
                Err(error) => return Err(error.into()),
            };
            let at = |migration: &&Migration| Some(migration.version) == version;
            let what = self.0.iter().find(at).map_or_else(
                || "the schema".to_owned(),
                |migration| {
                    format!(
                        "migration {} ({})",
                        migration.version, migration.description
                    )
                },
            );
            let Some(pause) = pauses.next() else {
                return Err(OpenError::Wrong(format!(
                    "{what} waits for a lock that another session holds, and was tried {} times ({error}); {}, then start again",
                    waits.tries, locks.advice
                )));
            };
            let pause_ms = pause.as_millis();
            tracing::warn!(
                "{what} waits for a lock that another session holds: trying again in {pause_ms} ms"
            );
            sleep(pause).await;
        }
    }

    fn report_applied(&self, stood: &Standing, report: Report) {
        let missing = match stood {
            // Another instance was quicker.
            Standing::Complete(progress) => return report(progress),
            Standing::Lacking { missing, .. } => missing,
        };
        let is_missing = |migration: &&Migration| missing.contains(&migration.version);
        for migration in self.0.iter().filter(is_missing) {
            let (version, description) = (migration.version, &*migration.description);
            report(&Progress::Applied {
                version,
                description,
            });
        }
    }
}

/// The oldest version that may run once this migration is applied, if it takes something away.
fn contract((version, description, _): &Applied) -> Option<i64> {
    let oldest = description.strip_prefix("contract ")?.split(' ').next()?;
    Some(oldest.parse().unwrap_or(*version))
}

/// How long migrations wait for a lock, and how often they are tried.
///
/// A statement that waits for a strong lock holds up all later ones on that table. So it waits for a moment only, and is tried
/// again after a pause in which those go on.
#[derive(Clone, Copy, Debug)]
pub struct LockWaits {
    /// One wait for a lock.
    pub lock_timeout: Duration,
    /// How often migrations are tried.
    pub tries: u32,
    /// The first pause; each is twice as long as the one before, up to [`LockWaits::MAX_PAUSE`].
    pub first_pause: Duration,
}

impl LockWaits {
    /// About six minutes, and nine with SQLite, which waits longer for each lock. A wait is shorter than any redirect waits for its click or its look-up.
    pub const USUAL: Self = Self {
        lock_timeout: Duration::from_millis(300),
        tries: 40,
        first_pause: Duration::from_millis(250),
    };

    /// The longest pause.
    pub const MAX_PAUSE: Duration = Duration::from_secs(10);

    /// The pauses between tries.
    fn pauses(self) -> impl Iterator<Item = Duration> {
        let pauses = std::iter::successors(Some(self.first_pause), |pause| Some(*pause * 2));
        let tries = usize::try_from(self.tries).unwrap_or(usize::MAX);
        pauses
            .map(|pause| pause.min(Self::MAX_PAUSE))
            .take(tries.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[tokio::test]
    async fn every_file_is_embedded_as_sqlx_would_read_it() {
        for (folder, embedded) in [("postgres", postgres()), ("sqlite", sqlite())] {
            // Checksums are of bytes: `.gitattributes` keeps the ends of lines the same on all systems.
            let has_other_ends = |migration: &Migration| migration.sql.as_str().contains('\r');
            assert!(!embedded.0.iter().any(has_other_ends), "{folder}");
            let path = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("migrations")
                .join(folder);
            let read = Migrator::new(path).await.unwrap();
            let fields = |migration: &Migration| {
                let migration = migration.clone();
                let kind = migration.migration_type;
                let (version, description) = (migration.version, migration.description);
                (version, description, kind, migration.checksum)
            };
            let embedded: Vec<_> = embedded.0.iter().map(fields).collect();
            assert_eq!(
                embedded,
                read.iter().map(fields).collect::<Vec<_>>(),
                "{folder}"
            );
        }
    }

    fn known() -> Migrations {
        let names = [(1, "baseline"), (2, "adds"), (3, "adds more")];
        names
            .into_iter()
            .fold(Migrations(Vec::new()), |all, (version, description)| {
                all.and(version, description, "SELECT 1")
            })
    }

    fn applied(of: &Migrations) -> Vec<Applied> {
        let applied = of.0.iter().map(|migration| {
            let description = migration.description.clone().into_owned();
            (migration.version, description, migration.checksum.to_vec())
        });
        applied.collect()
    }

    #[test]
    fn an_older_schema_lacks_what_came_since_also_in_between() {
        let (known, all) = (known(), applied(&known()));
        let standing = |applied: &[Applied]| known.standing(applied, true).unwrap();
        assert_eq!(
            standing(&all[..1]),
            Standing::Lacking {
                newest: Some(1),
                missing: vec![2, 3]
            }
        );
        assert_eq!(
            standing(&[all[0].clone(), all[2].clone()]),
            Standing::Lacking {
                newest: Some(3),
                missing: vec![2]
            }
        );
        let complete = Standing::Complete(Progress::UpToDate { version: 3 });
        assert_eq!(standing(&all), complete);
        let OpenError::Wrong(why) = known.refusal(Some(1)) else {
            panic!("it may be tried again");
        };
        assert!(
            why.starts_with("the schema is at version 1, and this shunt needs version 3"),
            "{why}"
        );
    }

    #[test]
    fn a_migration_that_was_applied_in_another_form_is_named() {
        let mut all = applied(&known());
        all[1].2 = vec![0];
        let Err(OpenError::Wrong(why)) = known().standing(&all, true) else {
            panic!("it is accepted");
        };
        assert!(
            why.starts_with("migration 2 was applied in another form"),
            "{why}"
        );
    }

    #[test]
    fn a_mark_that_cannot_be_read_lets_no_older_version_run() {
        let oldest = |description: &str| contract(&(20, description.to_owned(), Vec::new()));
        assert_eq!(oldest("a table"), None);
        assert_eq!(oldest("contract 12 no target"), Some(12));
        assert_eq!(oldest("contract x"), Some(20));
    }
}

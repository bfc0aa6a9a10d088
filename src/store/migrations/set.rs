//! All migrations of a program.

use std::borrow::Cow;

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

use super::step::Step;

/// Version, description and text of each file in a folder of `migrations/`.
pub(super) type Files = &'static [(i64, &'static str, &'static str)];

/// All migrations of one kind of database, in their order.
pub struct Migrations {
    by_sqlx: Vec<Migration>,
    steps: Vec<Step>,
}

impl Migrations {
    pub(super) fn of(files: Files, last_by_sqlx: i64) -> Self {
        let migrations = files.iter().map(|(version, description, sql)| {
            let sql = (*sql).into_sql_str();
            let kind = MigrationType::Simple;
            Migration::new(*version, Cow::Borrowed(*description), kind, sql, false)
        });
        let (by_sqlx, later): (Vec<_>, Vec<_>) =
            migrations.partition(|migration| migration.version <= last_by_sqlx);
        Self {
            by_sqlx,
            steps: later.into_iter().map(Step::of).collect(),
        }
    }

    /// Those up to a version, as an older program has them.
    #[must_use]
    pub fn up_to(mut self, version: i64) -> Self {
        self.by_sqlx
            .retain(|migration| migration.version <= version);
        self.steps.retain(|step| step.version() <= version);
        self
    }

    /// The same and a further step, as a newer program has them.
    #[must_use]
    pub fn and(mut self, version: i64, description: &'static str, sql: &'static str) -> Self {
        let (sql, kind) = (sql.into_sql_str(), MigrationType::Simple);
        self.steps.push(Step::of(Migration::new(
            version,
            Cow::Borrowed(description),
            kind,
            sql,
            false,
        )));
        self
    }

    /// The version that a database has once all are applied, and the version of a program that has them.
    #[must_use]
    pub fn newest(&self) -> i64 {
        let versions = self.all().map(|migration| migration.version);
        versions.max().unwrap_or_default()
    }

    /// Those that sqlx runs. Later rows in its table keep older programs out, and are no migrations.
    pub(in crate::store) fn by_sqlx(&self) -> Migrator {
        let mut migrator = Migrator::with_migrations(self.by_sqlx.clone());
        migrator.set_locking(false).set_ignore_missing(true);
        migrator
    }

    /// The step with this version; `None` where sqlx runs it.
    pub(in crate::store) fn step(&self, version: i64) -> Option<&Step> {
        self.steps.iter().find(|step| step.version() == version)
    }

    pub(in crate::store) fn all(&self) -> impl Iterator<Item = &Migration> {
        let steps = self.steps.iter().map(Step::migration);
        self.by_sqlx.iter().chain(steps)
    }

    /// Whether a version is noted in sqlx's table.
    pub(in crate::store) fn is_by_sqlx(&self, version: i64) -> bool {
        self.by_sqlx
            .iter()
            .any(|migration| migration.version == version)
    }

    /// Whether a step keeps out programs that do not know its mark: they only heed sqlx's table.
    pub(in crate::store) fn keeps_out_all_by_sqlx(&self, step: &Step) -> bool {
        let last = self.by_sqlx.iter().map(|migration| migration.version).max();
        step.oldest() > last.unwrap_or_default()
    }
}

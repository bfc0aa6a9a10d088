//! One migration, how it runs, and which versions may run on it.

use sqlx::SqlStr;
use sqlx::migrate::Migration;

/// A migration that is noted in `shunt_migrations`.
///
/// Comments at the beginning of its file say how it differs from the usual one, which only adds, in one transaction:
///
/// * `-- contract: oldest version N`: it takes something away, so only programs from version N on may run on it;
/// * `-- runs: in batches`: its one statement is repeated, each time in a transaction of its own, until it changes nothing;
/// * `-- runs: concurrently, index NAME`: its one statement, `CREATE INDEX CONCURRENTLY NAME`, runs in no transaction.
pub(in crate::store) struct Step {
    migration: Migration,
    way: Way,
    oldest: i64,
}

/// How a step runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store) enum Way {
    InTransaction,
    InBatches,
    /// In no transaction, as Postgres builds an index beside writers. The name is that of the index.
    Concurrently(String),
}

impl Step {
    pub(super) fn of(migration: Migration) -> Self {
        let mut step = Self {
            migration,
            way: Way::InTransaction,
            oldest: 0,
        };
        let text = step.migration.sql.as_str().to_owned();
        for header in headers(&text) {
            if let Some(oldest) = header.strip_prefix("contract: oldest version ") {
                step.oldest = oldest.parse().unwrap_or(step.migration.version);
            } else if header == "runs: in batches" {
                step.way = Way::InBatches;
            } else if let Some(index) = header.strip_prefix("runs: concurrently, index ") {
                step.way = Way::Concurrently(index.to_owned());
            }
        }
        step
    }

    pub(super) fn migration(&self) -> &Migration {
        &self.migration
    }

    pub(in crate::store) fn version(&self) -> i64 {
        self.migration.version
    }

    pub(in crate::store) fn description(&self) -> &str {
        &self.migration.description
    }

    pub(in crate::store) fn checksum(&self) -> &[u8] {
        &self.migration.checksum
    }

    pub(in crate::store) fn sql(&self) -> SqlStr {
        self.migration.sql.clone()
    }

    pub(in crate::store) fn way(&self) -> &Way {
        &self.way
    }

    /// The oldest version that may run once it is applied; 0 where it only adds.
    pub(in crate::store) fn oldest(&self) -> i64 {
        self.oldest
    }
}

/// The comments before the first statement.
fn headers(sql: &str) -> impl Iterator<Item = &str> {
    let lines = sql
        .lines()
        .map(str::trim)
        .skip_while(|line| line.is_empty());
    lines
        .map_while(|line| line.strip_prefix("--"))
        .map(str::trim)
}

#[cfg(test)]
mod tests {
    use sqlx::SqlSafeStr;
    use sqlx::migrate::MigrationType;

    use super::*;

    fn step(sql: &'static str) -> Step {
        let (sql, kind) = (sql.into_sql_str(), MigrationType::Simple);
        Step::of(Migration::new(20, "a step".into(), kind, sql, false))
    }

    #[test]
    fn a_file_without_headers_adds_in_one_transaction() {
        let step = step("-- A table.\nCREATE TABLE t (id bigint);");
        assert_eq!((step.way(), step.oldest()), (&Way::InTransaction, 0));
    }

    #[test]
    fn headers_stand_among_the_first_comments() {
        let batches = step(
            "-- Why.\n-- runs: in batches\n-- contract: oldest version 12\nUPDATE t SET a = 1;",
        );
        assert_eq!((batches.way(), batches.oldest()), (&Way::InBatches, 12));
        let index =
            step("-- runs: concurrently, index t_a\nCREATE INDEX CONCURRENTLY t_a ON t (a);");
        assert_eq!(index.way(), &Way::Concurrently("t_a".into()));
        let late = step("CREATE TABLE t (id bigint);\n-- runs: in batches");
        assert_eq!(late.way(), &Way::InTransaction);
    }

    #[test]
    fn a_mark_that_cannot_be_read_lets_no_older_version_run() {
        assert_eq!(
            step("-- contract: oldest version x\nDROP TABLE t;").oldest(),
            20
        );
    }
}

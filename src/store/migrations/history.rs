//! What a database has of the migrations, and whether this program may run on it.

use std::collections::BTreeMap;

use super::progress::Progress;
use super::set::Migrations;
use crate::store::OpenError;

/// The migrations that a database has.
#[derive(Debug, Default)]
pub(in crate::store) struct History {
    /// Their checksums, by version.
    pub(in crate::store) applied: BTreeMap<i64, Vec<u8>>,
    /// The oldest version that may run on it.
    pub(in crate::store) oldest: i64,
    /// Whether there is a table for steps.
    pub(in crate::store) notes_steps: bool,
}

/// How a database stands to the migrations of this program.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::store) enum Standing<'a> {
    /// It has all of them, as this tells.
    Complete(Progress<'a>),
    /// It lacks some.
    Lacking,
}

impl History {
    fn newest(&self) -> Option<i64> {
        self.applied.keys().next_back().copied()
    }

    /// How the database stands to these migrations.
    ///
    /// # Errors
    /// This program may not run on it.
    pub(in crate::store) fn standing(
        &self,
        migrations: &Migrations,
    ) -> Result<Standing<'static>, OpenError> {
        let own = migrations.newest();
        let version = self.newest().unwrap_or_default();
        if own < self.oldest {
            return Err(OpenError::Wrong(format!(
                "the schema is at version {version}, on which only a newer shunt may run (of version {} or later, and this one is of {own}); start that one, or restore a backup of before the upgrade",
                self.oldest
            )));
        }
        for migration in migrations.all() {
            let applied = self.applied.get(&migration.version);
            if applied.is_some_and(|checksum| **checksum != *migration.checksum) {
                return Err(OpenError::Wrong(format!(
                    "migration {} was applied in another form than this shunt has it; start the shunt that applied it, or restore a backup of before",
                    migration.version
                )));
            }
        }
        if !self.missing(migrations).is_empty() {
            return Ok(Standing::Lacking);
        }
        let oldest = self.oldest;
        Ok(Standing::Complete(if own < version {
            Progress::Newer {
                version,
                own,
                oldest,
            }
        } else {
            Progress::UpToDate { version }
        }))
    }

    /// Versions that it lacks.
    pub(in crate::store) fn missing(&self, migrations: &Migrations) -> Vec<i64> {
        let versions = migrations.all().map(|migration| migration.version);
        versions
            .filter(|version| !self.applied.contains_key(version))
            .collect()
    }

    /// What is about to happen.
    pub(in crate::store) fn beginning(&self, migrations: &Migrations) -> Progress<'static> {
        let from = self.newest();
        Progress::Begins {
            from,
            to: migrations.newest().max(from.unwrap_or_default()),
        }
    }

    /// Why an instance that does not migrate cannot start.
    pub(in crate::store) fn refusal(&self, migrations: &Migrations) -> OpenError {
        let has = match self.newest() {
            None => "the database has no schema".to_owned(),
            Some(version) => format!("the schema is at version {version}"),
        };
        let missing = self.missing(migrations);
        let missing: Vec<_> = missing.iter().map(i64::to_string).collect();
        OpenError::Wrong(format!(
            "{has}, and this shunt needs version {} (missing: {}); run `shunt migrate` of this shunt first, or start without NO_MIGRATE",
            migrations.newest(),
            missing.join(", ")
        ))
    }
}

//! The row that says how far sums by class are added.

use sqlx::SqliteConnection;

/// How many sums are added once all are.
pub(super) const ALL: i64 = i64::MAX;

/// How far sums are added.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) of_owners: bool,
    /// NULL if nothing is summed.
    pub(super) added: Option<i64>,
}

impl Mark {
    pub(super) const NOTHING: Self = Self {
        of_owners: false,
        added: None,
    };
    pub(super) const LINKS_ADDED: Self = Self {
        of_owners: true,
        added: Some(0),
    };
    pub(super) const OWNERS_ADDED: Self = Self {
        of_owners: true,
        added: Some(ALL),
    };

    pub(super) fn plus(self, sums: usize) -> Self {
        let added = self.added.unwrap_or_default();
        Self {
            added: Some(added.saturating_add_unsigned(sums as u64)),
            ..self
        }
    }

    /// Moves the mark in the file, unless it was elsewhere: then nothing changes.
    pub(super) async fn moves_to(
        self,
        next: Self,
        transaction: &mut SqliteConnection,
    ) -> Result<bool, sqlx::Error> {
        let moved = sqlx::query(
            "UPDATE click_details_summing SET of_owners = ?3, added = ?4 WHERE of_owners = ?1 AND added = ?2",
        )
        .bind(self.of_owners)
        .bind(self.added)
        .bind(next.of_owners)
        .bind(next.added)
        .execute(transaction)
        .await?;
        Ok(moved.rows_affected() == 1)
    }
}

//! The keys of which this process knows that their use today is noted.

use std::time::Duration;

use moka::sync::Cache;

use crate::domain::TokenKey;

/// Keys that one process remembers.
const MAX_NOTED: u64 = 100_000;

/// A key by its hash, and the day.
pub(super) type Use = (TokenKey, String);

/// Uses that are noted in the database.
pub(super) struct NotedUses(Cache<Use, ()>);

impl Default for NotedUses {
    fn default() -> Self {
        let noted = Cache::builder().max_capacity(MAX_NOTED);
        Self(noted.time_to_live(Duration::from_hours(24)).build())
    }
}

impl NotedUses {
    pub(super) fn has(&self, used: &Use) -> bool {
        self.0.contains_key(used)
    }

    pub(super) fn add(&self, used: Use) {
        self.0.insert(used, ());
    }
}

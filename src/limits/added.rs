//! What one address has added to the database in a day, as far as this process knows.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Added(Arc<Mutex<Sums>>);

#[derive(Default)]
pub(super) struct Sums {
    /// Added in Redis, by all instances.
    pub(super) shared: i64,
    /// To be added there.
    pub(super) gathered: i64,
}

impl Added {
    pub(super) fn sums(&self) -> MutexGuard<'_, Sums> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

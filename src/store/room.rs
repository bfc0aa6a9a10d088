//! Whether the database is full, by `DATABASE_MAX_MIB`: if it is, no links, accounts, keys and reports are created.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::StoreError;

/// Whether the database has room for more; cheap to clone.
///
/// It is measured every few seconds, and asked by what makes links, accounts, keys and reports. All else goes on.
#[derive(Clone, Debug, Default)]
pub struct StorageRoom(Arc<AtomicBool>);

impl StorageRoom {
    /// Notes how many bytes the database has, and how many it may have; 0: any number.
    pub fn note(&self, bytes: u64, max: u64) {
        let is_full = max > 0 && bytes >= max;
        if self.0.swap(is_full, Ordering::Relaxed) != is_full {
            if is_full {
                tracing::error!(
                    bytes,
                    max,
                    "the database is as large as DATABASE_MAX_MIB allows: no links, accounts, keys and reports are taken"
                );
            } else {
                tracing::info!(bytes, max, "the database has room again");
            }
        }
    }

    /// # Errors
    /// [`StoreError::Full`].
    pub fn check(&self) -> Result<(), StoreError> {
        if self.0.load(Ordering::Relaxed) {
            metrics::counter!(crate::telemetry::metrics::LIMIT_HITS, "limit" => "database_size")
                .increment(1);
            return Err(StoreError::Full);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_below_the_limit_or_without_one() {
        let room = StorageRoom::default();
        for (bytes, max, has_room) in [
            (1, 0, true),
            (99, 100, true),
            (100, 100, false),
            (99, 100, true),
        ] {
            room.note(bytes, max);
            assert_eq!(room.check().is_ok(), has_room, "{bytes} of {max}");
        }
    }
}

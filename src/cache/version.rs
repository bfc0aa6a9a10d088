//! The version of the cache, by which a look-up notices that a link changed meanwhile.

use std::sync::atomic::{AtomicU64, Ordering};

/// The version of the cache when a look-up began. The result may be cached while the version is still the same.
pub(super) struct LookupVersion<'a> {
    pub(super) version: u64,
    newest: &'a AtomicU64,
}

impl<'a> LookupVersion<'a> {
    pub(super) fn now(newest: &'a AtomicU64) -> Self {
        Self {
            version: newest.load(Ordering::Acquire),
            newest,
        }
    }

    pub(super) fn is_current(&self) -> bool {
        self.newest.load(Ordering::Acquire) == self.version
    }
}

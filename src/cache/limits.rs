//! How much is cached, and for how long.

use std::time::Duration;

/// How much the process caches, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct CacheLimits {
    /// Max links in the process.
    pub links: u64,
    /// How long a link is served without confirmation that it did not change. Up to a quarter of that time may be
    /// spent in a worker's own table.
    pub link_ttl: Duration,
    /// Whether this process makes all changes itself: then every link in memory is current.
    pub is_alone: bool,
    /// Max codes without a link in the process.
    pub unknown: u64,
    /// How long a code without a link is cached.
    pub unknown_ttl: Duration,
    /// Number of workers, each with a table of its own.
    pub workers: usize,
}

impl CacheLimits {
    pub(super) fn l2_ttl(&self) -> Duration {
        self.link_ttl / 4 * 3
    }

    pub(super) fn l1_ttl(&self) -> Duration {
        self.link_ttl / 4
    }

    #[cfg(test)]
    pub(super) fn of_a_test() -> Self {
        Self {
            links: 100,
            link_ttl: Duration::from_mins(1),
            is_alone: false,
            unknown: 100,
            unknown_ttl: Duration::from_secs(1),
            workers: 1,
        }
    }
}

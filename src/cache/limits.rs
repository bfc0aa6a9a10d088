//! How much is cached, and for how long.
//!
//! Memory is bounded in bytes: a target may be 60 bytes long or 50 times as much. The bound is divided: a quarter for the
//! workers' own tables, a sixteenth for codes without a link, the rest for links.

use std::time::Duration;

use super::link::CachedLink;
use crate::domain::ShortCode;

/// Memory of a cached link beside its target: its record, and the bookkeeping of moka. Measured by
/// `load/scale --only memory` (`load/results/scale.txt`).
const LINK_OVERHEAD: usize = 400;

/// Memory of what few links have, beside the letters of a fallback: three allocations.
const RARE_OVERHEAD: usize = 128;

/// Memory of a code without a link beside its letters. Not measured apart: it is that of a link without the link itself.
const UNKNOWN_OVERHEAD: usize = 324;

/// Memory of a slot of a worker's table: its entry, and the record of an evicted link that it still refers to.
const SLOT: u64 = 128;

/// How much the process caches, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct CacheLimits {
    /// Max bytes of all cached links and codes in the process.
    pub memory: u64,
    /// Max links in the process, if that is bounded, too.
    pub links: Option<u64>,
    /// How long a link is served without confirmation that it did not change. Up to a quarter of that time may be
    /// spent in a worker's own table.
    pub link_ttl: Duration,
    /// Whether this process makes all changes itself: then every link in memory is current.
    pub is_alone: bool,
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

    /// Slots of the tables of all workers.
    pub(super) fn l1_slots(&self) -> u64 {
        self.memory / 4 / SLOT
    }

    /// Max bytes of codes without a link.
    pub(super) fn unknown_memory(&self) -> u64 {
        self.memory / 16
    }

    /// Max bytes of links, without the workers' tables.
    pub(super) fn link_memory(&self) -> u64 {
        self.memory - self.memory / 4 - self.unknown_memory()
    }

    /// What a link counts against [`CacheLimits::link_memory`]: its bytes, or its share of the greatest number of links.
    pub(super) fn weight_of_link(&self, code: &ShortCode, link: &CachedLink) -> u32 {
        let rare = link.rare.as_ref().map_or(0, |_| RARE_OVERHEAD);
        let fallback = link.fallback();
        let fallback = fallback.map_or(0, |fallback| fallback.as_str().len());
        let bytes = LINK_OVERHEAD + code.as_key().len() + link.location.as_str().len();
        let rules = link.rules().map_or(0, |rules| rules.bytes());
        let alias = link.alias().map_or(0, |alias| alias.link.as_str().len());
        let bytes = bytes + rare + fallback + rules + alias;
        let share = self
            .links
            .map_or(0, |links| self.link_memory() / links.max(1));
        u32::try_from((bytes as u64).max(share)).unwrap_or(u32::MAX)
    }

    /// What a code without a link counts against [`CacheLimits::unknown_memory`].
    pub(super) fn weight_of_unknown(code: &ShortCode) -> u32 {
        u32::try_from(UNKNOWN_OVERHEAD + code.as_key().len()).unwrap_or(u32::MAX)
    }

    #[cfg(test)]
    pub(super) fn of_a_test() -> Self {
        Self {
            memory: 1 << 20,
            links: None,
            link_ttl: Duration::from_mins(1),
            is_alone: false,
            unknown_ttl: Duration::from_secs(1),
            workers: 1,
        }
    }
}

//! The worlds that are checked: each has some kinds of trouble at once, so that it can be checked far.

use super::World;

impl World {
    /// One instance, which writes back; nothing goes wrong but the database.
    pub const ONE: Self = Self {
        batches: 2,
        instances: 1,
        flushes: true,
        reads: 0,
        kills: 0,
        crashes: 1,
        snapshots: 0,
        redis_faults: 0,
        outages: false,
        intervals: false,
        deletes: false,
        mutation: None,
    };
    /// Recorders, both sinks, and messages that are late, lost or without a reply.
    pub const OUTAGES: Self = Self {
        flushes: false,
        crashes: 0,
        kills: 1,
        outages: true,
        ..Self::ONE
    };
    /// The same with two instances: either settles what the other parked.
    pub const TWO_IN_OUTAGES: Self = Self {
        instances: 2,
        ..Self::OUTAGES
    };
    /// Two instances write back at once, and the database crashes.
    pub const FLUSHERS: Self = Self {
        instances: 2,
        ..Self::ONE
    };
    /// Counts are read meanwhile.
    pub const READERS: Self = Self {
        reads: 2,
        crashes: 0,
        ..Self::FLUSHERS
    };
    /// Counts are read while batches are in doubt, in memory and parked.
    pub const DOUBTFUL_READERS: Self = Self {
        reads: 1,
        kills: 0,
        flushes: true,
        ..Self::OUTAGES
    };
    /// A link is deleted, with intervals that end.
    pub const DELETES: Self = Self {
        deletes: true,
        intervals: true,
        outages: true,
        crashes: 0,
        ..Self::ONE
    };
    /// Intervals end while two instances record and write back.
    pub const BY_INTERVAL: Self = Self {
        batches: 3,
        intervals: true,
        outages: true,
        crashes: 0,
        ..Self::ONE
    };
    /// Redis starts again with all, some or none of its data, goes back beneath living connections, or is superseded.
    pub const FAULTS: Self = Self {
        snapshots: 1,
        redis_faults: 1,
        crashes: 0,
        instances: 2,
        ..Self::ONE
    };
    /// The same twice, with one instance.
    pub const TWO_FAULTS: Self = Self {
        redis_faults: 2,
        instances: 1,
        ..Self::FAULTS
    };
    /// The same while batches are in doubt.
    pub const DOUBTFUL_FAULTS: Self = Self {
        instances: 1,
        outages: true,
        kills: 1,
        ..Self::FAULTS
    };
    /// The same while counts are read.
    pub const READ_FAULTS: Self = Self {
        reads: 1,
        ..Self::FAULTS
    };

    /// Worlds in which Redis loses nothing, each with the steps that a run of the tests checks, and a longer run.
    pub const REDIS_KEEPS: &[(&str, Self, usize, usize)] = &[
        ("one instance", Self::ONE, 30, 30),
        ("outages", Self::OUTAGES, 15, 19),
        ("two instances in outages", Self::TWO_IN_OUTAGES, 12, 13),
        ("two flushers", Self::FLUSHERS, 30, 30),
        ("readers", Self::READERS, 14, 16),
        ("readers in outages", Self::DOUBTFUL_READERS, 13, 15),
        ("a deleted link", Self::DELETES, 12, 14),
        ("intervals", Self::BY_INTERVAL, 12, 14),
    ];

    /// Worlds in which it loses data or is superseded.
    pub const REDIS_FAILS: &[(&str, Self, usize, usize)] = &[
        ("Redis fails", Self::FAULTS, 13, 14),
        ("Redis fails twice", Self::TWO_FAULTS, 14, 16),
        ("Redis fails in outages", Self::DOUBTFUL_FAULTS, 11, 12),
        (
            "Redis fails while counts are read",
            Self::READ_FAULTS,
            11,
            12,
        ),
    ];
}

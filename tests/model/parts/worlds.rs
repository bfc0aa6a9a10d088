//! The worlds that are checked: each has some kinds of trouble at once, so that it can be checked far.

use super::World;

impl World {
    /// Two instances write back in two pieces, one merges, and either is killed or the database crashes.
    pub const FLUSHERS: Self = Self {
        batches: 3,
        journal: false,
        flushers: 2,
        mergers: 1,
        pieces: 2,
        unmerged: 1,
        reads: 0,
        kills: 1,
        crashes: 1,
        redis_faults: 0,
        intervals: false,
        deletes: 0,
        mutation: None,
    };
    /// Two merge what one instance and the journal append; the flush is one piece with two parts.
    pub const MERGERS: Self = Self {
        batches: 2,
        journal: true,
        flushers: 1,
        mergers: 2,
        pieces: 1,
        unmerged: 2,
        intervals: true,
        ..Self::FLUSHERS
    };
    /// Counts are read meanwhile, while an interval ends.
    pub const READERS: Self = Self {
        batches: 2,
        journal: true,
        flushers: 1,
        unmerged: 2,
        reads: 1,
        kills: 0,
        crashes: 1,
        intervals: true,
        ..Self::FLUSHERS
    };
    /// The same while two instances write back, and one is killed.
    pub const READ_FLUSHERS: Self = Self {
        journal: false,
        flushers: 2,
        kills: 1,
        intervals: false,
        ..Self::READERS
    };
    /// Links and so accounts are deleted.
    pub const DELETES: Self = Self {
        deletes: 2,
        reads: 1,
        intervals: false,
        ..Self::READERS
    };
    /// Redis starts again, or loses its last second.
    pub const FAULTS: Self = Self {
        batches: 2,
        redis_faults: 1,
        kills: 0,
        crashes: 0,
        intervals: true,
        ..Self::FLUSHERS
    };
    /// The same while counts are read.
    pub const READ_FAULTS: Self = Self {
        flushers: 1,
        reads: 1,
        crashes: 1,
        ..Self::FAULTS
    };

    /// All of them, each with the steps that a run of the tests checks, and a longer run.
    pub const ALL: &[(&str, Self, usize, usize)] = &[
        ("two flushers of parts", Self::FLUSHERS, 100, 100),
        ("two merges", Self::MERGERS, 100, 100),
        ("readers of parts", Self::READERS, 100, 100),
        (
            "readers of pieces that two write",
            Self::READ_FLUSHERS,
            20,
            100,
        ),
        ("deleted links with parts", Self::DELETES, 100, 100),
        ("Redis fails between pieces", Self::FAULTS, 18, 100),
        (
            "Redis fails between pieces that are read",
            Self::READ_FAULTS,
            17,
            100,
        ),
    ];
}

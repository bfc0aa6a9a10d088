//! Rules that are switched off, and the property that finds each.

use super::World;
use super::properties as rules;

/// A part of a rule that is switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// Rule 1: a redirect is sent as soon as its batch is.
    AnswerBeforeAcknowledgement,
    /// Rule 1: clicks in memory alone are not reported.
    MemoryIsNotReported,
    /// Rule 2: Redis applies any number.
    RedisTakesAnyNumber,
    /// Rule 2: the journal applies any number.
    JournalTakesAnyNumber,
    /// Rule 3: a batch in doubt goes to the journal, as one that was not sent.
    DoubtChangesSinks,
    /// Rule 3: Redis is sent a newer batch while one is in doubt.
    NewerWhileInDoubt,
    /// Rule 4: a part is added wherever the ledger stands.
    MarkIsIgnored,
    /// Rule 4: a part is added though the ledger has a later flush.
    LaterFlushIsIgnored,
    /// Rule 4: Redis forgets a flush before its last part is written.
    FlushIsFinishedEarly,
    /// Rule 4: the last part is not durable when Redis forgets the flush.
    LastPartIsNotDurable,
    /// Rule 5: the database is read first.
    DatabaseIsReadFirst,
    /// Rule 5: a reader does not ask the ledger about the flushes that it saw.
    ReaderIgnoresMarks,
    /// Rule 5: a reader does not ask for flushes newer than those that it saw.
    ReaderIgnoresNewerFlushes,
    /// Rule 5: a reader counts while clicks are parked.
    ReaderIgnoresParked,
    /// Rule 5: a reader counts while it has clicks in memory alone.
    ReaderIgnoresMemory,
    /// Rule 6: a new link gets the ID of a deleted one.
    IdsAreReused,
    /// Rule 7: scripts do not compare terms.
    ScriptsIgnoreTerms,
    /// Rule 7: the ledger does not compare the terms of flushes.
    LedgerIgnoresTerms,
    /// Rule 7: the clicks of a data set that was rolled back are kept.
    RolledBackIsKept,
    /// Rule 7: batches do not name what was acknowledged.
    AcknowledgedIsNotNamed,
    /// Rule 7: flushes do not name what the ledger has.
    LedgerIsNotNamed,
    /// Rule 7: two flushes with the same number are the same.
    FlushesHaveNoNames,
    /// Rule 8: a batch in doubt is sent again in any epoch.
    DoubtOutlivesItsEpoch,
    /// Intervals: a flush takes the clicks of every interval.
    FlushMixesIntervals,
    /// Intervals: clicks of an older interval are added to the newest.
    LateClicksAreOfNow,
    /// Intervals: the sum of an interval that ends is not kept.
    EndedIntervalIsForgotten,
    /// Classes: a batch without room for its class is not counted.
    NoRoomNoClick,
    /// Classes: they are written in a transaction of their own, after the counts.
    ClassesAreWrittenLater,
    /// Classes: those of the newest clicks go with whatever flush begins.
    ClassesOfNewestClicks,
}

impl Mutation {
    pub const ALL: &[Self] = &[
        Self::AnswerBeforeAcknowledgement,
        Self::MemoryIsNotReported,
        Self::RedisTakesAnyNumber,
        Self::JournalTakesAnyNumber,
        Self::DoubtChangesSinks,
        Self::NewerWhileInDoubt,
        Self::MarkIsIgnored,
        Self::LaterFlushIsIgnored,
        Self::FlushIsFinishedEarly,
        Self::LastPartIsNotDurable,
        Self::DatabaseIsReadFirst,
        Self::ReaderIgnoresMarks,
        Self::ReaderIgnoresNewerFlushes,
        Self::ReaderIgnoresParked,
        Self::ReaderIgnoresMemory,
        Self::IdsAreReused,
        Self::ScriptsIgnoreTerms,
        Self::LedgerIgnoresTerms,
        Self::RolledBackIsKept,
        Self::AcknowledgedIsNotNamed,
        Self::LedgerIsNotNamed,
        Self::FlushesHaveNoNames,
        Self::DoubtOutlivesItsEpoch,
        Self::FlushMixesIntervals,
        Self::LateClicksAreOfNow,
        Self::EndedIntervalIsForgotten,
        Self::NoRoomNoClick,
        Self::ClassesAreWrittenLater,
        Self::ClassesOfNewestClicks,
    ];

    /// The property that it breaks, and a world in which it does.
    #[expect(clippy::match_same_arms, reason = "a line for each mutation")]
    #[must_use]
    pub fn breaks(self) -> (&'static str, World) {
        let (property, world) = match self {
            Self::AnswerBeforeAcknowledgement => (rules::KEPT, World::ONE),
            Self::MemoryIsNotReported => (rules::REPORTED, World::OUTAGES),
            Self::RedisTakesAnyNumber => (rules::ONCE, World::OUTAGES),
            Self::JournalTakesAnyNumber => (rules::ONCE, World::OUTAGES),
            Self::DoubtChangesSinks => (rules::ONE_SINK, World::OUTAGES),
            Self::NewerWhileInDoubt => (rules::NOTHING_NEWER, World::OUTAGES),
            Self::MarkIsIgnored => (rules::PARTS, World::FLUSHERS),
            Self::LaterFlushIsIgnored => (rules::PARTS, World::FLUSHERS),
            Self::FlushIsFinishedEarly => (rules::DURABLE, World::ONE),
            Self::LastPartIsNotDurable => (rules::DURABLE, World::ONE),
            Self::DatabaseIsReadFirst => (rules::EXACT, World::READERS),
            Self::ReaderIgnoresMarks => (rules::EXACT, World::READERS),
            Self::ReaderIgnoresNewerFlushes => (rules::EXACT, World::READERS),
            Self::ReaderIgnoresParked => (rules::EXACT, World::DOUBTFUL_READERS),
            Self::ReaderIgnoresMemory => (rules::EXACT, World::DOUBTFUL_READERS),
            Self::IdsAreReused => (rules::IDS, World::DELETES),
            Self::ScriptsIgnoreTerms => (rules::ONE_TERM, World::FAULTS),
            Self::LedgerIgnoresTerms => (rules::FENCED, World::FAULTS),
            Self::RolledBackIsKept => (rules::ROLLED_BACK, World::FAULTS),
            Self::AcknowledgedIsNotNamed => (rules::NOTICED, World::FAULTS),
            Self::LedgerIsNotNamed => (rules::NOTICED, World::FAULTS),
            Self::FlushesHaveNoNames => (rules::KEPT, World::FAULTS),
            Self::DoubtOutlivesItsEpoch => (rules::ONE_EPOCH, World::DOUBTFUL_FAULTS),
            Self::FlushMixesIntervals => (rules::INTERVAL, World::BY_INTERVAL),
            Self::LateClicksAreOfNow => (rules::INTERVAL, World::BY_INTERVAL),
            Self::EndedIntervalIsForgotten => (rules::SERIES, World::BY_INTERVAL),
            Self::NoRoomNoClick => (rules::ROOM, World::ONE),
            Self::ClassesAreWrittenLater => (rules::ALL_CLASSES, World::ONE),
            Self::ClassesOfNewestClicks => (rules::OWN_CLASS, World::BY_INTERVAL),
        };
        (
            property,
            World {
                mutation: Some(self),
                ..world
            },
        )
    }
}

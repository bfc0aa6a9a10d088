//! Rules that are switched off, and the property that finds each.

use super::World;
use super::properties as rules;

/// A part of a rule that is switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// A: the ledger's mark is moved in a transaction after that of the part.
    MarkInAnotherTransaction,
    /// A: a part is inserted wherever the mark of its flush stands.
    MarkIsNotTested,
    /// A: a part is inserted under any term.
    TermIsNotTested,
    /// A: two flushes with the same number are the same.
    NameIsNotTested,
    /// B: a piece is read of any flush with that number.
    PieceHasNoName,
    /// B: a flusher goes on with a piece although the mark went back to before its beginning.
    PieceIsNotReadAgain,
    /// B: the last part of a piece that has no end of the flush ends the flush.
    CutPieceEndsFlush,
    /// C: Redis forgets a piece before all of its parts are written.
    PieceIsForgottenEarly,
    /// C: Redis forgets what is before the mark that another instance left, which a crash of the database may take back.
    MarkIsTakenForDurable,
    /// C: Redis forgets links of any flush with that number.
    ForgettingHasNoName,
    /// C: the last part of a piece is not durable when Redis forgets it.
    PieceIsNotDurable,
    /// D: whether a flush has to wait is asked before it begins.
    BoundIsTestedBefore,
    /// E: a batch that was appended is known by its part alone.
    NumberGoesWithItsPart,
    /// F: a part is of the interval in which it is appended.
    IntervalIsOfNow,
    /// G: parts are deleted, and what they had is added in the next transaction.
    PartsAreDeletedBefore,
    /// G: what parts have is added, and they are deleted in the next transaction.
    PartsAreDeletedAfter,
    /// G: the mark of a part that is merged up to a link is not moved.
    MarkOfMergeStays,
    /// G: a part of which a range is merged is deleted.
    CutPartIsDeleted,
    /// G: one mark says for all parts which links are merged.
    OneMarkForAllParts,
    /// H: a merge writes what it read, whatever became of the parts.
    PartsAreNotTested,
    /// I: only parts of flushes that are written whole are merged.
    WholeFlushesOnly,
    /// J: breakdowns are written in the next transaction.
    ClassesInAnotherTransaction,
    /// K: clicks of a deleted link are merged.
    DeletedIsMerged,
    /// K: deletions are read with the parts, before the transaction that merges them.
    DeletionIsReadBefore,
    /// L: a deletion subtracts clicks that are in parts.
    DeletionTakesParts,
    /// M: the database is read first.
    DatabaseIsReadFirst,
    /// M: a reader does not ask the ledger about the flush that it saw.
    LedgerIsNotRead,
    /// M: a reader does not ask for flushes newer than those that it saw.
    NewerFlushIsNotRead,
    /// M: rows and parts are read in two statements.
    RowsThenParts,
    PartsThenRows,
    /// M: a part counts whole until it is deleted.
    MarkOfMergeIsNotRead,
    /// N: clicks in parts belong to the sum of the owner who travelled with them.
    OwnerIsTrusted,
}

impl Mutation {
    pub const ALL: &[Self] = &[
        Self::MarkInAnotherTransaction,
        Self::MarkIsNotTested,
        Self::TermIsNotTested,
        Self::NameIsNotTested,
        Self::PieceHasNoName,
        Self::PieceIsNotReadAgain,
        Self::CutPieceEndsFlush,
        Self::PieceIsForgottenEarly,
        Self::MarkIsTakenForDurable,
        Self::ForgettingHasNoName,
        Self::PieceIsNotDurable,
        Self::BoundIsTestedBefore,
        Self::NumberGoesWithItsPart,
        Self::IntervalIsOfNow,
        Self::PartsAreDeletedBefore,
        Self::PartsAreDeletedAfter,
        Self::MarkOfMergeStays,
        Self::CutPartIsDeleted,
        Self::OneMarkForAllParts,
        Self::PartsAreNotTested,
        Self::WholeFlushesOnly,
        Self::ClassesInAnotherTransaction,
        Self::DeletedIsMerged,
        Self::DeletionIsReadBefore,
        Self::DeletionTakesParts,
        Self::DatabaseIsReadFirst,
        Self::LedgerIsNotRead,
        Self::NewerFlushIsNotRead,
        Self::RowsThenParts,
        Self::PartsThenRows,
        Self::MarkOfMergeIsNotRead,
        Self::OwnerIsTrusted,
    ];

    /// The property that it breaks, and a world in which it does.
    #[expect(clippy::match_same_arms, reason = "a line for each mutation")]
    #[must_use]
    pub fn breaks(self) -> (&'static str, World) {
        let (property, world) = match self {
            Self::MarkInAnotherTransaction => (rules::APPENDED, World::FLUSHERS),
            Self::MarkIsNotTested => (rules::APPENDED, World::FLUSHERS),
            Self::TermIsNotTested => (rules::FENCED, World::FAULTS),
            Self::NameIsNotTested => (rules::KEPT, World::FAULTS),
            Self::PieceHasNoName => (rules::INTERVAL, World::FAULTS),
            Self::PieceIsNotReadAgain => (rules::KEPT, World::FLUSHERS),
            Self::CutPieceEndsFlush => (rules::KEPT, World::FLUSHERS),
            Self::PieceIsForgottenEarly => (rules::DURABLE, World::FLUSHERS),
            Self::MarkIsTakenForDurable => (rules::DURABLE, World::FLUSHERS),
            Self::ForgettingHasNoName => (rules::KEPT, World::FAULTS),
            Self::PieceIsNotDurable => (rules::DURABLE, World::FLUSHERS),
            Self::BoundIsTestedBefore => (rules::BOUNDED, World::FLUSHERS),
            Self::NumberGoesWithItsPart => (rules::ONCE, World::MERGERS),
            Self::IntervalIsOfNow => (rules::INTERVAL, World::READERS),
            Self::PartsAreDeletedBefore => (rules::KEPT, World::MERGERS),
            Self::PartsAreDeletedAfter => (rules::ONCE, World::MERGERS),
            Self::MarkOfMergeStays => (rules::ONCE, World::MERGERS),
            Self::CutPartIsDeleted => (rules::KEPT, World::MERGERS),
            Self::OneMarkForAllParts => (rules::KEPT, World::MERGERS),
            Self::PartsAreNotTested => (rules::ONCE, World::MERGERS),
            Self::WholeFlushesOnly => (rules::GETS_ON, World::FAULTS),
            Self::ClassesInAnotherTransaction => (rules::CLASSES, World::MERGERS),
            Self::DeletedIsMerged => (rules::SUMS, World::DELETES),
            Self::DeletionIsReadBefore => (rules::SUMS, World::DELETES),
            Self::DeletionTakesParts => (rules::SUMS, World::DELETES),
            Self::DatabaseIsReadFirst => (rules::COUNT, World::READERS),
            Self::LedgerIsNotRead => (rules::COUNT, World::READERS),
            Self::NewerFlushIsNotRead => (rules::COUNT, World::READERS),
            Self::RowsThenParts => (rules::COUNT, World::READERS),
            Self::PartsThenRows => (rules::COUNT, World::READERS),
            Self::MarkOfMergeIsNotRead => (rules::COUNT, World::READERS),
            Self::OwnerIsTrusted => (rules::OWNER, World::DELETES),
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

//! Parts and merge: how clicks get from Redis and from the journal into rows.
//!
//! ```text
//! Redis: pending ──► flush N, in pieces ──► parts ──► rows: counts, series, sums by owner, breakdowns
//! journal ────────────────────────────────► parts ──┘
//!            append (Flusher, Sinks)              merge
//! ```
//!
//! A *piece* is a range of links of a flush in Redis. A *part* is a row of the database with the clicks of a range of links, of one
//! interval, with their owners and classes. A *merge* adds parts to rows. The rules of the pipeline stay; these ones refine
//! rules 4, 5, 6, 10 and 11. Each names its test, and the mutations that show what happens without it. In Postgres the code was written
//! from them (`click_parts`, `insert_parts` and `merge_parts` of the schema). It does less than the rules allow: parts are merged whole,
//! so that no part has a mark; a merge's transaction locks the parts that it reads, and passes over parts that another merge has locked; and
//! the lock of rule K is on the link's row of counts, which a deletion marks. Breakdowns are ahead of the code, which queues classes.
//!
//! # Appending
//!
//! A. **One transaction inserts a part and moves the ledger's mark up to the part's last link.** It does so only if the ledger's row
//!    has the flusher's term, has no later flush, and stands at the part's beginning: the same number, name and mark, or an
//!    earlier flush and no mark. The row is locked first. (`MarkInAnotherTransaction`, `MarkIsNotTested`, `TermIsNotTested`,
//!    `NameIsNotTested`)
//! B. **A flush is read, written and forgotten piece by piece.** A piece has the links after the mark, up to any link of the flush: a
//!    flusher takes as many as it has room for. Only a piece with the last link of the flush ends it. If the ledger's mark
//!    went back to before the piece (a crash of the database took parts that were not durable), the piece is read again from
//!    there. The script that ends the reading of a piece names the term, the number and the name of the flush: Redis may have
//!    gone back since the flush was begun, and have another one of another interval. (`PieceHasNoName`, `PieceIsNotReadAgain`,
//!    `CutPieceEndsFlush`)
//! C. **Redis keeps a link until its part is durable.** Parts do not wait for the disk, except for the last one of a flush, which makes
//!    those before it durable, too. After the last part of another piece, a transaction that waits for the disk finds the mark where the
//!    flusher left it; then Redis may forget the links up to that mark, and no others: a mark that the flusher only read may be one
//!    that a crash takes back. The script that forgets links names the flush as the one that reads it does. Nothing is
//!    forgotten of the last piece until the whole flush is. (`PieceIsForgottenEarly`, `PieceIsNotDurable`, `MarkIsTakenForDurable`,
//!    `ForgettingHasNoName`)
//! D. **At most so many flushes of a data set are unmerged.** The transaction of the *first* part of a flush inserts nothing if
//!    as many flushes of its epoch have parts: the flush waits in Redis. A flush under way is always finished, and the journal never
//!    waits. A test before the transaction is not enough, as another flusher may append meanwhile. (`BoundIsTestedBefore`)
//! E. **A batch of the journal that is not parked is a part from the beginning.** One transaction notes its recorder and number
//!    and inserts the part, unless the number was noted. The note outlives the part: a repetition may come
//!    after the merge. (`NumberGoesWithItsPart`)
//! F. **A part keeps its interval**, that of its flush or batch. (`IntervalIsOfNow`)
//!
//! # Merging
//!
//! G. **Each part has a mark of its own: its links before the mark are in rows.** One transaction adds the clicks of a range of
//!    links to rows, of all parts that have any of them, moves the marks of these parts, and deletes those that are merged whole.
//!    Nothing of this may be in another transaction. One mark for all parts would pass over the links of a part that is appended, or
//!    committed, behind it. (`PartsAreDeletedBefore`, `PartsAreDeletedAfter`, `MarkOfMergeStays`, `CutPartIsDeleted`,
//!    `OneMarkForAllParts`)
//! H. **A merge writes only what it took.** If the transaction that writes did not lock the parts when it read them, it ends without a
//!    change unless each is there, under its key, with the mark that was read. A part's key (epoch, flush, name, first
//!    link; recorder, number) says what is in it in every history of the database, which a number drawn from a sequence does not.
//!    (`PartsAreNotTested`)
//! I. **Any part may be merged**, also one of a flush that is under way or was given up with its epoch: otherwise that flush would
//!    count among the unmerged for ever. A merge need not be durable: a crash that loses it brings the parts back.
//!    (`WholeFlushesOnly`)
//! J. **The merge's transaction writes the breakdowns**, of links and of owners, and the sums by owner.
//!    (`ClassesInAnotherTransaction`)
//! K. **Clicks of a deleted link are dropped by the merge**, which asks whether the link is there in the transaction that writes, with
//!    the link's row locked against a deletion. The links of an account are deleted before its row, so nothing else is to
//!    be asked for it. (`DeletedIsMerged`, `DeletionIsReadBefore`)
//! L. **A deletion subtracts from the sums of the owner what rows have of the link**, and nothing of parts, which the merge drops.
//!    (`DeletionTakesParts`)
//!
//! # Reading
//!
//! M. **Redis is read first, then the database in one statement: the ledger, rows, and the links of parts behind the parts' marks.** A
//!    flush that Redis showed is left out up to the ledger's mark. A reading begins again if the ledger has a flush that Redis did not
//!    show, or another term. Links may be read from Redis one after another, each at one moment.
//!    (`DatabaseIsReadFirst`, `LedgerIsNotRead`, `NewerFlushIsNotRead`, `RowsThenParts`, `PartsThenRows`, `MarkOfMergeIsNotRead`)
//! N. **The sum of an owner has the clicks in parts and in Redis only of links that are there**, as of the same statement: the
//!    owner that travelled with a click says whose it is, and not that the link still counts. (`OwnerIsTrusted`)
//!
//! What is left out, or simpler than in the code:
//!
//! * What [`crate::pipeline`] has: batches in doubt, several servers, the steps of taking a Redis into use, batches that
//!   come after their interval to Redis, classes without room. A click is acknowledged as it is applied. So a reading that has
//!   every answered click never falls.
//! * Each link has a row for each interval; how intervals are packed is not said here. A day has one interval.
//! * Clicks granted by the database ([`crate::grants`]): their part is inserted as one of the journal, with the grant.
//! * Both links have one owner. What is left of a deleted link goes with it at once.
//! * A transaction is done at once. A merge reads and writes in two steps, as the test of rule H allows.

mod actions;
mod flushing;
mod merging;
mod mutations;
mod properties;
mod reading;
mod recovery;
mod state;
mod worlds;

pub use actions::Action;
pub use mutations::Mutation;
pub use properties::Broken;
pub use state::State;

use stateright::{Model, Property};

use crate::Checked;

/// What a world has, and which part of which rule is switched off in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct World {
    /// Batches that visitors send; 3 at most.
    pub batches: u8,
    /// Whether batches may go to the journal.
    pub journal: bool,
    /// Instances that write back, and that merge; 2 at most.
    pub flushers: u8,
    pub mergers: u8,
    /// Pieces of a flush at most: with 2, a piece may end behind any link.
    pub pieces: u8,
    /// Flushes that may be unmerged.
    pub unmerged: usize,
    /// How many times counts are read.
    pub reads: u8,
    /// How many instances are killed.
    pub kills: u8,
    /// How often the database crashes.
    pub crashes: u8,
    /// How often Redis starts again, or goes back beneath living connections.
    pub redis_faults: u8,
    /// Whether an interval ends.
    pub intervals: bool,
    /// How many links are deleted.
    pub deletes: u8,
    pub mutation: Option<Mutation>,
}

impl World {
    /// Checks every state that `depth` steps reach: to the end, or until `until` (a property) is broken.
    #[must_use]
    pub fn check(self, depth: usize, until: Option<&'static str>) -> Checked {
        crate::check(self, depth, until)
    }

    pub(crate) fn without(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }
}

impl Model for World {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::new(self)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions::possible(self, state, actions);
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut next = state.clone();
        actions::apply(self, &mut next, action)?;
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}

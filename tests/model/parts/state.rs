//! The state of the model.

use super::World;
use super::properties::Broken;
pub(super) use crate::pipeline::Set;

/// Most batches of a world. Each has a click of each link.
pub(super) const BATCHES: usize = 3;
/// Links, both of one owner.
pub(super) const LINKS: usize = 2;
pub(super) const CLASSES: usize = 2;
pub(super) const INTERVALS: usize = 2;
/// Instances.
pub(super) const PAIR: usize = 2;

/// How often something has each batch.
pub(super) type Times = [u8; BATCHES];

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    pub interval: u8,
    /// The batches that visitors sent so far.
    pub batches: Vec<Batch>,
    pub redis: DataSet,
    pub snapshot: Option<Box<DataSet>>,
    pub flushers: [Flusher; PAIR],
    pub mergers: [Option<Merge>; PAIR],
    pub reading: Option<Reading>,
    pub database: Database,
    /// The database as it was before its last changes that a crash would lose.
    pub durable: Option<Box<Database>>,
    pub left: Left,
    pub books: Books,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Batch {
    pub interval: u8,
    pub class: usize,
    pub is_of_journal: bool,
}

/// Clicks of one interval, the same of each link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Clicks {
    pub interval: u8,
    pub batches: Times,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DataSet {
    pub epoch: u8,
    /// `None` until it is taken into use.
    pub term: Option<u8>,
    pub flush: u8,
    pub pending: [Times; INTERVALS],
    pub flushing: Option<Flush>,
    /// Whether a flush was found to be another one than that of the ledger.
    pub is_doubted: bool,
}

/// A flush in Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flush {
    pub id: FlushId,
    pub clicks: Clicks,
    /// How many links are forgotten.
    pub forgotten: usize,
}

/// A flush of an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FlushId {
    pub number: u8,
    /// Unique: how often Redis had gone back when the flush was begun.
    pub name: u8,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flusher {
    pub view: Option<View>,
    pub step: Step,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct View {
    pub term: u8,
    pub epoch: u8,
}

/// What a flusher does next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Step {
    #[default]
    ReadLedger,
    /// The ledger has this flush.
    Begin(u8),
    ReadMark(OfFlush),
    /// The links before `durable` are in the database for good, as a transaction of this flusher made sure.
    ReadPiece {
        of_flush: OfFlush,
        mark: usize,
        durable: usize,
    },
    /// The first link of a piece is read.
    ReadRest(Piece),
    /// It has a piece in memory, of which the links before the mark are written.
    WriteParts(Piece),
    /// A mutated flusher inserted a part, and moves the mark next.
    MoveMark(Piece),
    FinishFlush(OfFlush),
}

/// A flush as a flusher knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OfFlush {
    pub view: View,
    pub id: FlushId,
    /// That of the flush, as it was when it was begun.
    pub interval: u8,
}

/// Links of a flush that a flusher read: the mark stood at `begin` then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    pub of_flush: OfFlush,
    pub begin: usize,
    /// Behind its last link.
    pub end: usize,
    pub mark: usize,
    pub durable: usize,
    /// What was read of each link.
    pub clicks: [Times; LINKS],
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Database {
    pub ledger: Vec<Row>,
    /// In the order of their keys.
    pub parts: Vec<Part>,
    /// Batches of the journal that were appended: the numbers of recorders.
    pub appended: Set,
    pub links: [LinkRows; LINKS],
    pub owner: Sums,
    pub is_deleted: [bool; LINKS],
    /// The one mark of a mutated merge.
    pub merged_up_to: usize,
    /// The books: epoch, number and link of parts of flushes that were added.
    pub added: Vec<(u8, u8, usize)>,
}

/// A data set in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    pub epoch: u8,
    pub term: u8,
    pub flush: FlushId,
    /// How many links of that flush are written.
    pub up_to: usize,
}

/// A part; its links and clicks never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Part {
    pub key: Key,
    /// The merge's mark: its links before this one are in rows.
    pub mark: usize,
    /// Behind its last link.
    pub end: usize,
    pub clicks: Clicks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    Flush {
        epoch: u8,
        number: u8,
        name: u8,
        link: usize,
    },
    Journal(usize),
}

/// The rows of a link: its count, and sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LinkRows {
    pub count: u8,
    pub sums: Sums,
    /// The books: how often each batch is in them.
    pub counted: Times,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sums {
    pub series: [u8; INTERVALS],
    /// The breakdown of each interval.
    pub classes: [[u8; CLASSES]; INTERVALS],
}

/// What a merger read: these parts as they were, to be merged up to a link.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Merge {
    pub up_to: usize,
    pub parts: Vec<Part>,
    /// What a mutated merger read of deletions.
    pub is_deleted: Option<[bool; LINKS]>,
    /// What is left for a second transaction of a mutated merger.
    pub rest: Option<Rest>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rest {
    Rows,
    Parts,
    Classes,
}

/// A reading of counts under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reading {
    /// The answered clicks that it must have.
    pub due: Set,
    pub view: View,
    /// What Redis showed of each link.
    pub shown: [Option<Shown>; LINKS],
    /// What a mutated reader read of the database in a statement of its own.
    pub early: Option<Box<Database>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shown {
    /// The newest flush.
    pub newest: u8,
    pub pending: [Times; INTERVALS],
    pub flush: Option<(u8, Clicks)>,
}

/// What may still happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Left {
    pub reads: u8,
    pub kills: u8,
    pub crashes: u8,
    pub redis_faults: u8,
    pub deletes: u8,
}

/// What is true, as no part of the service knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Books {
    pub answered: Set,
    /// What may be missing, as the guarantees admit.
    pub admitted: Set,
    pub has_redis_lost: bool,
    /// How often Redis went back.
    pub slips: u8,
    /// Whether a count was read of rows and parts.
    pub has_read_both: bool,
    pub broken: Vec<Broken>,
}

impl State {
    pub(super) fn new(world: &World) -> Self {
        let view = View { term: 1, epoch: 1 };
        let mut state = Self {
            left: Left {
                reads: world.reads,
                kills: world.kills,
                crashes: world.crashes,
                redis_faults: world.redis_faults,
                deletes: world.deletes,
            },
            ..Self::default()
        };
        for flusher in &mut state.flushers {
            flusher.view = Some(view);
        }
        (state.redis.epoch, state.redis.term) = (view.epoch, Some(view.term));
        state.database.ledger.push(Row {
            epoch: view.epoch,
            term: view.term,
            flush: FlushId::default(),
            up_to: 0,
        });
        state
    }

    pub fn breaks(&mut self, broken: Broken) {
        if let Err(at) = self.books.broken.binary_search(&broken) {
            self.books.broken.insert(at, broken);
        }
    }

    /// A transaction that is durable when it ends, and with it all before.
    pub fn commit(&mut self) {
        self.durable = None;
    }

    /// A transaction that a crash may lose together with all later ones.
    pub fn commit_later(&mut self) {
        if self.durable.is_none() {
            self.durable = Some(Box::new(self.database.clone()));
        }
    }
}

impl DataSet {
    /// How often each batch waits in it for a link.
    pub(super) fn waiting(&self, link: usize) -> Times {
        let flushing = self.flushing.filter(|flush| flush.forgotten <= link);
        let mut waiting = flushing.map_or([0; BATCHES], |flush| flush.clicks.batches);
        for pending in &self.pending {
            add(&mut waiting, pending);
        }
        waiting
    }
}

impl Database {
    pub fn newest(&self) -> Option<Row> {
        self.ledger.iter().copied().max_by_key(|row| row.term)
    }

    pub fn row(&self, epoch: u8) -> Option<Row> {
        self.ledger.iter().copied().find(|row| row.epoch == epoch)
    }

    pub fn row_mut(&mut self, epoch: u8) -> Option<&mut Row> {
        self.ledger.iter_mut().find(|row| row.epoch == epoch)
    }

    /// How many flushes of an epoch have parts.
    pub(super) fn unmerged(&self, of_epoch: u8) -> usize {
        let flush = |part: &Part| match part.key {
            Key::Flush { epoch, number, .. } => (epoch == of_epoch).then_some(number),
            Key::Journal(_) => None,
        };
        let mut flushes: Vec<_> = self.parts.iter().filter_map(flush).collect();
        flushes.dedup();
        flushes.len()
    }

    /// Whether a batch is in rows or parts for a link.
    pub(super) fn times(&self, world: &World, batch: usize, link: usize) -> u8 {
        let parts = (self.parts.iter())
            .filter(|part| part.has(world, self, link))
            .map(|part| part.clicks.batches[batch]);
        self.links[link].counted[batch] + parts.sum::<u8>()
    }
}

pub(super) fn add(sums: &mut Times, more: &Times) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum += more;
    }
}

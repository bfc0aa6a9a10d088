//! The state of the model.

use super::World;
use super::properties::Broken;

/// Most batches of a world.
pub(super) const BATCHES: usize = 3;
/// Links of each batch: a flush is written back in one part for each.
pub(super) const LINKS: usize = 2;
/// Classes that are known of clicks; after them comes the one of which nothing is known.
pub(super) const CLASSES: usize = 2;
/// Intervals.
pub(super) const INTERVALS: usize = 2;
/// Instances, and servers of Redis.
pub(super) const PAIR: usize = 2;

/// How often something has each batch.
pub(super) type Times = [u8; BATCHES];

/// A set of batches, a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Set(u8);

impl Set {
    pub fn insert(&mut self, batch: usize) {
        self.0 |= 1 << batch;
    }

    pub fn remove(&mut self, batch: usize) {
        self.0 &= !(1 << batch);
    }

    pub fn has(self, batch: usize) -> bool {
        self.0 >> batch & 1 == 1
    }

    pub fn first(self) -> Option<usize> {
        (self.0 > 0).then_some(self.0.trailing_zeros() as usize)
    }

    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct State {
    pub interval: u8,
    /// The batches that visitors sent so far.
    pub batches: Vec<Batch>,
    pub instances: [Instance; PAIR],
    pub servers: [Server; PAIR],
    /// The newest run of any server.
    pub runs: u8,
    /// The server that took over, or the first.
    pub master: usize,
    pub database: Database,
    /// The database as it was before its last changes that a crash would lose.
    pub durable: Option<Box<Database>>,
    pub network: Vec<Message>,
    pub left: Left,
    pub books: Books,
}

/// A batch, which keeps its number once it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Batch {
    pub instance: usize,
    pub recorder: usize,
    pub number: u8,
    pub interval: u8,
    /// The class of its clicks.
    pub class: usize,
    /// Which link its first click is of: that which was deleted, or its successor.
    pub successor: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Instance {
    pub starts: u8,
    pub number: u8,
    /// The server in use; `None` while Redis is away.
    pub view: Option<View>,
    /// Term and number.
    pub acknowledged: (u8, u8),
    /// The batch for which visitors wait.
    pub awaited: Option<(usize, Awaited)>,
    pub in_doubt: Option<InDoubt>,
    /// Sent to the journal and not acknowledged.
    pub unacknowledged: Option<usize>,
    /// Not sent yet.
    pub buffered: Set,
    pub recovery: Option<Recovery>,
    pub flush: Flush,
    pub reading: Option<Reading>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct View {
    pub server: usize,
    pub term: u8,
    pub epoch: u8,
    /// Whether it is only written back from.
    pub superseded: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Awaited {
    Redis { epoch: u8 },
    Journal,
    Park,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InDoubt {
    pub batch: usize,
    pub epoch: u8,
    pub parked: bool,
}

/// A term that the ledger gave, before Redis notes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Recovery {
    pub server: usize,
    pub epoch_read: u8,
    pub row: Row,
}

/// What a flusher knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Flush {
    #[default]
    Idle,
    /// It read the ledger, up to this flush.
    Ledger(u8),
    Writing {
        view: View,
        part: Part,
        id: FlushId,
        mark: u8,
    },
}

/// A flush of an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FlushId {
    pub number: u8,
    /// Unique: how often Redis had gone back when the flush was begun.
    pub name: u8,
}

/// A count under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reading {
    /// The answered clicks that it must have.
    pub due: Set,
    pub redis: Option<Shown>,
    /// What a mutated reader read of the database, first.
    pub early: Option<Box<Database>>,
}

/// What Redis showed a reader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shown {
    pub view: View,
    pub newest: u8,
    pub pending: Times,
    pub flush: Option<(u8, Times)>,
}

/// Clicks in Redis of one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Part {
    pub interval: u8,
    pub clicks: Times,
    /// How many of them have their class.
    pub classed: Times,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Server {
    pub is_there: bool,
    /// Its replication ID.
    pub run: u8,
    pub data: DataSet,
    pub snapshot: Option<Box<DataSet>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DataSet {
    /// 0 in an empty Redis.
    pub epoch: u8,
    pub term: Option<u8>,
    /// The run that the term is for.
    pub noted_for: u8,
    pub flush: u8,
    /// The last number of each recorder.
    pub recorders: [u8; 2 * PAIR],
    pub pending: [Part; INTERVALS],
    pub flushing: Option<(FlushId, Part)>,
    /// Whether a flush was found to be another one than that of the ledger.
    pub is_doubted: bool,
    /// The books: how often it applied each batch.
    pub applied: Times,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Database {
    /// The data sets.
    pub ledger: Vec<Row>,
    pub journal: [Option<Entry>; BATCHES],
    /// The last number of each recorder.
    pub marks: [u8; 2 * PAIR],
    pub links: [Link; LINKS],
    /// Whether the first link was deleted, and another one made.
    pub is_replaced: bool,
    /// The books: how often the journal applied each batch.
    pub appended: Times,
    /// The books: epoch, number and link of the parts of flushes that were added.
    pub parts: Vec<(u8, u8, u8)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row {
    pub epoch: u8,
    pub term: u8,
    pub run: u8,
    pub flush: u8,
    pub flush_name: u8,
    /// How many links of that flush are written.
    pub up_to: u8,
}

/// A batch in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    Free,
    Parked { epoch: u8 },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Link {
    pub clicks: u8,
    pub interval: u8,
    pub in_interval: u8,
    pub series: [u8; INTERVALS],
    /// Clicks of each interval and class.
    pub classes: [[u8; CLASSES + 1]; INTERVALS],
    /// The books: how often each batch is counted.
    pub counted: Times,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Message {
    Record {
        server: usize,
        term: u8,
        acknowledged: u8,
        batch: usize,
        again: bool,
    },
    Recorded {
        batch: usize,
        again: bool,
    },
    Append {
        batch: usize,
        parked: Option<u8>,
    },
    Appended {
        batch: usize,
        parked: bool,
    },
    Release {
        batch: usize,
    },
}

/// What may still happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Left {
    pub reads: u8,
    pub kills: u8,
    pub crashes: u8,
    pub snapshots: u8,
    pub redis_faults: u8,
}

/// What is true, as no part of the service knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Books {
    pub answered: Set,
    /// What may be missing, as the guarantees admit.
    pub admitted: Set,
    /// Whether Redis ever lost data.
    pub has_redis_lost: bool,
    /// How often it went back beneath living connections.
    pub slips: u8,
    /// The epoch in which Redis applied each batch.
    pub epochs: [Option<u8>; BATCHES],
    /// What Redis had no room for the class of.
    pub unclassed: Set,
    /// What was written to the journal uncounted by Redis.
    pub journaled: Set,
    pub broken: Vec<Broken>,
}

impl State {
    pub(super) fn new(world: &World) -> Self {
        let view = Some(View {
            server: 0,
            term: 1,
            epoch: 1,
            superseded: false,
        });
        let mut state = Self {
            runs: 1,
            left: Left {
                reads: world.reads,
                kills: world.kills,
                crashes: world.crashes,
                snapshots: world.snapshots,
                redis_faults: world.redis_faults,
            },
            ..Self::default()
        };
        for instance in state
            .instances
            .iter_mut()
            .take(usize::from(world.instances))
        {
            instance.view = view;
        }
        state.servers[0].is_there = true;
        state.servers[0].run = 1;
        state.servers[0].data = DataSet {
            epoch: 1,
            term: Some(1),
            noted_for: 1,
            ..DataSet::default()
        };
        state.database.ledger.push(Row {
            epoch: 1,
            term: 1,
            run: 1,
            flush: 0,
            flush_name: 0,
            up_to: 0,
        });
        state
    }

    pub fn send(&mut self, message: Message) {
        self.network.push(message);
    }

    pub fn breaks(&mut self, broken: Broken) {
        if let Err(at) = self.books.broken.binary_search(&broken) {
            self.books.broken.insert(at, broken);
        }
    }

    /// Whether the clicks of a batch are of the link that has the row.
    pub fn is_of(&self, batch: usize, link: usize) -> bool {
        link > 0 || self.batches[batch].successor == self.database.is_replaced
    }
}

impl Instance {
    /// Whether the journal may get a new batch.
    pub fn can_use_journal(&self) -> bool {
        self.unacknowledged.is_none()
            && self.buffered == Set::default()
            && self.in_doubt.is_none_or(|in_doubt| in_doubt.parked)
    }

    /// The batches that it reports to be in memory alone.
    pub fn in_memory(&self) -> Set {
        let mut in_memory = self.buffered;
        if let Some(batch) = self.unacknowledged {
            in_memory.insert(batch);
        }
        if let Some(in_doubt) = self.in_doubt.filter(|in_doubt| !in_doubt.parked) {
            in_memory.insert(in_doubt.batch);
        }
        in_memory
    }

    /// The server, where it may be used.
    pub fn in_use(&self) -> Option<View> {
        self.view.filter(|view| !view.superseded)
    }
}

impl DataSet {
    /// How often each batch waits in it.
    pub fn waiting(&self) -> Times {
        let mut waiting = self.flushing.map_or([0; BATCHES], |(_, part)| part.clicks);
        for part in &self.pending {
            for (sum, clicks) in waiting.iter_mut().zip(part.clicks) {
                *sum += clicks;
            }
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
}

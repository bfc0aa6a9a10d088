//! Writes clicks back: from Redis and from the journal into the counts of the links.
//!
//! Any number of instances may do so at once, and each may stop at any point. The next instance finishes a flush that was
//! started, and the ledger (rule 4 in [`crate::clicks`]) makes repeated work harmless. The lease in Redis only avoids double
//! work.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::sync::Notify;

use self::noted_moments::NotedMoments;
use self::turns::{Readers, Writers};
use crate::clicks::Pace;
use crate::domain::{Clock, Shard};
use crate::shared_redis::{RedisFailure, RedisShard, RedisShards, random_id};
use crate::store::{FlushMark, MergeRound, Store, StoreError};

mod begin;
mod lease;
mod moments;
mod noted_moments;
mod piece;
mod prune;
mod scan;
mod turns;
mod writing;

pub use self::piece::PieceSize;

/// How long an instance has the lease on flushing without extending it.
const LEASE: Duration = Duration::from_secs(10);

/// The longest pause after a step of merging in SQLite, as a multiple of its duration, and after how long clicks that still wait
/// are merged without pauses.
const LONGEST_PAUSE_OF_JOURNAL: f64 = 8.0;
const PATIENCE_WITH_JOURNAL: Duration = Duration::from_secs(4);

/// How many steps of a round of merging may fail.
const MAX_FAILURES: u32 = 10;

/// The longest pause after a transaction, as a multiple of its duration.
const LONGEST_PAUSE: f64 = 3.0;

/// Writes clicks back to the links.
pub struct Flusher {
    redis: Option<RedisShards>,
    store: Store,
    clock: Arc<dyn Clock>,
    /// The name under which it has the leases, one per shard.
    name: String,
    writers: Writers,
    /// Wakes the merge of what was flushed.
    flushed: Notify,
    moments: NotedMoments,
    pieces: PieceSize,
}

/// What became of a flush. One part may fail while others are written back.
#[derive(Debug, Default)]
pub struct FlushOutcome {
    /// What was written back.
    pub flushed: Flushed,
    /// The shards in which nothing older than this flush is pending any more. Shards that are away, or that another instance
    /// flushes, are left out.
    pub done: Vec<Shard>,
    /// Whether another instance flushes some shard.
    pub is_shared: bool,
    /// Whether a flush waits until earlier ones are merged.
    pub is_waiting: bool,
    /// The last failure.
    pub failure: Option<FlushError>,
}

/// What one flush wrote back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flushed {
    /// Rows of links that were added to.
    pub links: u64,
    /// Clicks in them.
    pub clicks: u64,
}

impl Flushed {
    /// Never overflows, however large the numbers are that a broken Redis sends.
    fn add(&mut self, more: Self) {
        self.links = self.links.saturating_add(more.links);
        self.clicks = self.clicks.saturating_add(more.clicks);
    }
}

/// What became of the flush of a shard.
enum ShardFlush {
    /// Everything that was pending is written back.
    Done,
    /// Another instance flushes the shard.
    Others,
    /// The data set is in a later term on another server, which has its clicks.
    Elsewhere,
    /// Too many flushes are to be merged first.
    Waiting,
}

/// Why a flush stopped; the next flush goes on there.
#[derive(Debug, thiserror::Error)]
pub enum FlushError {
    /// Redis is away.
    #[error(transparent)]
    Redis(#[from] RedisFailure),
    /// The database is away.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Flusher {
    /// A flusher with a random name.
    #[must_use]
    pub fn new(redis: Option<RedisShards>, store: Store, clock: Arc<dyn Clock>) -> Self {
        Self {
            redis,
            store,
            clock,
            name: format!("{:016x}", random_id()),
            writers: Writers::new(),
            flushed: Notify::new(),
            moments: NotedMoments::default(),
            pieces: PieceSize::default(),
        }
    }

    /// The same with another bound of what it has of a flush in memory.
    #[must_use]
    pub fn in_pieces_of(self, pieces: PieceSize) -> Self {
        Self { pieces, ..self }
    }

    /// Writes back all shards of Redis that no other instance flushes, a few at the same time; without Redis, the journal.
    pub async fn flush(&self) -> FlushOutcome {
        let mut outcome = FlushOutcome::default();
        if self.merges_apart() {
            self.flush_shards(self.flushable_shards(), &mut outcome)
                .await;
            self.flushed.notify_one();
            return outcome;
        }
        match self.merge_clicks().await {
            Ok(merged) => {
                outcome.flushed = merged;
                outcome.done.push(Shard::ONLY);
            }
            Err(failure) => outcome.failure = Some(failure.into()),
        }
        outcome
    }

    /// Writes back what is left in servers that were superseded, however rarely this instance flushes: until then no
    /// exact count can be read.
    ///
    /// # Errors
    /// When Redis or the database is away.
    pub async fn drain(&self) -> Result<Flushed, FlushError> {
        let mut outcome = FlushOutcome::default();
        let superseded = self
            .flushable_shards()
            .filter(|redis| redis.is_superseded());
        self.flush_shards(superseded, &mut outcome).await;
        outcome.failure.map_or(Ok(outcome.flushed), Err)
    }

    async fn flush_shards(
        &self,
        shards: impl Iterator<Item = &RedisShard>,
        outcome: &mut FlushOutcome,
    ) {
        let shards: Vec<_> = shards.collect();
        if shards.is_empty() {
            return;
        }
        let readers = Readers::of(&shards);
        let flushes = shards
            .into_iter()
            .map(|redis| self.flush_shard(redis, &readers));
        for (shard, flushed, flush) in join_all(flushes).await {
            outcome.flushed.add(flushed);
            match flush {
                Ok(ShardFlush::Done) => outcome.done.push(shard),
                Ok(ShardFlush::Others) => outcome.is_shared = true,
                Ok(ShardFlush::Waiting) => outcome.is_waiting = true,
                Ok(ShardFlush::Elsewhere) => {}
                // A failure of one shard does not stop the others.
                Err(failure) => outcome.failure = Some(failure),
            }
        }
    }

    /// Flushes one shard. Returns what was written back, too, if only a part was.
    async fn flush_shard(
        &self,
        redis: &RedisShard,
        readers: &Readers,
    ) -> (Shard, Flushed, Result<ShardFlush, FlushError>) {
        let mut flushed = Flushed::default();
        let flush = self.flush_redis(redis, readers, &mut flushed).await;
        (redis.shard(), flushed, flush)
    }

    fn flushable_shards(&self) -> impl Iterator<Item = &RedisShard> {
        let shards = self.redis.iter().flat_map(RedisShards::iter);
        shards.filter(|redis| redis.is_flushable())
    }

    /// Whether flushes leave clicks to be merged by themselves: with Redis, whose memory is relieved first.
    #[must_use]
    pub fn merges_apart(&self) -> bool {
        self.redis.is_some()
    }

    /// Waits until something was flushed since the last call.
    pub async fn flushed(&self) {
        self.flushed.notified().await;
    }

    /// Moves clicks that the database has into the counts of their links.
    ///
    /// # Errors
    /// When the database is away.
    pub async fn merge_clicks(&self) -> Result<Flushed, StoreError> {
        let mut merged = Flushed::default();
        let mut round = MergeRound::default();
        let (mut failure, mut failures) = (None, 0);
        let mut pace = match (&self.redis, self.store.has_one_process()) {
            (Some(_), _) => Pace::within(0.0..=LONGEST_PAUSE),
            // SQLite has one writer: between two steps, new clicks are written.
            (None, true) => {
                Pace::within(0.0..=LONGEST_PAUSE_OF_JOURNAL).with_patience(PATIENCE_WITH_JOURNAL)
            }
            // Batches of redirects wait for the same Postgres, whose acknowledgements nothing measures.
            (None, false) => Pace::within(1.0..=1.0),
        };
        loop {
            let started = Instant::now();
            let step = match self.store.clicks.compact(&mut round).await {
                Ok(step) => step,
                // If a step fails, the links of the other steps are merged all the same.
                Err(failed) if round.has_begun() && failures < MAX_FAILURES => {
                    failures += 1;
                    failure = Some(failed);
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            merged.add(Flushed {
                links: step.links,
                clicks: step.clicks,
            });
            if step.done {
                return failure.map_or(Ok(merged), Err);
            }
            let delay = self.longest_delay().or_else(|| self.store.append_delay());
            pace.rest_after(started.elapsed(), delay).await;
        }
    }

    /// That of the shard whose acknowledgements are the latest.
    fn longest_delay(&self) -> Option<f64> {
        let shards = self.redis.iter().flat_map(RedisShards::iter);
        shards.filter_map(RedisShard::delay).reduce(f64::max)
    }

    async fn flush_redis(
        &self,
        redis: &RedisShard,
        readers: &Readers,
        flushed: &mut Flushed,
    ) -> Result<ShardFlush, FlushError> {
        // Other flushes may be waited for: only then are the term and the ledger read, so that neither is old.
        let mut reading = readers.turn(redis).await;
        let _place = self.writers.place().await;
        let term = redis.term()?;
        let in_ledger = self.store.data_set(&term.epoch).await?;
        let Some(in_ledger) = in_ledger.filter(|data_set| data_set.term == term.number) else {
            redis.trip(&RedisFailure::OtherTerm(
                "the ledger has a later one".into(),
            ));
            return Ok(ShardFlush::Elsewhere);
        };
        let began = self.store.moment_before_flush().await?;
        let Some(under_way) = self.begin(redis, &term, in_ledger.flush).await? else {
            return Ok(ShardFlush::Others);
        };
        let write_back = async {
            let has_flushes = !under_way.flushes.is_empty();
            for flush in under_way.flushes {
                // Before it is read: it may have to wait for long.
                if !self.store.has_room_for(&flush).await? {
                    return Ok(ShardFlush::Waiting);
                }
                let writing = self.write_flush(redis, &term, &flush, &mut reading, flushed);
                match writing.await? {
                    FlushMark::Superseded => {
                        // Another instance finished it and began the next one, or the data set got another term.
                        let number = flush.number;
                        tracing::debug!(number, "a flush is written back elsewhere");
                        return Ok(ShardFlush::Elsewhere);
                    }
                    FlushMark::Nothing | FlushMark::UpTo(_) => return Ok(ShardFlush::Waiting),
                    FlushMark::OfAnother | FlushMark::Whole => {}
                }
            }
            let began = began.filter(|_| !under_way.has_pending);
            self.note_moment(redis.shard(), &term, began, has_flushes)
                .await?;
            Ok(ShardFlush::Done)
        };
        tokio::select! {
            flush = write_back => flush,
            never = self.keep_lease(redis, &term) => match never {},
        }
    }
}

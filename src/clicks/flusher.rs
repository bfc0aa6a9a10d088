//! Writes clicks back: from Redis and from the journal into the links.
//!
//! Any instance may run it, any number of them at once, and each may stop at any point: what one began,
//! the next one finishes, and the ledger (rule 4 in [`crate::clicks`]) makes repeated work harmless. The
//! lease in Redis only spares double work.

use std::sync::Arc;
use std::time::{Duration, Instant};

use redis::FromRedisValue;
use tokio::time::sleep;

use crate::domain::{Clock, LinkId, Shard};
use crate::redis::{Call, RedisFailure, RedisShard, RedisShards, random_id, scripts};
use crate::store::{Clicks, FlushId, FlushMark, StoreError};

mod prune;

/// How long others leave a flush to whoever began it.
const LEASE: Duration = Duration::from_secs(10);

/// How long one command of a flush may take: far more than a healthy Redis needs.
const TIMEOUT: Duration = Duration::from_secs(2);

/// How long the journal is folded before Redis has its turn.
const FOLDING: Duration = Duration::from_secs(2);

/// Above so many links a flush is large: it is written back in larger steps, with shorter rests.
const LARGE: usize = 100_000;

/// Fields that Redis is asked for at once.
const FIELDS_PER_SCAN: usize = 1_000;

/// Writes clicks back to the links.
pub struct Flusher {
    redis: Option<RedisShards>,
    clicks: Arc<dyn Clicks>,
    clock: Arc<dyn Clock>,
    /// Who holds the leases, one per shard.
    name: String,
}

/// What became of a flush: of what could be, something is written back whatever became of the rest.
#[derive(Debug)]
pub struct FlushOutcome {
    /// What was written back.
    pub flushed: Flushed,
    /// The shards of which nothing older than this flush waits any more. Not one that is away, or that another
    /// instance flushes.
    pub done: Vec<Shard>,
    /// Whether another instance flushes some shard.
    pub is_shared: bool,
    /// What went wrong last.
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
    /// Whatever a broken Redis says was clicked, adding it up never panics.
    fn add(&mut self, more: Self) {
        self.links = self.links.saturating_add(more.links);
        self.clicks = self.clicks.saturating_add(more.clicks);
    }
}

/// Who flushes a shard at the moment.
enum Turn {
    Ours,
    /// Another instance holds the lease.
    Others,
}

/// How fast a flush is written back: what shares a machine with the database, Redis above all, must not
/// wait for it noticeably. Of those tried for large flushes these did best; `load/scale --only pending`
/// measures them.
struct Pace {
    /// Per transaction: bounds how long rows stay locked and a core is kept busy.
    links: usize,
    /// How much longer than a step the rest after it is.
    rests: u32,
}

impl Pace {
    fn of(links: usize) -> Self {
        let (links, rests) = if links <= LARGE { (250, 3) } else { (500, 1) };
        Self { links, rests }
    }
}

/// Why a flush stopped; the next one goes on where it stopped.
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
    /// A flusher of its own name.
    #[must_use]
    pub fn new(redis: Option<RedisShards>, clicks: Arc<dyn Clicks>, clock: Arc<dyn Clock>) -> Self {
        Self {
            redis,
            clicks,
            clock,
            name: format!("{:016x}", random_id()),
        }
    }

    /// Writes back what is in the journal and, unless another instance is at it, what is in Redis.
    pub async fn flush(&self) -> FlushOutcome {
        let mut outcome = FlushOutcome {
            flushed: Flushed::default(),
            done: Vec::new(),
            is_shared: false,
            failure: None,
        };
        if let Err(failure) = self.compact_journal(&mut outcome.flushed).await {
            // The database is away: nothing can be written back from Redis, either.
            outcome.failure = Some(failure.into());
            return outcome;
        }
        if self.redis.is_none() {
            outcome.done.push(Shard::ONLY);
        }
        for redis in self.reachable_shards() {
            match self.flush_redis(redis, &mut outcome.flushed).await {
                Ok(Turn::Ours) => outcome.done.push(redis.shard()),
                Ok(Turn::Others) => outcome.is_shared = true,
                // The other shards are flushed all the same.
                Err(failure) => outcome.failure = Some(failure),
            }
        }
        outcome
    }

    fn reachable_shards(&self) -> impl Iterator<Item = &RedisShard> {
        let shards = self.redis.iter().flat_map(RedisShards::iter);
        shards.filter(|redis| redis.is_reachable())
    }

    async fn compact_journal(&self, flushed: &mut Flushed) -> Result<(), StoreError> {
        let first = Instant::now();
        loop {
            let begun = Instant::now();
            let folded = self.clicks.compact().await?;
            flushed.add(Flushed {
                links: folded.links,
                clicks: folded.clicks,
            });
            // A journal may grow as fast as it is folded: Redis has its turn all the same.
            if folded.done || self.redis.is_some() && first.elapsed() > FOLDING {
                return Ok(());
            }
            // SQLite has one writer: between two steps it belongs to the clicks that come in.
            sleep(begun.elapsed()).await;
        }
    }

    async fn flush_redis(
        &self,
        redis: &RedisShard,
        flushed: &mut Flushed,
    ) -> Result<Turn, FlushError> {
        let Some((epoch, numbers)) = self.take(redis).await? else {
            return Ok(Turn::Others);
        };
        for number in numbers {
            let flush = FlushId {
                epoch: epoch.clone(),
                number,
            };
            let increments = increments(redis, &flush).await?;
            if self.apply(redis, &flush, &increments, flushed).await? == FlushMark::Superseded {
                self.give_up(redis, &flush).await?;
                continue;
            }
            finish(redis, &flush).await?;
        }
        Ok(Turn::Ours)
    }

    /// Takes the lease, and what is pending. `None` while another instance has it.
    async fn take(&self, redis: &RedisShard) -> Result<Option<(String, Vec<i64>)>, RedisFailure> {
        let keys = redis.keys();
        let mut call = scripts::BEGIN_FLUSH.call(&[
            &keys.state(),
            &keys.pending(),
            &keys.flushing(),
            &keys.flusher(),
        ]);
        call.arg(redis.process())
            .arg(redis.now().micros())
            .arg(&self.name)
            .arg(LEASE.as_secs() * 1_000)
            .arg(keys.flush_prefix());
        redis.query(&call, TIMEOUT).await
    }

    /// [`FlushMark::Whole`] or [`FlushMark::Superseded`]. What somebody wrote back before is not in `flushed`.
    async fn apply(
        &self,
        redis: &RedisShard,
        flush: &FlushId,
        increments: &[(LinkId, u64)],
        flushed: &mut Flushed,
    ) -> Result<FlushMark, StoreError> {
        let pace = Pace::of(increments.len());
        let mut mark = self.clicks.flush_mark(flush).await?;
        let mut extended: Option<Instant> = None;
        while let Some(rest) = mark.rest_of(increments) {
            let begun = Instant::now();
            let part = &rest[..rest.len().min(pace.links)];
            let up_to = match part.last() {
                Some((last, _)) if part.len() < rest.len() => FlushMark::UpTo(*last),
                _ => FlushMark::Whole,
            };
            mark = self
                .clicks
                .apply_flush(flush, mark, part, up_to, self.clock.now())
                .await?;
            if mark == up_to {
                for (_, clicks) in part {
                    flushed.add(Flushed {
                        links: 1,
                        clicks: *clicks,
                    });
                }
            }
            // Should it fail, what was taken is written back all the same: it may be nowhere else any more.
            if redis.is_reachable() && extended.is_none_or(|at| at.elapsed() > LEASE / 4) {
                if let Err(failure) = self.extend_lease(redis).await {
                    tracing::debug!(%failure, "the lease on flushing is left to expire");
                }
                extended = Some(Instant::now());
            }
            // However long a step took, the lease is kept while the flush goes on.
            sleep((begun.elapsed() * pace.rests).min(LEASE / 4)).await;
        }
        Ok(mark)
    }

    /// A flush that is over is not written back: others did, or another life of Redis has the same clicks or lost
    /// them. If it is still under way in this life, the data set went on elsewhere, and has to be compared with the
    /// ledger.
    async fn give_up(&self, redis: &RedisShard, flush: &FlushId) -> Result<(), FlushError> {
        let number = flush.number;
        tracing::warn!(
            number,
            "a flush is not written back: later ones were begun, perhaps in another life of Redis"
        );
        // Not the life that was admitted here: the same server names itself anew when its first replica comes, and
        // connections outlive that.
        let life = redis.current_replication_id(TIMEOUT).await?;
        let elsewhere = self.clicks.is_superseded_elsewhere(flush, &life).await?;
        let keys = redis.keys();
        let mut call = scripts::ABANDON_FLUSH.call(&[&keys.state(), &keys.flushing()]);
        call.arg(&flush.epoch).arg(number).arg(u8::from(elsewhere));
        if redis.query(&call, TIMEOUT).await? {
            redis.trip(&RedisFailure::Refused(
                "its data set has to be compared with the ledger".into(),
            ));
        }
        Ok(())
    }

    async fn extend_lease(&self, redis: &RedisShard) -> Result<(), RedisFailure> {
        let mut call = scripts::EXTEND_FLUSH_LEASE.call(&[&redis.keys().flusher()]);
        call.arg(&self.name).arg(LEASE.as_secs() * 1_000);
        redis.query::<bool>(&call, TIMEOUT).await.map(drop)
    }

    /// Leaves flushing to others: for an instance that stops.
    ///
    /// # Errors
    /// When Redis is away; the lease ends by itself soon.
    pub async fn release(&self) -> Result<(), FlushError> {
        let mut outcome = Ok(());
        for redis in self.reachable_shards() {
            let mut call = scripts::RELEASE_FLUSH_LEASE.call(&[&redis.keys().flusher()]);
            call.arg(&self.name);
            // The other leases are given back all the same.
            if let Err(failure) = redis.query::<bool>(&call, TIMEOUT).await {
                outcome = Err(failure.into());
            }
        }
        outcome
    }
}

/// The increments of a flush, by rising link id. Nobody writes to them any more, so that reading them
/// piece by piece is reading them whole; a field may come twice and is taken once.
async fn increments(
    redis: &RedisShard,
    flush: &FlushId,
) -> Result<Vec<(LinkId, u64)>, RedisFailure> {
    let key = redis.keys().flush(&flush.epoch, flush.number);
    let mut increments: Vec<_> = scan_hash::<i64, u64>(redis, &key)
        .await?
        .into_iter()
        // Nothing could be written back for another number: no link has it.
        .filter_map(|(link, clicks)| Some((LinkId::parse(link)?, clicks)))
        .collect();
    increments.sort_unstable();
    increments.dedup();
    Ok(increments)
}

async fn finish(redis: &RedisShard, flush: &FlushId) -> Result<(), RedisFailure> {
    let keys = redis.keys();
    let batch = keys.flush(&flush.epoch, flush.number);
    let mut call = scripts::FINISH_FLUSH.call(&[&keys.state(), &keys.flushing(), &batch]);
    call.arg(&flush.epoch).arg(flush.number);
    redis.query(&call, TIMEOUT).await
}

/// All fields of a hash, without keeping Redis busy for long.
async fn scan_hash<F, V>(redis: &RedisShard, key: &str) -> Result<Vec<(F, V)>, RedisFailure>
where
    F: FromRedisValue,
    V: FromRedisValue,
{
    let mut fields = Vec::new();
    let mut cursor = 0_u64;
    loop {
        let mut scan = redis::cmd("HSCAN");
        let begun = Instant::now();
        scan.arg(key).arg(cursor).arg("COUNT").arg(FIELDS_PER_SCAN);
        let (next, found): (u64, Vec<(F, V)>) = redis.query(&Call::plain(scan), TIMEOUT).await?;
        fields.extend(found);
        if next == 0 {
            return Ok(fields);
        }
        cursor = next;
        // Clicks on their way to Redis come first.
        sleep(begun.elapsed() / 2).await;
    }
}

//! Redis as a sink of batches: one script call applies a batch once.

use std::fmt::Display;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::cache::{InvalidationCursor, LinkCache};
use crate::domain::{Interval, Shard};
use crate::shared_redis::keys::{Keys, link_field};
use crate::shared_redis::{DedicatedConnection, RedisFailure, RedisShard, Term, scripts};
use crate::store::{ClickBatch, LinkClicks, ParkedBatch, Store, StoreError};
use crate::telemetry::metrics::{CLASSES_UNKNOWN, CLICKS_DROPPED, counter_of_shard};

/// How long an acknowledgement is named to Redis, which forgets a recorder that sends nothing for a week.
const ACKNOWLEDGED_FOR: Duration = Duration::from_hours(24);

/// Applies batches to the pending hash, over a connection of its own.
pub struct RedisSink {
    redis: RedisShard,
    connection: DedicatedConnection,
    keys: [String; 6],
    acknowledged: Mutex<Option<Acknowledged>>,
}

/// The newest batch of the recorder that Redis acknowledged. A data set that does not have it was rolled back.
struct Acknowledged {
    term: i64,
    number: u64,
    interval: Interval,
    at: Instant,
}

impl RedisSink {
    /// A sink with a connection of its own, made when first used. One recorder at most sends its batches through it.
    #[must_use]
    pub fn new(redis: &RedisShard) -> Self {
        let names = redis.keys();
        Self {
            redis: redis.clone(),
            connection: redis.dedicated_connection(),
            keys: [
                names.state(),
                names.pending(),
                names.flushing(),
                names.intervals(),
                names.details(),
                names.recorders(),
            ],
            acknowledged: Mutex::default(),
        }
    }

    /// The shard whose clicks it takes.
    #[must_use]
    pub fn shard(&self) -> Shard {
        self.redis.shard()
    }

    /// Whether batches are worth sending.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.redis.is_up()
    }

    /// Whether a parked batch is of this data set.
    #[must_use]
    pub fn keeps(&self, parked: &ParkedBatch) -> bool {
        match &parked.tag {
            Some(tag) => tag == self.redis.keys().tag(),
            None => Shard::of_epoch(&parked.epoch) == self.shard(),
        }
    }

    /// Applies a batch that was not sent before, within the deadline of the handle. With `known_change` it is applied only
    /// if that is the newest link change. Returns the newest link change.
    ///
    /// # Errors
    /// [`RecordError`].
    pub async fn record(
        &self,
        batch: &ClickBatch,
        known_change: Option<i64>,
    ) -> Result<InvalidationCursor, RecordError> {
        let term = self.redis.term().map_err(|_| RecordError::Refused)?;
        let before = self.acknowledged_in(&term);
        match self.apply(batch, &term, before, known_change).await {
            Ok(Applied::Yes(cursor)) => {
                self.redis.note_acknowledgement(cursor.asked.elapsed());
                *self.acknowledged() = Some(Acknowledged {
                    term: term.number,
                    number: batch.number,
                    interval: batch.interval,
                    at: cursor.asked,
                });
                Ok(cursor)
            }
            Ok(Applied::NotYet(newest)) => Err(RecordError::Overtaken { newest }),
            Err(RedisFailure::NoAnswer(_)) => Err(RecordError::InDoubt {
                epoch: Arc::clone(&term.epoch),
            }),
            Err(_) => Err(RecordError::Refused),
        }
    }

    /// The newest batch that Redis acknowledged in this term, if it did so recently: its number and interval.
    fn acknowledged_in(&self, term: &Term) -> Option<(u64, Interval)> {
        let acknowledged = self.acknowledged();
        let newest = acknowledged
            .as_ref()
            .filter(|newest| newest.term == term.number && newest.at.elapsed() < ACKNOWLEDGED_FOR);
        newest.map(|newest| (newest.number, newest.interval))
    }

    fn acknowledged(&self) -> std::sync::MutexGuard<'_, Option<Acknowledged>> {
        self.acknowledged
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies a batch once (rule 2 in [`crate::clicks`]), in one term (rule 8); `known_change` as in [`Self::record`].
    ///
    /// # Errors
    /// [`RedisFailure::NoAnswer`]: it is in doubt. Any other: it was not applied.
    async fn apply(
        &self,
        batch: &ClickBatch,
        term: &Arc<Term>,
        acknowledged: Option<(u64, Interval)>,
        known_change: Option<i64>,
    ) -> Result<Applied, RedisFailure> {
        let keys = self.keys.each_ref().map(String::as_str);
        let mut call = scripts::RECORD_CLICKS.call(&keys);
        call.arg(term.number)
            .arg(Keys::recorder_field(batch.recorder));
        // Redis notes once in a quarter of an hour when it heard of a recorder.
        if acknowledged.is_some_and(|(_, interval)| interval == batch.interval) {
            call.arg("");
        } else {
            call.arg(batch.recorder);
        }
        call.arg(batch.interval.number())
            .arg(batch.number)
            .arg(acknowledged.map_or(0, |(number, _)| number));
        match known_change {
            Some(change) => call.arg(change),
            None => call.arg(""),
        };
        call.arg(self.redis.room_for_details())
            .arg(batch.details.packed())
            .arg(packed(&batch.clicks));
        let asked = Instant::now();
        let (newest, has_no_room): (i64, bool) = self.connection.query(&call).await?;
        if has_no_room {
            let unclassified = batch.details.of_links().iter().map(|part| part.clicks);
            metrics::counter!(CLASSES_UNKNOWN, "reason" => "redis_room")
                .increment(unclassified.sum());
        }
        let cursor = InvalidationCursor {
            shard: self.shard(),
            term: Arc::clone(term),
            change: newest.saturating_abs(),
            asked,
        };
        Ok(if newest < 0 {
            Applied::NotYet(cursor)
        } else {
            Applied::Yes(cursor)
        })
    }
}

/// Links, each with its clicks behind it, as short strings of `MessagePack`: Redis takes one argument faster than many.
fn packed(clicks: &[LinkClicks]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(20 * clicks.len());
    for of_link in clicks {
        put_text(&mut packed, link_field(of_link.link, of_link.owner));
        put_text(&mut packed, of_link.clicks);
    }
    packed
}

fn put_text(packed: &mut Vec<u8>, text: impl Display) {
    /// The form of a string of less than 256 bytes; its length follows.
    const SHORT: u8 = 0xd9;
    packed.extend([SHORT, 0]);
    let from = packed.len();
    write!(packed, "{text}").expect("writing to a Vec never fails");
    packed[from - 1] = u8::try_from(packed.len() - from).expect("it is two numbers at most");
}

/// Whether a batch was applied; with the newest link change.
enum Applied {
    Yes(InvalidationCursor),
    NotYet(InvalidationCursor),
}

/// Why a batch may not be in Redis.
#[derive(Debug)]
pub enum RecordError {
    /// It was not applied.
    Refused,
    /// It was not applied, because links changed that the sender has not learned of.
    Overtaken {
        /// The newest of these changes.
        newest: InvalidationCursor,
    },
    /// It may have been.
    InDoubt {
        /// The epoch that it was sent to.
        epoch: Arc<str>,
    },
}

/// Why parked batches could not be settled.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    /// Redis is away.
    #[error(transparent)]
    Redis(#[from] RedisFailure),
    /// The database is away.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How many parked batches are read at once.
const SETTLE_PAGE: u32 = 100;

/// Sends parked batches to the shard of `sink`, which applies those that it does not know, and removes them from the
/// database. Any instance may do so at any time. Returns the number of batches; 0 means that none is parked for this
/// shard.
///
/// # Errors
/// When the shard or the database is away; the batches that are left are settled later.
pub async fn settle_parked(
    sink: &RedisSink,
    store: &Store,
    cache: &LinkCache,
) -> Result<usize, SettleError> {
    settle_where(sink, |parked| sink.keeps(parked), store, cache).await
}

/// The same for those batches for which `is_wanted` holds.
pub(super) async fn settle_where(
    sink: &RedisSink,
    is_wanted: impl Fn(&ParkedBatch) -> bool,
    store: &Store,
    cache: &LinkCache,
) -> Result<usize, SettleError> {
    let mut after = None;
    loop {
        let page = store.clicks.parked(after, SETTLE_PAGE).await?;
        let is_last = page.len() < SETTLE_PAGE as usize;
        let mut settled = 0;
        let mut outcome = Ok(());
        for parked in page {
            let batch = &parked.batch;
            after = Some((batch.recorder, batch.number));
            if !is_wanted(&parked) {
                continue;
            }
            match settle(sink, batch, &parked.epoch, store, cache).await {
                Ok(()) => {
                    store
                        .clicks
                        .release_parked(batch.recorder, batch.number)
                        .await?;
                    settled += 1;
                }
                // A batch that is not taken does not stop the others.
                Err(failure) if sink.is_up() => outcome = Err(failure),
                Err(failure) => return Err(failure),
            }
        }
        outcome?;
        if is_last || settled > 0 {
            return Ok(settled);
        }
    }
}

/// Sends a batch in doubt again. If its epoch has ended, the batch may have been counted in it, and is dropped (rule 8).
pub(super) async fn settle(
    sink: &RedisSink,
    batch: &ClickBatch,
    epoch: &str,
    store: &Store,
    cache: &LinkCache,
) -> Result<(), SettleError> {
    let term = sink.redis.term()?;
    if *term.epoch == *epoch {
        // Its redirects were answered, whatever changed since.
        let (Applied::Yes(cursor) | Applied::NotYet(cursor)) =
            sink.apply(batch, &term, None, None).await?;
        cache.catch_up_to(&cursor).await;
        return Ok(());
    }
    // Unless this instance is behind, its epoch is the newest.
    let in_use = store.data_sets_in_use().await?;
    if in_use.iter().all(|data_set| data_set.term != term.number) {
        let why = "another data set is in use";
        return Err(RedisFailure::OtherTerm(why.into()).into());
    }
    let clicks = LinkClicks::total(&batch.clicks);
    counter_of_shard(CLICKS_DROPPED, sink.shard()).increment(clicks);
    tracing::error!(
        clicks,
        "clicks in doubt are dropped: the Redis data set that they were sent to is gone"
    );
    Ok(())
}

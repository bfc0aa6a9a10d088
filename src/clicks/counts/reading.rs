//! All clicks of a data set that are in Redis, read in small pieces.
//!
//! The pending clicks change while they are read, but a link's clicks there only rise: a piece has every click that was answered
//! before the reading began. They are read while the data set has no newer flush; otherwise they are read again. A large flush
//! keeps a newer one from starting, so what is read again is small. A flush only gets fewer links: what is forgotten of it meanwhile, or
//! finished, is in the database, whose snapshot is read afterwards.
//!
//! One reading at a time is under way of each data set. It is for all who asked before it began, so the load on Redis does
//! not grow with their number.

use std::collections::HashMap;
use std::iter;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use super::unflushed::{Part, UnflushedClicks};
use super::{CountError, ShardCounts, TIMEOUT, TRIES};
use crate::domain::Interval;
use crate::shared_redis::keys::link_and_owner;
use crate::shared_redis::{RedisFailure, Term, scripts};

/// About how many links one command reads: a fraction of a millisecond of Redis.
const LINKS_PER_PIECE: u32 = 1_000;

/// How long a reading may take, the one that it waits for included: millions of links.
const DEADLINE: Duration = Duration::from_secs(20);

/// The scripts' answers; see `READ_FLUSHES` and `READ_PIECE`.
type Flushes = (i64, Vec<i64>, Vec<Option<i64>>);
type Piece = (i64, Option<u64>, Vec<(String, u64)>);

impl ShardCounts {
    /// The clicks that are in Redis; those of a reading that began after the call.
    pub(super) async fn all_unflushed(&self) -> Result<Arc<UnflushedClicks>, CountError> {
        let asked = Instant::now();
        let read = async {
            let mut newest = self.unflushed.lock().await;
            if let Some(shared) = newest.as_ref().filter(|reading| reading.began >= asked) {
                return Ok(Arc::clone(shared));
            }
            *newest = None;
            let reading = Arc::new(self.read_unflushed().await?);
            *newest = Some(Arc::clone(&reading));
            Ok(reading)
        };
        timeout(DEADLINE, read).await.unwrap_or_else(|_| {
            let why = "the clicks that wait to be written back are more than can be read in time";
            Err(CountError::Unavailable(why.into()))
        })
    }

    async fn read_unflushed(&self) -> Result<UnflushedClicks, CountError> {
        if !self.redis.is_reachable() {
            return Err(CountError::Unavailable("Redis is away".into()));
        }
        let (began, term) = (Instant::now(), self.redis.term()?);
        for _ in 0..TRIES {
            let (newest_flush, flushing, intervals) = self.flushes(&term).await?;
            if intervals.len() != 1 + flushing.len() {
                let why = "Redis sent something else than flushes";
                return Err(CountError::Unavailable(why.into()));
            }
            let now = Interval::of(self.redis.now());
            // None is noted if no click is pending.
            let intervals = intervals.into_iter();
            let intervals = intervals.map(|noted| noted.map_or(now, Interval::from_number));
            // The pending clicks first: what moves on from there is in a flush that is newer, and so is found.
            let numbers = iter::once(None).chain(flushing.into_iter().map(Some));
            let mut parts = Vec::new();
            for (flush, interval) in numbers.zip(intervals) {
                let Some(part) = self.part(&term, newest_flush, flush, interval).await? else {
                    break;
                };
                parts.push(part);
            }
            if !parts.is_empty() {
                return Ok(UnflushedClicks {
                    began,
                    term,
                    newest_flush,
                    parts,
                });
            }
        }
        Err(CountError::Unavailable(
            "flushes begin faster than pending clicks can be read".into(),
        ))
    }

    async fn flushes(&self, term: &Term) -> Result<Flushes, RedisFailure> {
        let keys = self.redis.keys();
        let mut call =
            scripts::READ_FLUSHES.call(&[&keys.state(), &keys.intervals(), &keys.flushing()]);
        call.arg(term.number);
        self.redis.query(&call, TIMEOUT).await
    }

    /// The clicks of a flush, or the pending ones; `None` where those may have become a flush meanwhile.
    async fn part(
        &self,
        term: &Term,
        newest_flush: i64,
        flush: Option<i64>,
        interval: Interval,
    ) -> Result<Option<Part>, RedisFailure> {
        let mut part = Part {
            flush,
            interval,
            clicks: HashMap::new(),
            is_finished: false,
        };
        let mut cursor = 0;
        loop {
            let started = Instant::now();
            let (newest, next, links) = self.piece(term, flush, cursor).await?;
            if flush.is_none() && newest != newest_flush {
                return Ok(None);
            }
            for (field, clicks) in links {
                let Some((link, _)) = link_and_owner(&field) else {
                    continue;
                };
                // A link may come twice, the second time with more clicks.
                let of_link = part.clicks.entry(link).or_default();
                *of_link = clicks.max(*of_link);
            }
            match next {
                Some(0) => return Ok(Some(part)),
                Some(next) => cursor = next,
                None => {
                    part.is_finished = true;
                    return Ok(Some(part));
                }
            }
            // Leaves time for the batches of clicks.
            sleep(started.elapsed() / 2).await;
        }
    }

    async fn piece(
        &self,
        term: &Term,
        flush: Option<i64>,
        cursor: u64,
    ) -> Result<Piece, RedisFailure> {
        let keys = self.redis.keys();
        let mut call = match flush {
            None => scripts::READ_PIECE.call(&[&keys.state(), &keys.pending()]),
            Some(number) => scripts::READ_PIECE.call(&[
                &keys.state(),
                &keys.flush(&term.epoch, number),
                &keys.flushing(),
            ]),
        };
        call.arg(term.number)
            .arg(cursor)
            .arg(LINKS_PER_PIECE)
            .arg(flush.unwrap_or_default());
        self.redis.query(&call, TIMEOUT).await
    }
}

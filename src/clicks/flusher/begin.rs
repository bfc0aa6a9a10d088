//! The beginning of a flush: the pending clicks of a data set become a flush with a number.

use std::time::Instant;

use super::scan::TIMEOUT;
use super::{Flusher, LEASE};
use crate::domain::Interval;
use crate::shared_redis::{RedisFailure, RedisShard, Term, scripts};
use crate::store::FlushId;

/// The script's answer; see [`scripts::BEGIN_FLUSH`].
type BegunFlushes = (Vec<i64>, Vec<i64>, Vec<String>, bool);

/// Flushes under way.
pub(super) struct UnderWay {
    /// In their order.
    pub(super) flushes: Vec<FlushId>,
    /// Whether clicks are pending that are in none of them.
    pub(super) has_pending: bool,
}

impl Flusher {
    /// Takes the lease, and turns the pending clicks into a flush, unless the data set lacks the newest flush of the ledger.
    /// `None` while another instance has the lease.
    pub(super) async fn begin(
        &self,
        redis: &RedisShard,
        term: &Term,
        in_ledger: i64,
    ) -> Result<Option<UnderWay>, RedisFailure> {
        let keys = redis.keys();
        let mut call = scripts::BEGIN_FLUSH.call(&[
            &keys.state(),
            &keys.pending(),
            &keys.flushing(),
            &keys.intervals(),
            &keys.details(),
            &keys.flusher(),
        ]);
        call.arg(term.number)
            .arg(&self.name)
            .arg(LEASE.as_secs() * 1_000)
            .arg(in_ledger);
        let asked = Instant::now();
        let begun: Result<Option<BegunFlushes>, _> = redis.query(&call, TIMEOUT).await;
        let begun = begun.inspect_err(|failure| {
            // It hangs: the next flush would wait for it again.
            if asked.elapsed() >= TIMEOUT {
                redis.trip(failure);
            }
        })?;
        Ok(begun.map(|(numbers, intervals, names, has_pending)| {
            let flushes = numbers.into_iter().zip(intervals).zip(names);
            let flush = |((number, interval), name)| FlushId {
                epoch: term.epoch.to_string(),
                term: term.number,
                number,
                name,
                interval: Interval::from_number(interval),
            };
            let mut flushes: Vec<_> = flushes.map(flush).collect();
            // The ledger takes no flush after a later one.
            flushes.sort_unstable_by_key(|flush| flush.number);
            UnderWay {
                flushes,
                has_pending,
            }
        }))
    }
}

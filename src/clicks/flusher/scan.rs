//! Reads the hashes of Redis that a flush needs, in small steps.

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use redis::FromRedisValue;
use tokio::time::sleep;

use crate::clicks::Pace;
use crate::shared_redis::{Call, RedisFailure, RedisShard};

/// How long one command of a flush may take: far longer than a healthy Redis needs.
pub(super) const TIMEOUT: Duration = Duration::from_secs(2);

/// Fields of a hash that one command reads.
const FIELDS_PER_SCAN: usize = 1_000;

/// The pauses between two commands, as multiples of the time that one took: they leave time for the batches of clicks.
pub(super) const PAUSES: RangeInclusive<f64> = 0.5..=3.0;

/// Reads all fields of a hash without keeping Redis busy for long. A field may come twice.
pub(super) struct HashScan<'a> {
    shard: &'a RedisShard,
    key: &'a str,
    /// Where the next command goes on; `None` at the end.
    cursor: Option<u64>,
    pace: Pace,
    /// When the last command was sent.
    asked: Option<Instant>,
}

impl<'a> HashScan<'a> {
    pub(super) fn new(shard: &'a RedisShard, key: &'a str) -> Self {
        Self {
            shard,
            key,
            cursor: Some(0),
            pace: Pace::within(PAUSES),
            asked: None,
        }
    }

    /// The next fields, each with its value; `None` at the end. What the caller did with the last ones counts for the pause before.
    pub(super) async fn next<F, V>(&mut self) -> Result<Option<Vec<(F, V)>>, RedisFailure>
    where
        F: FromRedisValue,
        V: FromRedisValue,
    {
        let Some(cursor) = self.cursor else {
            return Ok(None);
        };
        if let Some(asked) = self.asked {
            let pause = self.pace.pause_after(asked.elapsed(), self.shard.delay());
            sleep(pause).await;
        }
        self.asked = Some(Instant::now());
        let mut scan = redis::cmd("HSCAN");
        scan.arg(self.key)
            .arg(cursor)
            .arg("COUNT")
            .arg(FIELDS_PER_SCAN);
        let (next, found): (u64, Vec<(F, V)>) =
            self.shard.query(&Call::plain(scan), TIMEOUT).await?;
        self.cursor = Some(next).filter(|next| *next != 0);
        Ok(Some(found))
    }
}

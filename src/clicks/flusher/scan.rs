//! Reads the hashes of Redis that a flush needs, piece by piece.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use redis::FromRedisValue;
use tokio::time::sleep;

use crate::clicks::Pace;
use crate::shared_redis::keys::link_and_owner;
use crate::shared_redis::{Call, RedisFailure, RedisShard};
use crate::store::{DetailSums, FlushId, KnownClasses, LinkClicks};

/// How long one command of a flush may take: far longer than a healthy Redis needs.
pub(super) const TIMEOUT: Duration = Duration::from_secs(2);

/// Batches whose classes one command reads.
const BATCHES_PER_RANGE: usize = 100;

/// Fields of a hash that one command reads.
const FIELDS_PER_SCAN: usize = 1_000;

/// The pauses between two commands, as multiples of the time that one took: they leave time for the batches of clicks.
const PAUSES: RangeInclusive<f64> = 0.5..=3.0;

/// The increments of a flush, by rising link ID. A flush no longer changes, so it can be read piece by piece. Redis may
/// return a field twice; it is taken once.
pub(super) async fn increments(
    shard: &RedisShard,
    flush: &FlushId,
) -> Result<Vec<LinkClicks>, RedisFailure> {
    let key = shard.keys().flush(&flush.epoch, flush.number);
    // Sorted as they come: a million in one piece would keep a core from redirects for long.
    let mut increments = BTreeMap::new();
    scan_hash(shard, &key, |field: String, clicks: u64| {
        // A field that no link can have is skipped.
        if let Some((link, owner)) = link_and_owner(&field) {
            increments.insert(link, (owner, clicks));
        }
    })
    .await?;
    let of_links = increments.into_iter();
    let of_links = of_links.map(|(link, (owner, clicks))| LinkClicks {
        link,
        owner,
        clicks,
    });
    Ok(of_links.collect())
}

/// The classes of the clicks of a flush. Those of a batch that this version cannot read are left out.
pub(super) async fn details(
    shard: &RedisShard,
    flush: &FlushId,
) -> Result<DetailSums, RedisFailure> {
    let key = shard.keys().details_of(&flush.epoch, flush.number);
    let (mut classes, mut sums, mut from) = (KnownClasses::default(), DetailSums::default(), 0);
    let mut pace = Pace::within(PAUSES);
    loop {
        let started = Instant::now();
        let mut range = redis::cmd("LRANGE");
        range.arg(&key).arg(from).arg(from + BATCHES_PER_RANGE - 1);
        let found: Vec<Vec<u8>> = shard.query(&Call::plain(range), TIMEOUT).await?;
        let is_last = found.len() < BATCHES_PER_RANGE;
        for batch in found.iter().filter_map(|packed| classes.parse(packed)) {
            sums.add(batch);
        }
        if is_last {
            return Ok(sums);
        }
        from += BATCHES_PER_RANGE;
        sleep(pace.pause_after(started.elapsed(), shard.delay())).await;
    }
}

/// Reads all fields of a hash without keeping Redis busy for long. A field may come twice.
pub(super) async fn scan_hash<F, V>(
    shard: &RedisShard,
    key: &str,
    mut take: impl FnMut(F, V),
) -> Result<(), RedisFailure>
where
    F: FromRedisValue,
    V: FromRedisValue,
{
    let (mut cursor, mut pace) = (0_u64, Pace::within(PAUSES));
    loop {
        let mut scan = redis::cmd("HSCAN");
        let started = Instant::now();
        scan.arg(key).arg(cursor).arg("COUNT").arg(FIELDS_PER_SCAN);
        let (next, found): (u64, Vec<(F, V)>) = shard.query(&Call::plain(scan), TIMEOUT).await?;
        for (field, value) in found {
            take(field, value);
        }
        if next == 0 {
            return Ok(());
        }
        cursor = next;
        sleep(pace.pause_after(started.elapsed(), shard.delay())).await;
    }
}

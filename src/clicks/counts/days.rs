//! The clicks of links by day, as exact as their counts.

use std::collections::HashMap;

use futures_util::future::try_join_all;

use super::parts::{RedisSnapshot, sum_parts};
use super::{AsOf, CountError, Counting, Counts, TRIES, links_of, none_parked};
use crate::domain::{Click, LinkId, Shard};
use crate::store::{DaysSnapshot, LastDays};

/// The count of a link, and its clicks on some days.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkDays {
    /// All clicks of the link.
    pub count: u64,
    /// Those on each day, in order.
    pub days: Vec<u64>,
}

type DaysOfLinks = HashMap<LinkId, LinkDays>;

impl Counting<'_> {
    /// The counts of links as [`Counting::of`] has them, and their clicks by day; the counts of the database, where exact ones
    /// cannot be read.
    ///
    /// # Errors
    /// [`CountError`] where the database cannot be read.
    pub async fn days_of_or_written(
        self,
        links: &[Click],
        has_parked: bool,
        days: LastDays,
    ) -> Result<AsOf<DaysOfLinks>, CountError> {
        let counts = self.counts;
        let written = async {
            let links = links_of(links);
            let found = counts.store.clicks.days(&links, days, None).await?;
            counts.none_parked_elsewhere(found.counts.has_parked)?;
            let summed = sum_days(&links, days, &RedisSnapshot::none(), &found);
            Ok(summed.unwrap_or_default())
        };
        let exact = self.days_of(links, has_parked, days).await;
        counts.or_written(exact, written).await
    }

    async fn days_of(
        self,
        links: &[Click],
        has_parked: bool,
        days: LastDays,
    ) -> Result<DaysOfLinks, CountError> {
        if links.is_empty() {
            return Ok(HashMap::new());
        }
        let (counts, links) = (self.counts, self.settled(links, has_parked).await?);
        let parts = links.chunk_by(|one, other| one.shard() == other.shard());
        let parts = parts.map(|part| counts.days_of_shard(part, days));
        Ok(try_join_all(parts).await?.into_iter().flatten().collect())
    }
}

impl Counts {
    async fn days_of_shard(
        &self,
        clicks: &[Click],
        days: LastDays,
    ) -> Result<DaysOfLinks, CountError> {
        for _ in 0..TRIES {
            if let Some(found) = self.read_days(clicks, days).await? {
                return Ok(found);
            }
        }
        Err(CountError::Unavailable(
            "clicks are written back faster than they can be read".into(),
        ))
    }

    /// `None` when a flush overtook the reading.
    async fn read_days(
        &self,
        clicks: &[Click],
        days: LastDays,
    ) -> Result<Option<DaysOfLinks>, CountError> {
        let links = &links_of(clicks);
        let shard = clicks.first().map_or(Shard::ONLY, |click| click.shard());
        let Some(shard_counts) = self.shards.get(shard.index()) else {
            let found = self.store.clicks.days(links, days, None).await?;
            none_parked(found.counts.has_parked)?;
            return Ok(sum_days(links, days, &RedisSnapshot::none(), &found));
        };
        let (term, redis) = shard_counts.read(clicks).await?;
        let seen = redis.flushes_seen(&term);
        let found = self.store.clicks.days(links, days, Some(seen)).await?;
        if !self.is_settled(shard_counts, &found.counts).await? {
            return Ok(None);
        }
        Ok(sum_days(links, days, &redis, &found))
    }
}

/// `None` if the database has a flush that Redis did not show yet.
fn sum_days(
    links: &[LinkId],
    days: LastDays,
    redis: &RedisSnapshot,
    database: &DaysSnapshot,
) -> Option<DaysOfLinks> {
    let counts = sum_parts(links, redis, &database.counts)?;
    let empty = vec![0_u64; usize::from(days.days)];
    let of_count = |(link, count)| {
        let days = empty.clone();
        (link, LinkDays { count, days })
    };
    let mut found: DaysOfLinks = counts.into_iter().map(of_count).collect();
    let mut add = |link: LinkId, day: Option<usize>, clicks: u64| {
        let link = found.get_mut(&link);
        let day = link.zip(day).and_then(|(link, day)| link.days.get_mut(day));
        if let Some(day) = day {
            *day = day.saturating_add(clicks);
        }
    };
    for (link, day, clicks) in &database.days {
        add(*link, Some(*day), *clicks);
    }
    let marks = database.counts.flushes.iter().copied().collect();
    for (index, link) in links.iter().enumerate() {
        for (interval, clicks) in redis.unflushed(index, *link, &marks) {
            add(*link, days.day_of(interval), clicks);
        }
    }
    Some(found)
}

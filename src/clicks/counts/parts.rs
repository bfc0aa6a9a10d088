//! Adds up a count: the clicks in Redis and the clicks in the database.

use std::collections::{BTreeMap, HashMap};
use std::iter;
use std::ops::Range;

use crate::domain::{Interval, LinkId, Tally};
use crate::shared_redis::Term;
use crate::store::{CountSnapshot, FlushMark, FlushesSeen, SeriesSnapshot};

/// The clicks of some links in Redis at one moment.
pub(super) struct RedisSnapshot {
    newest_flush: i64,
    flushing: Vec<i64>,
    /// Clicks per link: the pending ones, then those of each flush; `None` means no clicks.
    counts: Vec<Vec<Option<u64>>>,
    /// The interval of each of these.
    intervals: Vec<Interval>,
}

/// The script's answer; see `READ_COUNTS`.
pub(super) type CountsReply = (i64, Vec<i64>, Vec<Vec<Option<u64>>>, Vec<Option<i64>>);

/// The clicks of a link by interval, without empty ones, and their count; all as of one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkSeries {
    /// All clicks of the link, also those outside of the range; 0 for one that does not exist.
    pub count: u64,
    /// Those of each interval in the range, in order.
    pub points: BTreeMap<Interval, u64>,
    /// Those of known bots, which are among the points. They are noted some seconds later than the clicks, and for ever.
    pub bots: BTreeMap<Interval, u64>,
}

/// The clicks of each interval, and the clicks of known bots among them.
#[must_use]
pub fn tallies(
    clicks: BTreeMap<Interval, u64>,
    bots: &BTreeMap<Interval, u64>,
) -> BTreeMap<Interval, Tally> {
    let tally = |(at, clicks)| {
        let bots = bots.get(&at).copied().unwrap_or_default().min(clicks);
        (at, Tally { clicks, bots })
    };
    clicks.into_iter().map(tally).collect()
}

impl RedisSnapshot {
    /// That of a service without Redis.
    pub(super) fn none() -> Self {
        Self {
            newest_flush: i64::MAX,
            flushing: Vec::new(),
            counts: Vec::new(),
            intervals: Vec::new(),
        }
    }

    pub(super) fn flushes_seen<'a>(&'a self, term: &'a Term) -> FlushesSeen<'a> {
        FlushesSeen {
            epoch: &term.epoch,
            term: term.number,
            under_way: &self.flushing,
            newest: self.newest_flush,
        }
    }

    /// The clicks of the link at an index that the database does not have: of the pending ones and of each flush, with the
    /// interval.
    pub(super) fn unflushed(
        &self,
        index: usize,
        link: LinkId,
        marks: &HashMap<i64, FlushMark>,
    ) -> impl Iterator<Item = (Interval, u64)> {
        let numbers = iter::once(None).chain(self.flushing.iter().map(Some));
        let parts = numbers.zip(self.counts.iter().zip(&self.intervals));
        parts.filter_map(move |(number, (part, interval))| {
            let mark = number.and_then(|number| marks.get(number));
            let is_written = mark.is_some_and(|mark| mark.includes(link));
            let clicks = part.get(index).copied().flatten()?;
            (!is_written).then_some((*interval, clicks))
        })
    }

    /// `None` if a number is missing or out of range: no sum would be right. `now` is the interval if no click is
    /// pending.
    pub(super) fn parse(
        (newest_flush, flushing, counts, intervals): CountsReply,
        links: usize,
        now: Interval,
    ) -> Option<Self> {
        let is_whole = counts.len() == 1 + flushing.len() && intervals.len() == counts.len();
        let noted = |interval: Option<i64>| interval.map_or(now, Interval::from_number);
        let is_in_range =
            |count: &Option<u64>| count.is_none_or(|count| i64::try_from(count).is_ok());
        let is_valid = |part: &Vec<_>| part.len() == links && part.iter().all(is_in_range);
        (is_whole && counts.iter().all(is_valid)).then_some(Self {
            newest_flush,
            flushing,
            counts,
            intervals: intervals.into_iter().map(noted).collect(),
        })
    }
}

/// `None` if the database has a flush that Redis did not show yet.
pub(super) fn sum_parts(
    links: &[LinkId],
    redis: &RedisSnapshot,
    database: &CountSnapshot,
) -> Option<HashMap<LinkId, u64>> {
    if database
        .flushes
        .iter()
        .any(|(number, _)| *number > redis.newest_flush)
    {
        return None;
    }
    let mut counts: HashMap<_, _> = database.clicks.iter().copied().collect();
    let marks = database.flushes.iter().copied().collect();
    for (index, link) in links.iter().enumerate() {
        let Some(count) = counts.get_mut(link) else {
            continue;
        };
        for (_, clicks) in redis.unflushed(index, *link, &marks) {
            *count = count.saturating_add(clicks);
        }
    }
    Some(counts)
}

/// The same for the series of one link.
pub(super) fn sum_series(
    link: LinkId,
    range: &Range<Interval>,
    redis: &RedisSnapshot,
    database: &SeriesSnapshot,
) -> Option<LinkSeries> {
    let counts = sum_parts(&[link], redis, &database.counts)?;
    let Some(count) = counts.get(&link).copied() else {
        return Some(LinkSeries::default());
    };
    let marks = database.counts.flushes.iter().copied().collect();
    let unflushed = redis.unflushed(0, link, &marks);
    let mut points = BTreeMap::<_, u64>::new();
    for (interval, clicks) in database.points.iter().copied().chain(unflushed) {
        if clicks > 0 && range.contains(&interval) {
            let point = points.entry(interval).or_default();
            *point = point.saturating_add(clicks);
        }
    }
    let mut bots = BTreeMap::new();
    for (interval, clicks) in &database.bots {
        let of_all = points.get(interval).copied().unwrap_or_default();
        let clicks = of_all.min(*clicks);
        if clicks > 0 {
            bots.insert(*interval, clicks);
        }
    }
    Some(LinkSeries {
        count,
        points,
        bots,
    })
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    use super::*;

    fn links() -> [LinkId; 2] {
        [1, 2].map(|number| LinkId::parse(number).unwrap())
    }

    fn database() -> CountSnapshot {
        CountSnapshot {
            clicks: links().map(|link| (link, 5)).to_vec(),
            ..CountSnapshot::default()
        }
    }

    proptest! {
        #[test]
        fn a_count_is_the_sum_of_all_its_parts(parts in vec(vec(option::of(0_u64..9), 2..=2), 1..5)) {
            let flushing: Vec<i64> = (1..).take(parts.len() - 1).collect();
            let intervals = vec![None; parts.len()];
            let response = (9, flushing, parts.clone(), intervals);
            let counts = sum_parts(&links(), &RedisSnapshot::parse(response, 2, Interval::FIRST).unwrap(), &database()).unwrap();
            for (index, link) in links().iter().enumerate() {
                let in_redis: u64 = parts.iter().filter_map(|part| part[index]).sum();
                prop_assert_eq!(counts[link], 5 + in_redis);
            }
        }

        #[test]
        fn a_response_without_all_of_its_parts_is_no_count(
            newest in 9_i64..,
            flushing in vec(1_i64..9, 0..4),
            parts in vec(vec(option::of(any::<u64>()), 0..4), 0..5),
            intervals in vec(option::of(any::<i64>()), 0..5),
        ) {
            let is_whole = parts.len() == 1 + flushing.len() && parts.iter().all(|part| part.len() == 2)
                && intervals.len() == parts.len();
            if let Some(redis) = RedisSnapshot::parse((newest, flushing, parts, intervals), 2, Interval::FIRST) {
                prop_assert!(is_whole);
                prop_assert_eq!(sum_parts(&links(), &redis, &database()).unwrap().len(), 2);
            }
        }
    }
}

//! When links were followed: the series of a link, and of all links of an owner.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{CountedLink, LinkError, LinkService};
use crate::clicks::counts::{AsOf, tallies};
use crate::domain::{
    Click, Interval, LinkGroup, LinkId, Principal, SeriesRange, ShortCode, Tally, Timestamp, UserId,
};
use crate::store::{OwnerSeries, ToCount};

/// The points of a range, including empty points.
#[derive(Clone, Debug)]
pub struct Series {
    /// The start of each point, and its clicks.
    pub points: Vec<(Timestamp, Tally)>,
}

/// A series, and the series of the same number of points before it.
#[derive(Clone, Debug)]
pub struct ComparedSeries {
    /// The series of the range.
    pub series: Series,
    /// The series of [`SeriesRange::previous`], up to [`SeriesRange::compared_until`].
    pub previous: Option<Series>,
    /// The last quarter of an hour of the range in which a click was made.
    pub last: Option<Interval>,
    /// How new the clicks are: as [`AsOf`] says.
    pub as_of: Option<Timestamp>,
}

impl Series {
    pub(super) fn of(range: &SeriesRange, tallies: &BTreeMap<Interval, Tally>) -> Self {
        Self {
            points: range.sum(tallies),
        }
    }

    /// All clicks of the range.
    #[must_use]
    pub fn sum(&self) -> Tally {
        let mut sum = Tally::default();
        for (_, tally) in &self.points {
            sum.add(*tally);
        }
        sum
    }
}

impl ComparedSeries {
    /// The intervals of a range and of the previous range.
    fn intervals(range: &SeriesRange) -> Range<Interval> {
        let intervals = range.intervals();
        let previous = range.previous();
        let start = previous.map_or(intervals.start, |previous| previous.intervals().start);
        start..intervals.end
    }

    /// `tallies` are the tallies of both ranges.
    pub(super) fn of(
        range: &SeriesRange,
        mut tallies: BTreeMap<Interval, Tally>,
        as_of: Option<Timestamp>,
        now: Timestamp,
    ) -> Self {
        let series = Series::of(range, &tallies);
        let mut clicked = tallies.range(range.intervals()).rev();
        let last = clicked.find(|(_, tally)| tally.clicks > 0);
        let last = last.map(|(interval, _)| *interval);
        if let Some(until) = range.compared_until(now) {
            tallies.split_off(&Interval::not_before(until));
        }
        let previous = range.previous();
        Self {
            series,
            previous: previous.map(|previous| Series::of(&previous, &tallies)),
            last,
            as_of,
        }
    }
}

impl LinkService {
    /// The series of the link with this code, active or not, and its own code, for a client at `address`; `None` if there is no such link.
    ///
    /// # Errors
    /// [`LinkError::TooMany`] if the client asked for too many unknown codes; [`LinkError::Count`] if an exact series cannot be
    /// read, [`LinkError::Store`].
    pub async fn series(
        &self,
        code: &ShortCode,
        range: &SeriesRange,
        address: &str,
    ) -> Result<Option<(ShortCode, Series)>, LinkError> {
        let counting = self.counts.begin();
        let Some(ToCount {
            value: link,
            has_parked,
        }) = self.public_link(code, address).await?
        else {
            return Ok(None);
        };
        let click = self.click_of(link.id, link.made_by, link.own_code(code));
        let read = counting.series_of(click, range.intervals(), has_parked);
        let read = read.await?;
        let series = Series::of(range, &tallies(read.points, &read.bots));
        Ok(Some((link.own_code(code).clone(), series)))
    }

    /// A link of this owner and its series, by the counts of the database if exact counts cannot be read; `None` if there is no such link.
    ///
    /// # Errors
    /// [`LinkError::Count`], [`LinkError::Store`].
    pub async fn own_series(
        &self,
        owner: Principal,
        code: &ShortCode,
        range: &SeriesRange,
    ) -> Result<Option<(CountedLink, ComparedSeries)>, LinkError> {
        let counting = self.counts.begin();
        let Some(ToCount {
            value: link,
            has_parked,
        }) = self.store.link_of(owner, code).await?
        else {
            return Ok(None);
        };
        let click = self.click_of(link.id, link.made_by, &link.code);
        let intervals = ComparedSeries::intervals(range);
        let read = counting.series_of_or_written(click, intervals, has_parked);
        let AsOf { value: read, as_of } = read.await?;
        let counted = CountedLink {
            link,
            clicks: read.count,
            as_of,
        };
        let tallies = tallies(read.points, &read.bots);
        let now = self.clock.now();
        let series = ComparedSeries::of(range, tallies, as_of, now);
        Ok(Some((counted, series)))
    }

    /// The series of all links of an owner, or of a group of them: an account has one such request at a time. It is empty
    /// if the owner's account is deleted.
    ///
    /// # Errors
    /// [`LinkError::TooMany`], [`LinkError::Count`], [`LinkError::Store`].
    pub async fn series_of_owner(
        &self,
        owner: Principal,
        group: &LinkGroup,
        range: &SeriesRange,
    ) -> Result<Series, LinkError> {
        let _turn = self.turn_for_group(owner, group).await?;
        let counting = self.counts.begin();
        let intervals = range.intervals();
        let read = counting.series_of_owner(owner, group, intervals.clone());
        let clicks = read.await?;
        let bots = self.bots_of_owner(owner, group, intervals).await?;
        Ok(Series::of(range, &tallies(clicks, &bots)))
    }

    /// The same with the series of the previous range; by the counts of the database if exact counts cannot be read.
    ///
    /// # Errors
    /// As there.
    pub async fn compared_series_of_owner(
        &self,
        owner: Principal,
        group: &LinkGroup,
        range: &SeriesRange,
    ) -> Result<ComparedSeries, LinkError> {
        let _turn = self.turn_for_group(owner, group).await?;
        let counting = self.counts.begin();
        let intervals = ComparedSeries::intervals(range);
        let read = counting.series_of_owner_or_written(owner, group, intervals.clone());
        let AsOf { value, as_of } = read.await?;
        let bots = self.bots_of_owner(owner, group, intervals).await?;
        let tallies = tallies(value, &bots);
        Ok(ComparedSeries::of(range, tallies, as_of, self.clock.now()))
    }

    async fn bots_of_owner(
        &self,
        owner: Principal,
        group: &LinkGroup,
        range: Range<Interval>,
    ) -> Result<BTreeMap<Interval, u64>, LinkError> {
        let wanted = OwnerSeries {
            owner,
            links: group,
            range,
        };
        let bots = self.details.bots_of_owner(&wanted).await?;
        Ok(bots.into_iter().collect())
    }

    /// A click of a link with this own code.
    pub(super) fn click_of(&self, link: LinkId, owner: UserId, own_code: &ShortCode) -> Click {
        Click::new(link, owner, self.cache.shard_of(own_code))
    }
}

//! When links were followed by the visitors that pass filters.

use std::collections::BTreeMap;

use super::breakdown::{DAY, of_owner};
use super::{ComparedSeries, LinkError, LinkService, WantedBreakdown};
use crate::domain::{Interval, LinkGroup, Principal, SeriesRange, ShortCode, Tally};
use crate::store::{ClassSeries, ClickSum, ClicksOf};

/// Clicks over time that pass filters, as of the newest summing of classes.
#[derive(Clone, Debug)]
pub struct FilteredSeries {
    /// The clicks.
    pub clicks: ComparedSeries,
    /// Whether a point has only a part of a day of which only the sum is kept: such a day counts where it begins.
    pub has_whole_days_only: bool,
}

impl LinkService {
    /// The clicks of a link that pass the filters; `None` if there is no such link.
    ///
    /// # Errors
    /// [`LinkError::Store`].
    pub async fn filtered_series(
        &self,
        owner: Principal,
        code: &ShortCode,
        wanted: &WantedBreakdown,
    ) -> Result<Option<FilteredSeries>, LinkError> {
        let Some(link) = self.store.link_of(owner, code).await? else {
            return Ok(None);
        };
        let of = ClicksOf::Link(link.value.id);
        Ok(Some(self.filtered(of, wanted).await?))
    }

    /// The same of all links of an owner, or of a group of them: for one such request of an account at a time.
    ///
    /// # Errors
    /// [`LinkError::TooMany`], [`LinkError::Store`].
    pub async fn filtered_series_of_owner(
        &self,
        owner: Principal,
        group: &LinkGroup,
        wanted: &WantedBreakdown,
    ) -> Result<FilteredSeries, LinkError> {
        let _turn = self.turn_for_group(owner, group).await?;
        self.filtered(of_owner(owner, group.clone()), wanted).await
    }

    async fn filtered(
        &self,
        of: ClicksOf,
        wanted: &WantedBreakdown,
    ) -> Result<FilteredSeries, LinkError> {
        let (range, now) = (&wanted.range, self.clock.now());
        let previous = range.previous();
        let mut starts: Vec<_> = previous.iter().flat_map(SeriesRange::starts).collect();
        let until = range.compared_until(now);
        starts.extend(until.iter().chain(range.starts()));
        let mut starts: Vec<_> = starts
            .into_iter()
            .copied()
            .map(Interval::not_before)
            .collect();
        starts.sort_unstable();
        starts.dedup();
        let kept_from = Interval::of(now.before(DAY * self.detail_days)).start_of_day();
        let is_part = |start: &Interval| *start < kept_from && start.start_of_day() != *start;
        let has_whole_days_only = range
            .starts()
            .iter()
            .any(|start| is_part(&Interval::not_before(*start)));
        let query = ClassSeries {
            of,
            starts,
            end: range.intervals().end,
            filters: wanted.filters.clone(),
        };
        let found = self.details.class_series(&query).await?;
        let tally = |sum: ClickSum| Tally {
            clicks: sum.clicks,
            bots: sum.clicks.saturating_sub(sum.people),
        };
        let tallies: BTreeMap<_, _> = found
            .into_iter()
            .map(|(at, sum)| (at, tally(sum)))
            .collect();
        Ok(FilteredSeries {
            clicks: ComparedSeries::of(range, tallies, None, now),
            has_whole_days_only,
        })
    }
}

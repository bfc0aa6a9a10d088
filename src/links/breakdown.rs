//! Who followed links: clicks by referrer, country, browser, system, device, or bot.

use std::time::Duration;

use super::{LinkError, LinkService};
use crate::domain::{Dimension, Interval, Principal, SearchTag, SeriesRange, ShortCode};
use crate::store::{Breakdown, BreakdownQuery, ClicksOf};

/// Rows of a breakdown at most.
pub const MAX_ROWS: u32 = 1_000;

const DAY: Duration = Duration::from_hours(24);

/// What is asked of a breakdown.
#[derive(Clone, Debug)]
pub struct WantedBreakdown {
    /// In which time.
    pub range: SeriesRange,
    /// Of what there is a row for each value.
    pub by: Dimension,
    /// Only clicks with these values; `None` is for those of which it is not known.
    pub filters: Vec<(Dimension, Option<String>)>,
    /// Rows at most.
    pub limit: u32,
}

impl LinkService {
    /// A breakdown of one link's clicks, for its owner; `None` where there is none.
    ///
    /// # Errors
    /// [`LinkError::Store`].
    pub async fn breakdown(
        &self,
        owner: Principal,
        code: &ShortCode,
        wanted: WantedBreakdown,
    ) -> Result<Option<Breakdown>, LinkError> {
        let Some(link) = self.links.link_of(owner, code).await? else {
            return Ok(None);
        };
        let query = self.query(ClicksOf::Link(link.value.id), wanted);
        Ok(Some(self.details.breakdown(&query).await?))
    }

    /// The breakdowns of one link's clicks by each dimension, each of [`MAX_ROWS`] at most; none where there is no such link.
    ///
    /// # Errors
    /// [`LinkError::Store`].
    pub async fn breakdowns(
        &self,
        owner: Principal,
        code: &ShortCode,
        range: &SeriesRange,
    ) -> Result<Vec<(Dimension, Breakdown)>, LinkError> {
        let mut breakdowns = Vec::new();
        for by in Dimension::ALL {
            let wanted = WantedBreakdown {
                range: range.clone(),
                by,
                filters: Vec::new(),
                limit: MAX_ROWS,
            };
            let found = self.breakdown(owner, code, wanted).await?;
            breakdowns.extend(found.map(|found| (by, found)));
        }
        Ok(breakdowns)
    }

    /// The same of all links of an owner, or of those with a tag.
    ///
    /// # Errors
    /// [`LinkError::Store`].
    pub async fn breakdown_of_owner(
        &self,
        owner: Principal,
        tag: Option<SearchTag>,
        wanted: WantedBreakdown,
    ) -> Result<Breakdown, LinkError> {
        let of = match tag {
            Some(tag) => ClicksOf::Tagged(owner.user, tag),
            None => ClicksOf::Owner(owner.user),
        };
        Ok(self.details.breakdown(&self.query(of, wanted)).await?)
    }

    fn query(&self, of: ClicksOf, wanted: WantedBreakdown) -> BreakdownQuery {
        let mut range = wanted.range.intervals();
        let kept_from = self.clock.now().before(DAY * self.detail_days);
        let kept_from = Interval::of(kept_from).start_of_day();
        // Of older days the sum alone is kept: one that begins in the range counts as a whole.
        if range.end < kept_from && range.end.start_of_day() != range.end {
            let day = i64::from(range.end.start_of_day().number());
            range.end = Interval::from_number(day + 96);
        }
        BreakdownQuery {
            of,
            range,
            by: wanted.by,
            filters: wanted.filters,
            limit: wanted.limit,
        }
    }
}

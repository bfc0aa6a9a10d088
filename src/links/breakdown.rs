//! Who followed links: clicks by referrer, country, browser, system, device, rule, or bot.

use std::time::Duration;

use futures_util::future::try_join_all;

use super::{LinkError, LinkService};
use crate::domain::{Dimension, Filter, Interval, LinkGroup, Principal, SeriesRange, ShortCode};
use crate::store::{Breakdown, BreakdownQuery, ClicksOf};

/// Rows of a breakdown at most.
pub const MAX_ROWS: u32 = 1_000;

pub(super) const DAY: Duration = Duration::from_hours(24);

/// Breakdowns that are read at the same time for one client: each takes a connection.
const AT_ONCE: usize = 2;

/// What is asked of a breakdown.
#[derive(Clone, Debug)]
pub struct WantedBreakdown {
    /// In which time.
    pub range: SeriesRange,
    /// Only clicks that pass all of these.
    pub filters: Vec<Filter>,
    /// Rows at most.
    pub limit: u32,
}

impl WantedBreakdown {
    /// As many rows as there may be, of all clicks of a time.
    #[must_use]
    pub fn all(range: &SeriesRange) -> Self {
        Self {
            range: range.clone(),
            filters: Vec::new(),
            limit: MAX_ROWS,
        }
    }

    /// The code by which the clicks are filtered, if by any; `None` if another filter is given, too.
    #[must_use]
    pub fn only_code(&self) -> Option<Option<&str>> {
        match &*self.filters {
            [] => Some(None),
            [(Dimension::Code, Some(code))] => Some(Some(code)),
            _ => None,
        }
    }

    /// The same by this own code of a link, which classes have no value for.
    fn of_link(mut self, own_code: &ShortCode) -> Self {
        for (dimension, value) in &mut self.filters {
            if *dimension == Dimension::Code && value.as_deref() == Some(own_code.as_str()) {
                *value = None;
            }
        }
        self
    }
}

impl LinkService {
    /// A breakdown of a link's clicks, for its owner; `None` if there is no such link.
    ///
    /// # Errors
    /// [`LinkError::Store`].
    pub async fn breakdown(
        &self,
        owner: Principal,
        code: &ShortCode,
        by: Dimension,
        wanted: WantedBreakdown,
    ) -> Result<Option<Breakdown>, LinkError> {
        let Some(link) = self.store.link_of(owner, code).await? else {
            return Ok(None);
        };
        let link = link.value;
        let query = self.query(ClicksOf::Link(link.id), by, wanted.of_link(&link.code));
        let mut found = self.details.breakdown(&query).await?;
        if by == Dimension::Code {
            for (code, _) in &mut found.rows {
                code.get_or_insert_with(|| link.code.to_string());
            }
        }
        Ok(Some(found))
    }

    /// Breakdowns of a link's clicks by each of [`Dimension::OF_VISITORS`], in that order.
    ///
    /// # Errors
    /// [`LinkError::Store`].
    pub async fn breakdowns(
        &self,
        owner: Principal,
        code: &ShortCode,
        wanted: WantedBreakdown,
    ) -> Result<Option<Vec<Breakdown>>, LinkError> {
        let Some(link) = self.store.link_of(owner, code).await? else {
            return Ok(None);
        };
        let of = ClicksOf::Link(link.value.id);
        Ok(Some(self.by_each_dimension(of, wanted).await?))
    }

    /// The same of all links of an owner, or of a group of them: for one such request of an account at a time.
    ///
    /// # Errors
    /// [`LinkError::TooMany`], [`LinkError::Store`].
    pub async fn breakdown_of_owner(
        &self,
        owner: Principal,
        group: LinkGroup,
        by: Dimension,
        wanted: WantedBreakdown,
    ) -> Result<Breakdown, LinkError> {
        let _turn = self.turn_for_group(owner, &group).await?;
        let query = self.query(of_owner(owner, group), by, wanted);
        Ok(self.details.breakdown(&query).await?)
    }

    /// The same by each of [`Dimension::OF_VISITORS`], in that order.
    ///
    /// # Errors
    /// [`LinkError::Store`].
    pub async fn breakdowns_of_owner(
        &self,
        owner: Principal,
        group: LinkGroup,
        wanted: WantedBreakdown,
    ) -> Result<Vec<Breakdown>, LinkError> {
        let _turn = self.turn_for_group(owner, &group).await?;
        self.by_each_dimension(of_owner(owner, group), wanted).await
    }

    async fn by_each_dimension(
        &self,
        of: ClicksOf,
        wanted: WantedBreakdown,
    ) -> Result<Vec<Breakdown>, LinkError> {
        let query = |by| self.query(of.clone(), by, wanted.clone());
        let queries: Vec<_> = Dimension::OF_VISITORS.into_iter().map(query).collect();
        let mut breakdowns = Vec::with_capacity(queries.len());
        for queries in queries.chunks(AT_ONCE) {
            let reading = queries.iter().map(|query| self.details.breakdown(query));
            breakdowns.extend(try_join_all(reading).await?);
        }
        Ok(breakdowns)
    }

    fn query(&self, of: ClicksOf, by: Dimension, wanted: WantedBreakdown) -> BreakdownQuery {
        let mut range = wanted.range.intervals();
        let kept_from = self.clock.now().before(DAY * self.detail_days);
        let kept_from = Interval::of(kept_from).start_of_day();
        // Older days keep only their sum: a day that begins in the range counts as a whole.
        if range.end < kept_from && range.end.start_of_day() != range.end {
            let day = i64::from(range.end.start_of_day().number());
            range.end = Interval::from_number(day + 96);
        }
        BreakdownQuery {
            of,
            range,
            by,
            filters: wanted.filters,
            limit: wanted.limit,
        }
    }
}

/// Breakdowns of all links of an owner, or of a group of them.
pub(super) fn of_owner(owner: Principal, group: LinkGroup) -> ClicksOf {
    if group.is_all() {
        ClicksOf::Owner(owner.user)
    } else {
        ClicksOf::Group(owner.user, group)
    }
}

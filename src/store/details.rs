//! The trait for visitor classes: clicks by class, summed by link, by account, and by time.

use std::ops::Range;

use async_trait::async_trait;
use metrics::counter;

use super::{OwnerSeries, StoreError};
use crate::domain::{Dimension, Filter, Interval, LinkGroup, LinkId, UserId};
use crate::telemetry::metrics::CLASSES_UNKNOWN;

/// Referrers that a link has room for in one day (UTC); further ones are [`Dimension::OTHER`].
pub const MAX_REFERRERS_OF_LINK: usize = 100;

/// The same for all links of an account, and so for links that a stranger follows one after another.
pub const MAX_REFERRERS_OF_OWNER: usize = 1_000;

/// Classes that a link has room for in one quarter of an hour; of further ones only known bots are set apart from people.
pub const MAX_CLASSES_OF_INTERVAL: u64 = 1_000;

/// Classes that all links of an account have room for on a day (UTC), all quarters together; likewise.
pub(super) const MAX_CLASSES_OF_OWNER: usize = 50_000;

/// Classes that the database has room for; likewise.
pub(super) const MAX_CLASSES: i32 = 5_000_000;

/// For how many quarters of an hour it is kept how much was new on a day: clicks may come late.
pub(super) const GROWTH_KEPT: i32 = 31 * QUARTERS_OF_DAY;

/// Whose clicks are broken down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClicksOf {
    /// Those of one link.
    Link(LinkId),
    /// Those of all links of an account.
    Owner(UserId),
    /// Those of a group of the account's links. Each link is read, so it takes longer the more there are.
    Group(UserId, LinkGroup),
}

/// What is asked of a breakdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BreakdownQuery {
    /// Whose clicks.
    pub of: ClicksOf,
    /// In which time. Days (UTC) whose quarters of an hour are not kept any more count as a whole where they begin in it.
    pub range: Range<Interval>,
    /// Of what there is a row for each value.
    pub by: Dimension,
    /// Only clicks that pass all of these.
    pub filters: Vec<Filter>,
    /// Rows at most.
    pub limit: u32,
}

/// What is asked of a series of clicks that pass filters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassSeries {
    /// Whose clicks.
    pub of: ClicksOf,
    /// The start of each point, in rising order; at least one.
    pub starts: Vec<Interval>,
    /// The end of the last point.
    pub end: Interval,
    /// Only clicks that pass all of these.
    pub filters: Vec<Filter>,
}

/// Clicks, and how many of them are not by known bots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClickSum {
    /// All of them.
    pub clicks: u64,
    /// Those that are not by known bots.
    pub people: u64,
}

/// Clicks by the values of one dimension, as of the newest summing of classes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Breakdown {
    /// All that pass the filters.
    pub total: ClickSum,
    /// The values with most clicks, largest first; `None` is that of clicks of which it is not known.
    pub rows: Vec<(Option<String>, ClickSum)>,
    /// All other values.
    pub other: ClickSum,
}

/// Keeps the classes of clicks.
///
/// They are noted in the transaction that counts the clicks, and summed a little later by [`Details::sum_details`]: so each
/// click is in them once or, where its class got lost on the way, not at all.
#[async_trait]
pub trait Details: Send + Sync {
    /// Sums some of the classes that were noted since, in a short step. Those of deleted links are dropped. Up to `rows_per_day`
    /// classes are new in a quarter of an hour of a link on one day, beside up to three for each link and interval: of clicks for whose
    /// class there is no room, only whether they are by a known bot is kept. Returns whether more are left.
    async fn sum_details(&self, rows_per_day: u64) -> Result<bool, StoreError>;

    /// Sums the quarters of an hour of up to `limit` days before this interval; the days stay. Returns the number of days.
    async fn prune_details(&self, before: Interval, limit: u32) -> Result<u64, StoreError>;

    /// Removes up to `limit` days of deleted links, also from the days of their owners, and of deleted accounts. Returns whether more may be
    /// left.
    async fn remove_details_of_deleted(&self, limit: u32) -> Result<bool, StoreError>;

    /// Clicks of known bots on an owner's links, by interval and in no order, as of the newest summing.
    async fn bots_of_owner(
        &self,
        wanted: &OwnerSeries<'_>,
    ) -> Result<Vec<(Interval, u64)>, StoreError>;

    /// Clicks by the values of one dimension.
    async fn breakdown(&self, query: &BreakdownQuery) -> Result<Breakdown, StoreError>;

    /// Clicks by the starts of points, without points that have no clicks. A day (UTC) whose quarters of an hour are not kept any more
    /// counts as a whole where it begins.
    async fn class_series(
        &self,
        query: &ClassSeries,
    ) -> Result<Vec<(Interval, ClickSum)>, StoreError>;
}

/// Quarters of an hour in a day.
pub(super) const QUARTERS_OF_DAY: i32 = 96;

/// The first quarter of an interval's day (UTC).
pub(super) fn day_of(interval: i32) -> i32 {
    interval - interval.rem_euclid(QUARTERS_OF_DAY)
}

/// The place of an interval in its day.
pub(super) fn quarter_of(interval: i32) -> u8 {
    u8::try_from(interval.rem_euclid(QUARTERS_OF_DAY)).unwrap_or_default()
}

/// Notes clicks for whose class there was no room in the database.
pub(super) fn note_unclassified(clicks: u64) {
    if clicks > 0 {
        counter!(CLASSES_UNKNOWN, "reason" => "database_room").increment(clicks);
    }
}

/// `value`, its clicks, those by bots, and both of all values together.
pub(super) type BreakdownRow = (String, i64, i64, i64, i64);

/// A breakdown of rows that begin with those of which the value is not known and which have no room of their own.
pub(super) fn breakdown(rows: Vec<BreakdownRow>, limit: u32) -> Breakdown {
    let sum = |clicks: i64, bots: i64| {
        let clicks = clicks.unsigned_abs();
        ClickSum {
            clicks,
            people: clicks.saturating_sub(bots.unsigned_abs()),
        }
    };
    let Some((_, _, _, clicks, bots)) = rows.first() else {
        return Breakdown::default();
    };
    let total = sum(*clicks, *bots);
    let rows = rows
        .into_iter()
        .filter(|(value, ..)| value != Dimension::OTHER)
        .map(|(value, clicks, bots, ..)| {
            let value = Some(value).filter(|value| !value.is_empty());
            (value, sum(clicks, bots))
        });
    let mut rows: Vec<_> = rows
        .take(usize::try_from(limit).unwrap_or(usize::MAX))
        .collect();
    rows.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.clicks));
    let shown = |of: fn(&ClickSum) -> u64| rows.iter().map(|(_, sum)| of(sum)).sum::<u64>();
    let other = ClickSum {
        clicks: total.clicks.saturating_sub(shown(|sum| sum.clicks)),
        people: total.people.saturating_sub(shown(|sum| sum.people)),
    };
    Breakdown { total, rows, other }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_row_of_its_own_is_other() {
        let row = |value: &str, clicks, bots| (value.to_owned(), clicks, bots, 100, 10);
        let rows = vec![
            row("", 5, 5),
            row("other", 7, 0),
            row("a.example", 50, 1),
            row("b.example", 30, 2),
        ];
        let found = breakdown(rows, 2);
        let sum = |clicks, people| ClickSum { clicks, people };
        assert_eq!(found.total, sum(100, 90));
        assert_eq!(
            found.rows,
            [
                (Some("a.example".to_owned()), sum(50, 49)),
                (None, sum(5, 0))
            ]
        );
        assert_eq!(found.other, sum(45, 41));
        assert_eq!(breakdown(Vec::new(), 2), Breakdown::default());
    }
}

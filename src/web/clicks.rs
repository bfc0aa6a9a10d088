//! What a page with clicks is asked for: a range of time, and filters.

use std::fmt;

use axum::http::HeaderMap;
use serde::Deserialize;
use url::form_urlencoded::Serializer;

use super::session::cookie;
use crate::analytics::filter;
use crate::domain::{
    Dimension, Filter, InvalidRange, RangeQuery, SeriesRange, Step, Timestamp, Zone,
};
use crate::http::ApiError;

/// The cookie in which the page's script notes the time zone of the browser.
const ZONE: &str = "shunt_tz";

/// Days up to which all of the time is shown by hours, and by days.
const MAX_DAYS_OF_HOURS: usize = 2;
const MAX_DAYS: usize = 100;

/// A usual period: a word of the address, the step of its points, and their number.
pub(super) const PERIODS: [(&str, Step, i32); 5] = [
    ("24h", Step::Hour, 24),
    ("7d", Step::Day, 7),
    (USUAL, Step::Day, 30),
    ("90d", Step::Day, 90),
    ("12m", Step::Month, 12),
];

/// The period without a choice.
const USUAL: &str = "30d";

/// The period since the first link was made.
pub(super) const ALL: &str = "all";

/// A period between two dates.
pub(super) const CUSTOM: &str = "custom";

/// The parameters of a page with clicks; unknown parameters are ignored.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ClicksQuery {
    period: String,
    interval: String,
    from: String,
    to: String,
    tz: String,
    referrer: Option<String>,
    country: Option<String>,
    browser: Option<String>,
    os: Option<String>,
    device: Option<String>,
    rule: Option<String>,
    bot: Option<String>,
}

/// What a page is asked for.
pub(super) struct ClicksRequest {
    pub(super) range: SeriesRange,
    /// A word of [`PERIODS`], [`ALL`] or [`CUSTOM`].
    pub(super) period: &'static str,
    /// Of the visitors.
    pub(super) filters: Vec<Filter>,
    /// Why it is not what was asked for.
    pub(super) fault: Option<Refusal>,
    /// The parameters of the range that were given, by name.
    pub(super) given: Vec<(&'static str, String)>,
}

/// A refusal: for programs, and the name of the text for people.
pub(super) struct Refusal {
    pub(super) error: ApiError,
    pub(super) text: &'static str,
}

impl Refusal {
    fn of(error: impl fmt::Display, text: &'static str) -> Self {
        Self {
            error: ApiError::invalid(error.to_string()),
            text,
        }
    }

    fn of_range(error: InvalidRange) -> Self {
        let text = match error {
            InvalidRange::Step => "clicks_fault_step",
            InvalidRange::Zone => "clicks_fault_zone",
            InvalidRange::Moment(_) | InvalidRange::Year(_) => "clicks_fault_date",
            InvalidRange::Reversed => "clicks_fault_reversed",
            InvalidRange::TooLong(_) => "clicks_fault_long",
        };
        Self::of(error, text)
    }
}

/// The address of a page with clicks.
pub(super) struct ClicksPage {
    pub(super) path: String,
    /// The tag and the host to which the page is narrowed, as parameters.
    pub(super) narrowed: Vec<(&'static str, String)>,
}

impl ClicksPage {
    /// The parameters besides the range.
    pub(super) fn kept(&self, filters: &[Filter]) -> Vec<(&'static str, String)> {
        let narrowed = self.narrowed.iter().cloned();
        let filters = filters.iter().map(|(dimension, value)| {
            let value = value.clone().unwrap_or_default();
            (dimension.as_str(), value)
        });
        narrowed.chain(filters).collect()
    }

    /// The page's address with this range and these filters.
    pub(super) fn address(&self, range: &[(&'static str, String)], filters: &[Filter]) -> String {
        let mut query = Serializer::new(String::new());
        query.extend_pairs(range.iter().map(|(name, value)| (*name, value)));
        query.extend_pairs(self.kept(filters));
        match query.finish() {
            query if query.is_empty() => self.path.clone(),
            query => format!("{}?{query}", self.path),
        }
    }
}

/// The filters without those by one dimension.
pub(super) fn without(filters: &[Filter], dimension: Dimension) -> Vec<Filter> {
    let others = filters.iter().filter(|(other, _)| *other != dimension);
    others.cloned().collect()
}

impl ClicksQuery {
    /// Whether all of the time is asked for, so that the caller has to know when it began.
    pub(super) fn is_of_all_time(&self) -> bool {
        self.period() == ALL
    }

    /// The period that is asked for.
    fn period(&self) -> &'static str {
        let words = PERIODS.iter().map(|(word, ..)| *word).chain([ALL]);
        let known = |asked: &str| words.clone().find(|word| *word == asked);
        match (self.from.is_empty() && self.to.is_empty(), &*self.interval) {
            (true, "") => known(&self.period).unwrap_or(USUAL),
            (true, "hour") => PERIODS[0].0,
            (true, "day") => USUAL,
            (true, "month") => PERIODS[4].0,
            _ => CUSTOM,
        }
    }

    /// The range and the filters; refused values are replaced by the default. `since` is when the time of [`ALL`] began.
    pub(super) fn asked(
        &self,
        now: Timestamp,
        since: Option<Timestamp>,
        headers: &HeaderMap,
    ) -> ClicksRequest {
        let (range, fault) = self.ranged(now, since, headers);
        let (filters, wrong) = match self.filters() {
            Ok(filters) => (filters, None),
            Err(fault) => (Vec::new(), Some(fault)),
        };
        let mut given = vec![
            ("period", &self.period),
            ("interval", &self.interval),
            ("from", &self.from),
            ("to", &self.to),
            ("tz", &self.tz),
        ];
        given.retain(|(_, value)| !value.is_empty());
        let owned = |(name, value): (&'static str, &String)| (name, value.clone());
        ClicksRequest {
            range,
            period: self.period(),
            filters,
            fault: fault.or(wrong),
            given: given.into_iter().map(owned).collect(),
        }
    }

    fn filters(&self) -> Result<Vec<Filter>, Refusal> {
        let given = [
            &self.referrer,
            &self.country,
            &self.browser,
            &self.os,
            &self.device,
            &self.rule,
            &self.bot,
        ];
        let given = Dimension::OF_VISITORS.into_iter().zip(given);
        let filters = given.filter_map(|(dimension, value)| {
            let filter = filter(dimension, value.as_deref()?);
            Some(filter.map_err(|error| Refusal::of(error, "clicks_fault_filter")))
        });
        filters.collect()
    }

    /// The range of an export or of a number.
    pub(super) fn range(
        &self,
        now: Timestamp,
        since: Option<Timestamp>,
        headers: &HeaderMap,
    ) -> Result<SeriesRange, ApiError> {
        match self.ranged(now, since, headers) {
            (range, None) => Ok(range),
            (_, Some(fault)) => Err(fault.error),
        }
    }

    /// The range, of days in the zone of the browser unless another is given; where the parameters are refused, the usual one,
    /// and why.
    fn ranged(
        &self,
        now: Timestamp,
        since: Option<Timestamp>,
        headers: &HeaderMap,
    ) -> (SeriesRange, Option<Refusal>) {
        let noted = cookie(headers, ZONE).filter(|name| Zone::parse(name).is_some());
        let given = |value: &'_ str| (!value.is_empty()).then(|| value.to_owned());
        let tz = given(&self.tz).or_else(|| noted.clone());
        match self.parsed(now, since, tz.as_deref()) {
            Ok(range) => (range, None),
            Err(error) => {
                let zone = tz.as_deref().filter(|name| Zone::parse(name).is_some());
                let usual = RangeQuery {
                    tz: zone.or(noted.as_deref()),
                    ..RangeQuery::default()
                };
                let usual = SeriesRange::parse(usual, now);
                let usual = usual.unwrap_or_else(|_| SeriesRange::default_at(now));
                (usual, Some(Refusal::of_range(error)))
            }
        }
    }

    fn parsed(
        &self,
        now: Timestamp,
        since: Option<Timestamp>,
        tz: Option<&str>,
    ) -> Result<SeriesRange, InvalidRange> {
        let given = |value: &'_ str| (!value.is_empty()).then(|| value.to_owned());
        let zone = tz.map_or(Some(Zone::UTC), Zone::parse);
        let period = self.period();
        if let (ALL, Some(since)) = (period, since) {
            return all(&zone.ok_or(InvalidRange::Zone)?, since, now);
        }
        if let Some((_, step, points)) = PERIODS.iter().find(|(word, ..)| *word == period) {
            return SeriesRange::last(*step, *points, &zone.ok_or(InvalidRange::Zone)?, now);
        }
        let (interval, from, to) = (given(&self.interval), given(&self.from), given(&self.to));
        let query = RangeQuery {
            interval: interval.as_deref(),
            from: from.as_deref(),
            to: to.as_deref(),
            tz,
        };
        SeriesRange::parse(query, now)
    }
}

/// All of the time since a moment, by hours, days or months.
fn all(zone: &Zone, since: Timestamp, now: Timestamp) -> Result<SeriesRange, InvalidRange> {
    let by_days = SeriesRange::since(Step::Day, zone, since, now);
    let days = by_days
        .as_ref()
        .map_or(usize::MAX, |days| days.starts().len());
    if days <= MAX_DAYS_OF_HOURS {
        // A chart of an hour would have a single point.
        SeriesRange::last(Step::Hour, 24 * i32::try_from(days).unwrap_or(1), zone, now)
    } else if days <= MAX_DAYS {
        by_days
    } else {
        SeriesRange::since(Step::Month, zone, since, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(query: &ClicksQuery, since: &str) -> ClicksRequest {
        let now = "2026-11-28T09:30:00Z".parse().unwrap();
        query.asked(now, since.parse().ok(), &HeaderMap::new())
    }

    #[test]
    fn a_period_is_a_word_of_the_address_or_two_dates() {
        let since = "2026-11-27T10:00:00Z";
        for (period, interval, from, word, points, first) in [
            ("", "", "", "30d", 30, "2026-10-30T00:00:00Z"),
            ("7d", "", "", "7d", 7, "2026-11-22T00:00:00Z"),
            ("90d", "", "", "90d", 90, "2026-08-31T00:00:00Z"),
            ("24h", "", "", "24h", 24, "2026-11-27T10:00:00Z"),
            ("12m", "", "", "12m", 12, "2025-12-01T00:00:00Z"),
            ("all", "", "", "all", 48, "2026-11-26T10:00:00Z"),
            ("never", "", "", "30d", 30, "2026-10-30T00:00:00Z"),
            ("", "hour", "", "24h", 24, "2026-11-27T10:00:00Z"),
            (
                "7d",
                "day",
                "2026-11-01",
                "custom",
                28,
                "2026-11-01T00:00:00Z",
            ),
        ] {
            let query = ClicksQuery {
                period: period.to_owned(),
                interval: interval.to_owned(),
                from: from.to_owned(),
                ..ClicksQuery::default()
            };
            let found = asked(&query, since);
            let range = &found.range;
            let shown = (found.period, range.starts().len(), range.from().to_string());
            assert_eq!(shown, (word, points, first.to_owned()), "{period} {from}");
        }
    }

    #[test]
    fn all_of_the_time_is_shown_by_hours_days_or_months() {
        let all = ClicksQuery {
            period: ALL.to_owned(),
            ..ClicksQuery::default()
        };
        for (since, step, points) in [
            ("2026-11-28T09:29:00Z", Step::Hour, 24),
            ("2026-11-01T00:00:00Z", Step::Day, 28),
            ("2016-11-01T00:00:00Z", Step::Month, 121),
        ] {
            let range = asked(&all, since).range;
            assert_eq!(
                (range.step(), range.starts().len()),
                (step, points),
                "{since}"
            );
        }
    }
}

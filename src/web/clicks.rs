//! Clicks over time on a page: the range that is asked for, a chart that the server draws, and the table behind it.

use std::time::Duration;

use axum::http::HeaderMap;
use serde::{Deserialize, Serialize};
use url::form_urlencoded::Serializer;

use super::chart::{bars, lengths, merged};
use super::page::grouped;
use super::session::cookie;
use crate::analytics::filter;
use crate::domain::{Dimension, Filter, RangeQuery, SeriesRange, Tally, Timestamp, Zone};
use crate::http::ApiError;
use crate::links::{ComparedSeries, Series};

/// Lines of the table at most: the export has all of them.
const MAX_LINES: usize = 100;

/// The cookie in which the page's script notes the time zone of the browser.
const ZONE: &str = "shunt_tz";

/// The parameters of a page with clicks; unknown parameters are ignored.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ClicksQuery {
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
    /// Of the visitors.
    pub(super) filters: Vec<Filter>,
    /// Why it is not what was asked for.
    pub(super) fault: Option<ApiError>,
    /// The parameters of the range that were given, by name.
    pub(super) given: Vec<(&'static str, String)>,
}

impl ClicksRequest {
    /// The last 30 days of all visitors.
    pub(super) fn default_at(now: Timestamp) -> Self {
        Self {
            range: SeriesRange::default_at(now),
            filters: Vec::new(),
            fault: None,
            given: Vec::new(),
        }
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
}

impl ClicksQuery {
    /// The range and the filters; refused values are replaced by the default.
    pub(super) fn asked(&self, now: Timestamp, headers: &HeaderMap) -> ClicksRequest {
        let (range, fault) = self.range(now, headers);
        let (filters, wrong) = match self.filters() {
            Ok(filters) => (filters, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let mut given = vec![
            ("interval", &self.interval),
            ("from", &self.from),
            ("to", &self.to),
            ("tz", &self.tz),
        ];
        given.retain(|(_, value)| !value.is_empty());
        let owned = |(name, value): (&'static str, &String)| (name, value.clone());
        ClicksRequest {
            range,
            filters,
            fault: fault.or(wrong),
            given: given.into_iter().map(owned).collect(),
        }
    }

    fn filters(&self) -> Result<Vec<Filter>, ApiError> {
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
            Some(filter.map_err(|error| ApiError::invalid(error.to_string())))
        });
        filters.collect()
    }

    /// The range, of days in the zone of the browser unless another is given; where the parameters are refused, the usual one,
    /// and why.
    pub(super) fn range(
        &self,
        now: Timestamp,
        headers: &HeaderMap,
    ) -> (SeriesRange, Option<ApiError>) {
        let noted = cookie(headers, ZONE).filter(|name| Zone::parse(name).is_some());
        let given = |value: &'_ str| (!value.is_empty()).then(|| value.to_owned());
        let (interval, from, to) = (given(&self.interval), given(&self.from), given(&self.to));
        let tz = given(&self.tz).or_else(|| noted.clone());
        let query = RangeQuery {
            interval: interval.as_deref(),
            from: from.as_deref(),
            to: to.as_deref(),
            tz: tz.as_deref(),
        };
        match SeriesRange::parse(query, now) {
            Ok(range) => (range, None),
            Err(error) => {
                let zone = tz.as_deref().filter(|name| Zone::parse(name).is_some());
                let usual = RangeQuery {
                    interval: None,
                    from: None,
                    to: None,
                    tz: zone.or(noted.as_deref()),
                };
                let usual = SeriesRange::parse(usual, now);
                (
                    usual.unwrap_or_else(|_| SeriesRange::default_at(now)),
                    Some(ApiError::invalid(error.to_string())),
                )
            }
        }
    }
}

/// Clicks over time, as a page shows them.
pub(super) struct ClicksView {
    /// The address to which the form of the range is sent.
    pub(super) path: String,
    /// What another range keeps: the tag and the filters, as parameters.
    pub(super) kept: Vec<(&'static str, String)>,
    pub(super) fault: Option<String>,
    pub(super) form: RangeForm,
    pub(super) interval: &'static str,
    pub(super) zone: String,
    /// The first and the last date.
    pub(super) from: String,
    pub(super) to: String,
    pub(super) sum: String,
    /// The address at which the sum can be read again; empty if it does not change.
    pub(super) live: String,
    pub(super) people: String,
    /// Clicks that other services counted before the import; empty without such clicks.
    pub(super) imported: String,
    pub(super) previous: Option<String>,
    /// The difference of the sum from the previous sum, such as `+12 %`.
    pub(super) change: String,
    pub(super) lines: Vec<Line>,
    pub(super) points: usize,
    /// Width of the chart in its own units.
    pub(super) width: usize,
    /// The bars of the range, and of the previous range, as SVG paths.
    pub(super) bars: String,
    pub(super) bars_before: String,
    pub(super) largest: String,
    /// The data of the chart as JSON, for the script that draws a better one.
    pub(super) data: String,
    /// The parameters of the range, for links to the export.
    pub(super) query: String,
}

/// The fields of the range.
pub(super) struct RangeForm {
    pub(super) interval: String,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) zone: String,
}

/// A link to one of the preset ranges.
pub(super) struct Preset {
    pub(super) name: &'static str,
    pub(super) path: String,
}

/// A line of the table.
pub(super) struct Line {
    pub(super) at: String,
    pub(super) shown: String,
    pub(super) clicks: u64,
    pub(super) people: u64,
    pub(super) previous: Option<u64>,
}

/// What the script reads.
#[derive(Serialize)]
struct Data<'a> {
    zone: &'a str,
    step: &'static str,
    /// Seconds since 1970 at the start of the first point.
    start: u64,
    /// Lengths of points in seconds, each with the number of points that follow each other so.
    lengths: Vec<(u64, usize)>,
    clicks: Vec<u64>,
    previous: Vec<u64>,
}

impl ClicksView {
    pub(super) fn new(place: &ClicksPage, asked: &ClicksRequest, clicks: &ComparedSeries) -> Self {
        let (range, fault) = (&asked.range, asked.fault.as_ref());
        let ComparedSeries {
            series, previous, ..
        } = clicks;
        let (sum, before) = (series.sum(), previous.as_ref().map(Series::sum));
        let zone = range.zone();
        let largest = largest(series).max(previous.as_ref().map_or(0, largest));
        let last = range.to().before(Duration::from_micros(1));
        let (from, to) = (zone.date_at(range.from()), zone.date_at(last));
        let empty = Vec::new();
        let of_before = previous.as_ref().map_or(&empty, |series| &series.points);
        let clicks_of = |points: &[(Timestamp, Tally)]| {
            let clicks = points.iter().map(|(_, tally)| tally.clicks);
            clicks.collect::<Vec<_>>()
        };
        let data = Data {
            zone: zone.name(),
            step: range.step().as_str(),
            start: range.from().unix_seconds(),
            lengths: lengths(&series.points, range.to()),
            clicks: clicks_of(&series.points),
            previous: clicks_of(of_before),
        };
        let skipped = series.points.len().saturating_sub(MAX_LINES);
        let lines = series.points.iter().enumerate().skip(skipped).rev();
        let line = |(index, (at, tally)): (usize, &(Timestamp, Tally))| Line {
            at: zone.written(*at),
            shown: zone.shown(range.step(), *at),
            clicks: tally.clicks,
            people: tally.people(),
            previous: of_before.get(index).map(|(_, tally)| tally.clicks),
        };
        let mut query = Serializer::new(String::new());
        for (name, value) in [
            ("interval", range.step().as_str()),
            ("from", &range.from().to_string()),
            ("to", &range.to().to_string()),
            ("tz", zone.name()),
        ] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        query.extend_pairs(&place.narrowed);
        // A form that is refused keeps what was entered.
        let entered = |name: &str| {
            let mut given = asked.given.iter().filter(|_| fault.is_some());
            let found = given.find(|(given, _)| *given == name);
            found.map(|(_, value)| value.clone())
        };
        let day_of = |name, shown| {
            let entered = entered(name).and_then(|value| value.parse().ok());
            entered.unwrap_or(shown)
        };
        Self {
            path: place.path.clone(),
            kept: place.kept(&asked.filters),
            fault: fault.map(|error| error.detail().to_owned()),
            interval: range.step().as_str(),
            zone: zone.name().to_owned(),
            form: RangeForm {
                interval: entered("interval").unwrap_or_else(|| range.step().as_str().to_owned()),
                from: day_of("from", from).to_string(),
                to: day_of("to", to).to_string(),
                zone: entered("tz").unwrap_or_else(|| zone.name().to_owned()),
            },
            from: from.to_string(),
            to: to.to_string(),
            sum: grouped(sum.clicks),
            live: String::new(),
            people: grouped(sum.people()),
            imported: String::new(),
            previous: before.map(|before| grouped(before.clicks)),
            change: before.map_or_else(String::new, |before| change(before.clicks, sum.clicks)),
            lines: lines.map(line).collect(),
            points: series.points.len(),
            width: merged(&data.clicks).len() * 10,
            bars: bars(&merged(&data.clicks), largest, 1, 8),
            bars_before: bars(&merged(&data.previous), largest, 3, 4),
            largest: grouped(largest),
            data: serde_json::to_string(&data).unwrap_or_default(),
            query: query.finish(),
        }
    }
}

impl ClicksView {
    /// Links to the usual ranges.
    pub(super) fn presets(&self) -> [Preset; 3] {
        let usual = [
            ("24 hours", "hour"),
            ("30 days", "day"),
            ("12 months", "month"),
        ];
        usual.map(|(name, interval)| {
            let mut query = Serializer::new(String::new());
            query.append_pair("interval", interval);
            query.append_pair("tz", &self.zone);
            query.extend_pairs(self.kept.iter().map(|(name, value)| (*name, value)));
            Preset {
                name,
                path: format!("{}?{}", self.path, query.finish()),
            }
        })
    }
}

fn largest(series: &Series) -> u64 {
    let clicks = series.points.iter().map(|(_, tally)| tally.clicks);
    clicks.max().unwrap_or_default()
}

/// The difference of a number from the previous number, in whole per cent.
fn change(before: u64, now: u64) -> String {
    let (before, now) = (i128::from(before), i128::from(now));
    if before == 0 {
        return String::new();
    }
    format!("{:+} %", (now - before) * 100 / before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_said_in_whole_per_cent() {
        for (before, now, said) in [
            (0, 5, ""),
            (100, 112, "+12 %"),
            (100, 50, "-50 %"),
            (7, 7, "+0 %"),
            (1, u64::MAX, "+1844674407370955161400 %"),
        ] {
            assert_eq!(change(before, now), said);
        }
    }
}

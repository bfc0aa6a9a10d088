//! The series of one link or of several as JSON, and the parameters that choose its range.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

#[cfg(test)]
use super::words::{self, IntervalWord};
use crate::domain::{InvalidRange, RangeQuery, SeriesRange, Timestamp};
use crate::http::ApiError;
use crate::links::Series;

/// Which part of a series, and how finely.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct SeriesQuery {
    /// The length of a point: `hour`, `day` or `month`.
    #[param(schema_with = words::interval)]
    pub(super) interval: Option<String>,
    /// The first date, or an RFC 3339 timestamp: the point that it is in is the first. Unless given, 24 hours, 30 days or 12
    /// months before the end.
    #[param(example = "2026-11-01")]
    pub(super) from: Option<String>,
    /// The last date, or the RFC 3339 timestamp before which the series ends. Unless given, the point that it is now is the
    /// last.
    #[param(example = "2026-11-25")]
    pub(super) to: Option<String>,
    /// The time zone in which days begin and dates are read: a name of the IANA database.
    #[param(example = "Europe/Berlin", default = "UTC")]
    pub(super) tz: Option<String>,
}

impl SeriesQuery {
    pub(super) fn range(&self, now: Timestamp) -> Result<SeriesRange, ApiError> {
        let range = self.parsed(now);
        range.map_err(|error| ApiError::invalid(error.to_string()))
    }

    pub(super) fn parsed(&self, now: Timestamp) -> Result<SeriesRange, InvalidRange> {
        let query = RangeQuery {
            interval: self.interval.as_deref(),
            from: self.from.as_deref(),
            to: self.to.as_deref(),
            tz: self.tz.as_deref(),
        };
        SeriesRange::parse(query, now)
    }
}

/// Clicks by hour, day or month. The sum over all time is the exact count.
#[derive(Serialize, ToSchema)]
pub(super) struct SeriesBody {
    /// The link's path; not there for several links.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(
        example = "K7mXq2R",
        pattern = "^[A-Za-z0-9_-]{1,64}$",
        nullable = false
    )]
    short_code: Option<String>,
    /// The length of a point.
    #[schema(value_type = IntervalWord)]
    interval: &'static str,
    /// The time zone.
    #[schema(example = "Europe/Berlin")]
    tz: String,
    /// The start of the first point, by the clock of the zone.
    #[schema(example = "2026-11-24T00:00:00+01:00", format = DateTime)]
    from: String,
    /// The end of the last point.
    #[schema(example = "2026-11-26T00:00:00+01:00", format = DateTime)]
    to: String,
    /// Clicks of all points.
    #[schema(example = 42)]
    clicks: u64,
    /// Clicks without those of known bots. A bot is recognized within 2 s, or later if the database is busy; until then its
    /// click is included here.
    #[schema(example = 42)]
    people: u64,
    /// Every point of the range, in order.
    points: Vec<PointBody>,
}

/// One hour, day or month.
#[derive(Serialize, ToSchema)]
pub(super) struct PointBody {
    /// When it starts.
    #[schema(example = "2026-11-24T00:00:00+01:00", format = DateTime)]
    pub(super) at: String,
    /// Clicks that were recorded in it.
    #[schema(example = 21)]
    pub(super) clicks: u64,
    /// Clicks without those of known bots, as above.
    #[schema(example = 21)]
    pub(super) people: u64,
}

impl SeriesBody {
    pub(super) fn new(short_code: Option<String>, range: &SeriesRange, series: &Series) -> Self {
        let (zone, sum) = (range.zone(), series.sum());
        Self {
            short_code,
            interval: range.step().as_str(),
            tz: zone.name().to_owned(),
            from: zone.written(range.from()),
            to: zone.written(range.to()),
            clicks: sum.clicks,
            people: sum.people(),
            points: points(range, series).collect(),
        }
    }
}

/// The points with their times as clients see them.
pub(super) fn points<'a>(
    range: &'a SeriesRange,
    series: &'a Series,
) -> impl Iterator<Item = PointBody> + 'a {
    series.points.iter().map(|(at, tally)| PointBody {
        at: range.zone().written(*at),
        clicks: tally.clicks,
        people: tally.people(),
    })
}

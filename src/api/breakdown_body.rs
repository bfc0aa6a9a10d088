//! A breakdown of clicks as JSON, and the parameters that choose it.

use serde::{Deserialize, Serialize};
#[cfg(test)]
use utoipa::openapi::path::{Parameter, ParameterIn};
#[cfg(test)]
use utoipa::openapi::{RefOr, Schema};
use utoipa::{IntoParams, ToSchema};

use super::series_body::SeriesQuery;
#[cfg(test)]
use super::words::{self, DimensionWord};
use crate::analytics::filter;
use crate::domain::{Dimension, InvalidRange, SeriesRange, ShortCode, Timestamp};
use crate::http::ApiError;
use crate::links::{ClicksByCode, MAX_ROWS, WantedBreakdown};
use crate::store::{Breakdown, ClickSum};

/// Rows unless a number is given.
const LIMIT: u32 = 10;

/// What there may be a row for.
const BY: &str = "by: must be referrer, country, browser, os, device, rule or bot, or code of a single link, such as by=country";

/// What a breakdown is by, and of which clicks.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct BreakdownParameters {
    /// Only links that have exactly this tag; only for all your links.
    #[param(max_length = 50)]
    pub(super) tag: Option<String>,
    /// Only links of this host: one of `GET /domains`, or the service's own.
    #[param(max_length = 260)]
    pub(super) domain: Option<String>,
    /// What there is a row for: `referrer`, `country`, `browser`, `os`, `device`, `rule` or `bot`; of a single link also `code`. Of a referrer its
    /// registrable host is kept: `example.co.uk` of `news.example.co.uk`. A rule is there by its name or number, and of a split with `/` and the name
    /// or number of its target: `2`, `spring/1`; `null` is for clicks of no rule.
    #[param(schema_with = words::dimension)]
    by: Option<String>,
    /// The first date, or an RFC 3339 timestamp in the first day. Unless given, 30 days before the end.
    #[param(example = "2026-11-01")]
    from: Option<String>,
    /// The last date, or an RFC 3339 timestamp.
    #[param(example = "2026-11-25")]
    to: Option<String>,
    /// The time zone in which days begin and dates are read: a name of the IANA database.
    #[param(example = "Europe/Berlin", default = "UTC")]
    tz: Option<String>,
    /// Rows at most, 1 to 1000; the rest is `other`.
    #[param(value_type = Option<u32>, example = 10, default = 10, minimum = 1, maximum = 1000)]
    limit: Option<String>,
    /// Only clicks from pages of this host, of which the registrable host counts (`news.example.co.uk` finds `example.co.uk`), in
    /// any case; or from the Android app with this name. An empty value, here and in the filters below, selects clicks whose
    /// value is unknown.
    #[param(max_length = 253, example = "example.com")]
    referrer: Option<String>,
    /// Only clicks from this country, as `DE`.
    #[param(pattern = "^([A-Za-z]{2})?$", example = "DE")]
    country: Option<String>,
    /// Only clicks with this family of browsers.
    #[param(max_length = 253, example = "Firefox")]
    browser: Option<String>,
    /// Only clicks with this family of systems.
    #[param(max_length = 253, example = "Android")]
    os: Option<String>,
    /// Only clicks with this kind of device: `desktop`, `phone`, `tablet`, `tv` or `console`.
    #[param(schema_with = words::device, example = "phone")]
    device: Option<String>,
    /// Only clicks of this rule of a link, by its name or number, and of a split's target: `spring/1`. An empty value: of no rule.
    #[param(max_length = 253, example = "spring/1")]
    rule: Option<String>,
    /// Only clicks of known bots, `true`, or of others, `false`.
    #[param(schema_with = words::bot, example = "false")]
    bot: Option<String>,
    /// Only clicks by this code of a single link: its own, or an alias.
    #[param(pattern = "^[A-Za-z0-9_-]{1,64}$", example = "spring")]
    code: Option<String>,
}

/// The parameters without the parameters for a single link.
#[cfg(test)]
pub(super) struct ParametersOfAllLinks;

#[cfg(test)]
impl IntoParams for ParametersOfAllLinks {
    fn into_params(place: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let mut all = BreakdownParameters::into_params(place);
        all.retain(|parameter| parameter.name != "code");
        for parameter in &mut all {
            if let Some(RefOr::T(Schema::Object(schema))) = &mut parameter.schema
                && let Some(words) = &mut schema.enum_values
            {
                words.retain(|word| word != "code");
            }
        }
        all
    }
}

/// The parameters for a single link. That one's host is among those of its code.
#[cfg(test)]
pub(super) struct ParametersOfLink;

#[cfg(test)]
impl IntoParams for ParametersOfLink {
    fn into_params(place: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let mut all = BreakdownParameters::into_params(place);
        all.retain(|parameter| parameter.name != "domain");
        all
    }
}

impl BreakdownParameters {
    /// The same of all links together, whose codes are not told apart.
    pub(super) fn wanted_of_all(
        self,
        now: Timestamp,
    ) -> Result<(Dimension, WantedBreakdown), ApiError> {
        if self.code.is_some() {
            let detail = "code: is for a single link, as /urls/spring/stats/breakdown?code=spring";
            return Err(ApiError::invalid(detail.to_owned()));
        }
        match self.wanted(now)? {
            (Dimension::Code, _) => Err(ApiError::invalid(BY.to_owned())),
            wanted => Ok(wanted),
        }
    }

    pub(super) fn wanted(self, now: Timestamp) -> Result<(Dimension, WantedBreakdown), ApiError> {
        let invalid = |detail: &str| ApiError::invalid(detail.to_owned());
        let by = self
            .by
            .as_deref()
            .map_or(Some(Dimension::Referrer), Dimension::parse);
        let by = by.ok_or_else(|| invalid(BY))?;
        let limit = self.limit.as_deref().map_or(Ok(LIMIT), str::parse);
        let limit = limit.ok().filter(|limit| (1..=MAX_ROWS).contains(limit));
        let limit = limit.ok_or_else(|| invalid("limit: must be 1 to 1000, such as limit=10"))?;
        let range = SeriesQuery {
            interval: None,
            from: self.from,
            to: self.to,
            tz: self.tz,
        };
        // Its days cannot be made longer.
        let range = range.parsed(now).map_err(|error| match error {
            InvalidRange::TooLong(_) => ApiError::invalid(format!(
                "from: must be at most {} days before to; choose a shorter range, such as from=2026-11-01&to=2026-11-25",
                SeriesRange::MAX_POINTS
            )),
            error => ApiError::invalid(error.to_string()),
        })?;
        let given = [
            self.referrer,
            self.country,
            self.browser,
            self.os,
            self.device,
            self.rule,
            self.bot,
        ];
        let mut filters = Vec::new();
        let given = Dimension::OF_VISITORS.into_iter().zip(given);
        for (dimension, value) in given.chain([(Dimension::Code, self.code)]) {
            let Some(value) = value else { continue };
            let filter = filter(dimension, &value);
            filters.push(filter.map_err(|error| ApiError::invalid(error.to_string()))?);
        }
        let wanted = WantedBreakdown {
            range,
            filters,
            limit,
        };
        Ok((by, wanted))
    }
}

/// Clicks by one property of visitors, largest first.
#[derive(Serialize, ToSchema)]
pub(super) struct BreakdownBody {
    /// What there is a row for.
    #[schema(value_type = DimensionWord)]
    by: &'static str,
    /// Clicks of all rows and of `other`.
    #[schema(example = 42)]
    clicks: u64,
    /// Clicks without the clicks of known bots; `null` with the filter `code`, as that is not kept by code.
    #[schema(required = true, example = 40)]
    people: Option<u64>,
    /// The values with most clicks.
    rows: Vec<RowBody>,
    /// All other values together; missing if there are no other values.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    other: Option<SumBody>,
}

/// One value.
#[derive(Serialize, ToSchema)]
pub(super) struct RowBody {
    /// The value; `null` for clicks of which it is not known.
    #[schema(required = true, example = "DE")]
    value: Option<String>,
    /// Clicks with it.
    #[schema(example = 21)]
    clicks: u64,
    /// Clicks without the clicks of known bots; `null` of a code, as that is not kept by code.
    #[schema(required = true, example = 20)]
    people: Option<u64>,
}

/// Clicks without a row of their own.
#[derive(Serialize, ToSchema)]
pub(super) struct SumBody {
    /// All of them.
    #[schema(example = 2)]
    clicks: u64,
    /// Clicks without the clicks of known bots; `null` of codes.
    #[schema(required = true, example = 1)]
    people: Option<u64>,
}

impl BreakdownBody {
    pub(super) fn new(by: Dimension, found: Breakdown) -> Self {
        let row = |(value, sum): (Option<String>, ClickSum)| RowBody {
            value,
            clicks: sum.clicks,
            people: Some(sum.people),
        };
        let other = Some(found.other).filter(|other| other.clicks > 0);
        Self {
            by: by.as_str(),
            clicks: found.total.clicks,
            people: Some(found.total.people),
            rows: found.rows.into_iter().map(row).collect(),
            other: other.map(|ClickSum { clicks, people }| SumBody {
                clicks,
                people: Some(people),
            }),
        }
    }

    /// Clicks by code: up to `limit` codes have rows of their own.
    pub(super) fn by_code(found: &ClicksByCode, limit: u32) -> Self {
        let limit = found.rows.len().min(limit as usize);
        let (own, others) = found.rows.split_at(limit);
        let row = |(code, clicks): &(ShortCode, u64)| RowBody {
            value: Some(code.as_str().to_owned()),
            clicks: *clicks,
            people: None,
        };
        let other: u64 = others.iter().map(|(_, clicks)| clicks).sum();
        Self {
            by: "code",
            clicks: found.clicks,
            people: found.people,
            rows: own.iter().map(row).collect(),
            other: (other > 0).then_some(SumBody {
                clicks: other,
                people: None,
            }),
        }
    }
}

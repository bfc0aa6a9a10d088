//! Series and breakdowns of clicks as CSV.

use ::csv::{Terminator, WriterBuilder};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse, Response};

use super::ApiError;
use crate::domain::{Dimension, SeriesRange};
use crate::import::guarded;
use crate::links::{ClicksByCode, Series};
use crate::store::{Breakdown, ClickSum};

/// A series as a file: one line for each point, of the columns `by`, `value`, `clicks` and `people`; then one for each row of the
/// breakdowns, if there are any: one by each of [`Dimension::OF_VISITORS`]. Of a row whose value is not known, that is empty.
/// The rows of codes come last.
///
/// # Errors
/// A defect of the writer.
pub fn clicks_csv(
    name: &str,
    range: &SeriesRange,
    series: &Series,
    breakdowns: &[Breakdown],
    by_code: Option<&ClicksByCode>,
) -> Result<Response, ApiError> {
    let file = lines(range, series, breakdowns, by_code);
    let file = file.map_err(|error| ApiError::internal(&error.to_string()))?;
    let disposition = format!("attachment; filename=\"{name}.csv\"");
    let disposition = HeaderValue::try_from(disposition)
        .map_err(|error| ApiError::internal(&error.to_string()))?;
    let kind = HeaderValue::from_static("text/csv; charset=utf-8");
    let headers = [(CONTENT_TYPE, kind), (CONTENT_DISPOSITION, disposition)];
    Ok((headers, file).into_response())
}

fn lines(
    range: &SeriesRange,
    series: &Series,
    breakdowns: &[Breakdown],
    by_code: Option<&ClicksByCode>,
) -> Result<Vec<u8>, ::csv::Error> {
    let mut file = Vec::new();
    let mut writer = WriterBuilder::new()
        .terminator(Terminator::CRLF)
        .from_writer(&mut file);
    writer.write_record(["by", "value", "clicks", "people"])?;
    let step = range.step().as_str();
    for (at, tally) in &series.points {
        let at = range.zone().written(*at);
        let at = guarded(&at);
        let (clicks, people) = (tally.clicks.to_string(), tally.people().to_string());
        writer.write_record([step, &at, &clicks, &people])?;
    }
    for (by, breakdown) in Dimension::OF_VISITORS.into_iter().zip(breakdowns) {
        let mut line = |value: &str, sum: ClickSum| {
            let (clicks, people) = (sum.clicks.to_string(), sum.people.to_string());
            writer.write_record([by.as_str(), &guarded(value), &clicks, &people])
        };
        for (value, sum) in &breakdown.rows {
            line(value.as_deref().unwrap_or_default(), *sum)?;
        }
        if breakdown.other.clicks > 0 {
            line(Dimension::OTHER, breakdown.other)?;
        }
    }
    // A link without aliases has one code, and the series says all of it.
    let by_code = by_code.filter(|found| found.rows.len() > 1);
    for (code, clicks) in by_code.into_iter().flat_map(|found| &found.rows) {
        writer.write_record(["code", &guarded(code.as_str()), &clicks.to_string(), ""])?;
    }
    writer.flush()?;
    drop(writer);
    Ok(file)
}

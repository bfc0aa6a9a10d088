//! The body of a call that creates many links: JSON, JSON by the line, or CSV.

use serde_json::value::RawValue;

use super::link_csv::Lines;
use super::link_json::BulkObject;
use crate::domain::OwnHost;
use crate::http::{ApiError, parse_object};
use crate::limits::MAX_BULK;
use crate::links::LinkRequest;

/// Links of one call at most.
const MAX_LINKS: usize = MAX_BULK as usize;

/// The links of a body, of which each is parsed when its turn comes.
pub(super) struct Document<'a> {
    links: Links<'a>,
    len: usize,
}

enum Links<'a> {
    /// Objects of JSON, the last one first.
    Json(Vec<&'a str>),
    Csv(Box<Lines<'a>>),
}

impl<'a> Document<'a> {
    /// The document in a body with this `Content-Type`; without a known one it is JSON.
    ///
    /// # Errors
    /// Where it is broken, or has too many links.
    pub(super) fn of(content_type: &str, body: &'a [u8]) -> Result<Self, ApiError> {
        let kind = content_type.split(';').next().unwrap_or_default().trim();
        let is = |known: &str| kind.eq_ignore_ascii_case(known);
        let (links, len) = if is("text/csv") {
            let len = Lines::count(body, MAX_LINKS + 1)?;
            (Links::Csv(Box::new(Lines::of(body)?)), len)
        } else {
            let mut objects = if is("application/x-ndjson") || is("application/ndjson") {
                lines(body)?
            } else {
                array(body)?
            };
            objects.reverse();
            let len = objects.len();
            (Links::Json(objects), len)
        };
        if len > MAX_LINKS {
            return Err(ApiError::invalid(format!(
                "body: must have at most {MAX_LINKS} links; send the others in another call"
            )));
        }
        Ok(Self { links, len })
    }

    /// How many links it has in all.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The next links; none at the end.
    pub(super) fn read_next(
        &mut self,
        count: usize,
        own_host: &OwnHost,
    ) -> Vec<Result<LinkRequest, ApiError>> {
        let mut next = || match &mut self.links {
            Links::Json(objects) => objects.pop().map(|object| parse(object, own_host)),
            Links::Csv(lines) => lines.read_next(own_host),
        };
        std::iter::from_fn(&mut next).take(count).collect()
    }
}

fn parse(object: &str, own_host: &OwnHost) -> Result<LinkRequest, ApiError> {
    let object: BulkObject = parse_object(object.as_bytes()).map_err(ApiError::invalid)?;
    object.parse(own_host)
}

/// The parts of an array, which may be of any kind.
fn array(body: &[u8]) -> Result<Vec<&str>, ApiError> {
    const NO_ARRAY: &str = "body: must be a JSON array of objects";
    if body.trim_ascii_start().first() != Some(&b'[') {
        return Err(ApiError::invalid(NO_ARRAY));
    }
    let parts: Vec<&RawValue> = serde_json::from_slice(body).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        ApiError::invalid(format!(
            "{NO_ARRAY}, and is broken at line {line}, column {column}"
        ))
    })?;
    Ok(parts.into_iter().map(RawValue::get).collect())
}

/// The lines that are not empty.
fn lines(body: &[u8]) -> Result<Vec<&str>, ApiError> {
    let text = std::str::from_utf8(body).map_err(|_| ApiError::invalid("body: must be UTF-8"))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    Ok(lines.take(MAX_LINKS + 1).collect())
}

//! `Clicks-As-Of`: the moment of the click counts in a response, if they are not exact.

use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;

use crate::domain::Timestamp;

/// The name of the header.
pub const CLICKS_AS_OF: HeaderName = HeaderName::from_static("clicks-as-of");

/// The response, with the header unless its clicks are exact.
#[must_use]
pub fn with_clicks_as_of(mut response: Response, as_of: Option<Timestamp>) -> Response {
    let moment = as_of.and_then(|moment| HeaderValue::try_from(moment.to_string()).ok());
    if let Some(moment) = moment {
        response.headers_mut().insert(CLICKS_AS_OF, moment);
    }
    response
}

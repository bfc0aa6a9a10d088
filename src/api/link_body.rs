//! Responses that show a link.

use axum::http::HeaderValue;
use axum::http::header::{ETAG, LINK};
use axum::response::{IntoResponse, Response};

use super::base_address::BaseAddress;
use super::entity_tags::tag_of;
use crate::domain::{ShortCode, Timestamp};
use crate::http::{ApiError, Json, with_clicks_as_of};
use crate::links::CountedLink;
use crate::wire::{FullLinkBody, LinkBody};

/// How much of a link a response shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// The five fields of the specification.
    Plain,
    /// Everything.
    Full,
}

impl View {
    /// The value of the parameter `view`.
    pub(super) fn parse(raw: Option<&str>) -> Result<Self, ApiError> {
        match raw {
            None => Ok(Self::Plain),
            Some("full") => Ok(Self::Full),
            Some(_) => Err(ApiError::invalid("view: must be full, or left out")),
        }
    }
}

/// A response that shows one link.
pub(super) fn one_link(
    shown: &CountedLink,
    view: View,
    now: Timestamp,
    base_address: &BaseAddress,
) -> Response {
    let CountedLink {
        link,
        clicks,
        as_of,
    } = shown;
    let mut response = match view {
        View::Plain => Json(LinkBody::new(link, *clicks)).into_response(),
        View::Full => {
            let short_url = base_address.short_url(&link.code);
            let body = FullLinkBody::new(link, short_url, *clicks, shown.status(now));
            Json(body.at(base_address.host_of(&link.code))).into_response()
        }
    };
    name_short_url(&mut response, &link.code, base_address);
    if let Ok(value) = HeaderValue::try_from(tag_of(shown, now)) {
        response.headers_mut().insert(ETAG, value);
    }
    with_clicks_as_of(response, *as_of)
}

/// Names the short URL of the link that a response shows.
pub(super) fn name_short_url(
    response: &mut Response,
    code: &ShortCode,
    base_address: &BaseAddress,
) {
    let shortlink = format!("<{}>; rel=\"shortlink\"", base_address.short_url(code));
    // An address of a configured host is always a value.
    if let Ok(value) = HeaderValue::try_from(shortlink) {
        response.headers_mut().insert(LINK, value);
    }
}

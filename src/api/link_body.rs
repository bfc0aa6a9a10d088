//! A link as its owner sees it in a response.

use axum::http::HeaderValue;
use axum::http::header::{ETAG, LINK};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::base_address::BaseAddress;
use super::entity_tags::tag_of;
use super::words::StatusWord;
use crate::domain::{Link, LinkStatus, MaxClicks, ShortCode, Timestamp, Title};
use crate::http::{ApiError, Json, with_clicks_as_of};
use crate::links::CountedLink;

/// A link as its owner sees it.
#[derive(Serialize, ToSchema)]
pub(super) struct LinkBody {
    /// Identifier.
    #[schema(example = 1, minimum = 1)]
    id: i64,
    /// The link's path: it is followed at `/{short_code}`.
    #[schema(example = "K7mXq2R", pattern = "^[A-Za-z0-9_-]{1,64}$")]
    short_code: String,
    /// Where it leads, exactly as it was given.
    #[schema(example = "https://example.org/a/long/path", max_length = 2048)]
    target_url: String,
    /// Exact number of answered redirects or, with the header `Clicks-As-Of`, the count as of that moment.
    #[schema(example = 0)]
    clicks: u64,
    /// An inactive link is not followed.
    is_active: bool,
}

impl LinkBody {
    pub(super) fn new(link: &Link, clicks: u64) -> Self {
        Self {
            id: link.id.number(),
            short_code: link.code.as_str().to_owned(),
            target_url: link.properties.target.as_str().to_owned(),
            clicks,
            is_active: link.properties.is_active,
        }
    }
}

/// All that its owner may know of a link.
#[derive(Serialize, ToSchema)]
pub(super) struct FullLinkBody {
    /// Identifier.
    #[schema(example = 1, minimum = 1)]
    id: i64,
    /// The link's path: it is followed at `/{short_code}`.
    #[schema(example = "spring-sale", pattern = "^[A-Za-z0-9_-]{1,64}$")]
    short_code: String,
    /// The address that people share.
    #[schema(example = "https://sho.rt/spring-sale", format = "uri")]
    short_url: String,
    /// Where it leads, exactly as it was given.
    #[schema(example = "https://example.org/a/long/path", max_length = 2048)]
    target_url: String,
    /// The owner's name for it.
    #[schema(required = true, example = "Spring sale")]
    title: Option<String>,
    /// Words that group the owner's links.
    #[schema(example = json!(["print"]))]
    tags: Vec<String>,
    /// Exact number of answered redirects, unless the header `Clicks-As-Of` says as of when; with those that another service counted
    /// before an import.
    #[schema(example = 0)]
    clicks: u64,
    /// An inactive link is not followed.
    is_active: bool,
    /// Whether it is followed, or why not.
    #[schema(value_type = StatusWord)]
    status: &'static str,
    /// When it was created.
    #[schema(example = "2026-11-25T09:30:00.123456Z", format = DateTime)]
    created_at: String,
    /// When it was changed last.
    #[schema(example = "2026-11-25T09:30:00.123456Z", format = DateTime)]
    updated_at: String,
    /// The moment from which it is not followed any more.
    #[schema(required = true, example = "2027-01-31T17:00:00Z", format = DateTime)]
    expires_at: Option<String>,
    /// Redirects that are answered in all.
    #[schema(required = true, example = 1000, minimum = 1)]
    max_clicks: Option<u64>,
    /// Whether a visitor's query is added to that of the target.
    forward_query: bool,
}

impl FullLinkBody {
    pub(super) fn new(
        link: &Link,
        clicks: u64,
        status: LinkStatus,
        base_address: &BaseAddress,
    ) -> Self {
        let properties = &link.properties;
        Self {
            id: link.id.number(),
            short_code: link.code.as_str().to_owned(),
            short_url: base_address.short_url(&link.code),
            target_url: properties.target.as_str().to_owned(),
            title: properties
                .title
                .as_ref()
                .map(Title::as_str)
                .map(str::to_owned),
            tags: properties.tags.as_slice().to_vec(),
            clicks,
            is_active: properties.is_active,
            status: status.as_str(),
            created_at: link.created_at.with_micros(),
            updated_at: link.updated_at.with_micros(),
            expires_at: properties.expires_at.as_ref().map(Timestamp::to_string),
            max_clicks: properties.max_clicks.map(MaxClicks::number),
            forward_query: properties.forward_query,
        }
    }
}

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
            let status = shown.status(now);
            Json(FullLinkBody::new(link, *clicks, status, base_address)).into_response()
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

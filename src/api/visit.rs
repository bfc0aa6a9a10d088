//! `GET` and `HEAD` of `/{short_code}`, which people share, and of `/urls/r/{short_code}`.
//!
//! Workers answer nearly all of these requests before the router sees them (`server::http1`). These handlers are for codes
//! that need decoding, and for the document.

use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;

#[cfg(test)]
use crate::http::documented::{CodeParameter, ErrorBody};
use crate::http::{ClientAddress, PathCode, VisitorHeaders};
use crate::redirect::{Redirect, RedirectError, Redirected};

/// The responses to following a link.
#[cfg(test)]
#[derive(utoipa::IntoResponses)]
#[expect(
    dead_code,
    reason = "it only describes the responses in the OpenAPI document"
)]
pub(super) enum RedirectResponses {
    /// The link's target, or that of the first of its rules whose conditions the visitor meets; of a link that has not started, has expired or is used up its `fallback_url`, if it has one: then nothing is
    /// counted. If search engines are asked not to list the link, with `X-Robots-Tag: noindex`
    #[response(status = 302, headers(
        ("Location" = String, description = "Where the link leads, as a URI (RFC 3986): its `target_url`, with an international host in punycode and with every character that a URI must not contain percent-encoded; if the link forwards queries, with the visitor's query. At most 8192 bytes"),
        ("Cache-Control" = String, description = "`private, no-store`: a redirect from a cache would be a lost click; of a fallback `no-store`"),
    ))]
    Redirected,
    /// No link has this code, or the link is inactive, has not started, has expired or is used up; nothing is counted
    #[response(status = 404, example = json!({"detail": "URL not found"}))]
    NotFound(ErrorBody),
    /// The service's administrators removed the link, or the visitor's query, which it adds to its target, makes a URL of it that the
    /// service refuses; nothing is counted
    #[response(
        status = 410,
        headers(("Link" = String, description = "`</>; rel=\"blocked-by\"`")),
        example = json!({"detail": "URL removed"}),
    )]
    Removed(ErrorBody),
    /// The link was removed for legal reasons; nothing is counted
    #[response(
        status = 451,
        headers(("Link" = String, description = "`</>; rel=\"blocked-by\"`: who removed it (RFC 7725)")),
        example = json!({"detail": "URL removed"}),
    )]
    Blocked(ErrorBody),
    /// The link adds the visitor's query to its target, and the `Location` would be longer than 8192 bytes; nothing is counted
    #[response(status = 414, example = json!({"detail": "The target URL with your query added is longer than 8192 bytes; send a shorter query"}))]
    TooLong(ErrorBody),
    /// The client's address asked for too many codes that no link has
    #[response(
        status = 429,
        headers(("Retry-After" = u32, description = "Seconds after which it is worth trying again")),
        example = json!({"detail": "Too many requests; try again in 23 s"}),
    )]
    TooMany(ErrorBody),
    /// The link is not in memory and cannot be looked up now, or it has a limit and no click can be granted now
    #[response(
        status = 503,
        headers(("Retry-After" = u32, description = "Seconds after which it is worth trying again")),
        example = json!({"detail": "The service cannot answer this right now; try again"}),
    )]
    NotNow(ErrorBody),
}

/// Follow a link.
///
/// The click is counted before the response is sent: exactly once. A page that a browser only prefetches is not counted.
/// `/{short_code}` does the same.
#[utoipa::path(
    get,
    path = "/urls/r/{short_code}",
    tag = "links",
    operation_id = "visit",
    params(CodeParameter),
    responses(RedirectResponses)
)]
pub(super) async fn visit(
    State(redirect): State<Arc<Redirect>>,
    PathCode(code): PathCode,
    RawQuery(query): RawQuery,
    client: ClientAddress,
    headers: HeaderMap,
) -> Result<Redirected, RedirectError> {
    let code = code.ok_or(RedirectError::Unknown)?;
    let address = || client.clone().into();
    let visitor = VisitorHeaders::of(&headers).visitor(query.as_deref(), &address, None);
    redirect.follow(&code, &visitor).await
}

/// See where a link leads.
///
/// The response is that of a visit, and nothing is counted. No rule of the link is followed: the response has its `target_url`, and the
/// header `Link-Rules` with the number of its rules, if it has any.
#[utoipa::path(
    head,
    path = "/urls/r/{short_code}",
    tag = "links",
    operation_id = "preview",
    params(CodeParameter),
    responses(RedirectResponses)
)]
pub(super) async fn preview(
    State(redirect): State<Arc<Redirect>>,
    PathCode(code): PathCode,
    RawQuery(query): RawQuery,
    client: ClientAddress,
    headers: HeaderMap,
) -> Result<Redirected, RedirectError> {
    let code = code.ok_or(RedirectError::Unknown)?;
    let address = || client.clone().into();
    let visitor = VisitorHeaders::of(&headers).visitor(query.as_deref(), &address, None);
    redirect.preview(&code, &visitor).await
}

/// Follow a link by the address that people share.
///
/// The click is counted before the response is sent: exactly once. A page that a browser only prefetches is not counted.
/// Paths of the service itself, such as
/// `/docs`, are not codes.
#[utoipa::path(
    get,
    path = "/{short_code}",
    tag = "links",
    operation_id = "visit_shared",
    params(CodeParameter),
    responses(RedirectResponses)
)]
pub(super) async fn visit_shared(
    redirect: State<Arc<Redirect>>,
    code: PathCode,
    query: RawQuery,
    client: ClientAddress,
    headers: HeaderMap,
) -> Result<Redirected, RedirectError> {
    visit(redirect, code, query, client, headers).await
}

/// See where a link leads, at the address that people share.
///
/// The response is that of a visit, and nothing is counted. No rule of the link is followed: the response has its `target_url`, and the
/// header `Link-Rules` with the number of its rules, if it has any.
#[utoipa::path(
    head,
    path = "/{short_code}",
    tag = "links",
    operation_id = "preview_shared",
    params(CodeParameter),
    responses(RedirectResponses)
)]
pub(super) async fn preview_shared(
    redirect: State<Arc<Redirect>>,
    code: PathCode,
    query: RawQuery,
    client: ClientAddress,
    headers: HeaderMap,
) -> Result<Redirected, RedirectError> {
    preview(redirect, code, query, client, headers).await
}

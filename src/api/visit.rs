//! `GET`, `HEAD` and `POST` of `/{short_code}`, which people share, and of `/urls/r/{short_code}`.
//!
//! Workers answer nearly all of these requests before the router sees them (`server::http1`). These handlers are for codes
//! that need decoding, for passwords, and for the document.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{RawQuery, Request, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};

use crate::domain::Password;

#[cfg(test)]
use crate::http::documented::{ErrorBody, VisitedCode};
use crate::http::{
    Asking, BodyLimits, ClientAddress, PathCode, VisitorHeaders, basic_password, read_body,
};
use crate::redirect::{LinkPasswords, Redirect, RedirectError, Redirected};

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
    /// The link needs a password, which was not given or is wrong; nothing is counted. People get a page with a form
    #[response(status = 403, headers(
        ("X-Robots-Tag" = String, description = "`noindex`"),
    ), examples(
        ("missing" = (value = json!({"detail": "This link needs a password"}))),
        ("wrong" = (value = json!({"detail": "The password of this link is wrong"}))),
    ))]
    Locked(ErrorBody),
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
    /// The client's address asked for too many codes that no link has, or too many wrong passwords came for the link, from this
    /// address or in all
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
/// The password of a link that has one may be given by `Authorization: Basic`, with any user name. `/{short_code}` does the same.
#[utoipa::path(
    get,
    path = "/urls/r/{short_code}",
    tag = "links",
    operation_id = "visit",
    params(VisitedCode),
    responses(RedirectResponses)
)]
pub(super) async fn visit(
    (redirect, passwords): (State<Arc<Redirect>>, State<Arc<LinkPasswords>>),
    PathCode(code): PathCode,
    RawQuery(query): RawQuery,
    Asking(client): Asking,
    headers: HeaderMap,
) -> Result<Redirected, RedirectError> {
    let code = code.ok_or(RedirectError::Unknown)?;
    let address = || client.address().to_owned();
    let visitor = VisitorHeaders::of(&headers).visitor(query.as_deref(), &address, None);
    match basic_password(&headers) {
        None => redirect.follow(&code, &visitor).await,
        Some(password) => {
            let followed = passwords.follow(&redirect, &code, &visitor, &client, password);
            followed.await
        }
    }
}

/// The form in which a visitor gives the password of a link.
#[cfg(test)]
#[derive(utoipa::ToSchema)]
#[expect(
    dead_code,
    reason = "it only describes the body in the OpenAPI document"
)]
pub(super) struct PasswordForm {
    /// The password of the link.
    #[schema(format = Password, max_length = 128)]
    password: Option<String>,
}

/// The bounds of such a form.
const FORM: BodyLimits = BodyLimits {
    bytes: 4096,
    timeout: Duration::from_secs(10),
};

/// The field of the form.
const FIELD: &str = "password";

/// Follow a link with its password.
///
/// As a visit, with the password in the form that visitors get as a page, or by `Authorization: Basic` with any user name. A
/// link without a password is followed as by `GET`, whatever is given. Wrong passwords are limited by link and address, and by link.
/// `/{short_code}` does the same.
#[utoipa::path(
    post,
    path = "/urls/r/{short_code}",
    tag = "links",
    operation_id = "visit_with_password",
    params(VisitedCode),
    request_body(content = Option<PasswordForm>, content_type = "application/x-www-form-urlencoded"),
    responses(RedirectResponses, TakesForm)
)]
pub(super) async fn unlock(
    (redirect, passwords): (State<Arc<Redirect>>, State<Arc<LinkPasswords>>),
    PathCode(code): PathCode,
    RawQuery(query): RawQuery,
    Asking(client): Asking,
    headers: HeaderMap,
    request: Request,
) -> Result<Redirected, Response> {
    let body = read_body(request, FORM).await;
    let body = body.map_err(IntoResponse::into_response)?;
    let mut fields = url::form_urlencoded::parse(&body);
    let given = fields.find(|(name, _)| name == FIELD);
    let given = given.map(|(_, password)| Password::at_log_in(password.into_owned()));
    let password = given.or_else(|| basic_password(&headers));
    let followed = async {
        let code = code.ok_or(RedirectError::Unknown)?;
        let address = || client.address().to_owned();
        let visitor = VisitorHeaders::of(&headers).visitor(query.as_deref(), &address, None);
        match password {
            None => redirect.follow(&code, &visitor).await,
            Some(password) => {
                let followed = passwords.follow(&redirect, &code, &visitor, &client, password);
                followed.await
            }
        }
    };
    followed.await.map_err(IntoResponse::into_response)
}

/// Follow a link with its password, by the address that people share.
///
/// As a visit, with the password in the form that visitors get as a page, or by `Authorization: Basic` with any user name. A
/// link without a password is followed as by `GET`, whatever is given.
#[utoipa::path(
    post,
    path = "/{short_code}",
    tag = "links",
    operation_id = "visit_shared_with_password",
    params(VisitedCode),
    request_body(content = Option<PasswordForm>, content_type = "application/x-www-form-urlencoded"),
    responses(RedirectResponses, TakesForm)
)]
pub(super) async fn unlock_shared(
    services: (State<Arc<Redirect>>, State<Arc<LinkPasswords>>),
    code: PathCode,
    query: RawQuery,
    client: Asking,
    headers: HeaderMap,
    request: Request,
) -> Result<Redirected, Response> {
    unlock(services, code, query, client, headers, request).await
}

/// The responses to a body that breaks a limit.
#[cfg(test)]
#[derive(utoipa::IntoResponses)]
#[expect(
    dead_code,
    reason = "it only describes the responses in the OpenAPI document"
)]
pub(super) enum TakesForm {
    /// The body did not arrive within 10 seconds
    #[response(status = 408)]
    Late(ErrorBody),
    /// The body is larger than 4096 bytes
    #[response(status = 413)]
    Large(ErrorBody),
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
    params(VisitedCode),
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
    params(VisitedCode),
    responses(RedirectResponses)
)]
pub(super) async fn visit_shared(
    services: (State<Arc<Redirect>>, State<Arc<LinkPasswords>>),
    code: PathCode,
    query: RawQuery,
    client: Asking,
    headers: HeaderMap,
) -> Result<Redirected, RedirectError> {
    visit(services, code, query, client, headers).await
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
    params(VisitedCode),
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

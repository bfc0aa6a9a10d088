//! Errors of the services become responses here, and nowhere else.

use std::fmt::Display;
use std::time::Duration;

use axum::http::header::{LINK, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::json::Json;
use super::redirects::X_ROBOTS_TAG;
use super::security_headers::SECURITY_HEADERS;
use crate::domain::{Location, RemovalStatus, Scope};
use crate::redirect::RedirectError;
use crate::telemetry::throttle::LogThrottle;

mod of_groups;
mod of_services;
mod two_factors;
mod unknown;

/// `Retry-After` when a dependency is away.
const RETRY_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// `Link` of a removed link: who removed it (RFC 7725), by a reference to the service's own root.
pub const BLOCKED_BY: HeaderValue = HeaderValue::from_static("</>; rel=\"blocked-by\"");

/// Body of every error.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorBody {
    /// The problem, in a sentence for a person.
    #[schema(example = "URL not found")]
    detail: String,
}

/// A failure as a response.
#[derive(Debug, thiserror::Error)]
#[error("{status}: {detail}")]
pub struct ApiError {
    status: StatusCode,
    detail: String,
    headers: HeaderMap,
}

const WRONG_PASSWORD: &str = "Incorrect password";

impl ApiError {
    fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            status,
            detail: detail.into(),
            headers: HeaderMap::new(),
        }
    }

    /// The status of the response.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// When the client may try again, as the header has it.
    #[must_use]
    pub fn retry_after_header(&self) -> Option<&HeaderValue> {
        self.headers.get(RETRY_AFTER)
    }

    /// The problem, in a sentence for a person.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Whether it is the service's own fault, which no form can mend: it has a page of its own.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        self.status.is_server_error() && self.status != StatusCode::INSUFFICIENT_STORAGE
    }

    /// 400: the request is well-formed and cannot be carried out.
    pub fn bad_request(detail: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// 401 of a route that needs a token, for a request without one.
    pub fn not_authenticated() -> Self {
        Self::challenge(HeaderValue::from_static("Bearer"))
    }

    /// 401 of a route that needs a token, for a token that is refused. The body is the same, and the header says why.
    fn invalid_token(why: &impl Display) -> Self {
        let challenge = format!("Bearer error=\"invalid_token\", error_description=\"{why}\"");
        match HeaderValue::try_from(challenge) {
            Ok(challenge) => Self::challenge(challenge),
            Err(error) => Self::internal(&error.to_string()),
        }
    }

    /// RFC 6750, section 3.
    fn challenge(challenge: HeaderValue) -> Self {
        let mut error = Self::new(StatusCode::UNAUTHORIZED, "Not authenticated");
        error.headers.insert(WWW_AUTHENTICATE, challenge);
        error
    }

    /// 401 of a login.
    pub fn wrong_credentials() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Incorrect email or password")
    }

    /// 403: passwords do not log in here.
    pub fn no_passwords() -> Self {
        let detail = "Passwords do not log in here; sign in on the pages by the identity provider, and use an API key in programs";
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    /// 403: a key with this scope may not do that (RFC 6750, 3.1).
    pub fn not_permitted(scope: Scope) -> Self {
        let detail = match scope {
            Scope::Create => "This key can only create links",
            Scope::Read | Scope::Write => "This key is read-only",
        };
        let mut error = Self::new(StatusCode::FORBIDDEN, detail);
        let challenge = HeaderValue::from_static("Bearer error=\"insufficient_scope\"");
        error.headers.insert(WWW_AUTHENTICATE, challenge);
        error
    }

    /// 403: the account has as many keys as it may have.
    pub fn too_many_keys(max: u32) -> Self {
        let detail =
            format!("This account has the maximum of {max} keys; delete a key to make room");
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    /// 403: the password is not the password of the token's account.
    pub fn wrong_password() -> Self {
        Self::new(StatusCode::FORBIDDEN, WRONG_PASSWORD)
    }

    /// Whether the password was wrong.
    pub fn is_wrong_password(&self) -> bool {
        self.detail == WRONG_PASSWORD
    }

    /// 403 of a code: the link needs a password.
    pub fn link_locked() -> Self {
        Self::new(StatusCode::FORBIDDEN, "This link needs a password")
    }

    /// 403 of a code: the password is not that of the link.
    pub fn wrong_link_password() -> Self {
        Self::new(StatusCode::FORBIDDEN, "The password of this link is wrong")
    }

    /// 403: the account has as many links as it may have.
    pub fn quota_reached(max: u64) -> Self {
        let detail =
            format!("This account has the maximum of {max} links; delete links to make room");
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    /// 403: a request that a page of another site made a browser send.
    pub fn cross_origin() -> Self {
        let detail = "Requests from pages of other sites are refused; send this from the service's own pages, or from a program";
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    /// 403: a form that did not come from the service's own pages.
    pub fn foreign_form() -> Self {
        let detail = "This form is out of date, or was not sent by this service's own page; open the page again";
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    /// 403: a form of a page that was opened at an address other than the service's own.
    pub fn form_opened_elsewhere(address: &str, base_url: &str) -> Self {
        let detail = format!(
            "Forms do not work at {address}; open the page at {base_url}, the address of this service"
        );
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    /// 403 of a form from before the account signed in again; the page comes again, with what was entered.
    pub fn form_of_earlier_session() -> Self {
        let detail = "This page is from before you signed in, and nothing was changed. Check it, and send it again";
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    /// 507: the database is as large as the operator lets it be.
    pub fn storage_full() -> Self {
        let detail = "This service's database is full, so nothing new can be saved; delete links that are not needed, or ask the operator for more room";
        Self::new(StatusCode::INSUFFICIENT_STORAGE, detail)
    }

    /// 404 of a path.
    pub fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not Found")
    }

    /// 404 of a code.
    pub fn url_not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "URL not found")
    }

    /// 410 or 451 of a code: the service's administrators took the link away.
    pub fn url_removed(status: RemovalStatus) -> Self {
        let status = match status {
            RemovalStatus::Gone => StatusCode::GONE,
            RemovalStatus::LegalReasons => StatusCode::UNAVAILABLE_FOR_LEGAL_REASONS,
        };
        let mut error = Self::new(status, "URL removed");
        error.headers.insert(LINK, BLOCKED_BY);
        error
    }

    /// 403: only administrators may do this.
    fn no_admin() -> Self {
        let detail = "This needs the administrator role";
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    /// 405; the router adds `Allow`.
    pub fn method_not_allowed() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed")
    }

    /// 408: the client took too long to send its body.
    pub fn request_timeout() -> Self {
        let detail = "The body took too long to arrive";
        Self::new(StatusCode::REQUEST_TIMEOUT, detail)
    }

    /// 409.
    pub fn conflict(detail: &str) -> Self {
        Self::new(StatusCode::CONFLICT, detail)
    }

    /// 409: the service sends no mail; whom to ask instead, as the operator names it.
    pub fn no_mail(contact: Option<&str>) -> Self {
        let contact = contact.map(|contact| contact.strip_prefix("mailto:").unwrap_or(contact));
        let contact = contact.map_or_else(String::new, |contact| format!(": {contact}"));
        Self::conflict(&format!(
            "This service sends no mail, and so cannot confirm another address; ask its operator{contact}"
        ))
    }

    /// 412.
    pub fn precondition_failed() -> Self {
        let detail = "If-Match: the link was changed meanwhile; read it again";
        Self::new(StatusCode::PRECONDITION_FAILED, detail)
    }

    /// 413.
    pub fn too_large(limit: usize) -> Self {
        let detail = format!("The body is larger than {limit} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
    }

    /// 414 of a visit: the link adds the visitor's query to its target.
    pub fn query_too_long() -> Self {
        let max = Location::MAX_BYTES;
        let detail = format!(
            "The target URL with your query added is longer than {max} bytes; send a shorter query"
        );
        Self::new(StatusCode::URI_TOO_LONG, detail)
    }

    /// 431: the names of a request's headers.
    pub fn long_names(limit: usize) -> Self {
        let detail = format!(
            "The names of the request's headers take more than {limit} bytes; send fewer or shorter ones"
        );
        Self::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, detail)
    }

    /// 422: input that breaks a rule; `detail` names the field.
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    /// 429.
    pub fn too_many(retry_after: Duration) -> Self {
        let seconds = retry_after.as_secs().max(1);
        let detail = format!("Too many requests; try again in {seconds} s");
        Self::new(StatusCode::TOO_MANY_REQUESTS, detail).retry_after(retry_after)
    }

    /// 503: a dependency of the response cannot be reached. `why` goes only to the log.
    pub fn unavailable(why: &str) -> Self {
        static LOG: LogThrottle = LogThrottle::new();
        if LOG.is_due() {
            tracing::warn!(why, "answered 503; this is said once a second");
        }
        Self::not_now()
    }

    /// The same, when the caller writes the log.
    pub fn not_now() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "The service cannot answer this right now; try again",
        )
        .retry_after(RETRY_AFTER_FAILURE)
    }

    /// 503: too many requests are being worked on.
    pub fn overloaded() -> Self {
        let detail = "The service is busy; try again";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, detail).retry_after(RETRY_AFTER_FAILURE)
    }

    /// 501: the body is coded in a way that the service does not undo.
    pub fn unknown_coding() -> Self {
        let detail = "Transfer-Encoding: must be chunked, once, or left out";
        Self::new(StatusCode::NOT_IMPLEMENTED, detail)
    }

    /// 500: a defect. `why` goes only to the log.
    pub fn internal(why: &str) -> Self {
        tracing::error!(why, "answered 500");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error")
    }

    fn retry_after(mut self, pause: Duration) -> Self {
        self.headers
            .insert(RETRY_AFTER, HeaderValue::from(pause.as_secs().max(1)));
        self
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let is_explained = self.status.is_client_error() && self.status != StatusCode::NOT_FOUND;
        let detail = is_explained.then(|| ErrorDetail(self.detail.clone()));
        let body = Json(ErrorBody {
            detail: self.detail,
        });
        let mut response = (self.status, SECURITY_HEADERS, self.headers, body).into_response();
        if let Some(detail) = detail {
            response.extensions_mut().insert(detail);
        }
        response
    }
}

/// In the extensions of a refusal: its sentence, for a page in place of the JSON.
#[derive(Clone, Debug)]
pub struct ErrorDetail(pub String);

/// In the extensions of the response to a visit: there is such a link, and it is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkAtRest {
    /// Not yet.
    Scheduled,
    /// Not any more, or not at the moment.
    Ended,
    /// Not without its password.
    Locked,
    /// Not by the password that was given.
    WrongPassword,
}

impl LinkAtRest {
    /// Whether a password would help.
    #[must_use]
    pub fn needs_password(self) -> bool {
        matches!(self, Self::Locked | Self::WrongPassword)
    }
}

impl IntoResponse for RedirectError {
    fn into_response(self) -> Response {
        let at_rest = match &self {
            Self::Scheduled => Some(LinkAtRest::Scheduled),
            Self::Inactive | Self::Expired | Self::UsedUp => Some(LinkAtRest::Ended),
            Self::Locked => Some(LinkAtRest::Locked),
            Self::WrongPassword => Some(LinkAtRest::WrongPassword),
            _ => None,
        };
        let mut response = match self {
            Self::Fallback(fallback) => return fallback.into_response(),
            error => ApiError::from(error).into_response(),
        };
        if let Some(at_rest) = at_rest {
            if at_rest.needs_password() {
                let noindex = HeaderValue::from_static("noindex");
                response.headers_mut().insert(X_ROBOTS_TAG, noindex);
            }
            response.extensions_mut().insert(at_rest);
        }
        response
    }
}

//! Refusals: `application/problem+json`.

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};

use crate::compat::said::said;
use crate::compat::sentence::renamed;
use crate::http::{ApiError, json_line};

/// The names of fields there.
const NAMES: [(&str, &str); 8] = [
    ("target_url", "longUrl"),
    ("custom_code", "customSlug"),
    ("starts_at", "validSince"),
    ("expires_at", "validUntil"),
    ("max_clicks", "maxVisits"),
    ("rules", "redirectRules"),
    ("q", "searchTerm"),
    ("tag", "tags"),
];

const PREFIX: &str = "https://shlink.io/api/error/";

/// Why a request is refused.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    kind: Option<&'static str>,
    title: String,
    detail: String,
    more: Map<String, Value>,
    retry_after: Option<HeaderValue>,
}

impl Problem {
    /// One that the protocol has no name for.
    pub(super) fn plain(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            status,
            kind: None,
            title: status.canonical_reason().unwrap_or("Refused").to_owned(),
            detail: detail.into(),
            more: Map::new(),
            retry_after: None,
        }
    }

    fn named(
        status: StatusCode,
        kind: &'static str,
        title: &str,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            kind: Some(kind),
            title: title.to_owned(),
            ..Self::plain(status, detail)
        }
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.to_owned(), value.into());
        self
    }

    /// A field is missing or not acceptable.
    pub(super) fn invalid(field: &str, detail: impl Into<String>) -> Self {
        let status = StatusCode::BAD_REQUEST;
        Self::named(status, "invalid-data", "Invalid data", detail)
            .with("invalidElements", json!([field]))
    }

    /// A sentence about a field of ours.
    pub(super) fn of_sentence(sentence: &str) -> Self {
        let detail = renamed(sentence, &NAMES);
        let end = detail.find([':', '.', '[']).unwrap_or_default();
        let field = detail[..end].to_owned();
        Self::invalid(&field, detail)
    }

    pub(super) fn malformed(detail: impl Into<String>) -> Self {
        let title = "Malformed request body";
        Self::named(
            StatusCode::BAD_REQUEST,
            "malformed-request-body",
            title,
            detail,
        )
    }

    pub(super) fn not_found(code: &str) -> Self {
        let detail = format!("No URL found with short code \"{code}\"");
        let status = StatusCode::NOT_FOUND;
        Self::named(status, "short-url-not-found", "Short URL not found", detail)
            .with("shortCode", code)
    }

    pub(super) fn taken(slug: &str) -> Self {
        let detail = format!("Provided slug \"{slug}\" is already in use.");
        let status = StatusCode::BAD_REQUEST;
        Self::named(status, "non-unique-slug", "Invalid custom slug", detail)
            .with("customSlug", slug)
    }

    pub(super) fn no_domain(domain: &str) -> Self {
        let detail = format!("Domain with authority \"{domain}\" could not be found");
        let status = StatusCode::NOT_FOUND;
        Self::named(status, "domain-not-found", "Domain not found", detail)
            .with("authority", domain)
    }

    pub(super) fn no_tag(tag: &str) -> Self {
        let detail = format!("Tag with name \"{tag}\" could not be found");
        Self::named(
            StatusCode::NOT_FOUND,
            "tag-not-found",
            "Tag not found",
            detail,
        )
        .with("tag", tag)
    }

    pub(super) fn tag_conflict(old: &str, new: &str) -> Self {
        let detail = format!("You cannot rename tag {old} to {new}, because it already exists");
        Self::named(StatusCode::CONFLICT, "tag-conflict", "Tag conflict", detail)
            .with("oldName", old)
            .with("newName", new)
    }

    pub(super) fn no_mercure() -> Self {
        let title = "Mercure integration not configured";
        let detail = "This service is not integrated with a mercure hub.";
        Self::named(
            StatusCode::NOT_IMPLEMENTED,
            "mercure-not-configured",
            title,
            detail,
        )
    }

    pub(super) fn no_key() -> Self {
        let detail = "Expected one of the following authentication headers, [\"X-Api-Key\"], but none were provided";
        let status = StatusCode::UNAUTHORIZED;
        Self::named(
            status,
            "missing-authentication",
            "Invalid authorization",
            detail,
        )
        .with("expectedHeaders", json!(["X-Api-Key"]))
    }

    pub(super) fn wrong_key() -> Self {
        let detail = "Provided API key does not exist or is invalid.";
        Self::named(
            StatusCode::UNAUTHORIZED,
            "invalid-api-key",
            "Invalid API key",
            detail,
        )
    }

    pub(super) fn response(self) -> Response {
        let kind = self
            .kind
            .map_or("about:blank".to_owned(), |kind| format!("{PREFIX}{kind}"));
        let mut body = self.more;
        body.insert("type".to_owned(), kind.into());
        body.insert("title".to_owned(), self.title.into());
        body.insert("detail".to_owned(), self.detail.into());
        body.insert("status".to_owned(), self.status.as_u16().into());
        let kind = [(
            CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        )];
        let mut response = said((self.status, kind, json_line(&body)).into_response());
        if let Some(pause) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, pause);
        }
        response
    }
}

impl From<ApiError> for Problem {
    /// What is wrong with a field, or is taken, is 400.
    fn from(error: ApiError) -> Self {
        let problem = match error.status() {
            StatusCode::UNPROCESSABLE_ENTITY | StatusCode::CONFLICT => {
                Self::of_sentence(error.detail())
            }
            status => Self::plain(status, error.detail()),
        };
        Self {
            retry_after: error.retry_after_header().cloned(),
            ..problem
        }
    }
}

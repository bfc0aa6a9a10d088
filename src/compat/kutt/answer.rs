//! Answers: links as the protocol has them, and refusals.

use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::accounts::Access;
use crate::compat::caller::{Asking, Caller};
use crate::compat::said::said;
use crate::compat::sentence::renamed;
use crate::compat::services::Services;
use crate::domain::{Link, Timestamp, Title};
use crate::http::{ApiError, Json};

/// The names of fields there.
const NAMES: [(&str, &str); 4] = [
    ("target_url", "target"),
    ("custom_code", "customurl"),
    ("title", "description"),
    ("q", "search"),
];

/// Why a request is refused.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    error: String,
    retry_after: Option<HeaderValue>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self {
            status,
            error: error.into(),
            retry_after: None,
        }
    }

    /// 400.
    pub(super) fn invalid(error: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, error)
    }

    pub(super) fn no_domain() -> Self {
        Self::invalid("You can't use this domain.")
    }

    /// A sentence about a field of ours.
    pub(super) fn of_sentence(sentence: &str) -> Self {
        Self::invalid(renamed(sentence, &NAMES))
    }

    pub(super) fn response(self) -> Response {
        let body = Json(json!({"error": self.error}));
        let mut response = said((self.status, body).into_response());
        if let Some(pause) = self.retry_after {
            response.headers_mut().insert(RETRY_AFTER, pause);
        }
        response
    }
}

impl From<ApiError> for Refusal {
    /// What is wrong with a field, or is taken, is 400.
    fn from(error: ApiError) -> Self {
        let status = match error.status() {
            StatusCode::UNPROCESSABLE_ENTITY | StatusCode::CONFLICT => StatusCode::BAD_REQUEST,
            status => status,
        };
        Self {
            status,
            error: renamed(error.detail(), &NAMES),
            retry_after: error.retry_after_header().cloned(),
        }
    }
}

/// The key of a request.
pub(super) fn key(headers: &HeaderMap) -> Option<&str> {
    let key = headers.get("x-api-key")?.to_str().ok()?;
    Some(key).filter(|key| !key.is_empty())
}

/// The account of the key.
pub(super) async fn caller(
    services: &Services,
    asking: &Asking,
    headers: &HeaderMap,
    access: Access,
) -> Result<Caller, Refusal> {
    let denied = |why| Refusal::new(StatusCode::UNAUTHORIZED, why);
    let key = key(headers).ok_or_else(|| denied("Unauthorized."))?;
    let caller = services.caller(asking, key, access).await;
    caller.map_err(|error| match error.status() {
        StatusCode::UNAUTHORIZED => denied("API key is not correct."),
        _ => error.into(),
    })
}

/// A link.
pub(super) fn link(services: &Services, link: &Link, clicks: u64) -> Value {
    let properties = &link.properties;
    json!({
        "id": link.code.in_path(),
        "address": link.code.as_str(),
        "description": properties.title.as_ref().map(Title::as_str),
        "banned": link.removed.is_some(),
        "password": properties.password.is_some(),
        "expire_in": properties.expires_at.map(moment),
        "target": properties.target.as_str(),
        "visit_count": clicks,
        "domain": services.site.host_of(&link.code),
        "created_at": moment(link.created_at),
        "updated_at": moment(link.updated_at),
        "link": services.site.short_url(&link.code),
    })
}

/// To the millisecond, as a program of JavaScript writes it.
pub(super) fn moment(at: Timestamp) -> String {
    let text = at.with_micros();
    let end = text.len().saturating_sub("456Z".len());
    format!("{}Z", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_three_digits() {
        let at: Timestamp = "2027-01-31T18:00:00.123456+01:00".parse().unwrap();
        assert_eq!(moment(at), "2027-01-31T17:00:00.123Z");
    }
}

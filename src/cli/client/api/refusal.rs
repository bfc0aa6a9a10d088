//! Responses other than success, and requests without a response, as failures that a person can act on.

use std::time::Duration;

use serde::Deserialize;
use shunt::http_client;
use ureq::http::{Response, StatusCode};
use ureq::{Body, Error};

use super::key_of_environment::{self, NAME};
use super::{ServiceUrl, header};
use crate::cli::client::{Failure, output};

/// Why a request was not carried out, and whether the same request may succeed later.
#[derive(Debug)]
pub(in crate::cli::client) struct Setback {
    pub(in crate::cli::client) failure: Failure,
    pub(in crate::cli::client) retry: Retry,
}

/// Whether the same request may succeed later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli::client) enum Retry {
    /// It is refused for good.
    Never,
    /// It is too large: a part of it may be taken.
    Smaller,
    /// The service cannot be reached or is busy; it may have named a time.
    Soon(Option<Duration>),
    /// A limit is reached; the service may have named the time at which it allows more.
    AtLimit(Option<Duration>),
}

impl From<Setback> for Failure {
    fn from(setback: Setback) -> Self {
        setback.failure
    }
}

/// A response that is not a success.
pub(super) struct Refusal {
    status: StatusCode,
    detail: Option<String>,
    retry_after: Option<String>,
    /// Why the token is refused.
    token_fault: Option<String>,
    location: Option<String>,
}

/// The failure of a request without a response.
pub(super) fn unreachable(service: &ServiceUrl, error: &Error) -> Setback {
    let fault = http_client::fault(error);
    Setback {
        failure: Failure::Unavailable(format!("{service} cannot be reached: {fault}")),
        retry: Retry::Soon(None),
    }
}

impl Refusal {
    pub(super) fn of(mut response: Response<Body>) -> Self {
        #[derive(Deserialize)]
        struct ErrorBody {
            detail: String,
        }
        let body = response.body_mut().read_to_string().unwrap_or_default();
        let detail = serde_json::from_str::<ErrorBody>(&body).ok();
        let redirected = response.status().is_redirection();
        Self {
            status: response.status(),
            detail: detail.map(|body| output::harmless(&body.detail).into_owned()),
            retry_after: header(&response, "retry-after"),
            token_fault: header(&response, "www-authenticate")
                .and_then(|challenge| token_fault(&challenge)),
            location: header(&response, "location").filter(|_| redirected),
        }
    }

    pub(super) fn setback(&self, service: &ServiceUrl) -> Setback {
        let seconds = self.retry_after.as_ref();
        let after = seconds.and_then(|seconds| seconds.parse().ok());
        let after = after.map(Duration::from_secs);
        Setback {
            failure: self.failure(service),
            retry: match self.status.as_u16() {
                429 => Retry::AtLimit(after),
                413 => Retry::Smaller,
                502..=504 => Retry::Soon(after),
                _ => Retry::Never,
            },
        }
    }

    fn failure(&self, service: &ServiceUrl) -> Failure {
        let status = self.status.as_u16();
        if let Some(location) = &self.location {
            return Failure::Failed(format!(
                "{service} answers with a redirect to {location}; give that address with --server"
            ));
        }
        let Some(detail) = &self.detail else {
            let message =
                format!("{service} answered {status} without a reason; is the address right?");
            return match status {
                502..=504 => Failure::Unavailable(message),
                _ => Failure::Failed(message),
            };
        };
        match status {
            401 if detail == "Not authenticated" => {
                let fault = self.token_fault.as_ref();
                let fault = fault.map(|fault| format!(" ({fault})")).unwrap_or_default();
                if key_of_environment::is_given() {
                    return Failure::Refused(format!(
                        "the key in {NAME} is not accepted at {service}{fault}; unset {NAME} to use your login"
                    ));
                }
                Failure::Refused(please_log_in(
                    service,
                    "the login is no longer valid",
                    &fault,
                ))
            }
            401 => Failure::Refused(detail.clone()),
            403 if detail == "Incorrect password" => Failure::Refused(detail.clone()),
            404 => Failure::NotFound(format!(
                "{service} answered 404: {detail}; is the address right?"
            )),
            429 | 502..=504 => Failure::Unavailable(match &self.retry_after {
                Some(_) if detail.contains("try again in") => detail.clone(),
                Some(seconds) if detail.ends_with("try again") => {
                    format!("{detail} in {seconds} s")
                }
                Some(seconds) => format!("{detail}; try again in {seconds} s"),
                None => detail.clone(),
            }),
            _ => Failure::Failed(detail.clone()),
        }
    }
}

/// The sentence for a request that needs a login.
pub(super) fn please_log_in(service: &ServiceUrl, why: &str, fault: &str) -> String {
    format!("{why} at {service}{fault}; run `shunt login EMAIL --server {service}`")
}

/// The reason in `Bearer error="invalid_token", error_description="…"` (RFC 6750).
fn token_fault(challenge: &str) -> Option<String> {
    let (_, description) = challenge.split_once("error_description=\"")?;
    let (fault, _) = description.split_once('"')?;
    Some(fault.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setback(status: u16, detail: Option<&str>) -> Setback {
        let service = "http://127.0.0.1:1".parse();
        let refusal = Refusal {
            status: StatusCode::from_u16(status).unwrap_or_default(),
            detail: detail.map(Into::into),
            retry_after: Some("7".into()),
            token_fault: token_fault(
                "Bearer error=\"invalid_token\", error_description=\"the token has expired\"",
            ),
            location: None,
        };
        refusal.setback(&service.unwrap_or_else(|error| panic!("{error}")))
    }

    #[test]
    fn responses_become_failures_of_their_kind() {
        let text = |setback: Setback| match setback.failure {
            Failure::Refused(text) => format!("refused: {text}"),
            Failure::NotFound(text) => format!("not found: {text}"),
            Failure::Unavailable(text) => format!("unavailable: {text}"),
            Failure::Failed(text) => format!("failed: {text}"),
            _ => String::new(),
        };
        for (status, detail, expected) in [
            (
                401,
                Some("Not authenticated"),
                "refused: the login is no longer valid at http://127.0.0.1:1 (the token has expired); run",
            ),
            (
                401,
                Some("Incorrect email or password"),
                "refused: Incorrect email or password",
            ),
            (
                404,
                Some("URL not found"),
                "not found: http://127.0.0.1:1 answered 404: URL not found",
            ),
            (
                404,
                None,
                "failed: http://127.0.0.1:1 answered 404 without a reason",
            ),
            (
                422,
                Some("target_url: is missing"),
                "failed: target_url: is missing",
            ),
            (
                429,
                Some("Too many"),
                "unavailable: Too many; try again in 7 s",
            ),
            (
                507,
                Some("The database is full"),
                "failed: The database is full",
            ),
            (502, None, "unavailable: http://127.0.0.1:1 answered 502"),
            (503, Some("Away"), "unavailable: Away; try again in 7 s"),
            (
                503,
                Some("The service is busy; try again"),
                "unavailable: The service is busy; try again in 7 s",
            ),
            (
                429,
                Some("Too many requests; try again in 7 s"),
                "unavailable: Too many requests; try again in 7 s",
            ),
        ] {
            let message = text(setback(status, detail));
            assert!(message.starts_with(expected), "{status}: {message}");
            assert!(
                message.matches("try again").count() <= 1,
                "{status}: {message}"
            );
        }
    }

    #[test]
    fn a_limit_and_a_busy_service_are_worth_another_attempt() {
        let seven = Some(Duration::from_secs(7));
        assert_eq!(setback(429, Some("Too many")).retry, Retry::AtLimit(seven));
        assert_eq!(setback(503, Some("Away")).retry, Retry::Soon(seven));
        assert_eq!(setback(507, Some("Full")).retry, Retry::Never);
        assert_eq!(setback(413, None).retry, Retry::Smaller);
        assert_eq!(setback(422, Some("target_url")).retry, Retry::Never);
        assert_eq!(setback(401, Some("Not authenticated")).retry, Retry::Never);
    }
}

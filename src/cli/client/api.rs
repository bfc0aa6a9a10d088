//! The service's responses, as values and as failures on which a person can act.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use shunt::http_client;
use ureq::http::{Response, StatusCode};
use ureq::typestate::WithoutBody;
use ureq::{Agent, Body, RequestBuilder};
use url::Url;

use super::service_url::ServiceUrl;
use super::token_file::TokenFile;
use super::{Failure, output};

/// How long a response may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A link as its owner sees it.
#[derive(Serialize, Deserialize)]
pub(super) struct Link {
    pub(super) id: i64,
    pub(super) short_code: String,
    pub(super) target_url: String,
    pub(super) clicks: u64,
    pub(super) is_active: bool,
}

/// A service, and the agent that sends requests to it.
pub(super) struct Api {
    agent: Agent,
    service: ServiceUrl,
}

/// A response that is not a success.
struct Refusal {
    status: StatusCode,
    detail: Option<String>,
    retry_after: Option<String>,
    /// Why the token is refused.
    token_fault: Option<String>,
    location: Option<String>,
}

impl Api {
    /// For requests to a service.
    pub(super) fn new(service: ServiceUrl) -> Result<Self, Failure> {
        let agent = if service.is_local() && !service.is_https() {
            http_client::local_agent(TIMEOUT)
        } else {
            http_client::agent(TIMEOUT, service.is_https()).map_err(|error| Failure::of(&error))?
        };
        Ok(Self { agent, service })
    }

    /// The service.
    pub(super) fn service(&self) -> &ServiceUrl {
        &self.service
    }

    /// The token kept for this service.
    pub(super) fn token(&self) -> Result<String, Failure> {
        let kept = TokenFile::of_user()?.token(&self.service.to_string())?;
        kept.ok_or_else(|| Failure::Refused(self.please_log_in("not logged in", "")))
    }

    /// Sends a JSON body.
    pub(super) fn post<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T, Failure> {
        let url = self.service.route(path, &[])?;
        self.value(self.agent.post(url.as_str()).send_json(body))
    }

    /// Sends a query without a body, with a token.
    pub(super) fn post_as<T: DeserializeOwned>(
        &self,
        token: &str,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<T, Failure> {
        let url = self.service.route(path, query)?;
        let request = self.agent.post(url.as_str());
        self.value(request.header("authorization", bearer(token)).send_empty())
    }

    /// Reads a resource, without a token.
    pub(super) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        let url = self.service.route(path, &[])?;
        self.value(self.agent.get(url.as_str()).call())
    }

    /// Reads a page with a token. Returns it and the cursor of the next page.
    pub(super) fn page<T: DeserializeOwned>(
        &self,
        token: &str,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<(T, Option<String>), Failure> {
        let url = self.service.route(path, query)?;
        let mut response = self.good(with_token(self.agent.get(url.as_str()), token).call())?;
        let next = header(&response, "link").and_then(|link| next_cursor(&link));
        Ok((self.read(&mut response)?, next))
    }

    /// Deletes a resource, with a token.
    pub(super) fn delete(&self, token: &str, path: &str) -> Result<(), Failure> {
        let url = self.service.route(path, &[])?;
        self.good(with_token(self.agent.delete(url.as_str()), token).call())?;
        Ok(())
    }

    fn value<T: DeserializeOwned>(
        &self,
        sent: Result<Response<Body>, ureq::Error>,
    ) -> Result<T, Failure> {
        let mut response = self.good(sent)?;
        self.read(&mut response)
    }

    fn read<T: DeserializeOwned>(&self, response: &mut Response<Body>) -> Result<T, Failure> {
        let body = response.body_mut().read_to_string();
        let body = body.map_err(|error| self.unreachable(&error))?;
        serde_json::from_str(&body).map_err(|error| {
            Failure::Failed(format!(
                "{} answers what no shunt answers ({error}); is the address right?",
                self.service
            ))
        })
    }

    fn good(&self, sent: Result<Response<Body>, ureq::Error>) -> Result<Response<Body>, Failure> {
        let response = sent.map_err(|error| self.unreachable(&error))?;
        if response.status().is_success() {
            Ok(response)
        } else {
            Err(self.failure(&Refusal::of(response)))
        }
    }

    fn unreachable(&self, error: &ureq::Error) -> Failure {
        Failure::Unavailable(format!(
            "{} cannot be reached: {}",
            self.service,
            http_client::fault(error)
        ))
    }

    fn failure(&self, refusal: &Refusal) -> Failure {
        let service = &self.service;
        let status = refusal.status.as_u16();
        if let Some(location) = &refusal.location {
            return Failure::Failed(format!(
                "{service} answers with a redirect to {location}; give that address with --url"
            ));
        }
        let Some(detail) = &refusal.detail else {
            let message =
                format!("{service} answered {status} and no reason; is the address right?");
            return match status {
                502..=504 => Failure::Unavailable(message),
                _ => Failure::Failed(message),
            };
        };
        match status {
            401 if detail == "Not authenticated" => {
                let fault = refusal.token_fault.as_ref();
                let fault = fault.map(|fault| format!(" ({fault})")).unwrap_or_default();
                Failure::Refused(self.please_log_in("the login is no longer valid", &fault))
            }
            401 => Failure::Refused(detail.clone()),
            404 => Failure::NotFound(format!(
                "{service} answered 404: {detail}; is the address right?"
            )),
            429 | 502..=504 => Failure::Unavailable(match &refusal.retry_after {
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

    fn please_log_in(&self, why: &str, fault: &str) -> String {
        format!(
            "{why} at {0}{fault}; run `shunt login EMAIL --url {0}`",
            self.service
        )
    }
}

impl Refusal {
    fn of(mut response: Response<Body>) -> Self {
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
}

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

fn with_token(request: RequestBuilder<WithoutBody>, token: &str) -> RequestBuilder<WithoutBody> {
    request.header("authorization", bearer(token))
}

fn header(response: &Response<Body>, name: &str) -> Option<String> {
    let value = response.headers().get(name)?.to_str().ok()?;
    Some(output::harmless(value).into_owned())
}

/// The reason in `Bearer error="invalid_token", error_description="…"` (RFC 6750).
fn token_fault(challenge: &str) -> Option<String> {
    let (_, description) = challenge.split_once("error_description=\"")?;
    let (fault, _) = description.split_once('"')?;
    Some(fault.to_owned())
}

/// The cursor in `<…?limit=…&cursor=…>; rel="next"`. Only the cursor is used: the address is the service's public one,
/// and the token goes to no address but the one that was given.
fn next_cursor(link: &str) -> Option<String> {
    let (target, parameters) = link.strip_prefix('<')?.split_once('>')?;
    if !parameters.contains("rel=\"next\"") {
        return None;
    }
    let url = Url::parse(target).ok()?;
    let cursor = url.query_pairs().find(|(name, _)| name == "cursor")?;
    Some(cursor.1.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_in_the_link_header() {
        let link = "<https://sho.rt/urls/my?limit=2&cursor=00ff>; rel=\"next\"";
        assert_eq!(next_cursor(link).as_deref(), Some("00ff"));
        for other in [
            "",
            "<x>",
            "<https://sho.rt/?cursor=1>; rel=\"prev\"",
            "<https://sho.rt/>; rel=\"next\"",
        ] {
            assert_eq!(next_cursor(other), None, "{other}");
        }
    }

    fn failure(status: u16, detail: Option<&str>) -> Failure {
        let api = Api::new(
            "http://127.0.0.1:1"
                .parse()
                .unwrap_or_else(|error| panic!("{error}")),
        );
        let refusal = Refusal {
            status: StatusCode::from_u16(status).unwrap_or_default(),
            detail: detail.map(Into::into),
            retry_after: Some("7".into()),
            token_fault: token_fault(
                "Bearer error=\"invalid_token\", error_description=\"the token has expired\"",
            ),
            location: None,
        };
        match api {
            Ok(api) => api.failure(&refusal),
            Err(failure) => failure,
        }
    }

    #[test]
    fn responses_become_failures_of_their_kind() {
        let text = |failure| match failure {
            Failure::Refused(text) => format!("refused: {text}"),
            Failure::NotFound(text) => format!("not found: {text}"),
            Failure::Unavailable(text) => format!("unavailable: {text}"),
            Failure::Failed(text) => format!("failed: {text}"),
            Failure::Usage(_) | Failure::OutputClosed => String::new(),
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
                "failed: http://127.0.0.1:1 answered 404 and no reason",
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
            let message = text(failure(status, detail));
            assert!(message.starts_with(expected), "{status}: {message}");
            assert!(
                message.matches("try again").count() <= 1,
                "{status}: {message}"
            );
        }
    }
}

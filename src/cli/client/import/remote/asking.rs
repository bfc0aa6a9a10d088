//! Requests to the other service: with its key, with a deadline, again if it is busy or away, and never to another address.

use std::cell::Cell;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use shunt::http_client;
use ureq::Agent;
use ureq::http::Request;

use super::Failure;
use super::protocol::Protocol;
use crate::cli::client::service_url::ServiceUrl;
use crate::cli::output;

/// How often a request is sent to a service that is busy or away: for about five minutes.
const ATTEMPTS: u32 = 14;
/// Longest wait between two attempts.
const MAX_WAIT: Duration = Duration::from_mins(1);
/// Longest body of a page.
const MAX_BODY: u64 = 32 * 1024 * 1024;

/// The other service, as it is asked.
pub(super) struct Asking<'a> {
    agent: Agent,
    url: &'a ServiceUrl,
    protocol: Protocol,
    key: &'a str,
    /// Whether it has answered before: a wrong address is not worth a wait.
    has_answered: Cell<bool>,
}

/// A request to the other service.
pub(super) enum Asked<'a> {
    /// A path and a query; the key is a header.
    Get(&'a str, &'a [(&'a str, &'a str)]),
    /// A form; the key is one of its fields, as addresses get into logs.
    Form(&'a str, &'a [(&'a str, &'a str)]),
}

/// Why a request has no answer yet.
struct Setback {
    failure: Failure,
    again: Again,
}

/// Whether the same request may succeed later.
enum Again {
    Never,
    /// After the wait that the service names, if it names one.
    After(Option<Duration>),
}

impl<'a> Asking<'a> {
    pub(super) fn new(
        url: &'a ServiceUrl,
        protocol: Protocol,
        key: &'a str,
        timeout: Duration,
    ) -> Result<Self, Failure> {
        let agent = if url.is_local() && !url.is_https() {
            http_client::local_agent(timeout)
        } else {
            http_client::agent(timeout, url.is_https()).map_err(|error| Failure::of(&error))?
        };
        Ok(Self {
            agent,
            url,
            protocol,
            key,
            has_answered: Cell::new(false),
        })
    }

    /// The other service's address.
    pub(super) fn url(&self) -> &ServiceUrl {
        self.url
    }

    /// The failure of an answer that has another form.
    pub(super) fn not_from_there(&self) -> Failure {
        let name = self.protocol.name();
        Failure::Failed(format!(
            "the response of {} is not from {name}; is the address right?",
            self.url
        ))
    }

    /// The JSON of an answer; `None`: it is not there.
    pub(super) fn ask(&self, asked: &Asked<'_>) -> Result<Option<Value>, Failure> {
        let mut failed: u32 = 0;
        loop {
            let Setback { failure, again } = match self.attempt(asked) {
                Ok(answer) => return Ok(answer),
                Err(setback) => setback,
            };
            failed += 1;
            let named = match again {
                Again::After(named) if failed < ATTEMPTS => named,
                Again::After(_) | Again::Never => return Err(failure),
            };
            let wait = named.unwrap_or_else(|| Duration::from_secs(1 << failed.min(5)));
            let wait = wait.clamp(Duration::from_secs(1), MAX_WAIT);
            output::note(&format!("{failure}; trying again in {} s", wait.as_secs()));
            thread::sleep(wait);
        }
    }

    fn attempt(&self, asked: &Asked<'_>) -> Result<Option<Value>, Setback> {
        let for_good = |failure| Setback {
            failure,
            again: Again::Never,
        };
        let url = self.url;
        let sent = match asked {
            Asked::Get(path, query) => {
                let address = url.route(path, query).map_err(for_good)?;
                let request = Request::get(address.as_str()).header("accept", "application/json");
                let request = request.header("x-api-key", self.key).body(());
                request
                    .map_err(ureq::Error::from)
                    .and_then(|request| self.agent.run(request))
            }
            Asked::Form(path, fields) => {
                let address = url.route(path, &[]).map_err(for_good)?;
                let mut form = url::form_urlencoded::Serializer::new(String::new());
                form.extend_pairs(*fields)
                    .append_pair("signature", self.key);
                let request = Request::post(address.as_str());
                let request = request.header("content-type", "application/x-www-form-urlencoded");
                let request = request.body(form.finish());
                request
                    .map_err(ureq::Error::from)
                    .and_then(|request| self.agent.run(request))
            }
        };
        let away = |error: &ureq::Error| Setback {
            failure: Failure::Unavailable(format!(
                "{url} cannot be reached: {}",
                http_client::fault(error)
            )),
            again: if self.has_answered.get() {
                Again::After(None)
            } else {
                Again::Never
            },
        };
        let mut response = sent.map_err(|error| away(&error))?;
        self.has_answered.set(true);
        let header = |name: &str| {
            let value = response.headers().get(name)?;
            Some(value.to_str().ok()?.to_owned())
        };
        let name = self.protocol.name();
        match response.status().as_u16() {
            200..=299 => {}
            404 => return Ok(None),
            300..=399 => {
                let to = header("location").unwrap_or_default();
                return Err(for_good(Failure::Failed(format!(
                    "{url} answers with a redirect to {to}; give that address with --from-url"
                ))));
            }
            401 | 403 => {
                return Err(for_good(Failure::Refused(format!(
                    "{url} does not accept the key for {name}"
                ))));
            }
            status @ (429 | 500..=599) => {
                let after = header("retry-after").and_then(|seconds| seconds.parse().ok());
                return Err(Setback {
                    failure: Failure::Unavailable(format!("{url} answered {status}")),
                    again: Again::After(after.map(Duration::from_secs)),
                });
            }
            status => {
                return Err(for_good(Failure::Failed(format!(
                    "{url} answered {status}; is it the address of {name}?"
                ))));
            }
        }
        let body = response
            .body_mut()
            .with_config()
            .limit(MAX_BODY)
            .read_to_vec();
        match body {
            Ok(body) => {
                let value = serde_json::from_slice(&body);
                value.map(Some).map_err(|_| for_good(self.not_from_there()))
            }
            Err(ureq::Error::BodyExceedsLimit(_)) => Err(for_good(Failure::Failed(format!(
                "a page of {url} is longer than {} MiB",
                MAX_BODY / 1024 / 1024
            )))),
            Err(error) => Err(away(&error)),
        }
    }
}

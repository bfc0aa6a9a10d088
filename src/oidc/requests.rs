//! Requests to the provider: a deadline, a bound of the body, no redirects, and few at once.

use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use ureq::Agent;

use super::fault::ProviderFault;
use crate::http_client::{self, NoRootCertificates};

/// How long one answer of the provider may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// How long a request waits for its turn.
const TURN: Duration = Duration::from_secs(5);

/// Requests at the same time: each takes a thread.
const AT_ONCE: usize = 16;

/// Longest answer that is read.
const MAX_BYTES: u64 = 256 * 1024;

/// Sends requests to one provider; cheap to clone.
#[derive(Clone)]
pub(super) struct Requests {
    agent: Agent,
    turns: Arc<Semaphore>,
}

/// How the service proves who it is.
#[derive(Clone)]
pub(super) enum Proof {
    /// It does not.
    None,
    /// The value of `Authorization`.
    Header(String),
}

impl Requests {
    pub(super) fn new(is_https: bool) -> Result<Self, NoRootCertificates> {
        Ok(Self {
            agent: http_client::agent(TIMEOUT, is_https)?,
            turns: Arc::new(Semaphore::new(AT_ONCE)),
        })
    }

    /// The document at an address. `what` names it.
    pub(super) async fn get<T: DeserializeOwned + Send + 'static>(
        &self,
        what: &'static str,
        url: &str,
        proof: Proof,
    ) -> Result<T, ProviderFault> {
        let body = self.ask(url, proof, None).await?;
        parsed(what, &body)
    }

    /// The answer to a form.
    pub(super) async fn post<T: DeserializeOwned + Send + 'static>(
        &self,
        what: &'static str,
        url: &str,
        proof: Proof,
        form: String,
    ) -> Result<T, ProviderFault> {
        let body = self.ask(url, proof, Some(form)).await?;
        parsed(what, &body)
    }

    async fn ask(
        &self,
        url: &str,
        proof: Proof,
        form: Option<String>,
    ) -> Result<Vec<u8>, ProviderFault> {
        let turn = timeout(TURN, Arc::clone(&self.turns).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else {
            return Err(ProviderFault::Busy);
        };
        let (agent, url) = (self.agent.clone(), url.to_owned());
        let asking = spawn_blocking(move || {
            let _turn = turn;
            ask(&agent, &url, proof, form)
        });
        asking.await.unwrap_or(Err(ProviderFault::Busy))
    }
}

fn ask(
    agent: &Agent,
    url: &str,
    proof: Proof,
    form: Option<String>,
) -> Result<Vec<u8>, ProviderFault> {
    let unreachable =
        |error: &ureq::Error| ProviderFault::Unreachable(place(url), http_client::fault(error));
    let answer = match form {
        None => {
            let mut request = agent.get(url).header("accept", "application/json");
            if let Proof::Header(value) = proof {
                request = request.header("authorization", value);
            }
            request.call()
        }
        Some(form) => {
            let mut request = agent
                .post(url)
                .header("accept", "application/json")
                .header("content-type", "application/x-www-form-urlencoded");
            if let Proof::Header(value) = proof {
                request = request.header("authorization", value);
            }
            request.send(form)
        }
    };
    let mut answer = answer.map_err(|error| unreachable(&error))?;
    let status = answer.status().as_u16();
    let body = answer.body_mut().with_config().limit(MAX_BYTES);
    let body = body.read_to_vec().map_err(|error| unreachable(&error))?;
    if status == 200 {
        return Ok(body);
    }
    Err(ProviderFault::Status(place(url), status, error_in(&body)))
}

/// An address without what may be a secret.
fn place(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    url[..end].to_owned()
}

/// The error that a provider names by a word of the standard, such as `invalid_grant`.
fn error_in(body: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct Named {
        error: String,
    }
    let named = serde_json::from_slice::<Named>(body);
    let word = named.ok().and_then(|named| word(&named.error));
    word.map_or_else(String::new, |word| format!(": {word}"))
}

/// A word of the standard: anything else is not repeated in a log.
pub fn word(raw: &str) -> Option<String> {
    let is_word = !raw.is_empty()
        && raw.len() <= 64
        && raw
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    is_word.then(|| raw.to_owned())
}

fn parsed<T: DeserializeOwned>(what: &'static str, body: &[u8]) -> Result<T, ProviderFault> {
    serde_json::from_slice(body)
        .map_err(|error| ProviderFault::Answer(what, why_unreadable(&error)))
}

/// Why an answer cannot be read. What stands in it is not repeated.
fn why_unreadable(error: &serde_json::Error) -> String {
    if !error.is_data() {
        return "is no JSON".into();
    }
    let text = error.to_string();
    let name = text.strip_prefix("missing field `");
    match name.and_then(|rest| rest.split('`').next()) {
        Some(name) => format!("has no `{name}`"),
        None => "has a field of another type than the standard says".into(),
    }
}

//! Rate limits for log-ins, failed log-ins, registrations and new links; a request past a limit gets 429.

use std::net::Ipv4Addr;

use serde_json::json;

use crate::support::{Response, unique};

mod callers;
mod connections;
mod failures;
mod instances;
mod misses;
mod proxies;
mod quota;
mod size;

/// Limits that are soon reached. A trusted proxy on the same machine forwards the clients' addresses.
const THREE: &[(&str, &str)] = &[
    ("LIMIT_LOGIN", "3"),
    ("LIMIT_REGISTER", "3"),
    ("LIMIT_CREATE", "3"),
    ("TRUSTED_PROXIES", "127.0.0.0/8"),
    ("LIMIT_ACCOUNT_FAILURES", "3"),
];

/// A caller whose attempts share one limit. Everything else about an attempt is new each time.
enum Caller {
    /// Logs in from one address, to another account each time.
    LogsInFrom(String),
    /// Fails to log in to one account, from another address each time.
    LogsInTo(String),
    /// Registers from one address.
    RegistersFrom(String),
    /// Makes links, by its token.
    Shortens(String),
}

impl Caller {
    fn logs_in_from_one_address() -> Self {
        Self::LogsInFrom(address())
    }

    fn logs_in_to_one_account() -> Self {
        Self::LogsInTo(email())
    }

    fn registers_from_one_address() -> Self {
        Self::RegistersFrom(address())
    }

    /// A user whose account is made at `base`.
    async fn shortens(base: &str) -> Self {
        let made = account(base, "/auth/register", &email(), &address()).await;
        Self::Shortens(made.json()["access_token"].as_str().unwrap().to_owned())
    }

    /// One attempt at each of these instances, in turn.
    async fn tries_at(&self, bases: &[&str]) -> Vec<Response> {
        let mut responses = Vec::new();
        for base in bases {
            responses.push(self.tries(base).await);
        }
        responses
    }

    async fn tries(&self, base: &str) -> Response {
        match self {
            Self::LogsInFrom(from) => account(base, "/auth/login", &email(), from).await,
            Self::LogsInTo(email) => account(base, "/auth/login", email, &address()).await,
            Self::RegistersFrom(from) => account(base, "/auth/register", &email(), from).await,
            Self::Shortens(token) => {
                let url = format!("{base}/urls/shorten?target_url=https://example.org/");
                Response::of(reqwest::Client::new().post(url).bearer_auth(token)).await
            }
        }
    }
}

/// An address that no other test uses.
fn address() -> String {
    let [_, b, c, d] = getrandom::u32().unwrap().to_be_bytes();
    Ipv4Addr::new(10, b, c, d).to_string()
}

fn email() -> String {
    format!("{}@example.org", unique())
}

/// Registers or logs in, through a proxy that forwards `addresses`.
async fn account(base: &str, path: &str, email: &str, addresses: &str) -> Response {
    with_password(base, path, email, "correct horse", addresses).await
}

async fn with_password(
    base: &str,
    path: &str,
    email: &str,
    password: &str,
    addresses: &str,
) -> Response {
    let body = json!({ "email": email, "password": password });
    let request = reqwest::Client::new()
        .post(format!("{base}{path}"))
        .header("x-forwarded-for", addresses);
    Response::of(request.body(body.to_string())).await
}

/// Which of the responses are refusals by a limit. Each refusal has to carry `Retry-After`.
fn limited(responses: &[Response]) -> Vec<bool> {
    let is_limited = |response: &Response| {
        if response.status != 429 {
            assert!(
                [200, 401].contains(&response.status.as_u16()),
                "{response:?}"
            );
            return false;
        }
        assert!(
            response.detail().starts_with("Too many requests"),
            "{response:?}"
        );
        let seconds: u64 = response.header("retry-after").parse().unwrap();
        assert!((1..=3_600).contains(&seconds), "{response:?}");
        true
    };
    responses.iter().map(is_limited).collect()
}

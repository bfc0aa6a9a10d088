//! How often somebody may log in, register or make links: per minute, then 429.

use std::net::Ipv4Addr;

use serde_json::json;

use crate::support::{Answer, unique};

mod callers;
mod instances;
mod proxies;

/// Limits that are soon reached; clients' addresses are what a proxy on the same machine forwards.
const THREE: &[(&str, &str)] = &[
    ("LIMIT_LOGIN", "3"),
    ("LIMIT_REGISTER", "3"),
    ("LIMIT_CREATE", "3"),
    ("TRUSTED_PROXIES", "127.0.0.0/8"),
];

/// Whose attempts are counted together; in all else each attempt is like none before.
enum Caller {
    /// Logs in from one address, to another account each time.
    LogsInFrom(String),
    /// Logs in to one account, from another address each time.
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

    /// A user, whose account is made at `base`.
    async fn shortens(base: &str) -> Self {
        let made = account(base, "/auth/register", &email(), &address()).await;
        Self::Shortens(made.json()["access_token"].as_str().unwrap().to_owned())
    }

    /// One attempt at each of the instances, in turn.
    async fn tries_at(&self, bases: &[&str]) -> Vec<Answer> {
        let mut answers = Vec::new();
        for base in bases {
            answers.push(self.tries(base).await);
        }
        answers
    }

    async fn tries(&self, base: &str) -> Answer {
        match self {
            Self::LogsInFrom(from) => account(base, "/auth/login", &email(), from).await,
            Self::LogsInTo(email) => account(base, "/auth/login", email, &address()).await,
            Self::RegistersFrom(from) => account(base, "/auth/register", &email(), from).await,
            Self::Shortens(token) => {
                let url = format!("{base}/urls/shorten?target_url=https://example.org/");
                Answer::of(reqwest::Client::new().post(url).bearer_auth(token)).await
            }
        }
    }
}

/// An address that nobody else has.
fn address() -> String {
    let [_, b, c, d] = getrandom::u32().unwrap().to_be_bytes();
    Ipv4Addr::new(10, b, c, d).to_string()
}

fn email() -> String {
    format!("{}@example.org", unique())
}

/// Registers or logs in, through a proxy that forwards `addresses`.
async fn account(base: &str, path: &str, email: &str, addresses: &str) -> Answer {
    let body = json!({ "email": email, "password": "correct horse" });
    let request = reqwest::Client::new()
        .post(format!("{base}{path}"))
        .header("x-forwarded-for", addresses);
    Answer::of(request.body(body.to_string())).await
}

/// Whether each of the answers tells of a limit; one that does says when to come back.
fn limited(answers: &[Answer]) -> Vec<bool> {
    let tells = |answer: &Answer| {
        if answer.status != 429 {
            assert!([200, 401].contains(&answer.status.as_u16()), "{answer:?}");
            return false;
        }
        assert!(
            answer.detail().starts_with("Too many requests"),
            "{answer:?}"
        );
        let seconds: u64 = answer.header("retry-after").parse().unwrap();
        assert!((1..=60).contains(&seconds), "{answer:?}");
        true
    };
    answers.iter().map(tells).collect()
}

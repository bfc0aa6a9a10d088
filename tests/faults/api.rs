//! The responses of the API while a server that it needs is away or faulty.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::{Method, RequestBuilder};
use serde_json::json;
use tokio::time::sleep;

use crate::support::{App, Response, unique};

/// How long a response may take while Postgres hangs: two waits of 5 s, for a permit to hash and for Postgres, and
/// a margin for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(13);

const PASSWORD: &str = "correct horse";

/// A user that calls every route that needs the database.
pub(crate) struct Caller {
    email: String,
    token: String,
    kept: String,
    deleted: String,
}

impl Caller {
    pub(crate) async fn of(app: &App) -> Self {
        let email = format!("{}@example.org", unique());
        let registered = app.account("/auth/register", &email, PASSWORD).await;
        let token = registered.json()["access_token"]
            .as_str()
            .unwrap()
            .to_owned();
        Self {
            kept: app.shorten(&token, "https://example.org/kept").await,
            deleted: app.shorten(&token, "https://example.org/deleted").await,
            email,
            token,
        }
    }

    /// Calls every route that needs the database, all at once.
    async fn call_every_route(&self, app: &App) -> Vec<(&'static str, Response)> {
        let as_owner = |method, path: &str| app.request(method, path).bearer_auth(&self.token);
        let account = |path: &str, email: &str| {
            let body = json!({ "email": email, "password": PASSWORD });
            app.request(Method::POST, path)
                .header("content-type", "application/json")
                .body(body.to_string())
        };
        let shorten = as_owner(Method::POST, "/urls/shorten");
        let stats = app.request(Method::GET, &format!("/urls/{}/stats", self.kept));
        let requests: [(&str, RequestBuilder); 7] = [
            ("me", as_owner(Method::GET, "/auth/me")),
            ("login", account("/auth/login", &self.email)),
            (
                "register",
                account("/auth/register", &format!("{}@example.org", unique())),
            ),
            (
                "shorten",
                shorten.query(&[("target_url", "https://example.org/")]),
            ),
            ("list", as_owner(Method::GET, "/urls/my?limit=10")),
            ("stats", stats),
            (
                "delete",
                as_owner(Method::DELETE, &format!("/urls/{}", self.deleted)),
            ),
        ];
        let responses = requests.map(async |(name, request)| (name, Response::of(request).await));
        join_all(responses).await
    }

    /// Every response is a 503 with `Retry-After`.
    pub(crate) async fn gets_503(&self, app: &App) {
        let asked = Instant::now();
        for (name, response) in self.call_every_route(app).await {
            assert_eq!(response.status, 503, "{name}: {response:?}");
            has_retry_after(name, &response);
        }
        let waited = asked.elapsed();
        assert!(waited < TIMEOUT, "{waited:?} for a response");
    }

    /// Every response is the usual one or a 503. A request with a 503 may have been executed all the same.
    pub(crate) async fn is_answered_or_gets_503(&self, app: &App) {
        for (name, response) in self.call_every_route(app).await {
            match response.status.as_u16() {
                200 => assert_ne!(name, "delete"),
                204 | 404 => assert_eq!(name, "delete"),
                503 => has_retry_after(name, &response),
                _ => panic!("{name}: {response:?}"),
            }
        }
    }

    pub(crate) async fn is_served_again(&self, app: &App) {
        let deadline = Instant::now() + 2 * TIMEOUT;
        let gets_503 = |(_, response): &(_, Response)| response.status == 503;
        while self.call_every_route(app).await.iter().any(gets_503) {
            assert!(Instant::now() < deadline, "the API does not come back");
            sleep(Duration::from_millis(50)).await;
        }
    }
}

fn has_retry_after(name: &str, response: &Response) {
    assert_eq!(response.header("retry-after"), "1", "{name}");
    assert!(!response.detail().is_empty(), "{name}");
}

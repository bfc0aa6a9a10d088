//! A service under test with its client, which counts the redirects that were answered.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder, StatusCode, redirect};
use serde_json::{Value, json};

use super::{Backend, Mode, Server, unique};

/// One instance, its back ends, and how many redirects were answered per code.
pub(crate) struct App {
    pub(crate) backend: Backend,
    pub(crate) server: Server,
    client: reqwest::Client,
    /// Whether the service runs on the database of `backend`, and not on one of the test's own.
    pub(crate) is_on_backend: bool,
    redirected: Arc<Mutex<HashMap<String, u64>>>,
}

/// A response, read to its end.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Response {
    pub(crate) async fn of(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        Self {
            status,
            headers,
            text: response.text().await.unwrap(),
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn detail(&self) -> String {
        let body = self.json();
        assert_eq!(
            body.as_object().unwrap().len(),
            1,
            "an error has one field: {body}"
        );
        body["detail"].as_str().unwrap().to_owned()
    }

    /// The response is this error.
    pub(crate) fn is_error(&self, status: u16, detail: &str) {
        assert_eq!(
            (self.status.as_u16(), self.detail().as_str()),
            (status, detail)
        );
    }
}

impl App {
    pub(crate) async fn start(mode: Mode) -> Self {
        Self::start_with(mode, &[]).await
    }

    pub(crate) async fn start_with(mode: Mode, settings: &[(&str, &str)]) -> Self {
        let backend = Backend::new(mode).await;
        let mut all = backend.settings();
        all.extend(
            settings
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        let server = Server::start(&all).await;
        Self {
            is_on_backend: settings.iter().all(|(name, _)| *name != "DATABASE_URL"),
            ..Self::of(backend, server)
        }
    }

    /// Wraps an instance that runs over these back ends.
    pub(crate) fn of(backend: Backend, server: Server) -> Self {
        let client = reqwest::Client::builder()
            .redirect(redirect::Policy::none())
            .build()
            .unwrap();
        Self {
            backend,
            server,
            client,
            is_on_backend: true,
            redirected: Arc::default(),
        }
    }

    /// Stops the service, where redirects were answered that this client did not see.
    pub(crate) async fn server_only(mut self) {
        self.server.stop().await;
        self.backend.remove().await;
    }

    /// Stops the service; fails unless every redirect that was answered is counted.
    pub(crate) async fn finish(mut self) {
        let redirected = self.redirected.lock().unwrap().clone();
        for (code, answered) in redirected {
            let stats = self.get(&format!("/urls/{code}/stats")).await;
            match stats.status.as_u16() {
                200 => {
                    let clicks = self.clicks(&code).await;
                    assert_eq!(clicks, answered, "redirects answered for {code}");
                }
                // Deleted meanwhile, and its clicks with it.
                404 => {}
                _ => panic!("redirects answered for {code} cannot be looked up: {stats:?}"),
            }
        }
        self.server.stop().await;
        if self.is_on_backend {
            self.backend.series_are_exact().await;
        }
        self.backend.remove().await;
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client
            .request(method, format!("{}{path}", self.server.base))
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        Response::of(self.request(Method::GET, path)).await
    }

    pub(crate) async fn get_as(&self, token: &str, path: &str) -> Response {
        Response::of(self.request(Method::GET, path).bearer_auth(token)).await
    }

    pub(crate) async fn post(&self, path: &str, body: impl Into<reqwest::Body>) -> Response {
        let request = self
            .request(Method::POST, path)
            .header("content-type", "application/json");
        Response::of(request.body(body)).await
    }

    pub(crate) async fn account(&self, path: &str, email: &str, password: &str) -> Response {
        self.post(
            path,
            json!({ "email": email, "password": password }).to_string(),
        )
        .await
    }

    /// A fresh account's token.
    pub(crate) async fn register(&self) -> String {
        let email = format!("{}@example.org", unique());
        let response = self
            .account("/auth/register", &email, "correct horse")
            .await;
        assert_eq!(response.status, 200, "{response:?}");
        response.json()["access_token"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn try_shorten(&self, token: &str, target: &str) -> Response {
        let request = self
            .request(Method::POST, "/urls/shorten")
            .bearer_auth(token);
        Response::of(request.query(&[("target_url", target)])).await
    }

    /// The code of a fresh link.
    pub(crate) async fn shorten(&self, token: &str, target: &str) -> String {
        let response = self.try_shorten(token, target).await;
        assert_eq!(response.status, 200, "{response:?}");
        response.json()["short_code"].as_str().unwrap().to_owned()
    }

    /// Follows a path that ends in a code, perhaps with a query, and counts the redirect that was answered.
    pub(crate) async fn visit(&self, path: &str) -> Response {
        let response = self.get(path).await;
        if response.status == 302 {
            let path = path.split('?').next().unwrap();
            let code = path.rsplit('/').next().unwrap().to_owned();
            *self.redirected.lock().unwrap().entry(code).or_default() += 1;
        }
        response
    }

    pub(crate) async fn delete(&self, token: &str, code: &str) -> Response {
        Response::of(
            self.request(Method::DELETE, &format!("/urls/{code}"))
                .bearer_auth(token),
        )
        .await
    }

    /// The count of a link. Where it does not rise meanwhile, the series over all time has to add up to it.
    pub(crate) async fn clicks(&self, code: &str) -> u64 {
        let path = format!("/urls/{code}/stats");
        let mut response = self.get(&path).await;
        for _ in 0..40 {
            if response.status != 503 {
                break;
            }
            // On a busy machine Redis is away for a moment.
            tokio::time::sleep(std::time::Duration::from_millis(250)).await;
            response = self.get(&path).await;
        }
        assert_eq!(response.status, 200, "{response:?}");
        let mut clicks = count(&response);
        for _ in 0..3 {
            let series = self.clicks_of_all_time(code).await;
            let again = self.get(&path).await;
            // Either may need what has just gone away.
            let (Some(series), 200) = (series, again.status.as_u16()) else {
                break;
            };
            if count(&again) == clicks {
                assert_eq!(series, clicks, "the series of {code} adds up to its count");
                break;
            }
            clicks = count(&again);
        }
        clicks
    }

    /// What the points of a series add up to that begins long before the link; `None` where it cannot be read now.
    async fn clicks_of_all_time(&self, code: &str) -> Option<u64> {
        let path = format!("/urls/{code}/stats/series?interval=month&from=1970-01-01");
        let response = self.get(&path).await;
        if response.status == 503 {
            return None;
        }
        assert_eq!(response.status, 200, "{response:?}");
        let series = response.json();
        let points = series["points"].as_array().unwrap().iter();
        let sum = points.map(|point| point["clicks"].as_u64().unwrap()).sum();
        assert_eq!(series["clicks"], sum);
        Some(sum)
    }

    /// Waits until this many clicks of a code are in the database itself.
    pub(crate) async fn written_back(&self, code: &str, clicks: u64) {
        let mut found = None;
        // A flush or a merge may have to wait.
        for _ in 0..1_500 {
            found = Some(self.backend.clicks_in_database(code).await);
            if found == Some(clicks) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        panic!("{clicks} clicks were to be written back, {found:?} are");
    }

    /// How many requests a limit has refused.
    pub(crate) async fn limit_hits(&self, limit: &str) -> u64 {
        let metrics = self.get("/metrics").await.text;
        let line = format!("shunt_limit_hits_total{{limit=\"{limit}\"}} ");
        let hits = metrics.lines().find_map(|text| text.strip_prefix(&line));
        hits.map_or(0, |hits| hits.parse().unwrap())
    }

    /// Another instance over the same back ends.
    pub(crate) async fn another(&self, settings: &[(&str, &str)]) -> Server {
        let mut all = self.backend.settings();
        all.extend(
            settings
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        Server::start(&all).await
    }
}

fn count(stats: &Response) -> u64 {
    let stats = stats.json();
    assert_eq!(stats["clicks"], stats["total"]);
    stats["clicks"].as_u64().unwrap()
}

/// Runs a test against a service of its own.
pub(crate) async fn with_app(mode: Mode, test: impl AsyncFnOnce(&mut App)) {
    with_app_and_settings(mode, &[], test).await;
}

/// Runs a test against a service of its own, with settings.
pub(crate) async fn with_app_and_settings(
    mode: Mode,
    settings: &[(&str, &str)],
    test: impl AsyncFnOnce(&mut App),
) {
    let mut app = App::start_with(mode, settings).await;
    test(&mut app).await;
    app.finish().await;
}

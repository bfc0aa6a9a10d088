//! Links that people manage: made with all their fields, shown, edited, ended.

mod aliases;
mod edit;
mod expiry;
mod fallback;
mod felt_elsewhere;
mod forwarding;
mod make;
mod max_clicks;
mod noindex;
mod notes;
mod password_limits;
mod passwords;
mod pools;
mod repeated;
mod rules;
mod scheduled;
mod short_codes;
mod together;
mod trash;

use reqwest::Method;
use serde_json::Value;
use shunt::domain::{Clock, SystemClock, Timestamp};

use crate::support::{App, Response};

/// Sends JSON to a path.
pub(crate) async fn send(
    app: &App,
    method: Method,
    token: &str,
    path: &str,
    body: &Value,
) -> Response {
    let request = app.request(method, path).bearer_auth(token);
    Response::of(request.json(body)).await
}

/// Makes a link from a JSON object, and shows all of it.
pub(crate) async fn make(app: &App, token: &str, body: &Value) -> Response {
    send(app, Method::POST, token, "/urls/shorten?view=full", body).await
}

pub(crate) async fn patch(app: &App, token: &str, code: &str, body: &Value) -> Response {
    send(app, Method::PATCH, token, &format!("/urls/{code}"), body).await
}

pub(crate) async fn show(app: &App, token: &str, code: &str) -> Response {
    app.get_as(token, &format!("/urls/{code}")).await
}

/// A moment so many seconds from now, as RFC 3339.
fn in_seconds(seconds: i64) -> String {
    let then = SystemClock.now().micros() + seconds * 1_000_000;
    Timestamp::from_micros(then).unwrap().to_string()
}

//! What owners do with their accounts: another password, the end of tokens, deletion.

mod create_keys;
mod deletion;
mod events;
mod keys;
mod password;
mod tokens;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{App, Response, unique};

/// The password of the accounts of these tests.
const PASSWORD: &str = "correct horse";

/// Sends JSON with a token.
async fn send(app: &App, method: Method, token: &str, path: &str, body: &Value) -> Response {
    let request = app.request(method, path).bearer_auth(token);
    Response::of(request.json(body)).await
}

/// The address and the token of a fresh account.
async fn account(app: &App) -> (String, String) {
    let email = format!("{}@example.org", unique());
    let response = app.account("/auth/register", &email, PASSWORD).await;
    let token = response.json()["access_token"].as_str().unwrap().to_owned();
    (email, token)
}

/// A further token of an account.
async fn log_in(app: &App, email: &str, password: &str) -> Response {
    app.account("/auth/login", email, password).await
}

fn token_of(response: &Response) -> String {
    assert_eq!(response.status, 200, "{response:?}");
    response.json()["access_token"].as_str().unwrap().to_owned()
}

async fn change_password(app: &App, token: &str, old: &str, new: &str) -> Response {
    let body = json!({ "old_password": old, "new_password": new });
    send(app, Method::POST, token, "/auth/password", &body).await
}

async fn log_out_everywhere(app: &App, token: &str) -> Response {
    let request = app.request(Method::POST, "/auth/logout-everywhere");
    Response::of(request.bearer_auth(token)).await
}

async fn delete_account(app: &App, token: &str, password: &str) -> Response {
    let body = json!({ "password": password });
    send(app, Method::DELETE, token, "/auth/me", &body).await
}

/// Every route that needs a token refuses this one.
async fn is_refused_everywhere(app: &App, token: &str) {
    let link = json!({ "target_url": "https://example.org/" });
    for (method, path, body) in [
        (Method::GET, "/auth/me", json!({})),
        (Method::DELETE, "/auth/me", json!({ "password": PASSWORD })),
        (
            Method::POST,
            "/auth/password",
            json!({ "old_password": PASSWORD, "new_password": "another horse" }),
        ),
        (Method::POST, "/auth/logout-everywhere", json!({})),
        (Method::GET, "/auth/keys", json!({})),
        (
            Method::POST,
            "/auth/keys",
            json!({ "name": "x", "scope": "read" }),
        ),
        (Method::POST, "/auth/keys", json!({})),
        (Method::DELETE, "/auth/keys/1", json!({})),
        (Method::POST, "/urls/shorten", link.clone()),
        (Method::POST, "/urls/shorten", json!({})),
        (Method::GET, "/urls/my", json!({})),
        (Method::GET, "/urls/my?limit=1", json!({})),
        (Method::GET, "/urls/K7mXq2R", json!({})),
        (Method::PATCH, "/urls/K7mXq2R", json!({ "title": "x" })),
        (Method::DELETE, "/urls/K7mXq2R", json!({})),
    ] {
        let refused = send(app, method.clone(), token, path, &body).await;
        assert_eq!(
            (refused.status.as_u16(), refused.detail().as_str()),
            (401, "Not authenticated"),
            "{method} {path}"
        );
        assert!(
            refused.header("www-authenticate").starts_with("Bearer"),
            "{method} {path}"
        );
    }
}

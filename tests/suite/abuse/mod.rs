//! Against abuse: links, hosts, accounts and addresses are removed; visitors report links.

mod addresses;
mod bans;
mod blocklist;
mod hosts;
mod links;
mod operator;
mod reports;
mod roles;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{App, Response, eventually, unique};

/// The password of the accounts of these tests.
const PASSWORD: &str = "correct horse";

/// Gives the account with an e-mail address the role.
pub(crate) const GRANT: &str = "INSERT INTO user_roles (user_id, role, granted_at) SELECT id, 'admin', created_at FROM users WHERE email = $1";

/// Sends JSON with a token.
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

/// The address and the token of a fresh account.
pub(crate) async fn account(app: &App) -> (String, String) {
    let email = format!("{}@example.org", unique());
    let response = app.account("/auth/register", &email, PASSWORD).await;
    let token = response.json()["access_token"].as_str().unwrap().to_owned();
    (email, token)
}

/// The token of a fresh account that administers the service.
pub(crate) async fn admin(app: &App) -> String {
    let (email, token) = account(app).await;
    app.backend.execute(GRANT, &email).await;
    token
}

pub(crate) async fn remove(
    app: &App,
    admin: &str,
    kind: &str,
    value: &str,
    status: u16,
) -> Response {
    let body = json!({ "kind": kind, "value": value, "reason": "phishing", "status": status });
    send(app, Method::POST, admin, "/admin/removals", &body).await
}

/// The number of a removal that was made.
pub(crate) fn id_of(removal: &Response) -> i64 {
    assert_eq!(removal.status, 200, "{removal:?}");
    removal.json()["id"].as_i64().unwrap()
}

pub(crate) async fn revoke(app: &App, admin: &str, id: i64) -> Response {
    let path = format!("/admin/removals/{id}");
    Response::of(app.request(Method::DELETE, &path).bearer_auth(admin)).await
}

/// The response to a visit is that to a removed link.
fn is_removed(response: &Response, status: u16) {
    response.is_error(status, "URL removed");
    assert_eq!(response.header("link"), "</>; rel=\"blocked-by\"");
}

/// A link is answered so from now on, or soon.
pub(crate) async fn becomes(app: &App, code: &str, status: u16) {
    eventually("the link is answered so", async || {
        app.get(&format!("/{code}/")).await.status == status
    })
    .await;
}

async fn status_of(app: &App, token: &str, code: &str) -> String {
    let shown = app.get_as(token, &format!("/urls/{code}")).await;
    shown.json()["status"].as_str().unwrap().to_owned()
}

//! Groups: who acts for them, what they own, and links that move.

mod acting;
mod invited;
mod keys;
mod members;
mod moves;
pub(crate) mod pages;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{App, Response, unique};

const PASSWORD: &str = "correct horse";

/// An account: its address and its token.
struct Person {
    email: String,
    token: String,
}

async fn person(app: &App) -> Person {
    let email = format!("{}@example.org", unique());
    let response = app.account("/auth/register", &email, PASSWORD).await;
    let token = response.json()["access_token"].as_str().unwrap().to_owned();
    Person { email, token }
}

/// Sends JSON, for a group if one is named.
async fn send(
    app: &App,
    token: &str,
    group: Option<i64>,
    (method, path): (Method, &str),
    body: &Value,
) -> Response {
    let request = app.request(method, path).bearer_auth(token);
    let request = match group {
        Some(group) => request.header("Shunt-Group", group),
        None => request,
    };
    Response::of(request.json(body)).await
}

async fn get(app: &App, token: &str, group: i64, path: &str) -> Response {
    let request = app.request(Method::GET, path).bearer_auth(token);
    Response::of(request.header("Shunt-Group", group)).await
}

/// A group of this account.
async fn group_of(app: &App, owner: &Person) -> i64 {
    let body = json!({ "name": "Marketing" });
    let made = send(app, &owner.token, None, (Method::POST, "/groups"), &body).await;
    assert_eq!(made.status, 200, "{made:?}");
    made.json()["id"].as_i64().unwrap()
}

async fn set_role(app: &App, by: &Person, group: i64, member: &str, role: &str) -> Response {
    let path = format!("/groups/{group}/members/{member}");
    let body = json!({ "role": role });
    send(app, &by.token, None, (Method::PUT, &path), &body).await
}

/// A member of a group with this role.
async fn member(app: &App, owner: &Person, group: i64, role: &str) -> Person {
    let member = person(app).await;
    let set = set_role(app, owner, group, &member.email, role).await;
    assert_eq!(set.status, 200, "{set:?}");
    member
}

async fn remove(app: &App, by: &Person, group: i64, member: &str) -> Response {
    let path = format!("/groups/{group}/members/{member}");
    send(app, &by.token, None, (Method::DELETE, &path), &json!({})).await
}

/// Makes a link of a group.
async fn shorten(app: &App, token: &str, group: i64, fields: &Value) -> Response {
    let mut body = json!({ "target_url": "https://example.org/" });
    for (name, value) in fields.as_object().unwrap() {
        body[name] = value.clone();
    }
    send(
        app,
        token,
        Some(group),
        (Method::POST, "/urls/shorten"),
        &body,
    )
    .await
}

fn code_of(made: &Response) -> String {
    assert_eq!(made.status, 200, "{made:?}");
    made.json()["short_code"].as_str().unwrap().to_owned()
}

/// The codes of a list.
fn codes(list: &Response) -> Vec<String> {
    assert_eq!(list.status, 200, "{list:?}");
    let list = list.json();
    let codes = list.as_array().unwrap().iter();
    codes
        .map(|link| link["short_code"].as_str().unwrap().to_owned())
        .collect()
}

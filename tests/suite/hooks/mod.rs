//! Hooks: events are sent to the receivers of an account.

mod failing;
mod managing;
mod public;
mod receiver;
mod sending;

use reqwest::Method;
use serde_json::{Value, json};

use crate::suite::managed::send;
use crate::support::{App, eventually};

use receiver::Receiver;

/// Makes a hook for all types of events; returns its identifier and its secret.
async fn hook(app: &App, token: &str, receiver: &Receiver) -> (i64, String) {
    let all = [
        "link.created",
        "link.changed",
        "link.deleted",
        "link.removed",
        "link.restored",
        "link.ended",
        "link.moved",
        "clicks",
        "hook.off",
    ];
    let body = json!({ "url": receiver.url, "types": all });
    hook_of(app, token, &body).await
}

async fn hook_of(app: &App, token: &str, body: &Value) -> (i64, String) {
    let made = send(app, Method::POST, token, "/hooks", body).await;
    assert_eq!(made.status, 200, "{}", made.text);
    let made = made.json();
    let secret = made["secret"].as_str().unwrap().to_owned();
    (made["id"].as_i64().unwrap(), secret)
}

async fn patch_hook(app: &App, token: &str, id: i64, body: &Value) -> Value {
    let changed = send(app, Method::PATCH, token, &format!("/hooks/{id}"), body).await;
    assert_eq!(changed.status, 200, "{}", changed.text);
    changed.json()
}

async fn show_hook(app: &App, token: &str, id: i64) -> Value {
    let shown = app.get_as(token, &format!("/hooks/{id}")).await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    shown.json()
}

async fn deliveries(app: &App, token: &str, id: i64) -> Vec<Value> {
    let found = app
        .get_as(token, &format!("/hooks/{id}/deliveries?limit=100"))
        .await;
    assert_eq!(found.status, 200, "{}", found.text);
    found.json().as_array().unwrap().clone()
}

/// Waits until so many events have their places in the feed.
async fn told(app: &App, token: &str, count: usize) {
    eventually("the events are in the feed", async || {
        let feed = app.get_as(token, "/urls/my/events").await;
        feed.text.lines().count() == count
    })
    .await;
}

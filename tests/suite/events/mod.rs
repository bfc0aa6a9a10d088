//! The feed of events: what happened to the links of an account, in one order, complete at every cursor.

mod clicks;
mod cursors;
mod examples;
mod links;
mod waiting;

use serde_json::Value;

use crate::support::{App, Response, eventually};

/// The events after a cursor.
async fn read(app: &App, token: &str, query: &str) -> Response {
    app.get_as(token, &format!("/urls/my/events?{query}")).await
}

/// Asks until something is found.
async fn found_at_last<T>(ask: impl AsyncFn() -> Option<T>) -> T {
    let found = std::sync::Mutex::new(None);
    eventually("it is in the feed", async || {
        let answer = ask().await;
        let is_found = answer.is_some();
        *found.lock().unwrap() = answer;
        is_found
    })
    .await;
    found.into_inner().unwrap().expect("it was found")
}

fn events_in(response: &Response) -> Vec<Value> {
    assert_eq!(response.status, 200, "{}", response.text);
    let lines = response.text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// All events of an account, once there are as many as this.
async fn events(app: &App, token: &str, count: usize) -> Vec<Value> {
    found_at_last(async || {
        let found = events_in(&read(app, token, "").await);
        assert!(found.len() <= count, "{found:#?}");
        (found.len() == count).then_some(found)
    })
    .await
}

/// What happened, as words.
fn told(events: &[Value]) -> Vec<String> {
    let word = |event: &Value| {
        let (of, code) = (&event["type"], &event["short_code"]);
        format!("{} {}", of.as_str().unwrap(), code.as_str().unwrap())
    };
    events.iter().map(word).collect()
}

/// The sum of the clicks of a link.
fn sum(events: &[Value], code: &str) -> u64 {
    let of_link = events.iter().filter(|event| event["short_code"] == code);
    of_link.filter_map(|event| event["clicks"].as_u64()).sum()
}

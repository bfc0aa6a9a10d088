//! Edits are felt at once on another instance that has the link cached, and learns of them with its next click.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use reqwest::redirect::Policy;
use serde_json::{Value, json};

use super::patch;
use crate::support::{App, Mode, Response};

/// A long deadline, so that Redis does not count as away on a busy machine.
const PATIENT: &[(&str, &str)] = &[("CLICK_DEADLINE_MS", "10000")];

async fn visit(base: &str, code: &str) -> Response {
    let client = reqwest::Client::builder().redirect(Policy::none());
    Response::of(client.build().unwrap().get(format!("{base}/{code}"))).await
}

async fn is_ended_elsewhere_by(edit: &Value, visits: usize) {
    let app = App::start_with(Mode::Production, PATIENT).await;
    let other = app.another(PATIENT).await;
    let token = app.register().await;
    for _ in 0..20 {
        let code = app.shorten(&token, "https://example.org/").await;
        for base in [&app.server.base, &other.base] {
            for _ in 0..visits {
                assert_eq!(visit(base, &code).await.status, 302);
            }
        }
        let edited = patch(&app, &token, &code, edit).await;
        assert_eq!(edited.status, 200, "{edited:?}");
        assert_eq!(visit(&other.base, &code).await.status, 404);
        assert_eq!(visit(&app.server.base, &code).await.status, 404);
        assert_eq!(app.clicks(&code).await, 2 * visits as u64);
    }
    drop(other);
    app.finish().await;
}

#[tokio::test]
async fn a_link_that_is_made_inactive_is_not_followed_once_more_elsewhere() {
    is_ended_elsewhere_by(&json!({"is_active": false}), 2).await;
}

#[tokio::test]
async fn a_link_whose_end_is_set_to_the_past_is_not_followed_once_more_elsewhere() {
    is_ended_elsewhere_by(&json!({"expires_at": "2020-01-01T00:00:00Z"}), 1).await;
}

#[tokio::test]
async fn a_link_whose_start_is_set_to_the_future_is_not_followed_once_more_elsewhere() {
    is_ended_elsewhere_by(&json!({"starts_at": "2999-01-01T00:00:00Z"}), 1).await;
}

#[tokio::test]
async fn a_link_that_changes_all_the_time_leads_to_its_newest_target_and_counts_every_redirect() {
    let app = App::start_with(Mode::Production, PATIENT).await;
    let other = app.another(PATIENT).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/0").await;
    let (newest, is_done) = (
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let visitors: Vec<_> = (0..8)
        .map(|_| {
            let (base, code) = (other.base.clone(), code.clone());
            let (newest, is_done) = (Arc::clone(&newest), Arc::clone(&is_done));
            tokio::spawn(async move {
                let mut answered = 0;
                while !is_done.load(Ordering::SeqCst) {
                    let before = newest.load(Ordering::SeqCst);
                    let visited = visit(&base, &code).await;
                    assert_eq!(visited.status, 302, "{visited:?}");
                    let (_, number) = visited.header("location").rsplit_once('/').unwrap();
                    assert!(
                        number.parse::<u64>().unwrap() >= before,
                        "{number} after {before}"
                    );
                    answered += 1;
                }
                answered
            })
        })
        .collect();
    for number in 1..50 {
        let target = format!("https://example.org/{number}");
        let edited = patch(&app, &token, &code, &json!({ "target_url": target })).await;
        assert_eq!(edited.status, 200, "{edited:?}");
        newest.store(number, Ordering::SeqCst);
    }
    is_done.store(true, Ordering::SeqCst);
    let mut answered = 0;
    for visitor in visitors {
        answered += visitor.await.unwrap();
    }
    assert_eq!(app.clicks(&code).await, answered);
    drop(other);
    app.finish().await;
}

//! Of two edits of a link, every instance ends with the later one, also where an instance is killed in between.

use std::time::Duration;

use reqwest::redirect::Policy;
use serde_json::{Value, json};

use crate::faults::proxy::{Fault, Proxy};
use crate::support::{App, Mode, RedisServer, Response, eventually};

async fn location(base: &str, code: &str) -> String {
    let client = reqwest::Client::builder().redirect(Policy::none());
    let request = client.build().unwrap().get(format!("{base}/{code}"));
    Response::of(request).await.header("location").to_owned()
}

async fn target(app: &App, base: &str, token: &str, code: &str) -> Value {
    let request = reqwest::Client::new().get(format!("{base}/urls/{code}"));
    let shown = Response::of(request.bearer_auth(token)).await;
    assert_eq!(shown.status, 200, "{shown:?} {}", app.server.base);
    shown.json()["target_url"].clone()
}

/// The first instance commits its edit and is killed before it can announce it, with the lines from it to Redis cut; the
/// other one edits before that, or afterwards.
async fn with_an_instance_killed_between(is_first: bool) {
    let redis = RedisServer::start(&[]).await;
    let proxy = Proxy::to(&redis.url()).await;
    let through_proxy = [("REDIS_URL", proxy.url())];
    let mut app = App::start_with(Mode::Production, &through_proxy).await;
    let other = app.another(&[("REDIS_URL", &redis.url())]).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/start").await;
    for base in [&app.server.base, &other.base] {
        assert_eq!(location(base, &code).await, "https://example.org/start");
    }
    let edit = |base: &str, target: &str| {
        let request = reqwest::Client::new().patch(format!("{base}/urls/{code}"));
        let request = request.bearer_auth(&token);
        Response::of(request.json(&json!({"target_url": target})))
    };
    let by_other = "https://example.org/other";
    if !is_first {
        assert_eq!(edit(&other.base, by_other).await.status, 200);
    }
    proxy.inject(Fault::Down);
    let killed = tokio::spawn(edit(&app.server.base, "https://example.org/killed"));
    eventually("the edit is committed", async || {
        target(&app, &other.base, &token, &code).await == "https://example.org/killed"
    })
    .await;
    app.server.kill();
    let _ = tokio::time::timeout(Duration::from_secs(5), killed).await;
    if is_first {
        assert_eq!(edit(&other.base, by_other).await.status, 200);
        assert_eq!(location(&other.base, &code).await, by_other);
    }
    proxy.inject(Fault::None);
    app.server = app.another(&through_proxy).await;
    let truth = target(&app, &other.base, &token, &code).await;
    let newer = if is_first {
        by_other
    } else {
        "https://example.org/killed"
    };
    assert_eq!(truth, newer);
    for base in [&app.server.base, &other.base] {
        eventually("the later edit is followed", async || {
            location(base, &code).await == newer
        })
        .await;
        for _ in 0..50 {
            assert_eq!(location(base, &code).await, newer, "it stays");
        }
    }
}

#[tokio::test]
async fn an_edit_of_a_killed_instance_that_is_the_later_one_is_followed() {
    with_an_instance_killed_between(false).await;
}

#[tokio::test]
async fn an_edit_of_a_killed_instance_that_is_the_earlier_one_is_not_followed() {
    with_an_instance_killed_between(true).await;
}

//! Links that start at a moment.

use futures_util::future::join;
use reqwest::Method;
use serde_json::{Value, json};
use shunt::domain::{Clock, SystemClock, Timestamp};
use tokio::task::yield_now;

use super::{in_seconds, make, patch, send, show};
use crate::support::{App, Mode, Response, both_modes};

const START: &str = "2999-01-01T00:00:00Z";

/// A link that is scheduled, by its code.
async fn scheduled(app: &App, token: &str) -> String {
    let link =
        json!({"target_url": "https://example.org/secret", "title": "Soon", "starts_at": START});
    let made = make(app, token, &link).await;
    assert_eq!(made.status, 200, "{}", made.text);
    assert_eq!(made.json()["status"], "scheduled");
    made.json()["short_code"].as_str().unwrap().to_owned()
}

/// Visits a link until it is followed: not before its start, and from then on.
async fn is_followed_from(base: &str, code: &str, start: Timestamp) {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    let client = client.build().unwrap();
    loop {
        let before = SystemClock.now();
        let answer = client.get(format!("{base}/{code}")).send().await.unwrap();
        let (status, after) = (answer.status().as_u16(), SystemClock.now());
        match status {
            302 => assert!(after >= start, "followed at {after}, before {start}"),
            404 => assert!(before < start, "not followed at {before}, after {start}"),
            other => panic!("{other}"),
        }
        if status == 302 {
            return;
        }
        yield_now().await;
    }
}

both_modes! {
    async fn a_link_is_followed_from_its_start_on_and_not_before(app) {
        let token = app.register().await;
        let start = in_seconds(2);
        let link = json!({"target_url": "https://example.org/", "custom_code": "starts-soon", "starts_at": start});
        assert_eq!(make(app, &token, &link).await.json()["status"], "scheduled");
        let response = app.get("/urls/r/starts-soon").await;
        response.is_error(404, "URL not found");
        is_followed_from(&app.server.base, "starts-soon", start.parse().unwrap()).await;
        let shown = show(app, &token, "starts-soon").await.json();
        assert_eq!((&shown["status"], &shown["clicks"]), (&json!("active"), &json!(1)));
        let metrics = app.get("/metrics").await.text;
        let sample = "shunt_redirects_total{result=\"scheduled\"} ";
        let visits = metrics.lines().find_map(|line| line.strip_prefix(sample)).unwrap();
        assert!(visits.parse::<u64>().unwrap() >= 1, "{visits}");
    }

    async fn the_target_of_a_scheduled_link_is_shown_to_nobody_but_its_owner(app) {
        let token = app.register().await;
        let code = scheduled(app, &token).await;
        for (method, path, accept) in [
            (Method::GET, format!("/{code}"), "text/html"), (Method::GET, format!("/{code}"), "application/json"),
            (Method::HEAD, format!("/{code}"), "*/*"), (Method::GET, format!("/urls/r/{code}"), "*/*"),
            (Method::HEAD, format!("/urls/r/{code}"), "*/*"), (Method::GET, format!("/{code}+"), "text/html"),
            (Method::GET, format!("/urls/{code}/stats"), "*/*"), (Method::GET, format!("/urls/{code}/stats/series"), "*/*"),
            (Method::GET, format!("/urls/{code}/qr"), "*/*"), (Method::GET, format!("/app/report/{code}"), "text/html"),
        ] {
            let answer = Response::of(app.request(method, &path).header("accept", accept)).await;
            assert!(!answer.text.contains("secret") && !answer.text.contains("Soon"), "{path}: {}", answer.text);
            assert_eq!(answer.header("location"), "", "{path}");
        }
        let stats = app.get(&format!("/urls/{code}/stats")).await;
        assert_eq!((stats.status.as_u16(), &stats.json()["target_url"]), (200, &Value::Null));
        assert_eq!(show(app, &token, &code).await.json()["target_url"], "https://example.org/secret");
        let list = app.get_as(&token, "/urls/my").await.json();
        assert_eq!(list[0]["target_url"], "https://example.org/secret");
        patch(app, &token, &code, &json!({"starts_at": null})).await;
        assert_eq!(app.get(&format!("/urls/{code}/stats")).await.json()["target_url"], "https://example.org/secret");
        assert_eq!(app.clicks(&code).await, 0);
    }

    async fn a_start_that_is_moved_is_felt_at_once(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for round in 1..=5_u64 {
            patch(app, &token, &code, &json!({"starts_at": START})).await;
            app.get(&format!("/{code}")).await.is_error(404, "URL not found");
            patch(app, &token, &code, &json!({"starts_at": "2020-01-01T00:00:00Z"})).await;
            assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
            assert_eq!(app.clicks(&code).await, round);
        }
    }

    async fn scheduled_links_are_found_by_their_status(app) {
        let token = app.register().await;
        let code = scheduled(app, &token).await;
        let started = app.shorten(&token, "https://example.org/").await;
        patch(app, &token, &started, &json!({"starts_at": "2020-01-01T00:00:00Z", "max_clicks": 1})).await;
        let found = async |query: &str| {
            let list = app.get_as(&token, &format!("/urls/my?view=full&{query}")).await.json();
            let codes = list.as_array().unwrap().iter().map(|link| link["short_code"].as_str().unwrap().to_owned());
            codes.collect::<Vec<_>>()
        };
        for sort in ["-created_at", "-clicks"] {
            assert_eq!(found(&format!("status=scheduled&sort={sort}")).await, [&*code], "{sort}");
            assert_eq!(found(&format!("status=active&sort={sort}")).await, [&*started], "{sort}");
        }
        assert_eq!(found("status=scheduled&q=soon").await, [&*code]);
        // A link that is paused is inactive first.
        patch(app, &token, &code, &json!({"is_active": false, "max_clicks": 1})).await;
        assert_eq!(found("status=inactive").await, [&*code]);
        assert_eq!(found("status=scheduled").await, [""; 0]);
        patch(app, &token, &code, &json!({"is_active": true})).await;
        assert_eq!(found("status=used_up").await, [""; 0]);
    }

    async fn an_edit_after_which_a_link_would_end_before_its_start_is_refused(app) {
        let token = app.register().await;
        let link = json!({"target_url": "https://example.org/", "custom_code": "in-time", "starts_at": START, "expires_at": "2999-01-02T00:00:00Z"});
        let made = make(app, &token, &link).await;
        for edit in [
            json!({"starts_at": "2999-01-02T00:00:00Z"}), json!({"starts_at": "2999-01-03T00:00:00Z"}),
            json!({"expires_at": START}), json!({"expires_at": "2020-01-01T00:00:00Z"}),
            json!({"starts_at": "2999-02-02T00:00:00Z", "expires_at": "2999-02-01T00:00:00Z"}),
        ] {
            patch(app, &token, "in-time", &edit).await.is_error(422, "starts_at: must be before expires_at");
        }
        assert_eq!(show(app, &token, "in-time").await.text, made.text);
        let both = json!({"starts_at": "2999-03-01T00:00:00Z", "expires_at": "2999-03-02T00:00:00Z"});
        assert_eq!(patch(app, &token, "in-time", &both).await.status, 200);
        let bulk = json!([{"target_url": "https://example.org/", "starts_at": START, "expires_at": START}]);
        let bulk = send(app, Method::POST, &token, "/urls/bulk", &bulk).await.json();
        assert_eq!((&bulk[0]["status"], &bulk[0]["detail"]), (&json!(422), &json!("starts_at: must be before expires_at")));
    }

    async fn two_edits_at_once_leave_no_start_after_the_end(app) {
        let token = app.register().await;
        for _ in 0..20 {
            let code = app.shorten(&token, "https://example.org/").await;
            let (start, end) = (json!({"starts_at": "2999-01-02T00:00:00Z"}), json!({"expires_at": "2999-01-01T00:00:00Z"}));
            let (started, ended) = join(patch(app, &token, &code, &start), patch(app, &token, &code, &end)).await;
            let mut statuses = [started.status.as_u16(), ended.status.as_u16()];
            statuses.sort_unstable();
            assert_eq!(statuses, [200, 422], "{started:?} {ended:?}");
            let shown = show(app, &token, &code).await.json();
            assert!(shown["starts_at"].is_null() != shown["expires_at"].is_null(), "{shown}");
        }
    }
}

#[tokio::test]
async fn every_instance_that_has_a_link_cached_follows_it_from_its_start_on() {
    let app = App::start(Mode::Production).await;
    let others = [app.another(&[]).await, app.another(&[]).await];
    let token = app.register().await;
    let start = in_seconds(3);
    let link = json!({"target_url": "https://example.org/", "custom_code": "everywhere", "starts_at": start});
    make(&app, &token, &link).await;
    let start: Timestamp = start.parse().unwrap();
    let bases = [&*app.server.base, &*others[0].base, &*others[1].base];
    let visits = bases.map(|base| is_followed_from(base, "everywhere", start));
    futures_util::future::join_all(visits).await;
    assert_eq!(app.clicks("everywhere").await, 3);
    drop(others);
    app.server_only().await;
}

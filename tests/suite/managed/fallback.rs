//! Where visitors are sent if a link is not followed.

use futures_util::future::join_all;
use reqwest::{Client, Method, redirect};
use serde_json::{Value, json};

use super::{make, patch};
use crate::support::{App, Mode, Response, both_modes, raw};

const TARGET: &str = "https://example.org/offer";
const FALLBACK: &str = "https://example.org/waiting%20list";

/// Makes a link with a fallback and further fields; returns its code.
async fn with_fallback(app: &App, token: &str, fields: &[(&str, Value)]) -> String {
    let mut link =
        json!({"target_url": TARGET, "fallback_url": "https://example.org/waiting list"});
    for (name, value) in fields {
        link[name] = value.clone();
    }
    let made = make(app, token, &link).await;
    assert_eq!(made.status, 200, "{}", made.text);
    made.json()["short_code"].as_str().unwrap().to_owned()
}

/// Requests that had this result or this reason.
async fn metric(app: &App, sample: &str) -> u64 {
    let metrics = app.get("/metrics").await.text;
    let value = metrics.lines().find_map(|line| line.strip_prefix(sample));
    value.expect(sample).trim().parse().unwrap()
}

/// The targets to which so many visitors at once are sent, by every instance.
async fn sent_to(bases: &[&str], code: &str, visitors: usize) -> Vec<String> {
    let client = Client::builder().redirect(redirect::Policy::none());
    let client = client.build().unwrap();
    let visits = (0..visitors).flat_map(|_| bases).map(async |base| {
        let response = client.get(format!("{base}/{code}")).send().await.unwrap();
        assert_eq!(response.status(), 302);
        response.headers()["location"].to_str().unwrap().to_owned()
    });
    join_all(visits).await
}

fn count(locations: &[String], location: &str) -> usize {
    let mut same = locations.to_vec();
    same.retain(|known| known == location);
    same.len()
}

both_modes! {
    async fn a_fallback_is_for_what_the_owner_foresaw_and_is_not_counted(app) {
        let token = app.register().await;
        let code = with_fallback(app, &token, &[]).await;
        assert_eq!(app.visit(&format!("/{code}")).await.header("location"), TARGET);
        let encoded = format!("/%{:02x}{}", code.as_bytes()[0], &code[1..]);
        let paths = [format!("/{code}"), format!("/urls/r/{code}"), encoded, format!("/{code}?a=b")];
        let changes = [
            ("scheduled", json!({"starts_at": "2999-01-01T00:00:00Z"})),
            ("expired", json!({"starts_at": null, "expires_at": "2020-01-01T00:00:00Z"})),
            ("used_up", json!({"expires_at": null, "max_clicks": 1, "forward_query": true})),
        ];
        for (reason, change) in changes {
            let edited = patch(app, &token, &code, &change).await;
            assert_eq!(edited.json()["status"], reason, "{}", edited.text);
            let sample = format!("shunt_fallbacks_total{{reason=\"{reason}\"}}");
            let before = metric(app, &sample).await;
            let results = metric(app, "shunt_redirects_total{result=\"fallback\"}").await;
            for path in &paths {
                for method in [Method::GET, Method::HEAD] {
                    let sent = Response::of(app.request(method, path).header("accept", "text/html")).await;
                    assert_eq!(sent.status, 302, "{reason} {path}: {}", sent.text);
                    assert_eq!((sent.header("location"), sent.header("cache-control")), (FALLBACK, "no-store"), "{reason} {path}");
                }
            }
            assert_eq!(metric(app, &sample).await - before, 8, "{reason}");
            assert_eq!(metric(app, "shunt_redirects_total{result=\"fallback\"}").await - results, 8);
            assert_eq!(app.clicks(&code).await, 1, "{reason}");
        }
        let paused = patch(app, &token, &code, &json!({"is_active": false})).await;
        assert_eq!(paused.status, 200, "{}", paused.text);
        app.get(&format!("/{code}")).await.is_error(404, "URL not found");
        patch(app, &token, &code, &json!({"is_active": true, "max_clicks": 2})).await;
        assert_eq!(app.visit(&format!("/{code}")).await.header("location"), TARGET);
        assert_eq!(app.delete(&token, &code).await.status, 204);
        app.get(&format!("/{code}")).await.is_error(404, "URL not found");
    }

    async fn visitors_past_the_limit_are_sent_to_the_fallback(app) {
        let token = app.register().await;
        let code = with_fallback(app, &token, &[("max_clicks", json!(20))]).await;
        let locations = sent_to(&[&app.server.base], &code, 60).await;
        assert_eq!((count(&locations, TARGET), count(&locations, FALLBACK)), (20, 40));
        assert_eq!(app.clicks(&code).await, 20);
        patch(app, &token, &code, &json!({"max_clicks": 25})).await;
        let locations = sent_to(&[&app.server.base], &code, 20).await;
        assert_eq!((count(&locations, TARGET), count(&locations, FALLBACK)), (5, 15));
        assert_eq!(app.clicks(&code).await, 25);
    }

    async fn an_edit_of_a_fallback_is_felt_at_once_and_null_takes_it_away(app) {
        let token = app.register().await;
        let code = with_fallback(app, &token, &[("starts_at", json!("2999-01-01T00:00:00Z"))]).await;
        assert_eq!(app.get(&format!("/{code}")).await.header("location"), FALLBACK);
        for number in 0..5 {
            let other = format!("https://example.org/{number}");
            patch(app, &token, &code, &json!({"fallback_url": other})).await;
            assert_eq!(app.get(&format!("/{code}")).await.header("location"), other);
        }
        let cleared = patch(app, &token, &code, &json!({"fallback_url": null})).await.json();
        assert_eq!(cleared["fallback_url"], Value::Null);
        app.get(&format!("/{code}")).await.is_error(404, "URL not found");
        patch(app, &token, &code, &json!({"fallback_url": "later"})).await
            .is_error(422, "fallback_url: must be an absolute http:// or https:// URL with a host");
    }

    async fn a_fallback_has_the_headers_of_a_redirect(app) {
        let token = app.register().await;
        let code = with_fallback(app, &token, &[("starts_at", json!("2999-01-01T00:00:00Z"))]).await;
        let answer = raw::get(&app.server.base, &format!("/{code}")).await.to_lowercase();
        for line in ["http/1.1 302 found\r\n", "content-length: 0\r\n", "x-request-id: ", "date: ", "cache-control: no-store\r\n"] {
            assert!(answer.contains(line), "{line}: {answer}");
        }
    }
}

async fn of_several_instances(settings: &[(&str, &str)]) {
    let app = App::start_with(Mode::Production, settings).await;
    let others = [app.another(settings).await, app.another(settings).await];
    let bases = [&*app.server.base, &*others[0].base, &*others[1].base];
    let token = app.register().await;
    let code = with_fallback(&app, &token, &[("max_clicks", json!(100))]).await;
    let locations = sent_to(&bases, &code, 60).await;
    let sent = (count(&locations, TARGET), count(&locations, FALLBACK));
    assert_eq!(sent, (100, 80));
    assert_eq!(app.clicks(&code).await, 100);
    drop(others);
    app.server_only().await;
}

mod instances_together_send_all_visitors_past_the_limit_to_the_fallback {
    use super::of_several_instances;

    #[tokio::test]
    async fn with_redis() {
        of_several_instances(&[]).await;
    }

    #[tokio::test]
    async fn postgres_alone() {
        of_several_instances(&[("REDIS_URL", "")]).await;
    }
}

//! Links that end at a moment.

use std::time::Duration;

use serde_json::{Value, json};
use shunt::domain::{Clock, SystemClock, Timestamp};
use tokio::time::sleep;

use super::{in_seconds, make, patch, show};
use crate::support::both_modes;

both_modes! {
    async fn an_expired_link_is_answered_as_an_inactive_one_and_not_counted(app) {
        let token = app.register().await;
        let end = in_seconds(2);
        make(app, &token, &json!({"target_url": "https://example.org/", "custom_code": "ends-soon", "expires_at": end})).await;
        assert_eq!(app.visit("/ends-soon").await.status, 302);
        let end: Timestamp = end.parse().unwrap();
        loop {
            let before = SystemClock.now();
            let answer = app.visit("/ends-soon").await;
            let after = SystemClock.now();
            if before >= end {
                answer.is_error(404, "URL not found");
                break;
            }
            assert!(answer.status == 302 || after >= end, "{before} {after}");
            sleep(Duration::from_millis(50)).await;
        }
        app.get("/urls/r/ends-soon").await.is_error(404, "URL not found");
        let shown = show(app, &token, "ends-soon").await.json();
        assert_eq!((&shown["status"], &shown["is_active"]), (&json!("expired"), &json!(true)));
        assert_eq!(shown["clicks"], json!(app.clicks("ends-soon").await));
        let metrics = app.get("/metrics").await.text;
        let sample = "shunt_redirects_total{result=\"expired\"} ";
        let expired = metrics.lines().find_map(|line| line.strip_prefix(sample)).unwrap();
        assert!(expired.parse::<u64>().unwrap() >= 2, "{expired}");
    }

    async fn an_edit_ends_a_link_now_and_brings_it_back(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        let ended = patch(app, &token, &code, &json!({"expires_at": "2020-01-31T18:00:00Z"})).await;
        assert_eq!(ended.json()["status"], "expired");
        app.get(&format!("/{code}")).await.is_error(404, "URL not found");
        let back = patch(app, &token, &code, &json!({"expires_at": null})).await.json();
        assert_eq!((&back["status"], &back["expires_at"]), (&json!("active"), &Value::Null));
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        patch(app, &token, &code, &json!({"expires_at": "2020-01-31T18:00:00Z"})).await;
        let later = patch(app, &token, &code, &json!({"expires_at": in_seconds(3_600)})).await;
        assert_eq!(later.json()["status"], "active");
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        assert_eq!(app.clicks(&code).await, 3);
    }
}

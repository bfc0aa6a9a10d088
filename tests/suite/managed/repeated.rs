//! Requests with an `Idempotency-Key`.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::suite::abuse::{admin, id_of, remove, revoke};
use crate::support::{App, Response, both_modes};
use reqwest::Method;

async fn with_key(app: &App, token: &str, key: &str, body: &Value) -> Response {
    let request = app
        .request(Method::POST, "/urls/shorten")
        .bearer_auth(token);
    Response::of(request.header("Idempotency-Key", key).json(body)).await
}

both_modes! {
    async fn the_same_request_with_the_same_key_gives_the_same_link_and_answer(app) {
        let token = app.register().await;
        let body = json!({"target_url": "https://example.org/", "title": "once"});
        let first = with_key(app, &token, "k 1", &body).await;
        assert_eq!(first.status, 200, "{}", first.text);
        app.visit(&format!("/{}", first.json()["short_code"].as_str().unwrap())).await;
        assert_eq!(with_key(app, &token, "k 1", &body).await.text, first.text);
        app.server.stop().await;
        app.server = app.another(&[]).await;
        assert_eq!(with_key(app, &token, "k 1", &body).await.text, first.text, "after a restart, too");
        assert_ne!(with_key(app, &token, "k 2", &body).await.text, first.text);
        let other = app.register().await;
        assert_ne!(with_key(app, &other, "k 1", &body).await.text, first.text, "each owner has keys of their own");
        assert_eq!(app.get_as(&token, "/urls/my").await.json().as_array().unwrap().len(), 2);
    }

    async fn many_at_once_with_one_key_make_one_link(app) {
        let token = app.register().await;
        for (key, body) in [
            ("drawn", json!({"target_url": "https://example.org/"})),
            ("chosen", json!({"target_url": "https://example.org/", "custom_code": "chosen-once"})),
        ] {
            let answers = join_all((0..10).map(|_| with_key(app, &token, key, &body))).await;
            for answer in &answers {
                assert_eq!((answer.status.as_u16(), &answer.text), (200, &answers[0].text));
            }
        }
        assert_eq!(app.get_as(&token, "/urls/my").await.json().as_array().unwrap().len(), 2);
    }

    async fn a_repeated_request_shows_that_its_link_was_removed_meanwhile(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        let body = json!({"target_url": "https://example.org/", "view": "full"});
        let first = with_key(app, &token, "k", &body).await.json();
        assert_eq!(first["status"], "active");
        let code = first["short_code"].as_str().unwrap();
        let id = id_of(&remove(app, &admin, "link", code, 410).await);
        let again = with_key(app, &token, "k", &body).await.json();
        assert_eq!((&again["short_code"], &again["status"]), (&json!(code), &json!("removed")));
        assert_eq!(revoke(app, &admin, id).await.status, 200);
        assert_eq!(with_key(app, &token, "k", &body).await.json(), first);
    }

    async fn another_request_with_a_used_key_is_refused(app) {
        let token = app.register().await;
        let target = |path: &str| json!({"target_url": format!("https://example.org/{path}")});
        assert_eq!(with_key(app, &token, "k", &target("1")).await.status, 200);
        let detail = "Idempotency-Key: was used for another request; send a new one with each new request";
        with_key(app, &token, "k", &target("2")).await.is_error(422, detail);
        let detail = "Idempotency-Key: must be one value of 1 to 255 printable ASCII characters";
        with_key(app, &token, &"k".repeat(256), &target("2")).await.is_error(422, detail);
        with_key(app, &token, "", &target("2")).await.is_error(422, detail);
        assert_eq!(with_key(app, &token, &"k".repeat(255), &target("2")).await.status, 200);
    }
}

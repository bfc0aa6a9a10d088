//! `POST /report`

use reqwest::Method;
use serde_json::{Value, json};

use super::{admin, id_of, remove};
use crate::support::{App, Response, both_modes, within_a_minute};

async fn report(app: &App, body: &Value) -> Response {
    Response::of(app.request(Method::POST, "/report").json(body)).await
}

both_modes! {
    with &[("TRUSTED_PROXIES", "127.0.0.0/8")];

    async fn a_report_reaches_the_administrators(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        let code = app.shorten(&token, "https://example.org/").await;
        let reported = report(app, &json!({ "short_code": code, "reason": " It asks for my password\n" })).await;
        assert_eq!((reported.status.as_u16(), reported.text.as_str()), (202, ""));
        id_of(&remove(app, &admin, "link", &code, 410).await);
        let seen = app.get_as(&admin, "/admin/reports").await.json();
        let seen = &seen["reports"][0];
        assert_eq!((&seen["short_code"], &seen["reason"], &seen["removed"]), (&json!(code), &json!("It asks for my password"), &json!(410)));
    }

    async fn a_report_of_no_link_or_without_a_reason_is_refused(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        report(app, &json!({ "short_code": "unknown1", "reason": "a" })).await.is_error(404, "URL not found");
        report(app, &json!({ "short_code": code, "reason": "" })).await.is_error(422, "reason: must not be empty");
        report(app, &json!({ "short_code": code })).await.is_error(422, "reason: field is required");
    }

    async fn a_link_keeps_a_bounded_number_of_reports(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        let code = app.shorten(&token, "https://example.org/").await;
        for client in 0..25 {
            let request = app.request(Method::POST, "/report").header("x-forwarded-for", format!("198.51.100.{client}"));
            let reported = Response::of(request.json(&json!({ "short_code": code, "reason": "spam" }))).await;
            assert_eq!(reported.status, 202);
        }
        let seen = app.get_as(&admin, "/admin/reports?limit=100").await.json();
        assert_eq!(seen["reports"].as_array().unwrap().len(), 20);
    }

    async fn reports_of_one_address_are_limited(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let last = within_a_minute(async || {
            let client = format!("203.0.113.{}", getrandom::u64().unwrap() % 250);
            let mut last = None;
            for _ in 0..21 {
                let request = app.request(Method::POST, "/report").header("x-forwarded-for", &client);
                last = Some(Response::of(request.json(&json!({ "short_code": code, "reason": "spam" }))).await);
            }
            last.unwrap()
        })
        .await;
        assert_eq!(last.status, 429, "{last:?}");
        assert!(!last.header("retry-after").is_empty());
    }
}

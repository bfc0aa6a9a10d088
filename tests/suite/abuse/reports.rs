//! `POST /report`

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::{admin, id_of, remove, send};
use crate::support::{App, Response, both_modes, within_a_minute};

/// Reports a link from this address, which is taken.
async fn report_from(app: &App, address: &str, code: &str, reason: &str) {
    let request = app
        .request(Method::POST, "/report")
        .header("x-forwarded-for", address);
    let reported =
        Response::of(request.json(&json!({ "short_code": code, "reason": reason }))).await;
    assert_eq!(reported.status, 202, "{reported:?}");
}

/// The reasons of all reports, newest first.
async fn reasons(app: &App, admin: &str) -> Vec<String> {
    let seen = app.get_as(admin, "/admin/reports?limit=100").await.json();
    let reports = seen["reports"].as_array().unwrap().iter();
    reports
        .map(|report| report["reason"].as_str().unwrap().to_owned())
        .collect()
}

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

    async fn an_address_has_at_most_two_reports_of_a_link_and_pushes_out_no_other(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        let code = app.shorten(&token, "https://example.org/").await;
        report_from(app, "203.0.113.1", &code, "it asks for my password").await;
        for number in 0..19 {
            report_from(app, "198.51.100.7", &code, &format!("noise {number}")).await;
        }
        report_from(app, "203.0.113.2", &code, "mine, too").await;
        // Addresses of what a subscriber of IPv6 may have are one.
        for number in 0..4 {
            report_from(app, &format!("2001:db8:1:{number}::1"), &code, &format!("six {number}")).await;
        }
        assert_eq!(reasons(app, &admin).await, ["six 3", "six 2", "mine, too", "noise 18", "noise 17", "it asks for my password"]);
    }

    async fn reports_of_one_address_at_once_are_two(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        let code = app.shorten(&token, "https://example.org/").await;
        let app = &*app;
        join_all((0..16).map(|number| {
            let code = code.clone();
            async move { report_from(app, "198.51.100.7", &code, &format!("noise {number}")).await }
        }))
        .await;
        assert_eq!(reasons(app, &admin).await.len(), 2);
    }

    async fn of_too_many_reports_those_of_the_address_with_most_go_first_and_then_the_oldest(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        let code = app.shorten(&token, "https://example.org/").await;
        for client in 0..19 {
            report_from(app, &format!("198.51.100.{client}"), &code, &format!("of {client}")).await;
        }
        report_from(app, "198.51.100.18", &code, "again of 18").await;
        report_from(app, "203.0.113.1", &code, "genuine").await;
        let kept = reasons(app, &admin).await;
        assert_eq!((kept.len(), &kept[..2], &kept[19]), (20, &["genuine".to_owned(), "again of 18".to_owned()][..], &"of 0".to_owned()));
        assert!(!kept.contains(&"of 18".to_owned()), "{kept:?}");
        report_from(app, "203.0.113.1", &code, "genuine again").await;
        let kept = reasons(app, &admin).await;
        assert_eq!((kept.len(), &kept[0], &kept[19]), (20, &"genuine again".to_owned(), &"of 0".to_owned()));
        report_from(app, "203.0.113.2", &code, "one more").await;
        let kept = reasons(app, &admin).await;
        assert_eq!((kept.len(), &kept[0], &kept[19]), (20, &"one more".to_owned(), &"of 1".to_owned()));
    }

    async fn a_closed_report_is_gone_makes_room_and_is_in_the_audit(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        let code = app.shorten(&token, "https://example.org/").await;
        for number in 0..2 {
            report_from(app, "198.51.100.7", &code, &format!("spam {number}")).await;
        }
        let seen = app.get_as(&admin, "/admin/reports").await.json();
        let path = format!("/admin/reports/{}", seen["reports"][1]["id"]);
        let closed = send(app, Method::DELETE, &admin, &path, &Value::Null).await;
        assert_eq!((closed.status.as_u16(), closed.text.as_str()), (204, ""));
        assert_eq!(reasons(app, &admin).await, ["spam 1"]);
        send(app, Method::DELETE, &admin, &path, &Value::Null).await.is_error(404, "Report not found");
        send(app, Method::DELETE, &admin, "/admin/reports/a", &Value::Null).await.is_error(404, "Report not found");
        let audit = app.get_as(&admin, "/admin/audit?limit=1").await.json();
        let entry = &audit["entries"][0];
        assert_eq!((&entry["action"], &entry["subject"], &entry["detail"]), (&json!("close_report"), &json!(format!("link {code}")), &json!("spam 0")));
        report_from(app, "198.51.100.7", &code, "spam 2").await;
        assert_eq!(reasons(app, &admin).await, ["spam 2", "spam 1"]);
    }

    async fn a_flood_of_reports_of_many_links_is_bounded_and_pushes_out_no_report_of_another_address(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        report_from(app, "203.0.113.1", &code, "genuine").await;
        let flood = "INSERT INTO reports (link_id, reason, address, reported_at)
            SELECT link_id, 'noise', 'noise ' || (number % 50), reported_at FROM reports, (
                WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 9999)
                SELECT number FROM numbers) AS numbers
            WHERE reason = $1";
        app.backend.execute(flood, "genuine").await;
        let other = app.shorten(&token, "https://example.org/2").await;
        report_from(app, "203.0.113.1", &other, "genuine, too").await;
        let all = "UPDATE reports SET reason = reason WHERE reason = $1 AND (SELECT count(*) FROM reports) = 10000";
        app.backend.execute(all, "genuine").await;
        app.backend.execute(all, "genuine, too").await;
    }

    async fn the_address_of_a_reporter_is_kept_as_a_hash_only(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        let code = app.shorten(&token, "https://example.org/").await;
        for (address, reason) in [("198.51.100.7", "first"), ("198.51.100.7", "second"), ("198.51.100.8", "third")] {
            report_from(app, address, &code, reason).await;
        }
        let seen = app.get_as(&admin, "/admin/reports").await.json();
        assert!(!seen.to_string().contains("198.51.100"), "{seen}");
        let reporter = |at: usize| seen["reports"][at]["reporter"].as_str().unwrap().to_owned();
        assert!(reporter(1) == reporter(2) && reporter(0) != reporter(1), "{seen}");
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

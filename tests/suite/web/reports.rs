//! The form that reports a link, without JavaScript.

use super::browser::{Browser, leads_to, token};
use crate::suite::abuse::admin;
use crate::support::{both_modes, within_a_minute};

both_modes! {
    with &[("TRUSTED_PROXIES", "127.0.0.0/8")];

    async fn a_visitor_reports_a_link_from_its_preview_and_is_thanked(app) {
        let (admin, owner) = (admin(app).await, app.register().await);
        let code = app.shorten(&owner, "https://example.org/").await;
        let mut visitor = Browser::new(app);
        let preview = visitor.get(&format!("/{code}+")).await;
        let path = format!("/app/report/{code}");
        assert!(preview.text.contains(&format!("href=\"{path}\"")), "{preview:?}");
        assert!(visitor.cookies.is_empty(), "a preview sets no cookie");
        let sent = visitor.send(&path, &path, &[("reason", " It asks for\r\nmy password ")]).await;
        leads_to(&sent, &format!("{path}?sent=yes"));
        let thanks = visitor.get(sent.header("location")).await;
        assert!(thanks.status == 200 && thanks.text.contains("<h1>Thank you</h1>"), "{thanks:?}");
        let seen = app.get_as(&admin, "/admin/reports").await.json();
        assert_eq!(seen["reports"][0]["reason"], "It asks for\nmy password");
        assert_eq!(seen["reports"][0]["short_code"], code);
    }

    async fn a_report_without_a_reason_shows_the_form_again(app) {
        let owner = app.register().await;
        let code = app.shorten(&owner, "https://example.org/").await;
        let path = format!("/app/report/{code}");
        let mut visitor = Browser::new(app);
        for reason in [" ", &"x".repeat(1_001), "a\u{1b}<script>b"] {
            let refused = visitor.send(&path, &path, &[("reason", reason)]).await;
            assert_eq!(refused.status, 422);
            assert!(refused.text.contains("role=\"alert\"") && !refused.text.contains("<script>b"), "{refused:?}");
        }
        let unknown = visitor.send(&path, "/app/report/nosuch1", &[("reason", "spam")]).await;
        assert_eq!(unknown.status, 404);
        assert!(unknown.text.contains("There is no link at this address"), "{unknown:?}");
    }

    async fn a_report_that_another_site_sends_is_refused(app) {
        let (admin, owner) = (admin(app).await, app.register().await);
        let code = app.shorten(&owner, "https://example.org/").await;
        let path = format!("/app/report/{code}");
        let mut visitor = Browser::new(app);
        let csrf = token(&visitor.get(&path).await.text);
        for (csrf, headers) in [
            ("", &[][..]),
            ("0123456789abcdef0123456789abcdef", &[]),
            (csrf.as_str(), &[("sec-fetch-site", "cross-site")]),
            (csrf.as_str(), &[("origin", "https://evil.example")]),
        ] {
            let refused = visitor.send_with(csrf, &path, &[("reason", "spam")], headers).await;
            assert_eq!(refused.status, 403, "{headers:?}");
        }
        let mut another = Browser::new(app);
        assert_eq!(another.send_with(&csrf, &path, &[("reason", "spam")], &[]).await.status, 403);
        let seen = app.get_as(&admin, "/admin/reports").await.json();
        assert!(!seen.to_string().contains(&code), "{seen}");
    }

    async fn forms_and_the_api_share_the_limit_of_reports(app) {
        let owner = app.register().await;
        let code = app.shorten(&owner, "https://example.org/").await;
        let path = format!("/app/report/{code}");
        let mut visitor = Browser::new(app);
        let csrf = token(&visitor.get(&path).await.text);
        let body = serde_json::json!({ "short_code": code, "reason": "spam" });
        let last = within_a_minute(async || {
            let client = format!("203.0.113.{}", getrandom::u64().unwrap() % 250);
            for _ in 0..20 {
                let request = app.request(reqwest::Method::POST, "/report").header("x-forwarded-for", &client);
                crate::support::Response::of(request.json(&body)).await;
            }
            let headers = [("x-forwarded-for", client.as_str()), ("accept-language", "de")];
            visitor.send_with(&csrf, &path, &[("reason", "spam")], &headers).await
        })
        .await;
        assert_eq!(last.status, 429, "{last:?}");
        assert!(last.text.contains("Zu viele Anfragen") && !last.header("retry-after").is_empty(), "{last:?}");
    }
}

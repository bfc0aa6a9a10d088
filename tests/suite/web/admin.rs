//! Pages for administrators, without JavaScript.

use reqwest::Method;
use serde_json::json;

use super::browser::{Browser, leads_to, token};
use crate::suite::abuse::{GRANT, becomes};
use crate::support::{App, Response, both_modes, eventually};

const PAGES: [&str; 8] = [
    "/app/admin",
    "/app/admin/removals",
    "/app/admin/reports",
    "/app/admin/links",
    "/app/admin/accounts",
    "/app/admin/domains",
    "/app/admin/invitations",
    "/app/admin/audit",
];

/// A browser in which an administrator is signed in.
pub(crate) async fn administrator(app: &App) -> Browser<'_> {
    let mut browser = Browser::new(app);
    let email = browser.sign_up().await;
    app.backend.execute(GRANT, &email).await;
    browser
}

/// Removes something by the form.
async fn remove(
    browser: &mut Browser<'_>,
    kind: &str,
    value: &str,
    reason: &str,
    status: &str,
) -> Response {
    let fields = [
        ("kind", kind),
        ("value", value),
        ("reason", reason),
        ("status", status),
    ];
    let path = "/app/admin/removals";
    browser.send(path, path, &fields).await
}

/// The address of the first form on a page that ends so.
fn action(page: &str, end: &str) -> String {
    let mut actions = page
        .split("action=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap());
    let found = actions.find(|action| action.ends_with(end));
    found.expect(page).to_owned()
}

both_modes! {
    async fn pages_of_administrators_are_forbidden_to_all_others(app) {
        let mut browser = Browser::new(app);
        for path in PAGES {
            let asked = browser.get(path).await;
            assert_eq!(asked.status, 303, "{path}");
            assert!(asked.header("location").starts_with("/app/login?next=%2Fapp%2Fadmin"), "{asked:?}");
        }
        browser.sign_up().await;
        assert!(!browser.get("/app").await.text.contains("/app/admin"), "the navigation leads there");
        let csrf = token(&browser.get("/app").await.text);
        for path in PAGES {
            let refused = browser.get(path).await;
            assert_eq!(refused.status, 403, "{path}");
            assert!(refused.text.contains("<h1>Not allowed</h1>"), "{refused:?}");
        }
        for path in ["/app/admin/removals", "/app/admin/removals/1/revoke", "/app/admin/accounts/1/unban", "/app/admin/accounts/1/role", "/app/admin/accounts/1/password", "/app/admin/reports/1/close", "/app/admin/domains", "/app/admin/domains/go.test", "/app/admin/domains/go.test/delete", "/app/admin/invitations", "/app/admin/invitations/1/revoke"] {
            let fields = [("kind", "host"), ("value", "example.org"), ("reason", "a"), ("status", "410")];
            assert_eq!(browser.send_with(&csrf, path, &fields, &[]).await.status, 403, "{path}");
        }
        eventually("the refusals are in the log", async || app.server.log().contains("authz_fail")).await;
        let mut admin = administrator(app).await;
        assert!(admin.get("/app").await.text.contains("href=\"/app/admin\""));
        for path in PAGES {
            assert_eq!(admin.get(path).await.status, 200, "{path}");
        }
    }

    async fn a_report_is_closed_on_its_page(app) {
        let owner = app.register().await;
        let code = app.shorten(&owner, "https://example.org/").await;
        let report = json!({ "short_code": code, "reason": "phishing" });
        assert_eq!(Response::of(app.request(Method::POST, "/report").json(&report)).await.status, 202);
        let mut admin = administrator(app).await;
        let page = admin.get("/app/admin/reports").await.text;
        let close = action(&page, "/close");
        for end in ["closed", "none"] {
            let closed = admin.send("/app/admin/reports", &close, &[]).await;
            leads_to(&closed, &format!("/app/admin/reports?done={end}"));
        }
        let page = admin.get("/app/admin/reports?done=closed").await.text;
        assert!(page.contains("The reports of this link are closed.") && !page.contains(&code), "{page}");
        assert!(admin.get("/app/admin/audit").await.text.contains("Closed a report:"));
    }

    async fn a_form_of_administration_from_elsewhere_is_refused(app) {
        let owner = app.register().await;
        let code = app.shorten(&owner, "https://example.org/").await;
        let mut admin = administrator(app).await;
        let csrf = token(&admin.get("/app/admin").await.text);
        let fields = [("kind", "link"), ("value", code.as_str()), ("reason", "spam"), ("status", "410")];
        for (csrf, headers) in [("", &[][..]), (csrf.as_str(), &[("sec-fetch-site", "cross-site")]), (csrf.as_str(), &[("origin", "https://evil.example")])] {
            for path in ["/app/admin/removals", "/app/admin/removals/1/revoke", "/app/admin/accounts/1/unban", "/app/admin/accounts/1/role", "/app/admin/accounts/1/password", "/app/admin/reports/1/close", "/app/admin/domains", "/app/admin/domains/go.test", "/app/admin/domains/go.test/delete", "/app/admin/invitations", "/app/admin/invitations/1/revoke"] {
                assert_eq!(admin.send_with(csrf, path, &fields, headers).await.status, 403, "{path} {headers:?}");
            }
        }
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }

    async fn a_link_is_found_and_removed_and_its_removal_is_revoked(app) {
        let owner = app.register().await;
        let code = app.shorten(&owner, "https://needle.example/a").await;
        let mut admin = administrator(app).await;
        let found = admin.get("/app/admin/links?q=NEEDLE.example").await.text;
        let form = format!("/app/admin/removals?kind=link&#38;value={code}");
        assert!(found.contains(&form) && found.contains("https://needle.example/a"), "{found}");
        let filled = admin.get(&form.replace("&#38;", "&")).await.text;
        assert!(filled.contains(&format!("value=\"{code}\"")), "{filled}");
        let removed = remove(&mut admin, "link", &code, "phishing", "451").await;
        leads_to(&removed, "/app/admin/removals?done=removed");
        app.get(&format!("/{code}")).await.is_error(451, "URL removed");
        let page = admin.get("/app/admin/removals").await.text;
        assert!(page.contains("phishing") && page.contains(&format!("<bdi>{code}</bdi>")), "{page}");
        let back = action(&page, "/revoke");
        leads_to(&admin.send("/app/admin/removals", &back, &[]).await, "/app/admin/removals?done=revoked");
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        leads_to(&admin.send("/app/admin/removals", &back, &[]).await, "/app/admin/removals?done=none");
        let audit = admin.get("/app/admin/audit").await.text;
        assert!(audit.contains("<strong>Revoked:</strong>") && audit.contains(&format!("Link {code}: phishing")), "{audit}");
    }

    async fn an_account_is_banned_and_let_in_again(app) {
        let mut user = Browser::new(app);
        let email = user.sign_up().await;
        let code = user.make(&[("target_url", "https://example.org/")]).await;
        let mut admin = administrator(app).await;
        let found = admin.get(&format!("/app/admin/accounts?q={email}")).await.text;
        assert!(found.contains(&format!("<bdi>{email}</bdi>")) && found.contains("Ban, Account"), "{found}");
        leads_to(&remove(&mut admin, "user", &email, "spam", "410").await, "/app/admin/removals?done=removed");
        leads_to(&user.get("/app").await, "/app/login");
        becomes(app, &code, 410).await;
        let found = admin.get(&format!("/app/admin/accounts?q={email}")).await.text;
        let unban = action(&found, "/unban");
        let back = admin.send("/app/admin/accounts", &unban, &[]).await;
        leads_to(&back, "/app/admin/accounts?done=unbanned");
        assert_eq!(app.account("/auth/login", &email, "correct horse").await.status, 200);
        becomes(app, &code, 302).await;
    }

    async fn an_administrator_is_not_offered_a_ban_of_the_own_account_and_does_not_get_it(app) {
        let mut admin = Browser::new(app);
        let email = admin.sign_up().await;
        app.backend.execute(GRANT, &email).await;
        let found = admin.get(&format!("/app/admin/accounts?q={email}")).await.text;
        assert!(found.contains(&format!("<bdi>{email}</bdi>")) && !found.contains("Ban, Account"), "{found}");
        let refused = remove(&mut admin, "user", &email, "by mistake", "410").await;
        assert_eq!(refused.status, 422);
        assert!(refused.text.contains("id=\"value-fault\">This is your own account"), "{refused:?}");
        assert_eq!(admin.get("/app/admin").await.status, 200);
    }

    async fn hosts_and_addresses_are_removed_by_the_form(app) {
        let owner = app.register().await;
        let mut admin = administrator(app).await;
        for (kind, value, target) in [
            ("host", "bad-by-form.example", "https://bad-by-form.example/"),
            ("address", "127.0.0.1", "https://example.org/"),
        ] {
            let code = app.shorten(&owner, target).await;
            leads_to(&remove(&mut admin, kind, value, "spam", "410").await, "/app/admin/removals?done=removed");
            becomes(app, &code, 410).await;
            let page = admin.get("/app/admin/removals").await.text;
            let back = action(&page, "/revoke");
            leads_to(&admin.send("/app/admin/removals", &back, &[]).await, "/app/admin/removals?done=revoked");
            becomes(app, &code, 302).await;
        }
    }

    async fn what_a_removal_lacks_is_said_beside_its_field(app) {
        let mut admin = administrator(app).await;
        for (kind, value, reason, field, text, status) in [
            ("link", "a b", "spam", "value", "Enter the short code", 422),
            ("link", "unknown1", "spam", "value", "There is no such link or account.", 404),
            ("user", "unknown@example.org", "spam", "value", "There is no such link or account.", 404),
            ("host", "*.com", "spam", "value", "The hosts of many owners", 422),
            ("host", "example.org", " ", "reason", "Enter a reason.", 422),
        ] {
            let refused = remove(&mut admin, kind, value, reason, "410").await;
            assert_eq!(refused.status, status, "{value}");
            assert!(refused.text.contains(&format!("id=\"{field}-fault\">{text}")), "{refused:?}");
        }
        let page = admin.get("/app/admin/links?owner=unknown").await;
        assert!(page.text.contains("There is no such account."), "{page:?}");
    }

    async fn hostile_reasons_are_shown_as_text(app) {
        let hostile = "\"><script>alert(1)</script><img src=x onerror=alert(1)> \u{202e}";
        let owner = app.register().await;
        let code = app.shorten(&owner, "https://example.org/").await;
        let report = json!({ "short_code": code, "reason": hostile });
        let reported = Response::of(app.request(Method::POST, "/report").json(&report)).await;
        assert_eq!(reported.status, 202);
        let mut admin = administrator(app).await;
        leads_to(&remove(&mut admin, "link", &code, hostile, "410").await, "/app/admin/removals?done=removed");
        for path in ["/app/admin/removals", "/app/admin/reports", "/app/admin/audit"] {
            let page = admin.get(path).await.text;
            assert!(page.contains("&#34;&#62;&#60;script&#62;alert(1)"), "{path}: {page}");
            assert!(!page.contains("<script>") && !page.contains("<img src=x"), "{path}: {page}");
        }
        for query in ["q", "owner", "kind", "value", "before", "done", "state"] {
            let escaped: String = form_urlencoded::byte_serialize(hostile.as_bytes()).collect();
            for path in PAGES {
                let page = admin.get(&format!("{path}?{query}={escaped}")).await.text;
                assert!(!page.contains("<script>alert"), "{path} {query}: {page}");
            }
        }
    }

    async fn long_lists_are_paged(app) {
        let mut admin = administrator(app).await;
        let csrf = token(&admin.get("/app/admin").await.text);
        for number in 0..55 {
            let value = format!("host-{number}.paged.example");
            let fields = [("kind", "host"), ("value", value.as_str()), ("reason", "spam"), ("status", "410")];
            let made = admin.send_with(&csrf, "/app/admin/removals", &fields, &[]).await;
            leads_to(&made, "/app/admin/removals?done=removed");
        }
        for (path, entry) in [("/app/admin/removals", "paged.example</bdi>"), ("/app/admin/audit", ".paged.example: spam</bdi>")] {
            let mut next = Some(path.to_owned());
            let mut found = 0;
            while let Some(path) = next {
                let page = admin.get(&path).await.text;
                found += page.matches(entry).count();
                let link = page.split("rel=\"next\" href=\"").nth(1);
                next = link.map(|rest| rest.split('"').next().unwrap().replace("&#38;", "&"));
            }
            assert_eq!(found, 55, "{path}");
        }
    }
}

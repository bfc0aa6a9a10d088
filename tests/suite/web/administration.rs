//! The front page of administration, the inbox of reports, roles and passwords, without JavaScript.

use reqwest::Method;
use serde_json::json;

use super::admin::administrator;
use super::browser::{Browser, leads_to, token};
use crate::suite::abuse::{GRANT, becomes};
use crate::support::{App, Backend, Response, both_modes, eventually};

/// Reports a link.
async fn report(app: &App, code: &str, reason: &str) {
    let report = json!({ "short_code": code, "reason": reason });
    let sent = Response::of(app.request(Method::POST, "/report").json(&report)).await;
    assert_eq!(sent.status, 202, "{sent:?}");
}

/// The number of the account with this address, as a page of administrators shows it.
async fn number_of(admin: &mut Browser<'_>, email: &str) -> String {
    let page = admin
        .get(&format!("/app/admin/accounts?q={email}"))
        .await
        .text;
    let rest = page.split("/app/admin/links?owner=").nth(1).expect(&page);
    rest.split('"').next().unwrap().to_owned()
}

/// The part of a page from the entry of a link to the next one.
fn entry<'a>(page: &'a str, code: &str) -> &'a str {
    let entries = page.split("<li class=\"report\">").skip(1);
    let mut entries = entries.filter(|entry| entry.contains(&format!("<strong>{code}</strong>")));
    let found = entries.next().expect(page);
    assert!(entries.next().is_none(), "{code} is there twice");
    found
}

/// The hidden field with this name.
fn hidden<'a>(page: &'a str, name: &str) -> &'a str {
    let rest = page.split(&format!("name=\"{name}\" value=\"")).nth(1);
    rest.expect(page).split('"').next().unwrap()
}

both_modes! {
    async fn the_front_page_says_how_much_there_is_and_how_the_service_is(app) {
        let mut user = Browser::new(app);
        user.sign_up().await;
        let mut codes = Vec::new();
        for path in ["a", "b"] {
            codes.push(user.make(&[("target_url", &format!("https://example.org/{path}"))]).await);
        }
        for reason in ["first", "second"] {
            report(app, &codes[0], reason).await;
        }
        let mut admin = administrator(app).await;
        let page = admin.get("/app/admin").await.text;
        for part in [
            "Open reports</a></dt><dd>2 <span>of 1 link</span>", "Links</a></dt><dd>2</dd>", "Accounts</a></dt><dd>2</dd>",
            env!("CARGO_PKG_VERSION"), "<dt>Database</dt><dd>", ", up, ",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        let redis = match app.backend {
            Backend::Embedded { .. } => "<dt>Redis</dt><dd>not in use</dd>",
            Backend::Production { .. } => "<dt>Redis</dt><dd>up</dd>",
        };
        assert!(page.contains(redis), "{page}");
        for _ in 0..3 {
            assert_eq!(app.visit(&format!("/{}", codes[1])).await.status, 302);
        }
        let admin = tokio::sync::Mutex::new(admin);
        eventually("the clicks are on the front page", async || {
            let page = admin.lock().await.get("/app/admin").await.text;
            page.contains("Clicks in 30 days</dt><dd>3</dd>") && page.contains("</td><td>3</td>")
        })
        .await;
        // What is deleted was followed all the same.
        let delete = format!("/app/links/{}/delete", codes[1]);
        assert_eq!(user.send(&delete, &delete, &[]).await.status, 303);
        let page = admin.lock().await.get("/app/admin").await.text;
        assert!(page.contains("Clicks in 30 days</dt><dd>3</dd>") && page.contains("Links</a></dt><dd>1</dd>"), "{page}");
    }

    async fn reports_are_an_inbox_by_link_and_closed_ones_stay_as_earlier_ones(app) {
        let mut user = Browser::new(app);
        let email = user.sign_up().await;
        let (one, other) = (
            user.make(&[("target_url", "https://reported.example/one")]).await,
            user.make(&[("target_url", "https://reported.example/other")]).await,
        );
        for (code, reason) in [(&one, "first of one"), (&other, "of the other"), (&one, "second of one")] {
            report(app, code, reason).await;
        }
        let mut admin = administrator(app).await;
        let page = admin.get("/app/admin/reports").await.text;
        let seen = entry(&page, &one);
        for part in ["first of one", "second of one", "https://reported.example/one", &email] {
            assert!(seen.contains(part), "{part}: {seen}");
        }
        assert!(entry(&page, &other).contains("of the other") && page.find(&one) < page.find(&other), "{page}");
        let close = format!("/app/admin/reports/{}/close", hidden(seen, "report"));
        report(app, &other, "of the other, too").await;
        leads_to(&admin.send("/app/admin/reports", &close, &[]).await, "/app/admin/reports?done=closed");
        let page = admin.get("/app/admin/reports").await.text;
        assert!(!page.contains(&one) && entry(&page, &other).contains("of the other, too"), "{page}");
        leads_to(&admin.send("/app/admin/reports", &close, &[]).await, "/app/admin/reports?done=none");
        let closed = admin.get("/app/admin/reports?state=closed").await.text;
        let seen = entry(&closed, &one);
        assert!(seen.contains("second of one") && seen.contains("closed on") && !seen.contains("/close\""), "{seen}");
        report(app, &one, "third of one").await;
        let page = admin.get("/app/admin/reports").await.text;
        let seen = entry(&page, &one);
        assert!(seen.contains("third of one") && seen.contains("2 earlier reports, closed") && seen.contains("first of one"), "{seen}");
        let audit = admin.get("/app/admin/audit").await.text;
        assert!(audit.matches("Closed a report:").count() == 2 && audit.contains("second of one"), "{audit}");
    }

    async fn a_report_that_came_after_the_page_stays_open(app) {
        let owner = app.register().await;
        let code = app.shorten(&owner, "https://example.org/").await;
        report(app, &code, "seen").await;
        let mut admin = administrator(app).await;
        let page = admin.get("/app/admin/reports").await.text;
        let close = format!("/app/admin/reports/{}/close", hidden(&page, "report"));
        report(app, &code, "not seen yet").await;
        leads_to(&admin.send("/app/admin/reports", &close, &[]).await, "/app/admin/reports?done=closed");
        let page = admin.get("/app/admin/reports").await.text;
        assert!(entry(&page, &code).contains("not seen yet") && page.contains("1 earlier report, closed"), "{page}");
    }

    async fn a_link_is_removed_and_an_account_banned_from_a_report(app) {
        for (kind, title) in [("link", "Remove "), ("user", "Ban ")] {
            let mut user = Browser::new(app);
            let email = user.sign_up().await;
            let code = user.make(&[("target_url", "https://phishing.example/")]).await;
            report(app, &code, "it asks for my password").await;
            let mut admin = administrator(app).await;
            let page = admin.get("/app/admin/reports").await.text;
            let seen = entry(&page, &code).to_owned();
            let fields: Vec<_> = ["report", "link", "user"].map(|name| (name, hidden(&seen, name))).into_iter()
                .chain([("kind", kind), ("reason", "phishing"), ("status", "410")]).collect();
            let asked = admin.send("/app/admin/reports", "/app/admin/removals/ask", &fields).await;
            assert!(asked.status == 200 && asked.text.contains(title) && asked.text.contains(&email), "{asked:?}");
            assert_eq!(app.visit(&format!("/{code}")).await.status, 302, "only asked");
            let fields = ["kind", "value", "reason", "status", "report"].map(|name| (name, hidden(&asked.text, name)));
            let removed = admin.send_with(&token(&asked.text), "/app/admin/removals", &fields, &[]).await;
            leads_to(&removed, "/app/admin/reports?done=removed");
            becomes(app, &code, 410).await;
            assert!(!admin.get("/app/admin/reports").await.text.contains(&code));
            let closed = admin.get("/app/admin/reports?state=closed").await.text;
            let seen = entry(&closed, &code);
            assert!(seen.contains("removed, 410") && seen.contains("1 link removed"), "{seen}");
            assert_eq!(seen.contains("account banned"), kind == "user", "{seen}");
        }
    }

    async fn accounts_are_listed_with_their_numbers(app) {
        let mut user = Browser::new(app);
        let email = user.sign_up().await;
        let code = user.make(&[("target_url", "https://example.org/")]).await;
        app.account("/auth/login", &email, "correct horse").await;
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        let admin = tokio::sync::Mutex::new(administrator(app).await);
        eventually("the click is in the list", async || {
            let page = admin.lock().await.get(&format!("/app/admin/accounts?q={email}")).await.text;
            page.contains(">1 link</a> · 1 click in 30 days") && page.contains("signed in last on ") && page.contains("since ")
        })
        .await;
    }

    async fn the_role_of_an_administrator_is_given_and_taken_on_a_page(app) {
        let mut admin = administrator(app).await;
        let mut user = Browser::new(app);
        let email = user.sign_up().await;
        let path = format!("/app/admin/accounts/{}/role", number_of(&mut admin, &email).await);
        let asked = admin.get(&path).await.text;
        assert!(asked.contains(&format!("Make {email} an administrator?")), "{asked}");
        assert_eq!(user.get("/app/admin").await.status, 403, "only asked");
        let given = admin.send(&path, &path, &[("role", hidden(&asked, "role"))]).await;
        leads_to(&given, "/app/admin/accounts?done=granted");
        assert_eq!(user.get("/app/admin").await.status, 200);
        let asked = admin.get(&path).await.text;
        assert!(asked.contains(&format!("Take the role of an administrator from {email}?")), "{asked}");
        let taken = admin.send(&path, &path, &[("role", hidden(&asked, "role"))]).await;
        leads_to(&taken, "/app/admin/accounts?done=taken");
        assert_eq!(user.get("/app/admin").await.status, 403);
        let audit = admin.get("/app/admin/audit").await.text;
        assert!(audit.contains("Made an administrator:") && audit.contains("Took the role of an administrator:"), "{audit}");
        assert_eq!(admin.get("/app/admin/accounts/999999/role").await.status, 404);
    }

    async fn the_last_administrator_keeps_the_role(app) {
        let mut admin = Browser::new(app);
        let email = admin.sign_up().await;
        app.backend.execute(GRANT, &email).await;
        let path = format!("/app/admin/accounts/{}/role", number_of(&mut admin, &email).await);
        let asked = admin.get(&path).await.text;
        assert!(asked.contains("This is your own account"), "{asked}");
        let refused = admin.send(&path, &path, &[("role", "")]).await;
        assert_eq!(refused.status, 409);
        assert!(refused.text.contains("This is the only administrator."), "{refused:?}");
        // Of two who take each other's role at the same moment, one keeps it.
        let mut second = Browser::new(app);
        let other = second.sign_up().await;
        app.backend.execute(GRANT, &other).await;
        let other = format!("/app/admin/accounts/{}/role", number_of(&mut admin, &other).await);
        let (first_token, second_token) = (token(&admin.get(&other).await.text), token(&second.get(&path).await.text));
        let (first, last) = tokio::join!(
            admin.send_with(&first_token, &other, &[("role", "")], &[]),
            second.send_with(&second_token, &path, &[("role", "")], &[])
        );
        assert!(first.status != 500 && last.status != 500, "{first:?} {last:?}");
        let statuses = [admin.get("/app/admin").await.status.as_u16(), second.get("/app/admin").await.status.as_u16()];
        assert!(statuses == [200, 403] || statuses == [403, 200], "{statuses:?}");
        // With another administrator the own role can be given away.
        let (mut left, own) = if statuses[0] == 200 { (admin, path) } else { (second, other) };
        let mut third = administrator(app).await;
        leads_to(&left.send(&own, &own, &[("role", "")]).await, "/app");
        assert_eq!(left.get("/app/admin").await.status, 403);
        assert_eq!(third.get("/app/admin").await.status, 200);
    }

    async fn an_administrator_gives_an_account_a_new_password_once(app) {
        let mut admin = administrator(app).await;
        let mut user = Browser::new(app);
        let email = user.sign_up().await;
        let path = format!("/app/admin/accounts/{}/password", number_of(&mut admin, &email).await);
        assert!(admin.get(&path).await.text.contains(&format!("Give {email} a new password?")));
        assert_eq!(user.get("/app").await.status, 200, "only asked");
        let done = admin.send(&path, &path, &[]).await;
        assert_eq!(done.status, 200, "{done:?}");
        assert_eq!(done.header("cache-control"), "no-store");
        let password = done.text.split("<code>").nth(1).unwrap().split('<').next().unwrap();
        leads_to(&user.get("/app").await, "/app/login");
        assert_eq!(app.account("/auth/login", &email, "correct horse").await.status, 401);
        assert_eq!(app.account("/auth/login", &email, password).await.status, 200);
        let audit = admin.get("/app/admin/audit").await.text;
        assert!(audit.contains("Set a new password:") && !audit.contains(password), "{audit}");
        assert!(!app.server.log().contains(password), "the password is in the log");
    }

    async fn a_banned_account_gets_no_role_and_no_password(app) {
        let mut admin = administrator(app).await;
        let mut user = Browser::new(app);
        let email = user.sign_up().await;
        let id = number_of(&mut admin, &email).await;
        let fields = [("kind", "user"), ("value", id.as_str()), ("reason", "spam"), ("status", "410")];
        assert_eq!(admin.send("/app/admin/removals", "/app/admin/removals", &fields).await.status, 303);
        for (page, fields) in [("role", &[("role", "admin")][..]), ("password", &[])] {
            let path = format!("/app/admin/accounts/{id}/{page}");
            let refused = admin.send("/app/admin/accounts", &path, fields).await;
            assert_eq!(refused.status, 422, "{refused:?}");
            assert!(refused.text.contains("The account is banned."), "{refused:?}");
        }
    }

    async fn administration_is_in_the_language_of_the_browser(app) {
        let mut admin = administrator(app).await;
        let owner = app.register().await;
        let code = app.shorten(&owner, "https://example.org/").await;
        report(app, &code, "spam").await;
        for (path, said) in [
            ("/app/admin", "Offene Meldungen"), ("/app/admin/reports", "Entfernen oder sperren"), ("/app/admin/links", "Code, Ziel oder Titel"),
            ("/app/admin/accounts", "Zum Administrator machen"), ("/app/admin/removals", "Etwas entfernen"),
            ("/app/admin/domains", "Domain hinzufügen"), ("/app/admin/audit", "Protokoll"), ("/app/admin/invitations", "Jemanden einladen"),
        ] {
            let request = admin.request(Method::GET, path).header("accept-language", "de");
            let page = Response::of(request).await.text;
            assert!(page.contains(said) && page.contains("<html lang=\"de\">"), "{path}: {page}");
        }
        let csrf = token(&admin.get("/app/admin/removals").await.text);
        let fields = [("kind", "host"), ("value", "*.com"), ("reason", "spam"), ("status", "410")];
        let headers = [("accept-language", "de")];
        let refused = admin.send_with(&csrf, "/app/admin/removals/ask", &fields, &headers).await;
        assert!(refused.status == 422 && refused.text.contains("Auf diesen Namen enden"), "{refused:?}");
    }
}

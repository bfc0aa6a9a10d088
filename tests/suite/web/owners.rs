//! Pages for owners, without JavaScript: signing in, links, the account, and what a hostile page may try.

use super::browser::{Browser, leads_to, token};
use crate::support::{Mode, Response, both_modes, raw, with_app_and_settings, within_a_minute};

both_modes! {
    async fn signed_out_a_page_leads_to_the_form_and_back_but_never_elsewhere(app) {
        let email = Browser::new(app).sign_up().await;
        let mut browser = Browser::new(app);
        leads_to(&browser.get("/app").await, "/app/login");
        let asked = browser.get("/app/account").await;
        leads_to(&asked, "/app/login?next=%2Fapp%2Faccount");
        let wrong = [("email", email.as_str()), ("password", "wrong horse")];
        let refused = browser.send("/app/login", "/app/login", &wrong).await;
        assert_eq!(refused.status, 401);
        assert!(refused.text.contains("The e-mail address or the password is wrong."), "{refused:?}");
        assert!(!refused.text.contains("wrong horse"), "a password is never in a page");
        for (next, path) in [
            ("/app/account", "/app/account"),
            ("https://evil.example/", "/app"),
            ("//evil.example", "/app"),
            ("/app//evil.example", "/app"),
            ("/\\evil.example", "/app"),
        ] {
            let mut browser = Browser::new(app);
            let fields = [("email", email.as_str()), ("password", "correct horse"), ("next", next)];
            leads_to(&browser.send("/app/login", "/app/login", &fields).await, path);
        }
    }

    /// A short link that leads anywhere stands behind each of these, if a browser reads it so.
    async fn no_spelling_of_a_page_leads_to_a_short_link_after_signing_in(app) {
        let mut owner = Browser::new(app);
        let email = owner.sign_up().await;
        owner.make(&[("target_url", "https://evil.example/"), ("custom_code", "bob1")]).await;
        let base = url::Url::parse("https://sho.rt").unwrap();
        let stays = |place: &str, next: &str| {
            let led = base.join(place).unwrap();
            let is_below = led.path() == "/app" || led.path().starts_with("/app/");
            assert!(led.origin() == base.origin() && is_below, "{next} leads to {led}");
        };
        for next in [
            "/app/%2e%2e/bob1", "/app/.%2E/bob1", "/app/%2e%2e%2fbob1", "/app/%252e%252e/bob1", "/app/../bob1", "/app/..\\bob1",
            "/app\\..\\bob1", "/app/.\t./bob1", "/app/.\n./bob1", "/app/x/../../bob1", "/app/account/%2e%2e/%2e%2e/bob1", "/app/..;/bob1",
            "/app/%2e%2e/urls/r/bob1", "/bob1", "//evil.example", "/app//evil.example", "/\t/evil.example", "\\\\evil.example",
            "https:/bob1", "https:bob1", "/app%2f..%2fbob1", "/app/..%5cbob1",
        ] {
            let query = form_urlencoded::Serializer::new(String::new()).append_pair("next", next).finish();
            let at_once = owner.get(&format!("/app/login?{query}")).await;
            assert_eq!(at_once.status, 303, "{at_once:?}");
            stays(at_once.header("location"), next);
            let mut browser = Browser::new(app);
            let page = browser.get(&format!("/app/login?{query}")).await.text;
            let field = page.split("name=\"next\" value=\"").nth(1).unwrap().split('"').next().unwrap();
            stays(field, next);
            // Where a form is sent from and its session has ended, its page is named by the browser.
            for page in [format!("https://sho.rt{next}"), next.to_owned()] {
                if let Ok(page) = reqwest::header::HeaderValue::try_from(page) {
                    let sent = app.request(reqwest::Method::POST, "/app/links").header("referer", page);
                    let led = base.join(Response::of(sent).await.header("location")).unwrap();
                    assert_eq!(led.path(), "/app/login");
                    let (_, after) = led.query_pairs().find(|(name, _)| name == "next").unwrap_or_default();
                    stays(if after.is_empty() { "/app" } else { &after }, next);
                }
            }
        }
        // A sign-in is dear: a few are enough, as all of them go through the same function.
        for next in ["/app/%2e%2e/bob1", "/app/.\t./bob1", "/app\\..\\bob1"] {
            let mut browser = Browser::new(app);
            let fields = [("email", email.as_str()), ("password", "correct horse"), ("next", next)];
            leads_to(&browser.send("/app/login", "/app/login", &fields).await, "/app");
        }
        // A browser sends no such path; another client may.
        let asked = raw::get(&app.server.base, "/app/links/%2e%2e/delete").await;
        assert!(asked.contains("\r\nlocation: /app/login?next=%2Fapp%2Fdelete\r\n"), "{asked}");
    }

    async fn a_session_is_a_cookie_that_scripts_and_the_api_do_not_get(app) {
        let mut browser = Browser::new(app);
        let csrf = token(&browser.get("/app/register").await.text);
        let email = format!("{}@example.org", crate::support::unique());
        let fields = [("email", email.as_str()), ("password", "correct horse")];
        let response = browser.send_with(&csrf, "/app/register", &fields, &[]).await;
        let cookie = response.headers["set-cookie"].to_str().unwrap();
        assert!(cookie.starts_with("shunt_session="), "{cookie}");
        assert!(cookie.contains("; Path=/; HttpOnly; SameSite=Lax"), "{cookie}");
        assert_eq!(browser.get("/app").await.status, 200);
        browser.get("/urls/my").await.is_error(401, "Not authenticated");
        let session = browser.cookies["shunt_session"].clone();
        app.get_as(&session, "/urls/my").await.is_error(401, "Not authenticated");
    }

    async fn a_form_from_elsewhere_is_refused(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let csrf = token(&browser.get("/app").await.text);
        let fields = [("target_url", "https://example.org/")];
        for (csrf, headers) in [
            ("", &[][..]),
            ("0123456789abcdef0123456789abcdef", &[]),
            (csrf.as_str(), &[("sec-fetch-site", "cross-site")]),
            (csrf.as_str(), &[("sec-fetch-site", "same-site")]),
            (csrf.as_str(), &[("origin", "https://evil.example")]),
            (csrf.as_str(), &[("origin", "null")]),
        ] {
            let refused = browser.send_with(csrf, "/app/links", &fields, headers).await;
            assert_eq!(refused.status, 403, "{headers:?}");
        }
        assert!(browser.get("/app").await.text.contains("No links yet"));
        let own = [("sec-fetch-site", "same-origin")];
        assert_eq!(browser.send_with(&csrf, "/app/links", &fields, &own).await.status, 303);
        let stranger = browser.send_with("", "/app/login", &[("email", "a@b.example")], &[]).await;
        assert_eq!(stranger.status, 403, "signing in needs the form's token, too");
    }

    async fn a_link_is_made_found_changed_and_deleted(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[
            ("target_url", "https://example.org/spring"), ("title", "Spring sale"), ("tags", "print, spring"),
            ("max_clicks", "5"), ("expires_at", "2099-01-31T18:00"),
        ]).await;
        let other = browser.make(&[("target_url", "https://example.org/other")]).await;
        let edit = format!("/app/links/{code}/edit");
        let page = browser.get(&edit).await.text;
        for text in ["Spring sale", "value=\"2099-01-31T18:00\"", "value=\"5\"", "print, spring"] {
            assert!(page.contains(text), "{text}: {page}");
        }
        for (query, found) in [("q=SPRING", true), ("tag=print", true), ("status=inactive", false), ("q=other", false)] {
            let list = browser.get(&format!("/app?{query}")).await.text;
            assert_eq!(list.contains(&format!("/app/links/{code}\"")), found, "{query}");
        }
        let refused = browser.get("/app?status=asleep").await;
        assert_eq!(refused.status, 422);
        assert!(refused.text.contains("No link can have this status"), "{refused:?}");
        let path = format!("/app/links/{code}");
        let revision = |page: &str| {
            let at = page.find("name=\"revision\" value=\"").unwrap();
            page[at..].split('"').nth(3).unwrap().to_owned()
        };
        let changed = [("target_url", "https://example.org/autumn"), ("is_active", "on"), ("revision", &revision(&page))];
        leads_to(&browser.send(&edit, &edit, &changed).await, &format!("{path}?saved=1"));
        let stale = browser.send(&edit, &edit, &changed).await;
        assert_eq!(stale.status, 412);
        assert!(stale.text.contains("was changed meanwhile"), "{stale:?}");
        let visit = app.get(&format!("/{code}")).await;
        assert_eq!(visit.header("location"), "https://example.org/autumn");
        assert!(browser.get(&format!("{path}?saved=1")).await.text.contains("role=\"status\">Saved."));
        for (active, status) in [("off", 404), ("on", 302)] {
            leads_to(&browser.send(&path, &path, &[("active", active)]).await, &format!("{path}?saved=1"));
            assert_eq!(app.get(&format!("/{code}")).await.status, status);
        }
        leads_to(&browser.send(&path, &format!("{path}/delete"), &[]).await, &format!("/app?done=deleted&undo={code}"));
        app.get(&format!("/{code}")).await.is_error(404, "URL not found");
        assert_eq!(browser.get(&path).await.status, 404);
        let mut stranger = Browser::new(app);
        stranger.sign_up().await;
        for page in ["", "/edit", "/qr"] {
            assert_eq!(stranger.get(&format!("/app/links/{other}{page}")).await.status, 404, "{page}");
        }
    }

    async fn a_deletion_is_undone_from_the_list_and_from_the_bin(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = browser.make(&[("target_url", "https://example.org/"), ("title", "Spring <sale>")]).await;
        let path = format!("/app/links/{code}");
        let asked = browser.get(&format!("{path}/delete")).await.text;
        assert!(asked.contains("For 30 days you can restore it from the bin with its clicks."), "{asked}");
        let undo = format!("/app?done=deleted&undo={code}");
        leads_to(&browser.send(&path, &format!("{path}/delete"), &[]).await, &undo);
        let list = browser.get(&undo).await.text;
        assert!(list.contains(">Undo</button>") && list.contains(&format!("name=\"code\" value=\"{code}\"")), "{list}");
        let restored = browser.send(&undo, "/app/trash/restore", &[("code", &code), ("place", "q=sale")]).await;
        leads_to(&restored, "/app?q=sale&done=restored");
        assert!(browser.get("/app?done=restored").await.text.contains("Restored."));
        browser.send(&path, &format!("{path}/delete"), &[]).await;
        let bin = browser.get("/app/trash").await.text;
        assert!(bin.contains("Spring &#60;sale&#62;") && bin.contains("0 clicks"), "{bin}");
        let restored = browser.send("/app/trash", "/app/trash/restore", &[("code", &code)]).await;
        leads_to(&restored, "/app/trash?done=restored");
        browser.send(&path, &format!("{path}/delete"), &[]).await;
        let end = format!("/app/trash/{code}/delete");
        assert!(browser.get(&end).await.text.contains("for good?"));
        leads_to(&browser.send("/app/trash", &end, &[]).await, "/app/trash?done=ended");
        leads_to(&browser.send("/app/account", &end, &[]).await, "/app/trash?done=none");
        let bin = browser.get("/app/trash?done=ended").await.text;
        assert!(bin.contains("The bin is empty") && bin.contains("Deleted for good."), "{bin}");
        let gone = browser.send("/app/account", "/app/trash/restore", &[("code", &code)]).await;
        leads_to(&gone, "/app/trash?done=none");
        assert_eq!(browser.send_with("", "/app/trash/restore", &[("code", &code)], &[]).await.status, 403);
    }

    async fn several_links_are_tagged_ended_and_deleted_at_once(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let mut codes = Vec::new();
        for number in 0..3 {
            let target = format!("https://example.org/{number}");
            codes.push(browser.make(&[("target_url", &target)]).await);
        }
        let token_of_other = app.register().await;
        let foreign = app.shorten(&token_of_other, "https://example.org/").await;
        let two = [("code", codes[0].as_str()), ("code", codes[1].as_str()), ("code", foreign.as_str())];
        let tag = [&two[..], &[("action", "tag"), ("tag", "old")]].concat();
        leads_to(&browser.send("/app", "/app/links/selected", &tag).await, "/app?done=tagged");
        let tagged = browser.get("/app?tag=old").await.text;
        assert_eq!(tagged.matches("class=\"code\"").count(), 2);
        let list = "q=example.org%2F&tag=old&sort=created_at";
        let none = browser.send("/app", "/app/links/selected", &[("action", "pause"), ("place", list)]).await;
        leads_to(&none, &format!("/app?{list}&done=none"));
        let pause_here = [("code", foreign.as_str()), ("action", "pause"), ("place", &format!("{list}&done=deleted&x=//evil.example"))];
        leads_to(&browser.send("/app", "/app/links/selected", &pause_here).await, &format!("/app?{list}&done=paused"));
        let pause = [&two[..], &[("action", "pause")]].concat();
        leads_to(&browser.send("/app", "/app/links/selected", &pause).await, "/app?done=paused");
        app.get(&format!("/{}", codes[0])).await.is_error(404, "URL not found");
        let delete = [&two[..], &[("action", "delete")]].concat();
        let undo = format!("/app?done=deleted&undo={}+{}+{foreign}", codes[0], codes[1]);
        leads_to(&browser.send("/app", "/app/links/selected", &delete).await, &undo);
        assert_eq!(browser.get("/app").await.text.matches("class=\"code\"").count(), 1);
        assert_eq!(app.get(&format!("/urls/{foreign}/stats")).await.status, 200);
    }

    async fn a_refused_field_keeps_what_was_entered_and_has_the_apis_words(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        for (field, value, words) in [
            ("target_url", "nonsense", "Enter a complete web address with a valid host"),
            ("custom_code", "app", "custom_code"),
            ("max_clicks", "0", "Enter a whole number from 1 to 9,007,199,254,740,991."),
            ("expires_at", "2001-01-01T00:00", "Choose a moment in the future."),
            ("starts_at", "soon", "Enter a date and a time, such as 2027-01-31 18:00."),
            ("fallback_url", "nonsense", "Enter a complete web address with a valid host"),
        ] {
            let mut fields = vec![("title", "Kept \"title\""), (field, value)];
            if field != "target_url" {
                fields.push(("target_url", "https://example.org/"));
            }
            let refused = browser.send("/app/links/new", "/app/links", &fields).await;
            assert_eq!(refused.status, 422, "{field}");
            assert!(refused.text.contains("value=\"Kept &#34;title&#34;\""), "{}", refused.text);
            let fault = refused.text.split(&format!("id=\"{field}-fault\">")).nth(1).expect(field);
            if field != "custom_code" {
                assert!(fault.starts_with(words), "{field}: {fault}");
            }
        }
    }

    async fn no_text_of_an_owner_becomes_markup(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        for vector in [
            "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "'><svg/onload=alert(1)>",
            "</title><script>alert(1)</script>", "{{7*7}}", "\"onfocus=alert(1) autofocus=\"", "<a href=javascript:alert(1)>x",
        ] {
            let target = format!("https://example.org/?q={vector}");
            let code = browser.make(&[("target_url", &target), ("title", vector), ("tags", &vector.replace(',', ""))]).await;
            for path in ["/app".to_owned(), format!("/app/links/{code}"), format!("/{code}+")] {
                let page = browser.get(&path).await;
                assert_eq!(page.status, 200, "{path}");
                for part in ["<script>alert", "<img src=x", "<svg/onload", "\"onfocus", "<a href=javascript"] {
                    assert!(!page.text.contains(part), "{path}: {part}");
                }
            }
        }
    }

    async fn a_key_for_programs_is_shown_once_and_ends(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let nameless = browser.send("/app/account", "/app/account/keys", &[("scope", "read")]).await;
        assert_eq!(nameless.status, 422);
        assert!(nameless.text.contains("id=\"name-fault\">Enter a name of 1 to 100 characters."), "{nameless:?}");
        let past = [("name", "late"), ("scope", "read"), ("expires_at", "2001-01-01T00:00")];
        let past = browser.send("/app/account", "/app/account/keys", &past).await;
        assert_eq!(past.status, 422);
        assert!(past.text.contains("id=\"expires_at-fault\">Choose a moment in the future."), "{past:?}");
        let fields = [("name", "<b>nightly</b>"), ("scope", "read"), ("expires_at", "2099-01-31T18:00")];
        let made = browser.send("/app/account", "/app/account/keys", &fields).await.text;
        assert!(made.contains("<h1>Your new API key</h1>") && made.contains("may read"), "{made}");
        let key = made.split("<code>").nth(1).unwrap().split('<').next().unwrap().to_owned();
        assert_eq!(app.get_as(&key, "/urls/my").await.status, 200);
        let page = browser.get("/app/account").await.text;
        assert!(!page.contains(&key) && !page.contains("<b>nightly"), "{page}");
        assert!(page.contains("expires 31 Jan 2099"), "{page}");
        let id = page.split("/app/account/keys/").nth(1).unwrap().split('/').next().unwrap();
        let path = format!("/app/account/keys/{id}/delete");
        leads_to(&browser.send("/app/account", &path, &[]).await, "/app/account?done=key");
        app.get_as(&key, "/urls/my").await.is_error(401, "Not authenticated");
    }

    async fn the_navigation_says_which_page_this_is(app) {
        let mut browser = Browser::new(app);
        let email = browser.sign_up().await;
        app.backend.execute(crate::suite::abuse::GRANT, &email).await;
        for path in ["/app", "/app/all", "/app/account", "/app/admin"] {
            let page = browser.get(path).await.text;
            assert!(page.contains(&format!("<a href=\"{path}\" aria-current=\"page\">")), "{path}: {page}");
            assert_eq!(page.split("</nav>").next().unwrap().matches("aria-current").count(), 1, "{path}");
        }
    }

    async fn signing_in_again_begins_a_new_session_and_the_former_one_ends(app) {
        let mut browser = Browser::new(app);
        let email = browser.sign_up().await;
        let mut copied = Browser::new(app);
        copied.cookies = browser.cookies.clone();
        assert_eq!(copied.get("/app").await.status, 200);
        let login = [("email", email.as_str()), ("password", "correct horse")];
        // The form for signing in leads on at once, and that for signing up has the same token.
        leads_to(&browser.send("/app/register", "/app/login", &login).await, "/app");
        assert_eq!(browser.get("/app").await.status, 200);
        leads_to(&copied.get("/app").await, "/app/login");
    }

    async fn sessions_end_one_by_one_and_all_together(app) {
        let mut here = Browser::new(app);
        let email = here.sign_up().await;
        let mut there = Browser::new(app);
        let login = [("email", email.as_str()), ("password", "correct horse")];
        leads_to(&there.send("/app/login", "/app/login", &login).await, "/app");
        let page = here.get("/app/account").await.text;
        let ids: Vec<_> = page.split("/app/account/sessions/").skip(1).map(|rest| rest.split('/').next().unwrap().to_owned()).collect();
        assert_eq!(ids.len(), 2, "{page}");
        // The newest comes first.
        let path = format!("/app/account/sessions/{}/end", ids[0]);
        leads_to(&here.send("/app/account", &path, &[]).await, "/app/account?done=session");
        leads_to(&there.get("/app").await, "/app/login");
        assert_eq!(here.get("/app").await.status, 200);
        let mut stranger = Browser::new(app);
        stranger.sign_up().await;
        let path = format!("/app/account/sessions/{}/end", ids[1]);
        assert_eq!(stranger.send("/app/account", &path, &[]).await.status, 404);

        leads_to(&there.send("/app/login", "/app/login", &login).await, "/app");
        let password = [("old_password", "correct horse"), ("new_password", "battery staple")];
        leads_to(&here.send("/app/account", "/app/account/password", &password).await, "/app/account?done=password");
        assert_eq!(here.get("/app").await.status, 200, "this browser goes on");
        leads_to(&there.get("/app").await, "/app/login");

        let login = [("email", email.as_str()), ("password", "battery staple")];
        leads_to(&there.send("/app/login", "/app/login", &login).await, "/app");
        let signed_out = there.send("/app", "/app/logout", &[]).await;
        leads_to(&signed_out, "/app/login");
        assert_eq!(signed_out.header("clear-site-data"), "\"storage\"");
        leads_to(&there.get("/app").await, "/app/login");
        let old = here.cookies.clone();
        leads_to(&here.send("/app/account", "/app/logout-everywhere", &[]).await, "/app/login");
        here.cookies = old;
        leads_to(&here.get("/app").await, "/app/login");

        leads_to(&here.send("/app/login", "/app/login", &login).await, "/app");
        let wrong = here.send("/app/account", "/app/account/delete", &[("password", "wrong horse")]).await;
        assert_eq!(wrong.status, 403);
        assert!(wrong.text.contains("id=\"password-fault\">The password is wrong."), "{wrong:?}");
        for (old, new, fault) in [
            ("wrong horse", "battery staple two", "id=\"old_password-fault\">The password is wrong."),
            ("battery staple", "short", "id=\"new_password-fault\">Use 8 to 128 characters."),
            ("battery staple", "iloveyou123", "id=\"new_password-fault\">"),
        ] {
            let fields = [("old_password", old), ("new_password", new)];
            let refused = here.send("/app/account", "/app/account/password", &fields).await;
            assert!(refused.text.contains(fault), "{fault}: {refused:?}");
        }
        leads_to(&here.send("/app/account", "/app/account/delete", &[("password", "battery staple")]).await, "/app/login");
        assert_eq!(here.send("/app/login", "/app/login", &login).await.status, 401);
    }
}

#[tokio::test]
async fn the_forms_share_the_limits_of_the_api_and_say_when_to_try_again() {
    let limits = [("LIMIT_LOGIN", "3"), ("LIMIT_CREATE", "3")];
    for mode in [Mode::Embedded, Mode::Production] {
        with_app_and_settings(mode, &limits, async |app| {
            let mut browser = Browser::new(app);
            let email = browser.sign_up().await;
            let logged_in = within_a_minute(async || {
                // Signed in at the end of a minute, it would have another token.
                let mut stranger = Browser::new(app);
                let csrf = token(&stranger.get("/app/login").await.text);
                let client = format!("203.0.113.{}", getrandom::u64().unwrap() % 250);
                let forwarded = [("x-forwarded-for", client.as_str())];
                for _ in 0..3 {
                    let body = serde_json::json!({ "email": "nobody@example.org", "password": "wrong horse" });
                    let request = app.request(reqwest::Method::POST, "/auth/login").header("x-forwarded-for", &client);
                    Response::of(request.json(&body)).await;
                }
                let fields = [("email", email.as_str()), ("password", "correct horse")];
                stranger.send_with(&csrf, "/app/login", &fields, &forwarded).await
            })
            .await;
            let made = within_a_minute(async || {
                for number in 0..3 {
                    let target = format!("https://example.org/{number}");
                    browser.send("/app", "/app/links", &[("target_url", &target)]).await;
                }
                browser.send("/app", "/app/links", &[("target_url", "https://example.org/")]).await
            })
            .await;
            for refused in [logged_in, made] {
                assert_eq!(refused.status, 429, "{refused:?}");
                assert!(!refused.header("retry-after").is_empty(), "{refused:?}");
                let said = ["Too many requests; try again in", "There were too many attempts. Try again in"];
                assert!(said.iter().any(|said| refused.text.contains(said)), "{refused:?}");
            }
        })
        .await;
    }
}

#[tokio::test]
async fn behind_https_cookies_are_secure_and_tied_to_the_host() {
    with_app_and_settings(
        Mode::Embedded,
        &[("BASE_URL", "https://sho.rt")],
        async |app| {
            let mut browser = Browser::new(app);
            let csrf = token(&browser.get("/app/register").await.text);
            let fields = [("email", "ada@example.org"), ("password", "correct horse")];
            let response = browser
                .send_with(&csrf, "/app/register", &fields, &[])
                .await;
            let cookies: Vec<_> = response.headers.get_all("set-cookie").iter().collect();
            assert_eq!(
                cookies.len(),
                2,
                "the session, and the end of the form's: {response:?}"
            );
            for cookie in cookies {
                let cookie = cookie.to_str().unwrap();
                assert!(cookie.starts_with("__Host-shunt"), "{cookie}");
                let attributes = "; Path=/; HttpOnly; SameSite=Lax; Secure";
                assert!(cookie.contains(attributes), "{cookie}");
            }
            assert_eq!(browser.get("/app").await.status, 200);
        },
    )
    .await;
}

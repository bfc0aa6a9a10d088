//! Pages for visitors: the start page, errors, the preview.

use reqwest::Method;

use super::browser::{ACCEPT, Browser, leads_to};
use crate::suite::abuse::{admin, id_of, remove};
use crate::support::{App, Response, both_modes};

/// Most that such a page may have with all that it loads.
const MAX_BYTES: usize = 15 * 1024;

async fn page(app: &App, path: &str, language: &str) -> Response {
    let request = app.request(Method::GET, path).header("accept", ACCEPT);
    Response::of(request.header("accept-language", language)).await
}

/// Paths of the page's own style and images.
fn parts(page: &str) -> Vec<String> {
    let quoted = page.split(['"', '\'']);
    let mut parts: Vec<_> = quoted
        .filter(|text| text.starts_with("/assets/"))
        .map(str::to_owned)
        .collect();
    parts.sort();
    parts.dedup();
    parts
}

both_modes! {
    async fn a_browser_gets_a_page_and_any_other_client_the_json(app) {
        for path in ["/nosuch1", "/urls/r/nosuch1", "/no/such/path", "/%4eosuch1"] {
            let json = app.get(path).await;
            let page = page(app, path, "en").await;
            assert_eq!((json.status, page.status), (page.status, json.status), "{path}");
            assert_eq!(json.header("content-type"), "application/json");
            assert_eq!(page.header("content-type"), "text/html; charset=utf-8", "{path}");
            assert_eq!(page.header("vary"), "Accept, Accept-Language, Cookie");
        }
        // The API speaks JSON to browsers, too.
        page(app, "/urls/my", "en").await.is_error(401, "Not authenticated");
        let head = app.request(Method::HEAD, "/nosuch1").header("accept", ACCEPT);
        let head = Response::of(head).await;
        assert_eq!((head.status.as_u16(), head.text.as_str()), (404, ""));
        for accept in [ACCEPT, "*/*"] {
            let posted = Response::of(app.request(Method::POST, "/").header("accept", accept)).await;
            let allowed = posted.header("allow").replace(' ', "");
            assert_eq!((posted.status.as_u16(), allowed.as_str()), (405, "GET,HEAD"), "{accept}");
        }
    }

    async fn the_start_page_and_a_preview_are_for_every_client_that_takes_a_page(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for path in ["/".to_owned(), format!("/{code}+"), format!("/{code}%2B"), format!("/{code}+/")] {
            for accept in [ACCEPT, "*/*", "text/*", "text/html;q=0.5, application/json", "application/json, */*;q=0.1"] {
                let page = Response::of(app.request(Method::GET, &path).header("accept", accept)).await;
                assert_eq!(page.status, 200, "{path} {accept}");
                assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
                assert!(page.header("vary").contains("Accept"), "{page:?}");
                let head = Response::of(app.request(Method::HEAD, &path).header("accept", accept)).await;
                assert_eq!((head.status.as_u16(), head.text.as_str()), (200, ""), "{path} {accept}");
            }
            // RFC 9110, 12.5.1: a request without the header takes anything.
            assert_eq!(app.get(&path).await.header("content-type"), "text/html; charset=utf-8");
            for accept in ["application/json", "text/html;q=0, */*", "image/png"] {
                let refused = Response::of(app.request(Method::GET, &path).header("accept", accept)).await;
                assert_eq!(refused.status, 404, "{path} {accept}");
                assert_eq!(refused.header("content-type"), "application/json");
            }
        }
        assert_eq!(app.clicks(&code).await, 0);
        // Where JSON says as much, a client that takes anything gets it.
        for path in ["/nosuch1", "/nosuch1+"] {
            let other = Response::of(app.request(Method::GET, path).header("accept", "*/*")).await;
            other.is_error(404, "URL not found");
        }
    }

    async fn a_page_of_owners_may_have_a_slash_behind_it(app) {
        let mut ada = Browser::new(app);
        leads_to(&ada.get("/app/").await, "/app/login");
        assert_eq!(ada.get("/app/login/").await.status, 200);
        ada.sign_up().await;
        let code = ada.make(&[("target_url", "https://example.org/")]).await;
        let link = format!("/app/links/{code}/");
        leads_to(&ada.get("/app/links/").await, "/app");
        for path in ["/app/", "/app/?q=x", "/app/links/new/", "/app/account/", "/app/import/", "/app/all/", &link] {
            let page = ada.get(path).await;
            assert_eq!((page.status.as_u16(), page.header("content-type")), (200, "text/html; charset=utf-8"), "{path}");
        }
        for path in ["/app//", "/app/nothing/", "/app/links//"] {
            assert_eq!(ada.get(path).await.status, 404, "{path}");
        }
        let end = format!("/app/links/{code}/delete/");
        assert_eq!(ada.send("/app/account", &end, &[]).await.status, 303);
        assert_eq!(app.visit(&format!("/{code}")).await.status, 404);
    }

    async fn an_ended_link_says_so_in_the_visitors_language(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let patch = app.request(Method::PATCH, &format!("/urls/{code}")).bearer_auth(&token);
        assert_eq!(Response::of(patch.body("{\"is_active\": false}")).await.status, 200);
        for (language, title) in [
            ("en", "This link is not active"),
            ("de-CH, en;q=0.5", "Dieser Link ist nicht aktiv"),
            ("ja", "このリンクは現在無効です"),
            ("nl", "This link is not active"),
        ] {
            for path in [format!("/{code}"), format!("/urls/r/{code}")] {
                let page = page(app, &path, language).await;
                assert_eq!(page.status, 404);
                assert!(page.text.contains(&format!("<h1>{title}</h1>")), "{page:?}");
            }
        }
        app.get(&format!("/{code}")).await.is_error(404, "URL not found");
    }

    async fn a_preview_shows_the_target_uncounted(app) {
        let token = app.register().await;
        let target = "https://xn--pple-43d.example/<script>alert(1)</script>?a=1&b=2";
        let code = app.shorten(&token, target).await;
        let shown = page(app, &format!("/{code}+"), "en").await;
        assert_eq!(shown.status, 200, "{shown:?}");
        assert!(shown.text.contains("https://<strong>xn--pple-43d.example</strong>"), "{shown:?}");
        assert!(shown.text.contains("аpple.example"), "the letters of the punycode are shown");
        assert!(shown.text.contains("different scripts"), "{shown:?}");
        assert!(shown.text.contains("Created on <time datetime=\"20"), "{shown:?}");
        assert!(!shown.text.contains("<script"), "{shown:?}");
        assert_eq!(app.get(&format!("/urls/{code}/stats")).await.json()["clicks"], 0);
        assert_eq!(page(app, "/nosuch1+", "en").await.status, 404);
    }

    async fn the_preview_of_an_ended_link_says_so_and_shows_its_target_no_longer(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let follow = format!("href=\"/{code}\"");
        assert!(page(app, &format!("/{code}+"), "en").await.text.contains(&follow));
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        // Switched off; its one click is used up; or its time is over.
        for change in [
            r#"{"is_active": false}"#, r#"{"is_active": true, "max_clicks": 1}"#,
            r#"{"max_clicks": null, "expires_at": "2020-01-31T18:00:00Z"}"#,
        ] {
            let patch = app.request(Method::PATCH, &format!("/urls/{code}")).bearer_auth(&token);
            assert_eq!(Response::of(patch.body(change)).await.status, 200, "{change}");
            let shown = page(app, &format!("/{code}+"), "de").await;
            assert!(shown.text.contains("Dieser Link ist nicht aktiv"), "{shown:?}");
            assert!(!shown.text.contains("example.org") && !shown.text.contains(&follow), "{shown:?}");
        }
    }

    async fn a_link_that_has_not_started_has_a_page_that_says_not_yet(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let patch = app.request(Method::PATCH, &format!("/urls/{code}")).bearer_auth(&token);
        let starts = r#"{"starts_at": "2999-01-01T00:00:00Z"}"#;
        assert_eq!(Response::of(patch.body(starts)).await.status, 200);
        for (path, status) in [(format!("/{code}"), 404), (format!("/urls/r/{code}"), 404), (format!("/{code}+"), 200)] {
            let shown = page(app, &path, "de").await;
            assert_eq!(shown.status, status, "{path}");
            assert!(shown.text.contains("Dieser Link ist noch nicht aktiv"), "{path}: {shown:?}");
            assert!(!shown.text.contains("example.org"), "{path}: {shown:?}");
        }
    }

    async fn a_preview_shows_the_fallback_while_the_link_leads_there(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for (change, host) in [
            (r#"{"fallback_url": "https://later.example/"}"#, "example.org"),
            (r#"{"starts_at": "2999-01-01T00:00:00Z"}"#, "later.example"),
            (r#"{"starts_at": null, "expires_at": "2020-01-31T18:00:00Z"}"#, "later.example"),
        ] {
            let patch = app.request(Method::PATCH, &format!("/urls/{code}")).bearer_auth(&token);
            assert_eq!(Response::of(patch.body(change)).await.status, 200, "{change}");
            let shown = page(app, &format!("/{code}+"), "en").await;
            assert!(shown.text.contains(&format!("<strong>{host}</strong>")), "{change}: {shown:?}");
        }
        let patch = app.request(Method::PATCH, &format!("/urls/{code}")).bearer_auth(&token);
        assert_eq!(Response::of(patch.body(r#"{"is_active": false}"#)).await.status, 200);
        let shown = page(app, &format!("/{code}+"), "en").await;
        assert!(!shown.text.contains("later.example"), "{shown:?}");
    }

    async fn a_visitors_page_is_small_and_has_no_script(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let report = format!("/app/report/{code}");
        let (admin, removed) = (admin(app).await, app.shorten(&token, "https://example.org/").await);
        id_of(&remove(app, &admin, "link", &removed, 451).await);
        for path in ["/", "/nosuch1", &format!("/{code}+"), &report, &format!("{report}?sent=yes"), &format!("/{removed}")] {
            let page = page(app, path, "fr").await;
            let policy = page.header("content-security-policy");
            assert!(policy.starts_with("default-src 'none'; style-src 'self'"), "{policy}");
            assert!(!policy.contains("unsafe") && !policy.contains("script-src"), "{policy}");
            assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
            assert!(!page.text.contains("<script") && !page.text.contains(" style="), "{path}");
            let mut bytes = page.text.len();
            for part in parts(&page.text) {
                let request = app.request(Method::GET, &part).header("accept-encoding", "gzip");
                let response = request.send().await.unwrap();
                assert_eq!(response.status(), 200, "{part}");
                let caching = response.headers()["cache-control"].to_str().unwrap();
                assert_eq!(caching, "public, max-age=31536000, immutable");
                assert_eq!(response.headers()["content-encoding"], "gzip");
                bytes += response.bytes().await.unwrap().len();
            }
            assert!(bytes < MAX_BYTES, "{path}: {bytes} bytes");
        }
        app.get("/assets/style-0000000000000000.css").await.is_error(404, "Not Found");
    }
}

#[tokio::test]
async fn the_operator_says_where_unknown_codes_lead_and_what_is_no_code_is_unknown_as_ever() {
    use crate::support::Mode::Embedded;
    let settings = [("NOT_FOUND_REDIRECT", "https://example.org/sorry")];
    let app = App::start_with(Embedded, &settings).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.net/").await;
    assert_eq!(app.delete(&token, &code).await.status, 204);
    for path in [
        format!("/{code}"),
        format!("/urls/r/{code}"),
        "/nosuch1".to_owned(),
    ] {
        for accept in ["*/*", "text/html"] {
            let request = app.request(Method::GET, &path).header("accept", accept);
            let response = Response::of(request).await;
            assert_eq!(response.status, 302, "{path}");
            assert_eq!(response.header("location"), "https://example.org/sorry");
        }
    }
    for path in ["/a/b", "/urls/my/nothing", "/app/nothing", "/with.dot"] {
        assert_eq!(app.get(path).await.status, 404, "{path}");
    }
    app.finish().await;
}

#[tokio::test]
async fn the_operator_names_the_service_and_may_have_another_start_page() {
    use crate::support::Mode::Embedded;
    let settings = [
        ("SITE_NAME", "Example & Sons"),
        ("SITE_CONTACT", "mailto:links@example.org"),
        ("HOME_REDIRECT", "https://example.org/about|us"),
    ];
    let app = App::start_with(Embedded, &settings).await;
    let mut browser = Browser::new(&app);
    let page = browser.get("/nosuch1").await.text;
    assert!(page.contains("Example &#38; Sons"), "{page}");
    assert!(page.contains("href=\"mailto:links@example.org\""), "{page}");
    let home = browser.get("/").await;
    assert_eq!(home.status, 302);
    assert_eq!(home.header("location"), "https://example.org/about%7Cus");
    let json = app
        .request(Method::GET, "/")
        .header("accept", "application/json");
    Response::of(json).await.is_error(404, "Not Found");
    app.finish().await;
}

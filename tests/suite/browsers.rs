//! Security headers for browsers: no foreign script, no frame, no guessing of types, no referrer.

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::support::redis_server::free_port;
use crate::support::{App, Mode, Response, both_modes};

/// The policy of responses that are data, or a mere part of a page.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

/// The policy of the explorer: its own parts, its own service, and icons that Swagger UI draws from `data:`.
const PAGE: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The response has this `Cache-Control` and this policy, beside the headers that every body has.
fn has_security_headers(response: &Response, path: &str, caching: &str, policy: &str) {
    for (name, expected) in [
        ("cache-control", caching),
        ("content-security-policy", policy),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
    ] {
        let values: Vec<_> = response.headers.get_all(name).iter().collect();
        assert_eq!(values, [expected], "{path}: {name}");
    }
    for name in [
        "access-control-allow-origin",
        "server",
        "set-cookie",
        "x-powered-by",
    ] {
        assert_eq!(response.header(name), "", "{path}: {name}");
    }
    assert_ne!(response.header("content-type"), "", "{path}");
}

/// The paths that the explorer's page refers to, sorted.
fn references(path: &str, page: &str) -> Vec<String> {
    let page_url = url::Url::parse(&format!("http://page{path}")).unwrap();
    let quoted = |at: usize| page[at..].split('"').nth(1).unwrap();
    let mut found: Vec<_> = [" src=", " href="]
        .iter()
        .flat_map(|attribute| page.match_indices(attribute))
        .map(|(at, _)| {
            let url = page_url.join(quoted(at)).unwrap();
            assert_eq!(url.host_str(), Some("page"), "only its own: {url}");
            url.path().to_owned()
        })
        .collect();
    found.sort();
    found.dedup();
    // The way back to the pages for people is no part.
    let before = found.len();
    found.retain(|path| path != "/app");
    assert_eq!(found.len() + 1, before);
    found
}

both_modes! {
    async fn a_page_for_browsers_allows_no_foreign_script_and_no_frame(app) {
        for path in ["/docs", "/docs/"] {
            let page = app.get(path).await;
            assert_eq!(page.status, 200);
            assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
            has_security_headers(&page, path, "no-cache", PAGE);
            // The page has nothing that its policy forbids: no script or style in the page itself.
            let scripts = |begin: &str| page.text.matches(begin).count();
            assert_eq!(scripts("<script"), scripts("<script src="));
            assert!(!page.text.contains("<style") && !page.text.contains(" style="));
        }
    }

    async fn every_asset_of_the_page_has_the_headers_of_its_kind(app) {
        let parts = references("/docs/", &app.get("/docs/").await.text);
        assert_eq!(references("/docs", &app.get("/docs").await.text), parts);
        assert_eq!(parts, [
            "/docs/look.css", "/docs/mark.svg", "/docs/start.js",
            "/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css", "/openapi.json",
        ]);
        for part in parts {
            let response = app.get(&part).await;
            assert_eq!(response.status, 200, "{part}");
            let (caching, policy) = match part.as_str() {
                "/openapi.json" => ("no-store", NOTHING),
                part if part.starts_with("/docs/swagger-ui") => ("public, max-age=3600", NOTHING),
                _ => ("no-cache", PAGE),
            };
            has_security_headers(&response, &part, caching, policy);
            let kind = match part.rsplit('.').next().unwrap() {
                "css" => "text/css; charset=utf-8",
                "js" => "text/javascript; charset=utf-8",
                "svg" => "image/svg+xml",
                _ => "application/json",
            };
            assert_eq!(response.header("content-type"), kind, "{part}");
        }
    }

    async fn responses_and_errors_are_plain_data_to_a_browser(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let stats = format!("/urls/{code}/stats");
        for (path, status) in [
            ("/nothing/here", 404), ("/docs/nope.js", 404), ("/a%20b", 404),
            ("/nopenope", 404), ("/urls/r/nopenope", 404), ("/urls/nopenope/stats", 404), (&stats, 200),
            ("/auth/me", 401), ("/urls/my", 401), ("/auth/login", 405),
            ("/health", 200), ("/ready", 200), ("/metrics", 200),
        ] {
            let response = app.get(path).await;
            assert_eq!(response.status, status, "{path}");
            has_security_headers(&response, path, "no-store", NOTHING);
        }
        for (path, body, status) in [
            ("/auth/register", "{}".to_owned(), 422),
            ("/auth/login", " ".repeat(20_000), 413),
            ("/health", String::new(), 405),
        ] {
            let response = app.post(path, body).await;
            assert_eq!(response.status, status, "{path}");
            has_security_headers(&response, path, "no-store", NOTHING);
        }
        for (path, status) in [("/urls/my", 200), ("/urls/my?limit=0", 422), ("/auth/me", 200)] {
            let response = app.get_as(&token, path).await;
            assert_eq!(response.status, status, "{path}");
            has_security_headers(&response, path, "no-store", NOTHING);
        }
    }

    async fn a_redirect_has_nothing_to_show(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let (root, whole) = (format!("/{code}"), format!("/urls/r/{code}"));
        for path in [&root, &whole] {
            let response = app.visit(path).await;
            assert_eq!(response.status, 302, "{path}");
            assert_eq!((response.text.as_str(), response.header("content-type")), ("", ""), "{path}");
        }
    }
}

#[tokio::test]
async fn a_connection_over_the_limit_gets_plain_data_too() {
    let app = App::start_with(Mode::Embedded, &[("MAX_CONNECTIONS", "1")]).await;
    let address = app.server.base.trim_start_matches("http://");
    // One of the two is over the limit, either one: it gets its response without a request.
    let mut streams = [
        TcpStream::connect(address).await.unwrap(),
        TcpStream::connect(address).await.unwrap(),
    ];
    let [first, second] = &mut streams;
    let (mut one, mut other) = (String::new(), String::new());
    tokio::select! {
        read = first.read_to_string(&mut one) => read.unwrap(),
        read = second.read_to_string(&mut other) => read.unwrap(),
    };
    let response = one + &other;
    assert!(response.starts_with("HTTP/1.1 503"), "{response}");
    for line in [
        "cache-control: no-store",
        &format!("content-security-policy: {NOTHING}"),
        "content-type: application/json",
        "referrer-policy: no-referrer",
        "x-content-type-options: nosniff",
    ] {
        assert!(
            response.contains(&format!("\r\n{line}\r\n")),
            "{line}: {response}"
        );
    }
    assert!(response.contains("\r\nx-request-id: "), "{response}");
    drop(streams);
    app.finish().await;
}

#[tokio::test]
async fn metrics_on_an_address_of_their_own_are_plain_data_too() {
    let address = format!("127.0.0.1:{}", free_port());
    let app = App::start_with(Mode::Embedded, &[("METRICS_BIND", &address)]).await;
    let url = format!("http://{address}/metrics");
    let response = Response::of(reqwest::Client::new().get(url)).await;
    assert_eq!(response.status, 200);
    has_security_headers(&response, "/metrics", "no-store", NOTHING);
    app.finish().await;
}

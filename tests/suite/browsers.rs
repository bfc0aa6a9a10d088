//! What a browser is told of all that it shows: no script of others, no frame, no guessing, no referrer.

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::support::redis_server::free_port;
use crate::support::{Answer, App, Mode, both_modes};

/// Of what is data or a mere part of a page.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

/// Of the one page there is: its own parts, its own service, and icons that Swagger UI draws from `data:`.
const PAGE: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// How an answer may be kept, and what its page may do; beside what is said of everything that has a body.
fn is_guarded(answer: &Answer, what: &str, kept: &str, policy: &str) {
    for (name, expected) in [
        ("cache-control", kept),
        ("content-security-policy", policy),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
    ] {
        let told: Vec<_> = answer.headers.get_all(name).iter().collect();
        assert_eq!(told, [expected], "{what}: {name}");
    }
    for name in [
        "access-control-allow-origin",
        "server",
        "set-cookie",
        "x-powered-by",
    ] {
        assert_eq!(answer.header(name), "", "{what}: {name}");
    }
    assert_ne!(answer.header("content-type"), "", "{what}");
}

/// Paths that the page of the explorer at a path refers to, in order.
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
    found
}

both_modes! {
    async fn a_page_for_browsers_lets_in_no_script_of_others_and_no_frame(app) {
        for path in ["/docs", "/docs/"] {
            let page = app.get(path).await;
            assert_eq!(page.status, 200);
            assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
            is_guarded(&page, path, "no-cache", PAGE);
            // What the policy forbids is not there: no script or style in the page itself.
            let scripts = |begin: &str| page.text.matches(begin).count();
            assert_eq!(scripts("<script"), scripts("<script src="));
            assert!(!page.text.contains("<style") && !page.text.contains(" style="));
        }
    }

    async fn what_the_page_refers_to_is_guarded_each_by_its_kind(app) {
        let parts = references("/docs/", &app.get("/docs/").await.text);
        assert_eq!(references("/docs", &app.get("/docs").await.text), parts);
        assert_eq!(parts, [
            "/docs/look.css", "/docs/mark.svg", "/docs/start.js",
            "/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css", "/openapi.json",
        ]);
        for part in parts {
            let answer = app.get(&part).await;
            assert_eq!(answer.status, 200, "{part}");
            let (kept, policy) = match part.as_str() {
                "/openapi.json" => ("no-store", NOTHING),
                part if part.starts_with("/docs/swagger-ui") => ("public, max-age=3600", NOTHING),
                _ => ("no-cache", PAGE),
            };
            is_guarded(&answer, &part, kept, policy);
            let kind = match part.rsplit('.').next().unwrap() {
                "css" => "text/css; charset=utf-8",
                "js" => "text/javascript; charset=utf-8",
                "svg" => "image/svg+xml",
                _ => "application/json",
            };
            assert_eq!(answer.header("content-type"), kind, "{part}");
        }
    }

    async fn answers_and_errors_are_nothing_but_data(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let stats = format!("/urls/{code}/stats");
        for (path, status) in [
            ("/", 404), ("/nothing/here", 404), ("/docs/nope.js", 404), ("/a%20b", 404),
            ("/nopenope", 404), ("/urls/r/nopenope", 404), ("/urls/nopenope/stats", 404), (&stats, 200),
            ("/auth/me", 401), ("/urls/my", 401), ("/auth/login", 405),
            ("/health", 200), ("/ready", 200), ("/metrics", 200),
        ] {
            let answer = app.get(path).await;
            assert_eq!(answer.status, status, "{path}");
            is_guarded(&answer, path, "no-store", NOTHING);
        }
        for (path, body, status) in [
            ("/auth/register", "{}".to_owned(), 422),
            ("/auth/login", " ".repeat(20_000), 413),
            ("/health", String::new(), 405),
        ] {
            let answer = app.post(path, body).await;
            assert_eq!(answer.status, status, "{path}");
            is_guarded(&answer, path, "no-store", NOTHING);
        }
        for (path, status) in [("/urls/my", 200), ("/urls/my?limit=0", 422), ("/auth/me", 200)] {
            let answer = app.get_as(&token, path).await;
            assert_eq!(answer.status, status, "{path}");
            is_guarded(&answer, path, "no-store", NOTHING);
        }
    }

    async fn a_way_on_has_nothing_to_show(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let (root, whole) = (format!("/{code}"), format!("/urls/r/{code}"));
        for path in [&root, &whole] {
            let answer = app.visit(path).await;
            assert_eq!(answer.status, 302, "{path}");
            assert_eq!((answer.text.as_str(), answer.header("content-type")), ("", ""), "{path}");
        }
    }
}

#[tokio::test]
async fn who_has_no_place_is_shown_nothing_but_data_either() {
    let app = App::start_with(Mode::Embedded, &[("MAX_CONNECTIONS", "1")]).await;
    let address = app.server.base.trim_start_matches("http://");
    // One of them has no place, whoever has it: that one is answered unasked.
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
    let answer = one + &other;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    for line in [
        "cache-control: no-store",
        &format!("content-security-policy: {NOTHING}"),
        "content-type: application/json",
        "referrer-policy: no-referrer",
        "x-content-type-options: nosniff",
    ] {
        assert!(
            answer.contains(&format!("\r\n{line}\r\n")),
            "{line}: {answer}"
        );
    }
    assert!(answer.contains("\r\nx-request-id: "), "{answer}");
    drop(streams);
    app.finish().await;
}

#[tokio::test]
async fn metrics_on_an_address_of_their_own_are_nothing_but_data_either() {
    let address = format!("127.0.0.1:{}", free_port());
    let app = App::start_with(Mode::Embedded, &[("METRICS_BIND", &address)]).await;
    let url = format!("http://{address}/metrics");
    let answer = Answer::of(reqwest::Client::new().get(url)).await;
    assert_eq!(answer.status, 200);
    is_guarded(&answer, "/metrics", "no-store", NOTHING);
    app.finish().await;
}

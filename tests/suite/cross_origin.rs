//! The API for pages of other origins: `CORS_ORIGINS`.

use reqwest::Method;
use serde_json::json;

use crate::support::{App, Mode, Response, both_modes, with_app};

const ORIGIN: &str = "https://tools.example";

async fn preflight(app: &App, origin: &str, path: &str) -> Response {
    let request = app.request(Method::OPTIONS, path);
    let request = request.header("origin", origin);
    let request = request.header("access-control-request-method", "POST");
    Response::of(request.header(
        "access-control-request-headers",
        "authorization,content-type",
    ))
    .await
}

/// Names of the headers of a response that are about other origins.
fn about_origins(response: &Response) -> Vec<String> {
    let names = response.headers.keys().map(|name| name.as_str().to_owned());
    names
        .filter(|name| name.starts_with("access-control-"))
        .collect()
}

/// Whether `Vary` names the origin.
fn varies(response: &Response) -> bool {
    let mut values = response.headers.get_all("vary").iter();
    values.any(|value| value == "Origin")
}

both_modes! {
    with &[("CORS_ORIGINS", "https://tools.example, http://localhost:5173")];

    async fn a_preflight_of_an_origin_that_is_named_is_answered_with_methods_and_headers(app) {
        for (origin, path) in [(ORIGIN, "/urls/shorten"), ("http://localhost:5173", "/urls/abcdefg"), (ORIGIN, "/api/v2/links"), (ORIGIN, "/rest/v3/tags")] {
            let answer = preflight(app, origin, path).await;
            assert_eq!((answer.status.as_u16(), answer.text.as_str()), (204, ""), "{path}");
            assert_eq!(answer.header("access-control-allow-origin"), origin);
            for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
                assert!(answer.header("access-control-allow-methods").contains(method), "{method}");
            }
            for header in ["Authorization", "Content-Type", "Idempotency-Key", "If-Match", "X-API-KEY"] {
                assert!(answer.header("access-control-allow-headers").contains(header), "{header}");
            }
            assert!(varies(&answer));
            assert_eq!(answer.header("access-control-allow-credentials"), "");
        }
    }

    async fn a_page_of_an_origin_that_is_named_reads_responses_and_refusals(app) {
        let token = app.register().await;
        let request = app.request(Method::POST, "/urls/shorten").bearer_auth(&token).header("origin", ORIGIN);
        let made = Response::of(request.json(&json!({ "target_url": "https://example.org/" }))).await;
        assert_eq!(made.status, 200, "{made:?}");
        let refused = Response::of(app.request(Method::GET, "/urls/my").header("origin", ORIGIN)).await;
        refused.is_error(401, "Not authenticated");
        for response in [made, refused] {
            assert_eq!(response.header("access-control-allow-origin"), ORIGIN);
            for header in ["ETag", "Link", "Retry-After", "WWW-Authenticate"] {
                assert!(response.header("access-control-expose-headers").contains(header), "{header}");
            }
            assert_eq!(response.header("access-control-allow-credentials"), "");
            assert!(varies(&response));
        }
    }

    async fn a_page_of_another_origin_reads_nothing(app) {
        for origin in ["https://evil.example", "https://tools.example:8443", "http://tools.example", "https://tools.example.evil.example", "null"] {
            let answer = preflight(app, origin, "/urls/shorten").await;
            answer.is_error(405, "Method Not Allowed");
            assert!(about_origins(&answer).is_empty(), "{answer:?}");
            assert!(varies(&answer));
            let response = Response::of(app.request(Method::GET, "/urls/my").header("origin", origin)).await;
            assert!(about_origins(&response).is_empty(), "{response:?}");
        }
        // A cache has to know also what it gets without an origin.
        assert!(varies(&app.get("/urls/my").await));
    }

    async fn redirects_pages_and_accounts_are_as_without_other_origins(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for path in [format!("/{code}"), format!("/urls/r/{code}"), format!("/urls/r/%{:02x}{}", code.as_bytes()[0], &code[1..]), "/auth/me".into(), "/app".into(), "/health".into()] {
            let response = Response::of(app.request(Method::GET, &path).header("origin", ORIGIN)).await;
            assert!(about_origins(&response).is_empty() && !varies(&response), "{path}: {response:?}");
            let answer = preflight(app, ORIGIN, &path).await;
            assert!(about_origins(&answer).is_empty(), "{path}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn without_the_setting_no_origin_is_named() {
    with_app(Mode::Embedded, async |app| {
        let answer = preflight(app, ORIGIN, "/urls/shorten").await;
        answer.is_error(405, "Method Not Allowed");
        assert!(about_origins(&answer).is_empty() && !varies(&answer));
    })
    .await;
}

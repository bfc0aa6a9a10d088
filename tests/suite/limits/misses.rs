//! Unknown codes that an address has looked up.

use reqwest::Method;

use crate::support::{App, Mode, Response};

async fn follow(app: &App, client: &str, path: &str) -> Response {
    let request = app.request(Method::GET, path);
    Response::of(request.header("X-Forwarded-For", client)).await
}

async fn an_address_that_sweeps_codes_is_stopped_and_no_other_is(mode: Mode) {
    let settings = [("LIMIT_MISSES", "5"), ("TRUSTED_PROXIES", "127.0.0.0/8")];
    let app = App::start_with(mode, &settings).await;
    let token = app.register().await;
    let (known, other) = (
        app.shorten(&token, "https://example.org/known").await,
        app.shorten(&token, "https://example.org/other").await,
    );
    let (sweeper, visitor) = ("203.0.113.9", "198.51.100.1");
    assert_eq!(app.visit(&format!("/{known}")).await.status, 302);
    for _ in 0..20 {
        let miss = follow(&app, sweeper, "/one-dead-link").await;
        miss.is_error(404, "URL not found");
    }
    for number in 0..4 {
        let miss = follow(&app, sweeper, &format!("/unknown-{number}")).await;
        miss.is_error(404, "URL not found");
    }
    // A query takes the request off the fast path.
    for path in [
        "/unknown-9".to_owned(),
        "/unknown-9?a=b".to_owned(),
        format!("/{other}"),
    ] {
        let stopped = follow(&app, sweeper, &path).await;
        assert_eq!(stopped.status, 429, "{path}: {stopped:?}");
        assert!((1..=60).contains(&stopped.header("retry-after").parse::<u32>().unwrap()));
    }
    let cached = follow(&app, sweeper, &format!("/{known}")).await;
    assert_eq!(cached.status, 302, "links in memory are followed");
    follow(&app, visitor, "/unknown-9")
        .await
        .is_error(404, "URL not found");
    assert_eq!(
        follow(&app, visitor, &format!("/{other}")).await.status,
        302
    );
    assert_eq!(app.limit_hits("misses").await, 3);
    app.server_only().await;
}

/// Statistics and QR codes say, too, whether a link has a code.
async fn codes_are_swept_by_no_other_route_either(mode: Mode) {
    let settings = [("LIMIT_MISSES", "6"), ("TRUSTED_PROXIES", "127.0.0.0/8")];
    let app = App::start_with(mode, &settings).await;
    let token = app.register().await;
    let known = app.shorten(&token, "https://example.org/known").await;
    let (sweeper, visitor) = ("203.0.113.9", "198.51.100.1");
    for number in 0..2 {
        for route in ["stats", "stats/series", "qr"] {
            let path = format!("/urls/unknown-{number}/{route}");
            assert_eq!(follow(&app, sweeper, &path).await.status, 404, "{path}");
        }
    }
    for path in [
        "/urls/unknown-9/stats",
        "/urls/unknown-9/stats/series",
        "/urls/unknown-9/qr",
        "/unknown-9",
    ] {
        let stopped = follow(&app, sweeper, path).await;
        assert_eq!(stopped.status, 429, "{path}: {stopped:?}");
        stopped.header("retry-after");
    }
    for route in ["stats", "stats/series", "qr"] {
        let path = format!("/urls/{known}/{route}");
        assert_eq!(follow(&app, visitor, &path).await.status, 200, "{path}");
    }
    app.server_only().await;
}

#[tokio::test]
async fn embedded_codes_are_swept_by_no_other_route_either() {
    codes_are_swept_by_no_other_route_either(Mode::Embedded).await;
}

#[tokio::test]
async fn production_codes_are_swept_by_no_other_route_either() {
    codes_are_swept_by_no_other_route_either(Mode::Production).await;
}

#[tokio::test]
async fn embedded_an_address_that_sweeps_codes_is_stopped() {
    an_address_that_sweeps_codes_is_stopped_and_no_other_is(Mode::Embedded).await;
}

#[tokio::test]
async fn production_an_address_that_sweeps_codes_is_stopped() {
    an_address_that_sweeps_codes_is_stopped_and_no_other_is(Mode::Production).await;
}

//! Unknown codes that an address has looked up.

use reqwest::Method;

use crate::support::{App, Mode, Response, unique, within_a_minute};

use super::address;

const ROUTES: [&str; 3] = ["stats", "stats/series", "qr"];

async fn follow(app: &App, client: &str, path: &str) -> Response {
    let request = app.request(Method::GET, path);
    Response::of(request.header("X-Forwarded-For", client)).await
}

async fn an_address_that_sweeps_codes_is_stopped_and_no_other_is(mode: Mode) {
    let settings = [("LIMIT_MISSES", "5"), ("TRUSTED_PROXIES", "127.0.0.0/8")];
    let app = App::start_with(mode, &settings).await;
    let token = app.register().await;
    let known = app.shorten(&token, "https://example.org/known").await;
    assert_eq!(app.visit(&format!("/{known}")).await.status, 302);
    let (misses, stopped, cached, others) = within_a_minute(async || {
        let (sweeper, visitor) = (address(), address());
        let (unknown, other) = (
            unique(),
            app.shorten(&token, "https://example.org/other").await,
        );
        let sweep = async |path: String| follow(&app, &sweeper, &path).await;
        let mut misses = Vec::new();
        for _ in 0..20 {
            misses.push(sweep(format!("/dead-{unknown}")).await);
        }
        for number in 0..4 {
            misses.push(sweep(format!("/{unknown}-{number}")).await);
        }
        // A query takes the request off the fast path.
        let stopped = [
            sweep(format!("/{unknown}-9")).await,
            sweep(format!("/{unknown}-9?a=b")).await,
            sweep(format!("/{other}")).await,
        ];
        let cached = sweep(format!("/{known}")).await;
        let others = [
            follow(&app, &visitor, &format!("/{unknown}-9")).await,
            follow(&app, &visitor, &format!("/{other}")).await,
        ];
        (misses, stopped, cached, others)
    })
    .await;
    for miss in misses {
        miss.is_error(404, "URL not found");
    }
    for stopped in stopped {
        assert_eq!(stopped.status, 429, "{stopped:?}");
        assert!((1..=60).contains(&stopped.header("retry-after").parse::<u32>().unwrap()));
    }
    assert_eq!(cached.status, 302, "links in memory are followed");
    others[0].is_error(404, "URL not found");
    assert_eq!(others[1].status, 302);
    assert!(app.limit_hits("misses").await >= 3);
    app.server_only().await;
}

/// Statistics and QR codes say, too, whether a link has a code.
async fn codes_are_swept_by_no_other_route_either(mode: Mode) {
    let settings = [("LIMIT_MISSES", "6"), ("TRUSTED_PROXIES", "127.0.0.0/8")];
    let app = App::start_with(mode, &settings).await;
    let token = app.register().await;
    let known = app.shorten(&token, "https://example.org/known").await;
    let (misses, stopped, others) = within_a_minute(async || {
        let (sweeper, visitor, unknown) = (address(), address(), unique());
        let sweep = async |path: String| follow(&app, &sweeper, &path).await;
        let (mut misses, mut stopped, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..2 {
            for route in ROUTES {
                misses.push(sweep(format!("/urls/{unknown}-{number}/{route}")).await);
            }
        }
        for route in ROUTES {
            stopped.push(sweep(format!("/urls/{unknown}-9/{route}")).await);
        }
        stopped.push(sweep(format!("/{unknown}-9")).await);
        for route in ROUTES {
            others.push(follow(&app, &visitor, &format!("/urls/{known}/{route}")).await);
        }
        (misses, stopped, others)
    })
    .await;
    for miss in misses {
        assert_eq!(miss.status, 404, "{miss:?}");
    }
    for stopped in stopped {
        assert_eq!(stopped.status, 429, "{stopped:?}");
        stopped.header("retry-after");
    }
    for other in others {
        assert_eq!(other.status, 200, "{other:?}");
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

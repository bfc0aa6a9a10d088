//! Passwords of links: limits of wrong ones, several instances, and the log.

use reqwest::Method;
use reqwest::redirect::Policy;
use serde_json::json;

use super::passwords::{
    LOCKED, PASSWORD, TARGET, WRONG, form, is_redirected, locked, posted, with_basic,
};
use super::{make, patch};
use crate::support::{App, Mode, Response, both_modes};

both_modes! {
    with &[("LIMIT_LOGIN_FAILURES", "3"), ("LIMIT_ACCOUNT_FAILURES", "5"), ("TRUSTED_PROXIES", "127.0.0.0/8"), PATIENT];

    async fn wrong_passwords_are_limited_by_link_and_address_and_by_link(app) {
        let token = app.register().await;
        let (code, other) = (locked(app, &token, &json!({})).await, locked(app, &token, &json!({})).await);
        let tried = async |code: &str, address: &str, password: &str| {
            let request = app.request(Method::POST, &format!("/{code}")).header("x-forwarded-for", address);
            Response::of(form(request, password)).await
        };
        // A visitor with the password never fails.
        for _ in 0..6 {
            assert_eq!(tried(&code, "10.0.0.1", PASSWORD).await.status, 302);
        }
        for _ in 0..3 {
            assert_eq!(tried(&code, "10.0.0.1", "wrong").await.status, 403);
        }
        let limited = tried(&code, "10.0.0.1", PASSWORD).await;
        assert_eq!(limited.status, 429, "{limited:?}");
        assert!(limited.header("retry-after").parse::<u64>().unwrap() >= 1);
        assert_eq!(tried(&other, "10.0.0.1", PASSWORD).await.status, 302, "another link");
        assert_eq!(tried(&code, "10.0.0.2", PASSWORD).await.status, 302, "another address");
        for _ in 0..2 {
            assert_eq!(tried(&code, "10.0.0.3", "wrong").await.status, 403);
        }
        assert_eq!(tried(&code, "10.0.0.4", PASSWORD).await.status, 429, "five of the link in all");
        assert_eq!(tried(&other, "10.0.0.4", PASSWORD).await.status, 302);
        assert_eq!((app.limit_hits("link_password_failures").await, app.limit_hits("link_failures").await), (1, 1));
    }

    async fn all_codes_of_a_link_are_guessed_at_as_one(app) {
        let token = app.register().await;
        let code = locked(app, &token, &json!({"aliases": ["side-door", "back-door"]})).await;
        for code in [code.as_str(), "side-door", "back-door"] {
            assert_eq!(posted(app, &format!("/{code}"), "wrong").await.status, 403);
        }
        for code in [code.as_str(), "side-door", "back-door"] {
            assert_eq!(posted(app, &format!("/{code}"), PASSWORD).await.status, 429, "{code}");
        }
    }
}

fn client() -> reqwest::Client {
    let client = reqwest::Client::builder().redirect(Policy::none());
    client.build().unwrap()
}

/// A long deadline, so that Redis does not count as away on a busy machine.
const PATIENT: (&str, &str) = ("CLICK_DEADLINE_MS", "10000");

#[tokio::test]
async fn a_password_is_felt_at_once_on_another_instance() {
    let app = App::start_with(Mode::Production, &[PATIENT]).await;
    let other = app.another(&[PATIENT]).await;
    let token = app.register().await;
    let code = app.shorten(&token, TARGET).await;
    let there = async || Response::of(client().get(format!("{}/{code}", other.base))).await;
    for _ in 0..10 {
        assert_eq!(there().await.status, 302);
        patch(&app, &token, &code, &json!({"password": PASSWORD})).await;
        there().await.is_error(403, LOCKED);
        let opened = form(client().post(format!("{}/{code}", other.base)), PASSWORD);
        assert_eq!(Response::of(opened).await.status, 302);
        patch(&app, &token, &code, &json!({"password": null})).await;
    }
    assert_eq!(app.clicks(&code).await, 20);
    drop(other);
    app.finish().await;
}

#[tokio::test]
async fn wrong_passwords_count_on_all_instances() {
    let settings = [("LIMIT_LOGIN_FAILURES", "4"), PATIENT];
    let app = App::start_with(Mode::Production, &settings).await;
    let other = app.another(&settings).await;
    let token = app.register().await;
    let mut statuses = Vec::new();
    // A window of the limit may end in between.
    for _ in 0..2 {
        let code = locked(&app, &token, &json!({})).await;
        statuses.clear();
        for base in [
            &app.server.base,
            &other.base,
            &app.server.base,
            &other.base,
            &app.server.base,
        ] {
            let tried = form(client().post(format!("{base}/{code}")), "wrong");
            statuses.push(Response::of(tried).await.status.as_u16());
        }
        if statuses[4] == 429 {
            break;
        }
    }
    assert_eq!(statuses, [403, 403, 403, 403, 429]);
    drop(other);
    app.finish().await;
}

async fn no_password_is_logged(mode: Mode) {
    let app = App::start_with(mode, &[("RUST_LOG", "trace")]).await;
    let token = app.register().await;
    let code = locked(&app, &token, &json!({})).await;
    let path = format!("/{code}");
    posted(&app, &path, "says-me-wrongly")
        .await
        .is_error(403, WRONG);
    is_redirected(&posted(&app, &path, PASSWORD).await, TARGET);
    is_redirected(
        &with_basic(&app, Method::GET, &path, PASSWORD).await,
        TARGET,
    );
    patch(&app, &token, &code, &json!({"password": "another-secret"})).await;
    make(
        &app,
        &token,
        &json!({"target_url": TARGET, "password": 87_654_321}),
    )
    .await;
    app.get_as(&token, "/urls/export?format=csv&secrets=true")
        .await;
    let log = app.server.log();
    assert!(log.contains("TRACE") || log.contains("DEBUG"));
    let basic = "YW55Ym9keTpvcGVuIHNlc2FtZQ";
    for secret in [
        "says-me-wrongly",
        PASSWORD,
        "open+sesame",
        "another-secret",
        "87654321",
        "$argon2id$",
        basic,
    ] {
        assert!(!log.contains(secret), "{secret} is in the log");
    }
    app.finish().await;
}

#[tokio::test]
async fn no_password_of_a_link_is_in_the_log_embedded() {
    no_password_is_logged(Mode::Embedded).await;
}

#[tokio::test]
async fn no_password_of_a_link_is_in_the_log_in_production() {
    no_password_is_logged(Mode::Production).await;
}

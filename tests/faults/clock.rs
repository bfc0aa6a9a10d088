//! The time of day, set back and forth.

use crate::faults::readers::Readers;
use crate::faults::{redirects_go_on, under_load, warm_links};
use crate::support::{App, FakeClock, Mode, Response, unique};

const PASSWORD: &str = "correct horse";

/// One and a half hours.
const LIFETIME: (&str, &str) = ("JWT_TTL_SECONDS", "5400");

async fn set_back_and_forth(mode: Mode) {
    let clock = FakeClock::right();
    let app = clock
        .app(mode, &[LIFETIME, ("FLUSH_INTERVAL_MS", "20")])
        .await;
    let codes = warm_links(&app).await;
    let (address, load) = under_load(&app, &codes).await;
    let readers = Readers::start(&address, &load.tally).await;
    for offset in ["+1h", "+0", "-1h", "+1h", "+0"] {
        clock.set(offset);
        redirects_go_on(&load).await;
        let code = app
            .shorten(&app.register().await, "https://example.org/")
            .await;
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }
    let tally = load.stop().await;
    assert_eq!((tally.refused(), tally.cut_off()), (0, 0));
    readers.end_with(tally.check_bounds(&app)).await;
    let log = app.server.log();
    assert!(!log.contains("panicked"), "{log}");
    app.finish().await;
}

mod a_clock_set_back_and_forth_does_no_harm {
    use super::{Mode, set_back_and_forth};

    #[tokio::test]
    async fn embedded() {
        set_back_and_forth(Mode::Embedded).await;
    }

    #[tokio::test]
    async fn production() {
        set_back_and_forth(Mode::Production).await;
    }
}

/// The token is accepted at the time of this clock.
async fn is_accepted(app: &App, token: &str) {
    let response = app.get_as(token, "/auth/me").await;
    assert_eq!(response.status, 200, "{response:?}");
}

async fn is_refused(app: &App, token: &str) {
    let response = app.get_as(token, "/auth/me").await;
    response.is_error(401, "Not authenticated");
    let challenge = response.header("www-authenticate");
    assert!(
        challenge.starts_with("Bearer error=\"invalid_token\""),
        "{challenge}"
    );
}

#[tokio::test]
async fn a_token_is_good_while_the_clock_is_between_its_beginning_and_its_end() {
    let clock = FakeClock::right();
    let app = clock
        .app(Mode::Embedded, &[LIFETIME, ("LIMIT_LOGIN", "0")])
        .await;
    let token = app.register().await;
    for (offset, good) in [
        ("+1h", true),
        ("+2h", false),
        ("+1h", true),
        ("+0", true),
        // The clocks of instances may differ by this much.
        ("-4m", true),
        // The token is from the future.
        ("-1h", false),
        ("+0", true),
    ] {
        clock.set(offset);
        if good {
            is_accepted(&app, &token).await;
        } else {
            is_refused(&app, &token).await;
        }
    }
    app.finish().await;
}

#[tokio::test]
async fn a_new_log_in_works_after_the_clock_was_set_back() {
    let clock = FakeClock::right();
    let app = clock
        .app(Mode::Embedded, &[LIFETIME, ("LIMIT_LOGIN", "0")])
        .await;
    let email = format!("{}@example.org", unique());
    let token = |response: &Response| response.json()["access_token"].as_str().unwrap().to_owned();
    clock.set("+1h");
    let ahead = token(&app.account("/auth/register", &email, PASSWORD).await);
    is_accepted(&app, &ahead).await;
    clock.set("+0");
    is_refused(&app, &ahead).await;
    let fresh = token(&app.account("/auth/login", &email, PASSWORD).await);
    is_accepted(&app, &fresh).await;
    // Both are accepted once the clock reaches the first token's time again.
    clock.set("+1h");
    is_accepted(&app, &ahead).await;
    is_accepted(&app, &fresh).await;
    app.finish().await;
}

async fn limited(mode: Mode) {
    let clock = FakeClock::right();
    let app = clock.app(mode, &[LIFETIME, ("LIMIT_LOGIN", "4")]).await;
    let email = format!("{}@example.org", unique());
    let tries = async || app.account("/auth/login", &email, PASSWORD).await;
    for offset in ["+0", "-1h", "+1h", "+2h", "-2h"] {
        clock.set(offset);
        // Another minute, which this clock has never shown before, has a limit of its own.
        assert_eq!(tries().await.status, 401, "at {offset}");
        let mut refused = tries().await;
        // A new minute may begin in between, and a machine that is busy with other tests may answer 503.
        for _ in 0..8 {
            if refused.status != 429 {
                refused = tries().await;
            }
        }
        assert_eq!(refused.status, 429, "at {offset}");
        let wait: u64 = refused.header("retry-after").parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait} s at {offset}");
    }
    app.finish().await;
}

mod a_limit_refuses_no_client_for_more_than_a_minute_whatever_the_clock_does {
    use super::{Mode, limited};

    #[tokio::test]
    async fn embedded() {
        limited(Mode::Embedded).await;
    }

    #[tokio::test]
    async fn production() {
        limited(Mode::Production).await;
    }
}

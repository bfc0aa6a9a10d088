//! Failed log-ins: strangers cannot guess on, and cannot lock the owner of an account out.

use super::{account, address, email, limited, with_password};
use crate::support::{App, Mode, both_modes, within_a_minute};

const FEW: &[(&str, &str)] = &[
    ("LIMIT_LOGIN_FAILURES", "2"),
    ("LIMIT_ACCOUNT_FAILURES", "5"),
    ("TRUSTED_PROXIES", "127.0.0.0/8"),
];

/// Strangers try wrong passwords until one of them is refused; returns how many were tried.
async fn strangers_try(base: &str, email: &str) -> usize {
    for tried in 0..20 {
        let response = with_password(base, "/auth/login", email, "wrong horse", &address()).await;
        if limited(&[response]) == [true] {
            return tried;
        }
    }
    panic!("strangers may guess without end");
}

async fn status(base: &str, email: &str, from: &str) -> u16 {
    account(base, "/auth/login", email, from)
        .await
        .status
        .as_u16()
}

both_modes! {
    with FEW;

    async fn strangers_never_lock_out_an_address_that_logged_in_before(app) {
        let base = app.server.base.as_str();
        let (email, home, work) = (email(), address(), address());
        within_a_minute(async || {
            account(base, "/auth/register", &email, &home).await;
            assert_eq!(status(base, &email, &work).await, 200);
        }).await;
        assert_eq!(strangers_try(base, &email).await, 5);
        assert_eq!(status(base, &email, &address()).await, 429, "also with the right password");
        for spelt in [email.clone(), email.to_uppercase()] {
            assert_eq!(status(base, &spelt, &address()).await, 429, "{spelt}");
            for known in [&home, &work] {
                for _ in 0..3 {
                    assert_eq!(status(base, &spelt, known).await, 200, "{spelt}");
                }
            }
        }
        assert_eq!(app.limit_hits("login_failures").await, 0);
        assert!(app.limit_hits("account_failures").await >= 1);
    }

    async fn an_address_is_stopped_by_its_own_failures_and_stops_no_other(app) {
        let base = app.server.base.as_str();
        let (email, home, stranger) = (email(), address(), address());
        account(base, "/auth/register", &email, &home).await;
        for from in [&stranger, &home] {
            let mut responses = Vec::new();
            for _ in 0..3 {
                responses.push(with_password(base, "/auth/login", &email, "wrong horse", from).await);
            }
            assert_eq!(limited(&responses), [false, false, true]);
            assert_eq!(status(base, &email, from).await, 429);
        }
        assert_eq!(status(base, &email, &address()).await, 200);
        assert_eq!(app.limit_hits("login_failures").await, 4);
    }

    async fn right_passwords_are_no_failures(app) {
        let base = app.server.base.as_str();
        let email = email();
        account(base, "/auth/register", &email, &address()).await;
        for _ in 0..8 {
            assert_eq!(status(base, &email, &address()).await, 200);
        }
        let at_home = address();
        for _ in 0..8 {
            assert_eq!(status(base, &email, &at_home).await, 200);
        }
    }
}

#[tokio::test]
async fn an_address_is_known_on_every_instance_and_after_a_restart() {
    let mut app = App::start_with(Mode::Production, FEW).await;
    let (email, home) = (email(), address());
    account(&app.server.base, "/auth/register", &email, &home).await;
    let other = app.another(FEW).await;
    let tried = strangers_try(&app.server.base, &email).await;
    assert_eq!(tried, 5);
    for base in [&app.server.base, &other.base] {
        assert_eq!(status(base, &email, &address()).await, 429);
        assert_eq!(status(base, &email, &home).await, 200);
    }
    app.server.stop().await;
    app.server = app.another(FEW).await;
    assert_eq!(status(&app.server.base, &email, &address()).await, 429);
    assert_eq!(status(&app.server.base, &email, &home).await, 200);
    drop(other);
    app.finish().await;
}

//! Which clients share a limit, and which do not.

use super::{Caller, THREE, account, address, email, limited};
use crate::support::{both_modes, within_a_minute};

both_modes! {
    with THREE;

    async fn log_ins_from_one_address_are_limited_whatever_the_account(app) {
        let base = app.server.base.as_str();
        let responses = within_a_minute(async || {
            Caller::logs_in_from_one_address().tries_at(&[base; 4]).await
        }).await;
        assert_eq!(limited(&responses), [false, false, false, true]);
    }

    async fn failed_log_ins_to_one_account_are_limited_whatever_the_address(app) {
        let base = app.server.base.as_str();
        let responses = within_a_minute(async || {
            Caller::logs_in_to_one_account().tries_at(&[base; 4]).await
        }).await;
        assert_eq!(limited(&responses), [false, false, false, true]);
    }

    async fn a_limited_address_and_a_limited_account_limit_no_others(app) {
        let base = app.server.base.as_str();
        let (responses, other) = within_a_minute(async || {
            let other = email();
            account(base, "/auth/register", &other, &address()).await;
            let mut responses = Caller::logs_in_from_one_address().tries_at(&[base; 4]).await;
            responses.extend(Caller::logs_in_to_one_account().tries_at(&[base; 4]).await);
            (responses, account(base, "/auth/login", &other, &address()).await)
        }).await;
        assert_eq!(limited(&responses).iter().filter(|limited| **limited).count(), 2);
        assert_eq!(other.status, 200, "{other:?}");
    }

    async fn registrations_are_limited_per_address(app) {
        let base = app.server.base.as_str();
        let responses = within_a_minute(async || {
            let mut responses = Caller::registers_from_one_address().tries_at(&[base; 4]).await;
            responses.push(Caller::registers_from_one_address().tries(base).await);
            responses
        }).await;
        assert_eq!(limited(&responses), [false, false, false, true, false]);
    }

    async fn links_are_limited_per_user(app) {
        let base = app.server.base.as_str();
        let responses = within_a_minute(async || {
            let mut responses = Caller::shortens(base).await.tries_at(&[base; 4]).await;
            responses.push(Caller::shortens(base).await.tries(base).await);
            responses
        }).await;
        assert_eq!(limited(&responses), [false, false, false, true, false]);
    }

    async fn a_refused_request_is_counted_under_the_name_of_its_limit(app) {
        let base = app.server.base.as_str();
        for limit in ["login", "account_failures", "register", "create"] {
            assert_eq!(app.limit_hits(limit).await, 0, "{limit}");
            within_a_minute(async || {
                let caller = match limit {
                    "login" => Caller::logs_in_from_one_address(),
                    "account_failures" => Caller::logs_in_to_one_account(),
                    "register" => Caller::registers_from_one_address(),
                    _ => Caller::shortens(base).await,
                };
                caller.tries_at(&[base; 4]).await
            }).await;
            assert!(app.limit_hits(limit).await >= 1, "{limit}");
        }
    }
}

mod off {
    use super::Caller;
    use crate::support::both_modes;

    both_modes! {
        with &[
            ("LIMIT_LOGIN", "0"), ("LIMIT_LOGIN_FAILURES", "0"), ("LIMIT_ACCOUNT_FAILURES", "0"),
            ("LIMIT_REGISTER", "0"), ("LIMIT_CREATE", "0"),
        ];

        async fn a_limit_of_zero_is_none(app) {
            let base = app.server.base.as_str();
            for caller in [
                Caller::logs_in_from_one_address(),
                Caller::logs_in_to_one_account(),
                Caller::registers_from_one_address(),
                Caller::shortens(base).await,
            ] {
                for response in caller.tries_at(&[base; 5]).await {
                    assert_ne!(response.status, 429);
                }
            }
        }
    }
}

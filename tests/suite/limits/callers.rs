//! Who shares a limit, and who does not.

use super::{Caller, THREE, account, address, email, limited};
use crate::support::{both_modes, within_a_minute};

both_modes! {
    with THREE;

    async fn log_ins_from_one_address_are_limited_whatever_the_account(app) {
        let base = app.server.base.as_str();
        let answers = within_a_minute(async || {
            Caller::logs_in_from_one_address().tries_at(&[base; 4]).await
        }).await;
        assert_eq!(limited(&answers), [false, false, false, true]);
    }

    async fn log_ins_to_one_account_are_limited_whatever_the_address(app) {
        let base = app.server.base.as_str();
        let answers = within_a_minute(async || {
            Caller::logs_in_to_one_account().tries_at(&[base; 4]).await
        }).await;
        assert_eq!(limited(&answers), [false, false, false, true]);
    }

    async fn past_its_limit_an_account_is_closed_to_the_right_password_however_its_address_is_spelt(app) {
        let base = &app.server.base;
        let answers = within_a_minute(async || {
            let email = email();
            let mut answers = vec![account(base, "/auth/register", &email, &address()).await];
            for spelt in [&email, &email.to_uppercase(), &email, &email.to_uppercase()] {
                answers.push(account(base, "/auth/login", spelt, &address()).await);
            }
            answers
        }).await;
        assert_eq!(limited(&answers), [false, false, false, false, true]);
    }

    async fn while_an_address_and_an_account_are_limited_others_get_in(app) {
        let base = app.server.base.as_str();
        let (answers, other) = within_a_minute(async || {
            let other = email();
            account(base, "/auth/register", &other, &address()).await;
            let mut answers = Caller::logs_in_from_one_address().tries_at(&[base; 4]).await;
            answers.extend(Caller::logs_in_to_one_account().tries_at(&[base; 4]).await);
            (answers, account(base, "/auth/login", &other, &address()).await)
        }).await;
        assert_eq!(limited(&answers).iter().filter(|limited| **limited).count(), 2);
        assert_eq!(other.status, 200, "{other:?}");
    }

    async fn registrations_are_limited_per_address(app) {
        let base = app.server.base.as_str();
        let answers = within_a_minute(async || {
            let mut answers = Caller::registers_from_one_address().tries_at(&[base; 4]).await;
            answers.push(Caller::registers_from_one_address().tries(base).await);
            answers
        }).await;
        assert_eq!(limited(&answers), [false, false, false, true, false]);
    }

    async fn links_are_limited_per_user(app) {
        let base = app.server.base.as_str();
        let answers = within_a_minute(async || {
            let mut answers = Caller::shortens(base).await.tries_at(&[base; 4]).await;
            answers.push(Caller::shortens(base).await.tries(base).await);
            answers
        }).await;
        assert_eq!(limited(&answers), [false, false, false, true, false]);
    }

    async fn what_a_limit_refuses_is_counted_under_its_name(app) {
        let base = app.server.base.as_str();
        for limit in ["login", "register", "create"] {
            assert_eq!(app.limit_hits(limit).await, 0, "{limit}");
            within_a_minute(async || {
                let caller = match limit {
                    "login" => Caller::logs_in_from_one_address(),
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
        with &[("LIMIT_LOGIN", "0"), ("LIMIT_REGISTER", "0"), ("LIMIT_CREATE", "0")];

        async fn a_limit_of_zero_is_none(app) {
            let base = app.server.base.as_str();
            for caller in [
                Caller::logs_in_from_one_address(),
                Caller::registers_from_one_address(),
                Caller::shortens(base).await,
            ] {
                for answer in caller.tries_at(&[base; 5]).await {
                    assert_ne!(answer.status, 429);
                }
            }
        }
    }
}

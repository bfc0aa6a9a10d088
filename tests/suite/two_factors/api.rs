//! The log-in of the API with a second factor.

use futures_util::future::join_all;
use serde_json::json;

use super::{PASSWORD, key, log_in, secure, secured};
use crate::suite::web::browser::Browser;
use crate::support::{App, Mode, both_modes, eventually};

const WRONG: &str = "Invalid one-time password";

both_modes! {
    async fn a_password_logs_in_with_a_code_only_and_says_so_only_if_it_is_right(app) {
        let (_, email, second) = secured(app).await;
        let code = second.code(0);
        app.account("/auth/login", &email, PASSWORD).await.is_error(401, "One-time password needed");
        let null = json!({ "email": email, "password": PASSWORD, "otp": null });
        app.post("/auth/login", null.to_string()).await.is_error(401, "One-time password needed");
        for otp in ["", "000", "12345a", "🔑", &"1".repeat(5_000)] {
            log_in(app, &email, PASSWORD, otp).await.is_error(401, WRONG);
        }
        app.account("/auth/login", &email, "wrong horse").await.is_error(401, "Incorrect email or password");
        log_in(app, &email, "wrong horse", &code).await.is_error(401, "Incorrect email or password");
        let entered = log_in(app, &email, PASSWORD, &code).await;
        assert_eq!(entered.status, 200, "{entered:?}");
        let token = entered.json()["access_token"].as_str().unwrap().to_owned();
        assert_eq!(app.get_as(&token, "/auth/me").await.json()["email"], email);
    }

    async fn a_code_is_good_once_and_an_older_one_is_not_good_after_it(app) {
        let (_, email, second) = secured(app).await;
        let (code, next) = (second.code(0), second.code(30));
        assert_eq!(log_in(app, &email, PASSWORD, &next).await.status, 200);
        for used in [&next, &code] {
            log_in(app, &email, PASSWORD, used).await.is_error(401, WRONG);
        }
    }

    async fn of_many_log_ins_with_one_code_at_once_one_succeeds(app) {
        let (_, email, second) = secured(app).await;
        for otp in [second.code(0), second.recovery[0].clone()] {
            let all = join_all((0..8).map(|_| log_in(app, &email, PASSWORD, &otp))).await;
            let entered = all.iter().filter(|response| response.status == 200).count();
            assert_eq!(entered, 1, "{all:?}");
        }
    }

    async fn a_recovery_code_is_good_once_however_it_is_typed(app) {
        let (_, email, second) = secured(app).await;
        let typed = format!(" {} ", second.recovery[3].replace('-', " ").to_uppercase());
        assert_eq!(log_in(app, &email, PASSWORD, &typed).await.status, 200);
        log_in(app, &email, PASSWORD, &second.recovery[3]).await.is_error(401, WRONG);
        assert_eq!(log_in(app, &email, PASSWORD, &second.recovery[4]).await.status, 200);
        eventually("the log says so", async || app.server.log().contains("authn_recovery_code_used")).await;
        for code in &second.recovery {
            assert!(!app.server.log().contains(code.as_str()), "a code is in the log");
        }
    }

    async fn a_code_of_another_account_is_a_wrong_one(app) {
        let (_, _, other) = secured(app).await;
        let (_, email, _) = secured(app).await;
        for otp in [&other.code(0), &other.recovery[0]] {
            log_in(app, &email, PASSWORD, otp).await.is_error(401, WRONG);
        }
    }

    async fn an_account_without_a_second_factor_logs_in_whatever_the_code_is(app) {
        let email = Browser::new(app).sign_up().await;
        assert_eq!(log_in(app, &email, PASSWORD, "nonsense").await.status, 200);
        app.post("/auth/login", json!({ "email": email, "password": PASSWORD, "otp": 123_456 }).to_string()).await
            .is_error(422, "otp: must be a string");
    }

    async fn keys_go_on_with_a_second_factor_and_tokens_of_before_end(app) {
        let mut browser = Browser::new(app);
        let email = browser.sign_up().await;
        let token = app.account("/auth/login", &email, PASSWORD).await.json();
        let token = token["access_token"].as_str().unwrap();
        let key = key(app, token).await;
        secure(&mut browser, &email).await;
        assert_eq!(app.get_as(&key, "/auth/me").await.status, 200);
        app.get_as(token, "/auth/me").await.is_error(401, "Not authenticated");
        assert_eq!(browser.get("/app").await.status, 200, "this session goes on");
    }
}

#[tokio::test]
async fn wrong_codes_count_as_failed_log_ins_and_right_passwords_without_a_code_do_not() {
    for mode in [Mode::Embedded, Mode::Production] {
        let app = App::start_with(mode, &[("LIMIT_LOGIN_FAILURES", "3")]).await;
        let (_, email, second) = secured(&app).await;
        for _ in 0..5 {
            let asked = app.account("/auth/login", &email, PASSWORD).await;
            asked.is_error(401, "One-time password needed");
        }
        for _ in 0..3 {
            let wrong = log_in(&app, &email, PASSWORD, "nonsense").await;
            wrong.is_error(401, WRONG);
        }
        let late = log_in(&app, &email, PASSWORD, &second.code(0)).await;
        assert_eq!(late.status, 429, "{late:?}");
        app.finish().await;
    }
}

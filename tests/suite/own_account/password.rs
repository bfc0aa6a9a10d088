//! `POST /auth/password`

use reqwest::Method;
use serde_json::json;

use super::{
    PASSWORD, account, change_password, delete_account, is_refused_everywhere, log_in, send,
    token_of,
};
use crate::support::{App, Mode, both_modes, unique};

both_modes! {
    async fn a_password_is_changed_and_an_account_deleted_by_another_spelling(app) {
        let (composed, decomposed) = ("Pässwörd eins", "Pa\u{308}sswo\u{308}rd eins");
        let (email, token) = account(app).await;
        let token = token_of(&change_password(app, &token, PASSWORD, composed).await);
        let token = token_of(&change_password(app, &token, decomposed, "Zwe\u{308}i Wörter").await);
        token_of(&log_in(app, &email, "Zwëi Wo\u{308}rter").await);
        assert_eq!(delete_account(app, &token, "Zwe\u{308}i Wo\u{308}rter").await.status, 204);
    }

    async fn another_password_takes_the_place_of_the_old_one(app) {
        let (email, token) = account(app).await;
        let changed = change_password(app, &token, PASSWORD, "another horse").await;
        assert_eq!(changed.json()["token_type"], "bearer");
        assert_eq!(changed.json().as_object().unwrap().len(), 2);
        assert_eq!(app.get_as(&token_of(&changed), "/auth/me").await.json()["email"], email);
        log_in(app, &email, PASSWORD).await.is_error(401, "Incorrect email or password");
        assert_eq!(log_in(app, &email, "another horse").await.status, 200);
    }

    async fn every_token_given_before_a_change_of_password_is_refused_on_every_route(app) {
        let (email, first) = account(app).await;
        let second = token_of(&log_in(app, &email, PASSWORD).await);
        let fresh = token_of(&change_password(app, &second, PASSWORD, "another horse").await);
        for ended in [&first, &second] {
            is_refused_everywhere(app, ended).await;
        }
        assert_eq!(app.try_shorten(&fresh, "https://example.org/").await.status, 200);
    }

    async fn a_wrong_old_password_changes_nothing(app) {
        let (email, token) = account(app).await;
        change_password(app, &token, "wrong horse", "another horse").await.is_error(403, "Incorrect password");
        assert_eq!(app.get_as(&token, "/auth/me").await.status, 200);
        assert_eq!(log_in(app, &email, PASSWORD).await.status, 200);
    }

    async fn a_new_password_obeys_the_rule_of_registration(app) {
        let (_, token) = account(app).await;
        for bad in ["seven77", &"x".repeat(129)] {
            change_password(app, &token, PASSWORD, bad).await
                .is_error(422, "new_password: must be 8 to 128 characters long");
        }
        for (body, detail) in [
            (json!({ "new_password": "another horse" }), "old_password: field is required"),
            (json!({ "old_password": PASSWORD }), "new_password: field is required"),
            (json!({ "old_password": 1, "new_password": "another horse" }), "old_password: must be a string"),
        ] {
            send(app, Method::POST, &token, "/auth/password", &body).await.is_error(422, detail);
        }
        assert_eq!(app.get_as(&token, "/auth/me").await.status, 200);
    }

    async fn a_common_password_or_one_with_the_own_name_is_refused_as_a_new_one(app) {
        let (email, token) = account(app).await;
        let name = email.split('@').next().unwrap();
        for (bad, why) in [
            ("PassWord1", "is one of the most common passwords, which are guessed first; choose another"),
            (&format!("my {}", name.to_uppercase()), "must not contain the name in your e-mail address"),
        ] {
            change_password(app, &token, PASSWORD, bad).await.is_error(422, &format!("new_password: {why}"));
            let fresh = if bad == "PassWord1" { format!("{}@example.com", unique()) } else { format!("{name}@example.com") };
            app.account("/auth/register", &fresh, bad).await.is_error(422, &format!("password: {why}"));
        }
        assert_eq!(app.get_as(&token, "/auth/me").await.status, 200);
    }

    async fn other_accounts_keep_their_tokens_and_passwords(app) {
        let ((email, other), (_, token)) = (account(app).await, account(app).await);
        assert_eq!(change_password(app, &token, PASSWORD, "another horse").await.status, 200);
        assert_eq!(app.get_as(&other, "/auth/me").await.status, 200);
        assert_eq!(log_in(app, &email, PASSWORD).await.status, 200);
    }
}

mod with_few_failures {
    use super::*;

    both_modes! {
        with &[("LIMIT_LOGIN_FAILURES", "3"), ("LIMIT_LOGIN", "0")];

        async fn wrong_old_passwords_count_as_failed_log_ins(app) {
            let (email, token) = account(app).await;
            log_in(app, &email, "wrong horse").await.is_error(401, "Incorrect email or password");
            for _ in 0..2 {
                change_password(app, &token, "wrong horse", "another horse").await.is_error(403, "Incorrect password");
            }
            for stopped in [
                change_password(app, &token, PASSWORD, "another horse").await,
                super::super::delete_account(app, &token, PASSWORD).await,
                log_in(app, &email, PASSWORD).await,
            ] {
                assert_eq!(stopped.status, 429, "{stopped:?}");
                assert!(!stopped.header("retry-after").is_empty());
            }
        }
    }
}

#[tokio::test]
async fn changes_of_password_are_limited_by_address_as_log_ins_are() {
    let app = App::start_with(Mode::Embedded, &[("LIMIT_LOGIN", "2")]).await;
    let (_, token) = account(&app).await;
    let mut statuses = Vec::new();
    for _ in 0..5 {
        statuses.push(
            change_password(&app, &token, "wrong horse", "another horse")
                .await
                .status
                .as_u16(),
        );
    }
    assert!(
        statuses.contains(&429) && statuses.contains(&403),
        "{statuses:?}"
    );
    app.finish().await;
}

#[tokio::test]
async fn tokens_from_before_a_change_of_password_are_refused_on_every_instance() {
    let app = App::start(Mode::Production).await;
    let other = App::of(
        crate::support::Backend::new(Mode::Embedded).await,
        app.another(&[]).await,
    );
    let (_, token) = account(&app).await;
    assert_eq!(other.get_as(&token, "/urls/my").await.status, 200);
    let fresh = token_of(&change_password(&app, &token, PASSWORD, "another horse").await);
    is_refused_everywhere(&other, &token).await;
    assert_eq!(other.get_as(&fresh, "/urls/my").await.status, 200);
    other.finish().await;
    app.finish().await;
}

#[tokio::test]
async fn a_password_of_the_file_is_refused_as_a_new_one_and_logs_in_where_an_account_has_it() {
    let app = App::start(Mode::Production).await;
    let (email, _) = account(&app).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("passwords");
    std::fs::write(&path, format!("{}\n", PASSWORD.to_uppercase())).unwrap();
    let settings = [("COMMON_PASSWORDS", path.to_str().unwrap())];
    let other = App::of(
        crate::support::Backend::new(Mode::Embedded).await,
        app.another(&settings).await,
    );
    let fresh = format!("{}@example.org", unique());
    assert_eq!(
        other
            .account("/auth/register", &fresh, PASSWORD)
            .await
            .status,
        422
    );
    let token = token_of(&log_in(&other, &email, PASSWORD).await);
    assert_eq!(
        change_password(&other, &token, PASSWORD, PASSWORD)
            .await
            .status,
        422
    );
    other.finish().await;
    app.finish().await;
}

//! `POST /auth/logout-everywhere`

use std::collections::HashMap;

use reqwest::Method;
use sqlx::{Connection, PgConnection};
use tokio::sync::Mutex;

use super::{PASSWORD, account, is_refused_everywhere, log_in, log_out_everywhere, token_of};
use crate::support::{App, Mode, Response, both_modes, eventually, locked, waiting_for};

/// Blocks every statement that looks at accounts.
const LOCK_USERS: &str = "LOCK TABLE users IN ACCESS EXCLUSIVE MODE";

both_modes! {
    async fn all_tokens_end_and_a_new_log_in_gives_one_that_is_good(app) {
        let (email, first) = account(app).await;
        let second = token_of(&log_in(app, &email, PASSWORD).await);
        let answer = log_out_everywhere(app, &second).await;
        assert_eq!((answer.status.as_u16(), answer.text.as_str()), (204, ""));
        for ended in [&first, &second] {
            is_refused_everywhere(app, ended).await;
        }
        let third = token_of(&log_in(app, &email, PASSWORD).await);
        assert_eq!(app.get_as(&third, "/auth/me").await.status, 200);
    }

    async fn links_live_on_when_tokens_end(app) {
        let (email, token) = account(app).await;
        let code = app.shorten(&token, "https://example.org/").await;
        log_out_everywhere(app, &token).await;
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        let token = token_of(&log_in(app, &email, PASSWORD).await);
        assert_eq!(app.get_as(&token, "/urls/my").await.json().as_array().unwrap().len(), 1);
    }

    async fn tokens_of_others_go_on(app) {
        let ((_, other), (_, token)) = (account(app).await, account(app).await);
        log_out_everywhere(app, &token).await;
        assert_eq!(app.get_as(&other, "/auth/me").await.status, 200);
    }
}

#[tokio::test]
async fn a_token_is_checked_by_the_statement_of_the_operation_itself() {
    let app = App::start(Mode::Production).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    let of_backend: HashMap<_, _> = app.backend.settings().into_iter().collect();
    let url = &of_backend["DATABASE_URL"];
    let mut holder = PgConnection::connect(url).await.unwrap();
    let observer = Mutex::new(PgConnection::connect(url).await.unwrap());
    let link = format!("/urls/{code}");
    for (method, path) in [
        (Method::GET, "/urls/my"),
        (Method::GET, &link),
        (
            Method::POST,
            "/urls/shorten?target_url=https://example.org/other",
        ),
        (Method::PATCH, &link),
        (Method::DELETE, &link),
    ] {
        let locked = locked(&mut holder, LOCK_USERS).await;
        let request = app.request(method.clone(), path).bearer_auth(&token);
        let request = match method {
            Method::PATCH => request.body("{\"title\": \"Spring\"}"),
            _ => request,
        };
        let asked = tokio::spawn(Response::of(request));
        // A statement of its own for the account would wait here, and would not be about links.
        eventually("the operation itself looks at the account", async || {
            waiting_for(&mut *observer.lock().await, "links").await > 0
        })
        .await;
        locked.rollback().await.unwrap();
        let answer = asked.await.unwrap();
        assert!(answer.status.is_success(), "{method} {path}: {answer:?}");
    }
    app.finish().await;
}

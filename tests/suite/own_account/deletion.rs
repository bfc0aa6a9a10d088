//! `DELETE /auth/me`

use reqwest::Method;
use serde_json::json;

use super::{PASSWORD, account, delete_account, is_refused_everywhere, log_in, send};
use crate::support::{App, Backend, Mode, both_modes};

/// More links than are announced one by one.
const MANY: &str = "INSERT INTO links (short_code, target_url, owner_id, created_at)
    SELECT 'many-' || n, 'https://example.org/', (SELECT id FROM users WHERE email = $1), now_micros() FROM generate_series(1, 10001) n";

async fn is_unknown(app: &App, code: &str) {
    for path in [format!("/{code}"), format!("/urls/r/{code}")] {
        app.get(&path).await.is_error(404, "URL not found");
    }
    app.get(&format!("/urls/{code}/stats"))
        .await
        .is_error(404, "Not Found");
}

both_modes! {
    async fn a_deleted_account_is_gone_with_its_links_and_statistics(app) {
        let (email, token) = account(app).await;
        let code = app.shorten(&token, "https://example.org/").await;
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        let deleted = delete_account(app, &token, PASSWORD).await;
        assert_eq!((deleted.status.as_u16(), deleted.text.as_str()), (204, ""));
        is_unknown(app, &code).await;
        is_refused_everywhere(app, &token).await;
        log_in(app, &email, PASSWORD).await.is_error(401, "Incorrect email or password");
    }

    async fn an_account_without_links_is_deleted(app) {
        let (_, token) = account(app).await;
        assert_eq!(delete_account(app, &token, PASSWORD).await.status, 204);
        is_refused_everywhere(app, &token).await;
    }

    async fn a_wrong_password_deletes_nothing(app) {
        let (_, token) = account(app).await;
        let code = app.shorten(&token, "https://example.org/").await;
        delete_account(app, &token, "wrong horse").await.is_error(403, "Incorrect password");
        send(app, Method::DELETE, &token, "/auth/me", &json!({})).await.is_error(422, "password: field is required");
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        assert_eq!(app.get_as(&token, "/auth/me").await.status, 200);
    }

    async fn the_address_of_a_deleted_account_may_be_registered_anew(app) {
        let (email, token) = account(app).await;
        app.shorten(&token, "https://example.org/").await;
        assert_eq!(delete_account(app, &token, PASSWORD).await.status, 204);
        let again = app.account("/auth/register", &email, "another horse").await;
        let token = super::token_of(&again);
        assert_eq!(app.get_as(&token, "/urls/my").await.text, "[]\n");
    }

    async fn codes_of_a_deleted_account_stay_retired(app) {
        let ((_, token), (_, other)) = (account(app).await, account(app).await);
        let chosen = json!({ "target_url": "https://example.org/", "custom_code": "once-mine" });
        assert_eq!(send(app, Method::POST, &token, "/urls/shorten", &chosen).await.status, 200);
        assert_eq!(delete_account(app, &token, PASSWORD).await.status, 204);
        send(app, Method::POST, &other, "/urls/shorten", &chosen).await.is_error(409, "custom_code: is taken");
        is_unknown(app, "once-mine").await;
    }

    async fn accounts_of_others_keep_their_links(app) {
        let ((_, token), (_, other)) = (account(app).await, account(app).await);
        let code = app.shorten(&other, "https://example.org/").await;
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        assert_eq!(delete_account(app, &token, PASSWORD).await.status, 204);
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        assert_eq!(app.get_as(&other, "/urls/my").await.json().as_array().unwrap().len(), 1);
    }
}

/// Deletes an account whose link another instance has cached as well.
async fn deleted_beside_another(links: Option<&'static str>) {
    let ttl = [("CACHE_TTL_SECONDS", "600")];
    let app = App::start_with(Mode::Production, &ttl).await;
    let other = App::of(Backend::new(Mode::Embedded).await, app.another(&ttl).await);
    let (email, token) = account(&app).await;
    let codes = [
        app.shorten(&token, "https://example.org/").await,
        app.shorten(&token, "https://example.com/").await,
    ];
    if let Some(links) = links {
        app.backend.execute(links, &email).await;
    }
    for code in &codes {
        assert_eq!(other.server.follow(code).await, 302);
        assert_eq!(app.server.follow(code).await, 302);
    }
    assert_eq!(delete_account(&app, &token, PASSWORD).await.status, 204);
    for code in &codes {
        is_unknown(&other, code).await;
        is_unknown(&app, code).await;
    }
    other.server_only().await;
    app.server_only().await;
}

#[tokio::test]
async fn no_instance_follows_links_of_an_account_once_its_deletion_is_answered() {
    deleted_beside_another(None).await;
}

#[tokio::test]
async fn no_instance_follows_one_of_very_many_links_once_the_deletion_is_answered() {
    deleted_beside_another(Some(MANY)).await;
}

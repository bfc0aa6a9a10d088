//! Accounts that are banned.

use reqwest::Method;
use serde_json::json;

use super::{GRANT, PASSWORD, account, admin, becomes, id_of, remove, revoke, send};
use crate::suite::web::browser::{Browser, leads_to};
use crate::support::{App, Backend, Mode, both_modes};

/// Every way into a banned account is closed.
async fn is_locked_out(app: &App, email: &str, tokens: &[&str]) {
    for token in tokens {
        let link = json!({ "target_url": "https://example.org/" });
        assert_eq!(app.get_as(token, "/urls/my").await.status, 401);
        assert_eq!(
            send(app, Method::POST, token, "/urls/shorten", &link)
                .await
                .status,
            401
        );
    }
    let again = app.account("/auth/login", email, PASSWORD).await;
    again.is_error(401, "Incorrect email or password");
    let anew = app.account("/auth/register", email, PASSWORD).await;
    anew.is_error(400, "Email already registered");
}

both_modes! {
    async fn a_banned_account_has_no_token_key_or_links_until_it_is_unbanned(app) {
        let admin = admin(app).await;
        let (email, token) = account(app).await;
        let code = app.shorten(&token, "https://example.org/").await;
        let key = json!({ "name": "script", "scope": "write" });
        let key = send(app, Method::POST, &token, "/auth/keys", &key).await.json();
        let key = key["key"].as_str().unwrap().to_owned();
        let id = id_of(&remove(app, &admin, "user", &email, 410).await);
        is_locked_out(app, &email, &[&token, &key]).await;
        becomes(app, &code, 410).await;
        let seen = app.get_as(&admin, &format!("/admin/users?q={email}")).await.json();
        assert_eq!((&seen["users"][0]["is_banned"], &seen["users"][0]["links"]), (&json!(true), &json!(1)));
        remove(app, &admin, "user", &email, 410).await.is_error(409, &format!("value: was already removed, by removal {id}"));

        assert_eq!(revoke(app, &admin, id).await.status, 200);
        let again = app.account("/auth/login", &email, PASSWORD).await.json();
        let again = again["access_token"].as_str().unwrap();
        assert_eq!(app.get_as(again, "/urls/my").await.status, 200);
        assert_eq!(app.get_as(&token, "/urls/my").await.status, 401, "tokens from before stay ended");
        assert_eq!(app.get_as(&key, "/urls/my").await.status, 401, "and so do keys");
        becomes(app, &code, 302).await;
    }

    async fn links_of_others_are_followed_beside_a_ban(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        let kept = app.shorten(&token, "https://example.org/").await;
        let (email, banned) = account(app).await;
        let code = app.shorten(&banned, "https://example.org/").await;
        id_of(&remove(app, &admin, "user", &email, 410).await);
        becomes(app, &code, 410).await;
        assert_eq!(app.visit(&format!("/{kept}")).await.status, 302);
    }

    async fn an_administrator_does_not_ban_the_own_account(app) {
        let (email, admin) = account(app).await;
        app.backend.execute(GRANT, &email).await;
        let code = app.shorten(&admin, "https://example.org/").await;
        let id = app.get_as(&admin, "/auth/me").await.json()["id"].to_string();
        let why = "value: must not be your own account: only the operator can ban it, with `shunt admin ban`";
        for value in [email.to_uppercase(), id] {
            remove(app, &admin, "user", &value, 410).await.is_error(422, why);
        }
        assert_eq!(app.get_as(&admin, "/admin/removals").await.status, 200);
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }

    async fn an_unknown_account_is_not_banned(app) {
        let admin = admin(app).await;
        for value in ["unknown@example.org", "987654"] {
            remove(app, &admin, "user", value, 410).await.is_error(404, "value: nothing of this kind has this value");
        }
    }
}

#[tokio::test]
async fn a_ban_ends_sessions_and_keys_at_once_on_every_instance() {
    let app = App::start(Mode::Production).await;
    let other = App::of(Backend::new(Mode::Embedded).await, app.another(&[]).await);
    let admin = admin(&app).await;
    for _ in 0..5 {
        let mut browsers = [Browser::new(&app), Browser::new(&other)];
        let email = browsers[0].sign_up().await;
        let fields = [("email", email.as_str()), ("password", PASSWORD)];
        let there = browsers[1].send("/app/login", "/app/login", &fields).await;
        leads_to(&there, "/app");
        let logged_in = app.account("/auth/login", &email, PASSWORD).await.json();
        let token = logged_in["access_token"].as_str().unwrap();
        let key = json!({ "name": "script", "scope": "write" });
        let key = send(&app, Method::POST, token, "/auth/keys", &key).await;
        let key = key.json()["key"].as_str().unwrap().to_owned();
        for browser in &mut browsers {
            assert_eq!(browser.get("/app").await.status, 200);
            assert_eq!(browser.app.get_as(&key, "/urls/my").await.status, 200);
        }
        id_of(&remove(&app, &admin, "user", &email, 410).await);
        for browser in &mut browsers {
            leads_to(&browser.get("/app").await, "/app/login");
            for bearer in [&key, token] {
                let refused = browser.app.get_as(bearer, "/urls/my").await;
                refused.is_error(401, "Not authenticated");
            }
        }
    }
    other.server_only().await;
    app.server_only().await;
}

#[tokio::test]
async fn a_ban_of_very_many_links_reaches_all_of_them_on_every_instance() {
    let app = App::start(Mode::Production).await;
    let other = App::of(Backend::new(Mode::Embedded).await, app.another(&[]).await);
    let admin = admin(&app).await;
    let (email, _) = account(&app).await;
    let many = "INSERT INTO links (short_code, target_url, owner_id, created_at)
        SELECT 'many-' || n, 'https://example.org/', (SELECT id FROM users WHERE email = $1), now_micros() FROM generate_series(1, 2001) n";
    app.backend.execute(many, &email).await;
    for code in ["many-1", "many-1000", "many-2001"] {
        assert_eq!(other.server.follow(code).await, 302);
        assert_eq!(app.server.follow(code).await, 302);
    }
    let id = id_of(&remove(&app, &admin, "user", &email, 410).await);
    for code in ["many-1", "many-1000", "many-2001"] {
        becomes(&other, code, 410).await;
        becomes(&app, code, 410).await;
    }
    let listed = app.get_as(&admin, "/admin/removals").await.json();
    assert_eq!(listed["removals"][0]["links"], 2001);
    assert_eq!(revoke(&app, &admin, id).await.status, 200);
    for code in ["many-1", "many-1000", "many-2001"] {
        becomes(&other, code, 302).await;
    }
    other.server_only().await;
    app.server_only().await;
}

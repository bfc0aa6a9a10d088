//! API keys: `/auth/keys`, and requests with a key.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::{
    PASSWORD, account, change_password, delete_account, is_refused_everywhere, log_out_everywhere,
    send, token_of,
};
use crate::support::{App, Backend, Mode, Response, both_modes, eventually};

async fn make(app: &App, token: &str, body: &Value) -> Response {
    send(app, Method::POST, token, "/auth/keys", body).await
}

/// A fresh key: its number and its text.
async fn key(app: &App, token: &str, scope: &str) -> (i64, String) {
    let made = make(app, token, &json!({ "name": "a program", "scope": scope })).await;
    assert_eq!(made.status, 200, "{made:?}");
    let made = made.json();
    (
        made["id"].as_i64().unwrap(),
        made["key"].as_str().unwrap().to_owned(),
    )
}

async fn delete(app: &App, token: &str, id: i64) -> Response {
    let request = app.request(Method::DELETE, &format!("/auth/keys/{id}"));
    Response::of(request.bearer_auth(token)).await
}

async fn keys(app: &App, token: &str) -> Vec<Value> {
    let listed = app.get_as(token, "/auth/keys").await;
    assert_eq!(listed.status, 200, "{listed:?}");
    listed.json().as_array().unwrap().clone()
}

fn fields(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

both_modes! {
    async fn a_key_is_shown_once_and_listed_without_its_text(app) {
        let (_, token) = account(app).await;
        assert_eq!(app.get_as(&token, "/auth/keys").await.text, "[]\n");
        let end = "2099-01-31T19:00:00+01:00";
        let made = make(app, &token, &json!({ "name": "backup ü", "scope": "read", "expires_at": end })).await.json();
        let mut named = fields(&made);
        named.sort_unstable();
        assert_eq!(named, ["created_at", "expires_at", "id", "key", "name", "scope"]);
        assert_eq!((&made["name"], &made["scope"]), (&json!("backup ü"), &json!("read")));
        assert_eq!(made["expires_at"], "2099-01-31T18:00:00Z");
        let text = made["key"].as_str().unwrap();
        assert!(text.starts_with("shunt_") && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{text}");
        let second = make(app, &token, &json!({ "name": "second", "scope": "write" })).await.json();
        assert_eq!(second["expires_at"], Value::Null);
        let listed = keys(app, &token).await;
        assert_eq!(listed.iter().map(|key| &key["id"]).collect::<Vec<_>>(), [&second["id"], &made["id"]]);
        let mut named = fields(&listed[1]);
        named.sort_unstable();
        assert_eq!(named, ["created_at", "expires_at", "id", "last_used_on", "name", "scope"]);
        for field in ["id", "name", "scope", "created_at", "expires_at"] {
            assert_eq!(listed[1][field], made[field]);
        }
        assert_eq!(listed[1]["last_used_on"], Value::Null);
    }

    async fn a_write_key_is_a_bearer_token_on_all_routes_of_links(app) {
        let (email, token) = account(app).await;
        let (_, key) = key(app, &token, "write").await;
        assert_eq!(app.get_as(&key, "/auth/me").await.json()["email"], email);
        let code = app.shorten(&key, "https://example.org/").await;
        let path = format!("/urls/{code}");
        assert_eq!(app.get_as(&key, &path).await.status, 200);
        assert_eq!(send(app, Method::PATCH, &key, &path, &json!({ "title": "mine" })).await.status, 200);
        for list in ["/urls/my", "/urls/my?limit=1", "/urls/my?q=mine", "/urls/my?view=full"] {
            assert_eq!(app.get_as(&key, list).await.json().as_array().unwrap().len(), 1, "{list}");
        }
        assert_eq!(app.delete(&key, &code).await.status, 204);
    }

    async fn a_read_key_reads_and_changes_nothing(app) {
        let (_, token) = account(app).await;
        let code = app.shorten(&token, "https://example.org/").await;
        let (_, key) = key(app, &token, "read").await;
        let path = format!("/urls/{code}");
        for read in ["/urls/my", &path, "/auth/me"] {
            assert_eq!(app.get_as(&key, read).await.status, 200, "{read}");
        }
        for refused in [
            app.try_shorten(&key, "https://example.org/").await,
            send(app, Method::PATCH, &key, &path, &json!({ "title": "mine" })).await,
            app.delete(&key, &code).await,
            send(app, Method::POST, &key, "/urls/shorten", &json!({ "nonsense": 1 })).await,
        ] {
            refused.is_error(403, "This key is read-only");
            assert_eq!(refused.header("www-authenticate"), "Bearer error=\"insufficient_scope\"");
        }
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }

    async fn no_key_is_accepted_on_routes_of_accounts(app) {
        let (_, token) = account(app).await;
        let (id, key) = key(app, &token, "write").await;
        for (method, path, body) in [
            (Method::POST, "/auth/keys".to_owned(), json!({ "name": "more", "scope": "write" })),
            (Method::GET, "/auth/keys".to_owned(), json!({})),
            (Method::DELETE, format!("/auth/keys/{id}"), json!({})),
            (Method::POST, "/auth/password".to_owned(), json!({ "old_password": PASSWORD, "new_password": "another horse" })),
            (Method::POST, "/auth/logout-everywhere".to_owned(), json!({})),
            (Method::DELETE, "/auth/me".to_owned(), json!({ "password": PASSWORD })),
        ] {
            let refused = send(app, method.clone(), &key, &path, &body).await;
            assert_eq!((refused.status.as_u16(), refused.detail().as_str()), (401, "Not authenticated"), "{method} {path}");
            assert!(refused.header("www-authenticate").contains("an API key is not accepted here"), "{method} {path}");
        }
        assert_eq!(keys(app, &token).await.len(), 1);
    }

    async fn a_key_that_was_ended_is_refused_at_once(app) {
        let (_, token) = account(app).await;
        let ((id, ended), (_, other)) = (key(app, &token, "write").await, key(app, &token, "write").await);
        assert_eq!(app.get_as(&ended, "/urls/my").await.status, 200);
        let answer = delete(app, &token, id).await;
        assert_eq!((answer.status.as_u16(), answer.text.as_str()), (204, ""));
        is_refused_everywhere(app, &ended).await;
        assert_eq!(app.get_as(&other, "/urls/my").await.status, 200);
        assert_eq!(keys(app, &token).await.len(), 1);
        delete(app, &token, id).await.is_error(404, "Key not found");
    }

    async fn a_key_that_was_ended_is_told_apart_from_one_that_may_not_be_used(app) {
        let (_, token) = account(app).await;
        let ((id, ended), (_, other)) = (key(app, &token, "write").await, key(app, &token, "write").await);
        delete(app, &token, id).await;
        let mistyped = format!("{other}0");
        for (key, why) in [
            (&ended, "the token or key was revoked, or its account was deleted"),
            (&other, "an API key is not accepted here"),
            (&mistyped, "the token is malformed, or was not issued by this service"),
        ] {
            for path in ["/auth/keys", "/admin/audit"] {
                let refused = app.get_as(key, path).await;
                refused.is_error(401, "Not authenticated");
                let challenge = refused.header("www-authenticate");
                assert!(challenge.contains(&format!("error_description=\"{why}\"")), "{path}: {challenge}");
            }
        }
        let challenge = app.get_as(&ended, "/urls/my").await;
        assert!(challenge.header("www-authenticate").contains("was revoked"), "{challenge:?}");
    }

    async fn a_key_ends_at_its_own_time(app) {
        let (_, token) = account(app).await;
        let end = in_seconds(2);
        let made = make(app, &token, &json!({ "name": "short", "scope": "write", "expires_at": end })).await.json();
        let key = made["key"].as_str().unwrap();
        assert_eq!(app.get_as(key, "/urls/my").await.status, 200);
        eventually("the key ends", async || app.get_as(key, "/urls/my").await.status == 401).await;
        is_refused_everywhere(app, key).await;
        assert_eq!(keys(app, &token).await.len(), 1, "it is listed until it is deleted");
    }

    async fn a_text_that_is_no_key_is_refused(app) {
        let (_, token) = account(app).await;
        let (_, key) = key(app, &token, "read").await;
        let altered = key.replacen('r', "w", 1);
        let (body, _) = altered.split_at(altered.len() - 8);
        // With a right checksum: a key of another scope, which was never made.
        let crc = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);
        let forged = format!("{body}{:08x}", crc.checksum(body.as_bytes()));
        for bad in ["shunt_", "shunt_w1", &key[..key.len() - 1], &format!("{key}0"), &altered, &forged] {
            let refused = app.get_as(bad, "/urls/my").await;
            assert_eq!((refused.status.as_u16(), refused.detail().as_str()), (401, "Not authenticated"), "{bad}");
        }
    }

    async fn a_key_of_another_account_is_neither_seen_nor_ended(app) {
        let ((_, ada), (_, bob)) = (account(app).await, account(app).await);
        let (id, key) = key(app, &ada, "write").await;
        assert!(keys(app, &bob).await.is_empty());
        delete(app, &bob, id).await.is_error(404, "Key not found");
        for other in ["0", "-1", "x", "99999999999999999999"] {
            let request = app.request(Method::DELETE, &format!("/auth/keys/{other}"));
            Response::of(request.bearer_auth(&bob)).await.is_error(404, "Key not found");
        }
        assert_eq!(app.get_as(&key, "/urls/my").await.status, 200);
    }

    async fn an_account_has_at_most_50_keys(app) {
        let (_, token) = account(app).await;
        let body = json!({ "name": "one of many", "scope": "read" });
        let made = futures_util::future::join_all((0..55).map(|_| make(app, &token, &body))).await;
        let statuses: Vec<_> = made.iter().map(|made| made.status.as_u16()).collect();
        let count = |status| statuses.iter().filter(|given| **given == status).count();
        assert_eq!((count(200), count(403)), (50, 5), "{statuses:?}");
        make(app, &token, &body).await
            .is_error(403, "This account has the maximum of 50 keys; delete a key to make room");
        let id = keys(app, &token).await[0]["id"].as_i64().unwrap();
        assert_eq!(delete(app, &token, id).await.status, 204);
        assert_eq!(make(app, &token, &body).await.status, 200);
    }

    async fn the_day_of_the_last_use_is_noted(app) {
        let (_, token) = account(app).await;
        let (_, key) = key(app, &token, "read").await;
        for _ in 0..2 {
            assert_eq!(app.get_as(&key, "/urls/my").await.status, 200);
        }
        let listed = keys(app, &token).await;
        let day = listed[0]["last_used_on"].as_str().unwrap();
        let today = shunt::domain::Clock::now(&shunt::domain::SystemClock);
        assert!([today.date(), today.before(Duration::from_mins(1)).date()].contains(&day.to_owned()), "{day}");
    }

    async fn fields_of_a_new_key_are_checked(app) {
        let (_, token) = account(app).await;
        for (body, detail) in [
            (json!({ "scope": "read" }), "name: field is required"),
            (json!({ "name": "", "scope": "read" }), "name: must be 1 to 100 characters, without control characters"),
            (json!({ "name": "a\nb", "scope": "read" }), "name: must be 1 to 100 characters, without control characters"),
            (json!({ "name": "x".repeat(101), "scope": "read" }), "name: must be 1 to 100 characters, without control characters"),
            (json!({ "name": "x" }), "scope: field is required"),
            (json!({ "name": "x", "scope": "all" }), "scope: must be read, write or create"),
            (json!({ "name": "x", "scope": "READ" }), "scope: must be read, write or create"),
            (json!({ "name": "x", "scope": ["read"] }), "scope: must be a string"),
            // A key that does not end would look like one that does.
            (json!({ "name": "x", "scope": "read", "expire_at": "2099-01-31T18:00:00Z" }), "expire_at: is not known here; did you mean expires_at?"),
            (json!({ "name": "x", "scope": "read", "expires_at": "2020-01-31T18:00:00Z" }), "expires_at: must be in the future"),
            (json!({ "name": "x", "scope": "read", "expires_at": "2099-01-31T18:00:00" }), "expires_at: must have a zone, such as 2027-01-31T18:00:00+01:00"),
        ] {
            make(app, &token, &body).await.is_error(422, detail);
        }
        assert!(keys(app, &token).await.is_empty());
    }

    async fn keys_outlive_tokens_and_end_with_their_account(app) {
        let (_, token) = account(app).await;
        let (_, key) = key(app, &token, "write").await;
        let token = token_of(&change_password(app, &token, PASSWORD, "another horse").await);
        assert_eq!(app.get_as(&key, "/urls/my").await.status, 200);
        assert_eq!(delete_account(app, &token, "another horse").await.status, 204);
        is_refused_everywhere(app, &key).await;
        let (_, token) = account(app).await;
        let (_, key) = super::keys::key(app, &token, "write").await;
        log_out_everywhere(app, &token).await;
        assert_eq!(app.get_as(&key, "/urls/my").await.status, 200);
    }
}

/// A moment so many seconds from now, as RFC 3339.
fn in_seconds(seconds: u64) -> String {
    let now = crate::support::unix_seconds() + seconds;
    let micros = i64::try_from(now * 1_000_000).unwrap();
    shunt::domain::Timestamp::from_micros(micros)
        .unwrap()
        .to_string()
}

#[tokio::test]
async fn a_key_that_was_ended_at_one_instance_is_refused_at_all() {
    let app = App::start(Mode::Production).await;
    let other = App::of(Backend::new(Mode::Embedded).await, app.another(&[]).await);
    let (_, token) = account(&app).await;
    let (id, key) = key(&app, &token, "write").await;
    assert_eq!(other.get_as(&key, "/urls/my").await.status, 200);
    assert_eq!(delete(&app, &token, id).await.status, 204);
    is_refused_everywhere(&other, &key).await;
    other.finish().await;
    app.finish().await;
}

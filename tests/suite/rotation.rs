//! Secrets: what tokens say, a rotation that logs no user out, secrets in files.

use ring::hmac::HMAC_SHA256;
use serde_json::json;

use crate::support::tokens::{claims_of, signed_token};
use crate::support::{App, Backend, Mode, Server, both_modes, unix_seconds};

const NEW: &str = "9f2c51d7a80be36495cc07f1e2b8d43a";

async fn status(server: &Server, token: &str) -> u16 {
    let url = format!("{}/auth/me", server.base);
    let asked = reqwest::Client::new().get(url).bearer_auth(token).send();
    asked.await.unwrap().status().as_u16()
}

/// A fresh account's token, of this instance.
async fn token_of(server: &Server) -> String {
    let url = format!("{}/auth/register", server.base);
    let account = json!({ "email": format!("{}@example.org", crate::support::unique()), "password": "correct horse" });
    let registered = reqwest::Client::new().post(url).json(&account).send().await;
    let body: serde_json::Value = registered.unwrap().json().await.unwrap();
    body["access_token"].as_str().unwrap().to_owned()
}

both_modes! {
    async fn a_token_says_who_issued_it_for_whom_and_what_it_is(app) {
        let claims = claims_of(&app.register().await);
        assert_eq!(claims["iss"], app.server.base);
        assert_eq!((&claims["aud"], &claims["typ"]), (&json!("shunt"), &json!("access")));
        assert!(claims["sub"].is_string() && claims["iat"].is_u64() && claims["exp"].is_u64());
    }

    async fn a_token_that_does_not_say_whose_it_is_or_what_for_is_refused(app) {
        let claims = claims_of(&app.register().await);
        let with_a_later_end = |without: &str| {
            let mut claims = claims.clone();
            claims["exp"] = json!(unix_seconds() + 60);
            claims.as_object_mut().unwrap().remove(without);
            signed_token(r#"{"alg":"HS256","typ":"JWT"}"#, claims.to_string(), &app.backend.secret(), HMAC_SHA256)
        };
        assert_eq!(app.get_as(&with_a_later_end("nothing"), "/auth/me").await.status, 200);
        for claim in ["iss", "aud", "typ"] {
            assert_eq!(app.get_as(&with_a_later_end(claim), "/auth/me").await.status, 401, "{claim}");
        }
    }
}

#[tokio::test]
async fn a_rotation_of_the_secret_logs_no_user_out() {
    let app = App::start(Mode::Production).await;
    let old = String::from_utf8(app.backend.secret()).unwrap();
    let before = app.register().await;
    let during = app.another(&[("JWT_SECRET_PREVIOUS", NEW)]).await;
    let after = app
        .another(&[("JWT_SECRET", NEW), ("JWT_SECRET_PREVIOUS", &old)])
        .await;
    let done = app.another(&[("JWT_SECRET", NEW)]).await;
    let fresh = token_of(&after).await;
    for (server, of_before, of_after) in [
        (&app.server, 200, 401),
        (&during, 200, 200),
        (&after, 200, 200),
        (&done, 401, 200),
    ] {
        assert_eq!(status(server, &before).await, of_before);
        assert_eq!(status(server, &fresh).await, of_after);
    }
    drop((during, after, done));
    app.finish().await;
}

#[tokio::test]
async fn secrets_in_files_are_those_of_the_settings() {
    let backend = Backend::new(Mode::Production).await;
    let folder = tempfile::tempdir().unwrap();
    let mut settings = Vec::new();
    for (name, value) in backend.settings() {
        if ["DATABASE_URL", "REDIS_URL", "JWT_SECRET"].contains(&&*name) {
            let path = folder.path().join(&name);
            std::fs::write(&path, format!("{value}\n")).unwrap();
            settings.push((format!("{name}_FILE"), path.to_str().unwrap().to_owned()));
        } else {
            settings.push((name, value));
        }
    }
    let server = Server::start(&settings).await;
    let app = App::of(backend, server);
    let token = app.register().await;
    let other = app.another(&[]).await;
    assert_eq!(status(&other, &token).await, 200);
    drop(other);
    app.finish().await;
}

//! Registration, log-in, the caller's account, and tokens.

use reqwest::Method;
use ring::hmac::{Algorithm, HMAC_SHA256, HMAC_SHA384};
use serde_json::{Value, json};

use crate::support::tokens::{claims_of, decoded, signed_token};
use crate::support::{App, Response, both_modes, unique, unix_seconds};

fn minted(app: &App, algorithm: Algorithm, claims: &Value) -> String {
    let name = if algorithm == HMAC_SHA256 {
        "HS256"
    } else {
        "HS384"
    };
    let header = json!({ "alg": name, "typ": "JWT" }).to_string();
    signed_token(
        &header,
        claims.to_string(),
        &app.backend.secret(),
        algorithm,
    )
}

both_modes! {
    async fn a_registration_returns_a_bearer_token_that_identifies_the_user(app) {
        let email = format!("Ada.{}@Example.org", unique());
        let response = app.account("/auth/register", &email, "correct horse").await;
        assert_eq!(response.status, 200);
        assert_eq!(response.json()["token_type"], "bearer");
        assert_eq!(response.json().as_object().unwrap().len(), 2);
        let token = response.json()["access_token"].as_str().unwrap().to_owned();
        let me = app.get_as(&token, "/auth/me").await;
        assert_eq!(me.status, 200);
        assert_eq!(me.json()["email"], email, "kept as given");
        assert!(me.json()["id"].is_i64());
        assert_eq!(me.json().as_object().unwrap().len(), 2);
    }

    async fn an_address_is_registered_once_whatever_its_case(app) {
        let email = format!("{}@example.org", unique());
        assert_eq!(app.account("/auth/register", &email, "correct horse").await.status, 200);
        app.account("/auth/register", &email.to_uppercase(), "another horse").await
            .is_error(400, "Email already registered");
    }

    async fn simultaneous_registrations_of_one_address_make_one_account(app) {
        let email = format!("{}@example.org", unique());
        let responses = futures_util::future::join_all(
            (0..5).map(|_| app.account("/auth/register", &email, "correct horse")),
        ).await;
        let made = responses.iter().filter(|response| response.status == 200).count();
        let refused = responses.iter().filter(|response| response.status == 400).count();
        assert_eq!((made, refused), (1, 4));
    }

    async fn a_login_returns_a_token_whatever_the_case_of_the_address(app) {
        let email = format!("{}@example.org", unique());
        app.account("/auth/register", &email, "correct horse").await;
        let response = app.account("/auth/login", &email.to_uppercase(), "correct horse").await;
        assert_eq!(response.status, 200);
        assert_eq!(response.json()["token_type"], "bearer");
        let token = response.json()["access_token"].as_str().unwrap().to_owned();
        assert_eq!(app.get_as(&token, "/auth/me").await.json()["email"], email);
    }

    async fn a_wrong_password_and_an_unknown_address_are_answered_alike(app) {
        let email = format!("{}@example.org", unique());
        app.account("/auth/register", &email, "correct horse").await;
        let wrong = app.account("/auth/login", &email, "wrong horse").await;
        let unknown = app.account("/auth/login", &format!("{}@example.org", unique()), "correct horse").await;
        wrong.is_error(401, "Incorrect email or password");
        unknown.is_error(401, "Incorrect email or password");
    }

    async fn a_field_that_breaks_its_rule_is_named(app) {
        for path in ["/auth/register", "/auth/login"] {
            for (body, field) in [
                (json!({ "email": "ada", "password": "correct horse" }), "email"),
                (json!({ "email": "a@example.org", "password": "7 chars" }), "password"),
                (json!({ "email": "a@example.org", "password": "x".repeat(129) }), "password"),
                (json!({ "email": "a@example.org" }), "password"),
                (json!({ "password": "correct horse" }), "email"),
                (json!({ "email": 1, "password": "correct horse" }), "email"),
                (json!({ "email": "a@example.org", "password": null }), "password"),
                (json!([]), "body"),
                (json!(["a@example.org", "correct horse"]), "body"),
                (json!("text"), "body"),
            ] {
                let response = app.post(path, body.to_string()).await;
                assert_eq!(response.status, 422, "{path} {body}");
                assert!(response.detail().starts_with(field), "{path} {body}: {}", response.detail());
            }
        }
    }

    async fn a_body_that_is_not_json_is_refused(app) {
        for body in ["", "{", "email=a@example.org", "\u{0}"] {
            assert_eq!(app.post("/auth/register", body).await.status, 422, "{body:?}");
        }
        assert_eq!(app.post("/auth/register", vec![0xff_u8; 100]).await.status, 422);
    }

    async fn a_body_over_16_kib_is_refused(app) {
        for path in ["/auth/register", "/auth/login"] {
            let body = json!({ "email": "a@example.org", "password": "x".repeat(17 * 1024) }).to_string();
            let response = app.post(path, body).await;
            assert_eq!(response.status, 413);
            assert!(!response.detail().is_empty());
        }
    }

    async fn passwords_of_8_and_of_128_characters_are_accepted(app) {
        for password in ["ü".repeat(8), "ü".repeat(128)] {
            let email = format!("{}@example.org", unique());
            assert_eq!(app.account("/auth/register", &email, &password).await.status, 200);
            assert_eq!(app.account("/auth/login", &email, &password).await.status, 200);
        }
    }

    async fn a_route_that_needs_a_token_answers_401_without_a_valid_one(app) {
        let good = app.register().await;
        let me = claims_of(&good);
        let claims = |iat: u64, exp: u64| json!({ "sub": me["sub"], "iat": iat, "exp": exp, "key": me["key"] });
        let headers = [
            String::new(),
            "Bearer".to_owned(),
            "Bearer not-a-token".to_owned(),
            format!("Basic {good}"),
            format!("Bearer {}", &good[..good.len() - 3]),
            format!("Bearer {}", minted(app, HMAC_SHA256, &claims(unix_seconds() - 100, unix_seconds() - 50))),
            format!("Bearer {}", minted(app, HMAC_SHA384, &claims(unix_seconds(), unix_seconds() + 100))),
            format!("Bearer {}", minted(app, HMAC_SHA256, &json!({ "sub": me["sub"], "iat": unix_seconds(), "key": me["key"] }))),
            format!("Bearer {}", minted(app, HMAC_SHA256, &json!({ "sub": "999999", "iat": unix_seconds(), "exp": unix_seconds() + 100, "key": me["key"] }))),
            // {"alg":"none","typ":"JWT"}
            format!("Bearer eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.{}.", good.split('.').nth(1).unwrap()),
        ];
        for (method, path) in [
            (Method::GET, "/auth/me"),
            (Method::POST, "/urls/shorten?target_url=https://example.org/"),
            (Method::GET, "/urls/my"),
            (Method::DELETE, "/urls/K7mXq2R"),
        ] {
            for header in &headers {
                let mut request = app.request(method.clone(), path);
                if !header.is_empty() {
                    request = request.header("authorization", header);
                }
                let response = Response::of(request).await;
                response.is_error(401, "Not authenticated");
                assert_eq!(response.header("www-authenticate"), "Bearer", "{path} {header}");
            }
        }
        let minted = minted(app, HMAC_SHA256, &claims(unix_seconds(), unix_seconds() + 100));
        assert_eq!(app.get_as(&minted, "/auth/me").await.status, 200, "the test's own tokens are right");
    }

    async fn the_token_of_a_deleted_user_is_refused(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let me = app.get_as(&token, "/auth/me").await.json();
        let sql = "DELETE FROM users WHERE email = $1";
        app.backend.execute(sql, me["email"].as_str().unwrap()).await;
        app.get_as(&token, "/auth/me").await.is_error(401, "Not authenticated");
        for list in ["/urls/my", "/urls/my?limit=5", "/urls/my?limit=none"] {
            app.get_as(&token, list).await.is_error(401, "Not authenticated");
        }
        app.try_shorten(&token, "https://example.org/").await.is_error(401, "Not authenticated");
        app.try_shorten(&token, "no address").await.is_error(401, "Not authenticated");
        for code in [code.as_str(), "unknown", "no-code!"] {
            app.delete(&token, code).await.is_error(401, "Not authenticated");
        }
    }

    async fn a_token_is_hs256_and_valid_for_a_day(app) {
        let token = app.register().await;
        let parts: Vec<_> = token.split('.').collect();
        assert_eq!(decoded(parts[0])["alg"], "HS256");
        let claims = decoded(parts[1]);
        assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), 24 * 3600);
        assert!(claims["iat"].as_u64().unwrap().abs_diff(unix_seconds()) < 60);
        let me = app.get_as(&token, "/auth/me").await.json();
        assert_eq!(claims["sub"], me["id"].to_string());
    }

    async fn the_scheme_of_a_token_is_accepted_in_any_case(app) {
        let token = app.register().await;
        let request = app.request(Method::GET, "/auth/me").header("authorization", format!("bearer {token}"));
        assert_eq!(Response::of(request).await.status, 200);
    }
}

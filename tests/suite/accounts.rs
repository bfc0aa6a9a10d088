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
    let mut claims = claims.clone();
    // What says whose tokens these are is right in all of them.
    for (name, value) in [
        ("iss", "https://sho.rt"),
        ("aud", "shunt"),
        ("typ", "access"),
    ] {
        claims[name] = json!(value);
    }
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

    /// Mail to all of these reaches one mailbox: hosts are read by UTS 46, the local part by NFKC; characters that are not
    /// seen are left out, and quotes that nothing needs.
    async fn one_mailbox_is_one_account_however_its_address_is_spelt(app) {
        let name = unique();
        for (registered, spellings) in [
            (format!("a{name}@b\u{fc}cher.example"), vec![
                format!("a{name}@xn--bcher-kva.example"), format!("A{name}@B\u{dc}CHER.EXAMPLE"), format!("a{name}@bu\u{308}cher.example"),
                format!("a{name}@b\u{fc}cher\u{3002}example"), format!("\u{ff41}{name}@b\u{fc}cher.\u{ff45}xample"),
            ]),
            (format!("b{name}@xn--bcher-kva.example"), vec![format!("b{name}@b\u{fc}cher.example"), format!("b{name}@XN--BCHER-KVA.example")]),
            (format!("c{name}@example.org"), vec![
                format!("\u{ff43}{name}@example.org"), format!("c\u{fe0f}{name}@example.org"), format!("c{name}\u{e0101}@example.org"),
                format!("c\u{200b}{name}@example.org"), format!("c\u{ad}{name}@example.org"), format!("c\u{2060}{name}@exam\u{ad}ple.org"),
                format!("\u{1d41c}{name}@example.org"), format!("\u{24d2}{name}@example.org"), format!("\"c{name}\"@example.org"),
            ]),
            (format!("\u{ff44}{name}\u{fe0f}@example.org"), vec![format!("d{name}@example.org")]),
        ] {
            let first = app.account("/auth/register", &registered, "correct horse").await;
            assert_eq!(first.status, 200, "{registered}: {first:?}");
            for spelt in spellings {
                let again = app.account("/auth/register", &spelt, "another horse").await;
                assert!([400, 422].contains(&again.status.as_u16()), "{registered}, {spelt:?}: {again:?}");
                if again.status == 400 {
                    let login = app.account("/auth/login", &spelt, "correct horse").await;
                    assert_eq!(login.status, 200, "{registered}, {spelt:?}: {login:?}");
                }
            }
        }
    }

    /// Older versions kept an address in lower case and NFC, and so could make several accounts of one mailbox.
    async fn accounts_of_an_older_version_keep_working_and_get_no_doubles(app) {
        const KEPT_BY_OLDER: &str = "UPDATE users SET email_key = lower(email) WHERE email = $1";
        let name = unique();
        let register = async |email: &str, password: &str| app.account("/auth/register", email, password).await;
        let login = async |email: &str, password: &str| app.account("/auth/login", email, password).await.status;
        let (unicode, punycode) = (format!("{name}@b\u{fc}cher.example"), format!("{name}@xn--bcher-kva.example"));
        let wide = format!("\u{ff41}{name}@example.org");
        for email in [&unicode, &wide] {
            assert_eq!(register(email, "older horse").await.status, 200);
            app.backend.execute(KEPT_BY_OLDER, email).await;
        }
        for spelt in [&unicode, &punycode] {
            register(spelt, "newer horse").await.is_error(400, "Email already registered");
            assert_eq!(login(spelt, "older horse").await, 200, "{spelt}");
        }
        assert_eq!(login(&wide, "older horse").await, 200);
        // Another account of the same mailbox: each has its own password.
        let renamed = format!("a{name}@example.org");
        assert_eq!(register(&renamed, "plain horse").await.status, 200);
        assert_eq!(login(&renamed, "plain horse").await, 200);
        assert_eq!(login(&wide, "older horse").await, 200);
        assert_eq!(login(&wide, "plain horse").await, 401);
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

    async fn a_password_is_the_same_however_its_letters_are_written(app) {
        let composed = "Pässwörd Ångström";
        let spellings = [
            "Pa\u{308}sswo\u{308}rd A\u{30a}ngstro\u{308}m",
            "Pässwörd\u{a0}\u{212b}ngström",
            "Pässwörd\u{3000}Ångström",
            composed,
        ];
        for registered in spellings {
            let email = format!("{}@example.org", unique());
            assert_eq!(app.account("/auth/register", &email, registered).await.status, 200);
            for typed in spellings {
                let response = app.account("/auth/login", &email, typed).await;
                assert_eq!(response.status, 200, "{registered:?} {typed:?}");
            }
            for other in ["Password Angstrom", "pässwörd ångström", "Pässwörd Ångström "] {
                let response = app.account("/auth/login", &email, other).await;
                response.is_error(401, "Incorrect email or password");
            }
        }
        // Eight letters are long enough, however many code points they are.
        let email = format!("{}@example.org", unique());
        let long = "u\u{308}".repeat(128);
        assert_eq!(app.account("/auth/register", &email, &long).await.status, 200);
        let short = app.account("/auth/register", &email, &"u\u{308}".repeat(7)).await;
        short.is_error(422, "password: must be 8 to 128 characters long");
    }

    async fn a_wrong_password_and_an_unknown_address_are_answered_alike(app) {
        let email = format!("{}@example.org", unique());
        app.account("/auth/register", &email, "correct horse").await;
        let wrong = app.account("/auth/login", &email, "wrong horse").await;
        let unknown = app.account("/auth/login", &format!("{}@example.org", unique()), "correct horse").await;
        wrong.is_error(401, "Incorrect email or password");
        unknown.is_error(401, "Incorrect email or password");
    }

    async fn a_password_that_no_account_can_have_is_a_wrong_one_at_log_in(app) {
        let email = format!("{}@example.org", unique());
        app.account("/auth/register", &email, "correct horse").await;
        for password in ["", "7 chars", &"x".repeat(129), &"x".repeat(10_000)] {
            app.account("/auth/login", &email, password).await.is_error(401, "Incorrect email or password");
        }
    }

    async fn a_field_that_breaks_its_rule_is_named(app) {
        for password in ["7 chars", &"x".repeat(129)] {
            app.account("/auth/register", "a@example.org", password).await
                .is_error(422, "password: must be 8 to 128 characters long");
        }
        for path in ["/auth/register", "/auth/login"] {
            for (body, field) in [
                (json!({ "email": "ada", "password": "correct horse" }), "email"),
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

    async fn a_body_that_is_not_json_is_refused_with_the_place_where_it_is_broken(app) {
        for (body, place) in [
            ("{", "line 1, column 1"),
            ("email=a@example.org", "line 1, column 1"),
            ("\u{0}", "line 1, column 1"),
            ("{\n  \"email\": \"a@example.org\"\n  \"password\": \"correct horse\"\n}", "line 3, column 3"),
            ("{'email': 'a@example.org'}", "line 1, column 2"),
            (r#"{"email":"a@example.org","password":"correct horse"} x"#, "line 1, column 54"),
        ] {
            let response = app.post("/auth/register", body).await;
            assert_eq!(response.status, 422, "{body:?}");
            let detail = response.detail();
            assert!(detail.starts_with("body: ") && detail.contains(place), "{body:?}: {detail}");
        }
        app.post("/auth/register", "").await.is_error(422, "body: must be a JSON object, but is empty");
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
                let challenge = response.header("www-authenticate");
                assert!(challenge == "Bearer" || challenge.starts_with("Bearer error="), "{path} {header}: {challenge}");
            }
        }
        let minted = minted(app, HMAC_SHA256, &claims(unix_seconds(), unix_seconds() + 100));
        assert_eq!(app.get_as(&minted, "/auth/me").await.status, 200, "the test's own tokens are right");
    }

    async fn the_header_of_a_401_says_why_the_token_is_refused(app) {
        let good = app.register().await;
        let me = decoded(good.split('.').nth(1).unwrap());
        let (now, id) = (unix_seconds(), &me["sub"]);
        let ended = minted(app, HMAC_SHA256, &json!({ "sub": id, "iat": now - 100, "exp": now - 50, "key": me["key"] }));
        let early = minted(app, HMAC_SHA256, &json!({ "sub": id, "iat": now + 1_000, "exp": now + 2_000, "key": me["key"] }));
        let gone = minted(app, HMAC_SHA256, &json!({ "sub": "999999", "iat": now, "exp": now + 100, "key": me["key"] }));
        let keyless = minted(app, HMAC_SHA256, &json!({ "sub": id, "iat": now, "exp": now + 100 }));
        let other_key = minted(app, HMAC_SHA256, &json!({ "sub": id, "iat": now, "exp": now + 100, "key": "0".repeat(32) }));
        let cut_off = &good[..good.len() - 3];
        let because = |why: &str| format!("Bearer error=\"invalid_token\", error_description=\"{why}\"");
        let over = because("the token or key was revoked, or its account was deleted");
        let malformed = because("the token is malformed, or was not issued by this service");
        for (method, path) in [
            (Method::GET, "/auth/me"),
            (Method::POST, "/urls/shorten?target_url=https://example.org/"),
            (Method::POST, "/urls/shorten"),
            (Method::GET, "/urls/my"),
            (Method::DELETE, "/urls/K7mXq2R"),
        ] {
            for (header, challenge) in [
                (None, "Bearer".to_owned()),
                (Some(format!("Basic {good}")), "Bearer".to_owned()),
                (Some("Bearer".to_owned()), malformed.clone()),
                (Some("Bearer not-a-token".to_owned()), malformed.clone()),
                (Some(format!("Bearer {cut_off}")), malformed.clone()),
                (Some(format!("Bearer {keyless}")), malformed.clone()),
                (Some(format!("Bearer {ended}")), because("the token has expired")),
                (Some(format!("Bearer {early}")), because("the token is not valid yet")),
                (Some(format!("Bearer {gone}")), over.clone()),
                (Some(format!("Bearer {other_key}")), over.clone()),
            ] {
                let mut request = app.request(method.clone(), path);
                if let Some(header) = &header {
                    request = request.header("authorization", header);
                }
                let response = Response::of(request).await;
                response.is_error(401, "Not authenticated");
                assert_eq!(response.header("www-authenticate"), challenge, "{method} {path} {header:?}");
            }
        }
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

//! Tokens that are forged, damaged or another user's.

use reqwest::Method;
use ring::hmac::{HMAC_SHA256, HMAC_SHA384, HMAC_SHA512};
use serde_json::json;

use crate::support::tokens::{claims_of, encoded, signed_token as forged};
use crate::support::{App, Response, both_modes, unique, unix_seconds};

const HS256: &str = r#"{"alg":"HS256","typ":"JWT"}"#;

/// What says whose tokens these are.
const OURS: &str = r#""iss":"https://sho.rt","aud":"shunt","typ":"access""#;

/// Any claims, signed as the service signs them.
fn signed(app: &App, claims: &str) -> String {
    forged(HS256, claims, &app.backend.secret(), HMAC_SHA256)
}

/// A fresh account: its token, and what the token names it by.
struct Account {
    token: String,
    id: String,
    key: String,
}

impl Account {
    /// Claims with this subject and these times, and the account's own key.
    fn with(&self, subject: &str, times: &str) -> String {
        format!(r#"{{"sub":{subject},{times},"key":"{}",{OURS}}}"#, self.key)
    }

    /// Claims that are right.
    fn claims(&self) -> String {
        self.with(&format!(r#""{}""#, self.id), &times())
    }
}

fn times() -> String {
    let now = unix_seconds();
    format!(r#""iat":{now},"exp":{}"#, now + 1000)
}

async fn account(app: &App) -> Account {
    let token = app.register().await;
    let claims = claims_of(&token);
    let text = |name: &str| claims[name].as_str().unwrap().to_owned();
    let (id, key) = (text("sub"), text("key"));
    Account { token, id, key }
}

async fn with_header(app: &App, header: &str) -> Response {
    Response::of(
        app.request(Method::GET, "/auth/me")
            .header("authorization", header),
    )
    .await
}

async fn is_refused(app: &App, token: &str) {
    let response = app.get_as(token, "/auth/me").await;
    assert_eq!(response.status, 401, "{token}: {}", response.text);
    response.is_error(401, "Not authenticated");
    let challenge = response.header("www-authenticate");
    assert!(
        challenge.starts_with("Bearer error=\"invalid_token\""),
        "{token}: {challenge}"
    );
}

both_modes! {
    async fn the_tests_own_tokens_are_right(app) {
        let account = account(app).await;
        assert_eq!(app.get_as(&signed(app, &account.claims()), "/auth/me").await.status, 200);
    }

    async fn a_token_without_a_signature_is_refused_whatever_algorithm_it_names(app) {
        let secret = app.backend.secret();
        let claims = account(app).await.claims();
        for algorithm in [
            r#""none""#, r#""None""#, r#""NONE""#, r#""nOnE""#, r#""""#, "null", "0", "[]", r#"["HS256"]"#, r#""hs256""#, r#""HS256 ""#,
            r#""HS256\u0000""#,
        ] {
            let header = format!(r#"{{"alg":{algorithm},"typ":"JWT"}}"#);
            let unsigned = format!("{}.{}", encoded(&header), encoded(&claims));
            is_refused(app, &unsigned).await;
            is_refused(app, &format!("{unsigned}.")).await;
            is_refused(app, &format!("{unsigned}.{}", encoded("signature"))).await;
            is_refused(app, &forged(&header, &claims, &secret, HMAC_SHA256)).await;
        }
        for header in ["{}", r#"{"typ":"JWT"}"#, r#"{"alg":"none","alg":"HS256"}"#, "[]", "null", "", "{", "\0"] {
            is_refused(app, &forged(header, &claims, &secret, HMAC_SHA256)).await;
        }
        is_refused(app, &format!("{}.{}.", encoded(HS256), encoded(&claims))).await;
    }

    async fn a_token_of_another_algorithm_is_refused_even_with_the_right_key(app) {
        let secret = app.backend.secret();
        let claims = account(app).await.claims();
        for (name, algorithm) in [("HS384", HMAC_SHA384), ("HS512", HMAC_SHA512)] {
            let header = format!(r#"{{"alg":"{name}","typ":"JWT"}}"#);
            is_refused(app, &forged(&header, &claims, &secret, algorithm)).await;
            is_refused(app, &forged(HS256, &claims, &secret, algorithm)).await;
        }
        for name in ["RS256", "RS512", "PS256", "ES256", "EdDSA", "HS1", "A256GCM"] {
            let header = format!(r#"{{"alg":"{name}","typ":"JWT"}}"#);
            is_refused(app, &forged(&header, &claims, &secret, HMAC_SHA256)).await;
        }
    }

    async fn a_token_cannot_bring_or_choose_its_key(app) {
        let claims = account(app).await.claims();
        for key in [&b""[..], b"\0", b"secret", b"{}", b"a secret of the tests, 32 bytes and mor", &[0; 32], &[b'x'; 32]] {
            is_refused(app, &forged(HS256, &claims, key, HMAC_SHA256)).await;
        }
        for field in [
            r#""kid":"../../../../dev/null""#, r#""kid":"' UNION SELECT 'x"#, r#""jku":"http://127.0.0.1:9/keys""#,
            r#""x5u":"http://127.0.0.1:9/x""#, r#""jwk":{"kty":"oct","k":"eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHg"}"#,
        ] {
            let header = format!(r#"{{"alg":"HS256","typ":"JWT",{field}}}"#);
            for key in [&b""[..], &[b'x'; 32]] {
                is_refused(app, &forged(&header, &claims, key, HMAC_SHA256)).await;
            }
        }
    }

    async fn another_users_id_needs_another_users_signature(app) {
        let ada = account(app).await.token;
        let bob = account(app).await.claims();
        let parts: Vec<_> = ada.split('.').collect();
        let for_bob = encoded(&bob);
        is_refused(app, &format!("{}.{for_bob}.{}", parts[0], parts[2])).await;
        is_refused(app, &forged(HS256, &bob, b"an attacker's key of 32 bytes ....", HMAC_SHA256)).await;
    }

    async fn missing_past_or_malformed_times_are_refused(app) {
        let account = account(app).await;
        let subject = format!(r#""{}""#, account.id);
        let (before, after) = (unix_seconds() - 3600, unix_seconds() + 3600);
        for times in [
            format!(r#""iat":{before},"exp":{before}"#),
            format!(r#""iat":{before},"exp":{}"#, unix_seconds() - 1),
            format!(r#""iat":{before},"nbf":{after},"exp":{}"#, after + 3600),
            format!(r#""iat":{after},"exp":{}"#, after + 3600),
            format!(r#""iat":{before}"#),
            format!(r#""exp":"{after}""#),
            format!(r#""iat":{before},"exp":"{after}""#),
            format!(r#""iat":"{before}","exp":{after}"#),
            format!(r#""iat":{before},"exp":null"#),
            format!(r#""iat":{before},"exp":true"#),
            format!(r#""iat":{before},"exp":[{after}]"#),
            format!(r#""iat":{before},"exp":-1"#),
            format!(r#""iat":{before},"exp":-{after}"#),
            format!(r#""iat":{before},"exp":0"#),
            format!(r#""iat":{before},"exp":1e999"#),
            format!(r#""iat":{before},"exp":99999999999999999999999999"#),
            format!(r#""iat":{before},"exp":NaN"#),
            format!(r#""iat":{before},"exp":{before},"exp":{after}"#),
        ] {
            is_refused(app, &signed(app, &account.with(&subject, &times))).await;
        }
    }

    async fn a_token_without_its_accounts_own_key_is_refused(app) {
        let (ada, bob) = (account(app).await, account(app).await);
        let subject = format!(r#""{}""#, ada.id);
        // As it was before there were keys.
        is_refused(app, &signed(app, &format!(r#"{{"sub":{subject},{},{OURS}}}"#, times()))).await;
        let key = &ada.key;
        for other in [
            bob.key.as_str(), "", "0", &key[1..], &format!("{key}0"), &format!("0{key}"), &key.replace(|letter: char| letter.is_ascii_digit(), "f"),
            &"0".repeat(32), &"%".repeat(32), &"\u{fffd}".repeat(32), "' OR ''='",
        ] {
            let (now, key) = (unix_seconds(), other);
            let claims = json!({ "sub": ada.id, "iat": now, "exp": now + 1000, "key": key, "iss": "https://sho.rt", "aud": "shunt", "typ": "access" });
            is_refused(app, &signed(app, &claims.to_string())).await;
        }
        for other in ["null", "true", "7", "[]", "{}", &format!(r#"["{key}"]"#), &format!(r#""{key}","key":"{key}""#)] {
            is_refused(app, &signed(app, &format!(r#"{{"sub":{subject},{},"key":{other},{OURS}}}"#, times()))).await;
        }
    }

    async fn another_key_ends_all_tokens_of_an_account_and_a_log_in_gives_a_new_one(app) {
        let email = format!("{}@example.org", unique());
        let token = |response: Response| response.json()["access_token"].as_str().unwrap().to_owned();
        let first = token(app.account("/auth/register", &email, "correct horse").await);
        let second = token(app.account("/auth/login", &email, "correct horse").await);
        for token in [&first, &second] {
            assert_eq!(app.get_as(token, "/auth/me").await.status, 200);
        }
        let another_key = "UPDATE users SET token_key = randomblob(16) WHERE email = $1";
        app.backend.execute(another_key, &email).await;
        is_refused(app, &first).await;
        is_refused(app, &second).await;
        let third = token(app.account("/auth/login", &email, "correct horse").await);
        assert_eq!(app.get_as(&third, "/auth/me").await.status, 200);
    }

    async fn a_subject_that_is_not_a_user_is_refused(app) {
        let account = account(app).await;
        let (id, times) = (&account.id, times());
        for subject in [
            r#""""#, r#"" ""#, r#""0""#, r#""-1""#, r#""999999999""#, r#""9223372036854775807""#, r#""9223372036854775808""#,
            r#""-9223372036854775809""#, r#""18446744073709551617""#, r#""1e0""#, r#""0x1""#, r#""NaN""#, r#""null""#, "null", "true", "{}", "[]",
            r#""\u0661""#, r#""1 OR 1=1""#, r#""1; DROP TABLE users""#, r#""admin""#,
            &format!(r#"" {id}""#), &format!(r#""{id} ""#), &format!(r#""{id}.0""#), &format!(r#""{id}\u0000""#), &format!(r#"["{id}"]"#),
            &format!(r#"{{"id":"{id}"}}"#), &format!("{id}.5"), &format!(r#""-{id}""#), &format!(r#""{id}","sub":"{id}""#),
        ] {
            is_refused(app, &signed(app, &account.with(subject, &times))).await;
        }
        is_refused(app, &signed(app, &format!(r#"{{{times},"key":"{}"}}"#, account.key))).await;
        for claims in ["", "null", "[]", "{}", "\"sub\"", "{", "\0"] {
            is_refused(app, &signed(app, claims)).await;
        }
    }

    async fn claims_that_are_too_deep_or_not_utf_8_are_refused(app) {
        let key = app.backend.secret();
        let deep = format!(r#"{},"x":{}"#, times(), "[".repeat(1500));
        is_refused(app, &signed(app, &format!(r#"{{"sub":"1",{deep}}}"#))).await;
        is_refused(app, &forged(HS256, [b'{', 0xff, 0xfe, b'}'], &key, HMAC_SHA256)).await;
    }

    async fn a_token_that_was_cut_or_changed_anywhere_is_refused(app) {
        let token = account(app).await.token;
        for length in (0..token.len()).step_by(7).chain([token.len() - 1]) {
            is_refused(app, &token[..length]).await;
            is_refused(app, &token[token.len() - length..]).await;
        }
        for at in (0..token.len()).step_by(5).chain([token.len() - 1]) {
            let mut bytes = token.clone().into_bytes();
            // The next letter in the alphabet of base64; in the last place it may decode to the same bytes.
            bytes[at] = match bytes[at] { b'.' => b'-', b'Z' | b'z' | b'9' => b'A', b'-' | b'_' => b'0', other => other + 1 };
            is_refused(app, std::str::from_utf8(&bytes).unwrap()).await;
        }
        let parts: Vec<_> = token.split('.').collect();
        for damaged in [
            "..".to_owned(), ".".to_owned(), "...".to_owned(), "a.b".to_owned(), "a.b.c".to_owned(), "....".to_owned(),
            format!("{token}."), format!(".{token}"), format!("{token}.{}", parts[2]), format!("{token}="), format!("{token}A"),
            format!("{token},"), format!("\"{token}\""), format!("{}.{}", parts[0], parts[1]), format!("{}..{}", parts[0], parts[2]),
            format!("{token}\u{fffd}"), token.to_uppercase(), token.replace('.', "%2e"), token.replace('.', ". "),
        ] {
            is_refused(app, &damaged).await;
        }
    }

    async fn a_huge_token_is_refused_and_nothing_worse(app) {
        for size in [4 * 1024, 12 * 1024, 60 * 1024, 1024 * 1024] {
            for token in ["a".repeat(size), ".".repeat(size), format!("{}.{}.{}", encoded(HS256), "A".repeat(size), "A".repeat(43))] {
                // Past the limit of a head the service may close before all is sent.
                if let Ok(response) = app.request(Method::GET, "/auth/me").bearer_auth(token).send().await {
                    assert!([401, 431].contains(&response.status().as_u16()), "{size}: {}", response.status());
                }
            }
        }
        assert_eq!(app.get("/health").await.status, 200);
    }

    async fn only_one_authorization_header_of_one_token_is_accepted(app) {
        let ada = account(app).await.token;
        let bob = account(app).await.token;
        for (first, second) in [
            (format!("Bearer {ada}"), format!("Bearer {bob}")),
            (format!("Bearer {ada}"), "Bearer nonsense".to_owned()),
            ("Bearer nonsense".to_owned(), format!("Bearer {ada}")),
            ("Basic YTpi".to_owned(), format!("Bearer {ada}")),
        ] {
            let request = app.request(Method::GET, "/auth/me").header("authorization", &first).header("authorization", &second);
            Response::of(request).await.is_error(401, "Not authenticated");
        }
        with_header(app, &format!("Bearer {ada}, Bearer {bob}")).await.is_error(401, "Not authenticated");
        with_header(app, &format!("Bearer {ada} {bob}")).await.is_error(401, "Not authenticated");
    }

    /// RFC 9110 allows a scheme of any case, one or more spaces, and the token; nothing else.
    async fn the_scheme_is_of_any_case_and_spaces_are_spaces(app) {
        let token = account(app).await.token;
        for right in [format!("bEARER {token}"), format!("BEARER   {token}"), format!("Bearer {token} "), format!(" Bearer {token}\t")] {
            assert_eq!(with_header(app, &right).await.status, 200, "{right:?}");
        }
        for wrong in [
            format!("Bearer\t{token}"), format!("Bearer{token}"), format!("Bearer:{token}"), format!("Bearer={token}"), format!("Bearer \t{token}"),
            format!("Token {token}"), format!("JWT {token}"), format!("Bearer Bearer {token}"), token.clone(), "Bearer ".to_owned(),
            format!("Bearer token={token}"), format!("Bearer {token};"),
        ] {
            with_header(app, &wrong).await.is_error(401, "Not authenticated");
        }
    }

    async fn a_token_is_read_from_the_authorization_header_alone(app) {
        let token = account(app).await.token;
        for path in [format!("/auth/me?access_token={token}"), format!("/auth/me?token={token}"), format!("/urls/my?authorization=Bearer%20{token}")] {
            app.get(&path).await.is_error(401, "Not authenticated");
        }
        for (name, value) in [
            ("cookie", format!("access_token={token}")), ("x-authorization", format!("Bearer {token}")), ("proxy-authorization", format!("Bearer {token}")),
            ("x-access-token", token.clone()),
        ] {
            Response::of(app.request(Method::GET, "/auth/me").header(name, value)).await.is_error(401, "Not authenticated");
        }
    }

    /// Requests with a refused token or of another user change nothing.
    async fn no_user_deletes_the_link_of_another(app) {
        let ada = account(app).await.token;
        let bob = account(app).await.token;
        let code = app.shorten(&ada, "https://example.org/").await;
        app.delete(&bob, &code).await.is_error(404, "URL not found");
        app.delete("..", &code).await.is_error(401, "Not authenticated");
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        assert_eq!(app.get_as(&bob, "/urls/my").await.text, "[]\n");
        assert_eq!(app.delete(&ada, &code).await.status, 204);
    }
}

//! Tokens that must not be believed, of a provider that is not certified.

use serde_json::{Value, json};

use super::in_both_modes;
use super::own_provider::{OwnProvider, SECRET, signed_by_secret, unsigned};
use crate::suite::web::browser::{Browser, leads_to};
use crate::support::{App, Response, eventually, unix_seconds};

const CODE: &str = "a-code-that-is-used-once";

/// Begins a sign-in; the provider then gives the token that is made for its nonce.
async fn sign_in(app: &App, provider: &OwnProvider, token: impl Fn(&str) -> String) -> Response {
    let mut browser = Browser::new(app);
    let begun = browser.get("/app/oidc/login").await;
    assert_eq!(begun.status, 303, "{begun:?}");
    let query = begun
        .header("location")
        .split_once('?')
        .unwrap()
        .1
        .to_owned();
    let parameter = |name: &str| {
        let mut query = form_urlencoded::parse(query.as_bytes());
        query
            .find(|(known, _)| known == name)
            .unwrap()
            .1
            .into_owned()
    };
    assert_eq!(parameter("response_type"), "code");
    assert_eq!(parameter("code_challenge_method"), "S256");
    provider.script().token = token(&parameter("nonce"));
    let state = parameter("state");
    browser
        .get(&format!("/app/oidc/callback?code={CODE}&state={state}"))
        .await
}

fn header() -> Value {
    json!({"alg": "ES256", "kid": "known"})
}

in_both_modes! {
    async fn a_token_is_believed_only_if_it_is_of_this_provider_for_this_client_and_sign_in(mode: Mode) {
        let provider = OwnProvider::start().await;
        let app = App::start_with(mode, &provider.settings()).await;
        let now = unix_seconds();
        let cases = [
            (json!({"aud": "another"}), "(aud)"),
            (json!({"aud": ["another", "shunt"]}), "(azp)"),
            (json!({"azp": "another"}), "(azp)"),
            (json!({"iss": "https://another.example"}), "(iss)"),
            (json!({"nonce": "another"}), "(nonce)"),
            (json!({"nonce": null}), "(nonce)"),
            (json!({"exp": now - 120}), "(exp)"),
            (json!({"iat": now + 600}), "(iat or nbf)"),
            (json!({"sub": null}), "no valid sub"),
        ];
        for (changes, why) in cases {
            let refused = sign_in(&app, &provider, |nonce| {
                provider.signed(&header(), &provider.claims(nonce, &changes))
            }).await;
            is_refused(&app, &refused, why).await;
        }
        // Clocks may differ by a minute.
        let late = json!({"exp": now - 20, "iat": now + 20});
        let entered = sign_in(&app, &provider, |nonce| {
            provider.signed(&header(), &provider.claims(nonce, &late))
        }).await;
        leads_to(&entered, "/app");
        let log = app.server.log();
        let tokens = [CODE, SECRET, "an-access-token", provider.script().token.as_str()].map(str::to_owned);
        assert!(tokens.iter().all(|secret| !log.contains(secret)), "{log}");
        app.finish().await;
    }

    async fn a_token_that_is_not_signed_as_it_must_be_is_refused(mode: Mode) {
        let provider = OwnProvider::start().await;
        let app = App::start_with(mode, &provider.settings()).await;
        let good = |nonce: &str| provider.claims(nonce, &json!({}));
        let other = OwnProvider::start().await;
        let under = |header: Value| {
            let provider = &provider;
            move |nonce: &str| provider.signed(&header, &good(nonce))
        };
        for (token, why) in [
            (&(|nonce: &str| unsigned(&good(nonce))) as &dyn Fn(&str) -> String, "signed by `none`"),
            (&|nonce: &str| signed_by_secret(&good(nonce)), "signed by `HS256`"),
            (&under(json!({"alg": "ES384", "kid": "known"})), "signed by `ES384`"),
            (&under(json!({"alg": "RS256", "kid": "known"})), "a key that the provider does not publish"),
            (&under(json!({"alg": "ES256", "kid": "unknown"})), "a key that the provider does not publish"),
            (&under(json!({"alg": "ES256", "kid": "known", "crit": ["b64"]})), "an extension"),
            (&|nonce: &str| other.signed(&header(), &good(nonce)), "a wrong signature"),
            (&|_: &str| "a.b".to_owned(), "is malformed"),
            (&|_: &str| String::new(), "answered 400"),
        ] {
            let refused = sign_in(&app, &provider, token).await;
            is_refused(&app, &refused, why).await;
        }
        app.finish().await;
    }

    async fn unknown_keys_have_the_keys_read_again_and_not_without_end(mode: Mode) {
        let provider = OwnProvider::start().await;
        let app = App::start_with(mode, &provider.settings()).await;
        eventually("the keys are read at the start", async || provider.script().reads_of_keys > 0).await;
        for number in 0..12 {
            let header = json!({"alg": "ES256", "kid": format!("unknown {number}")});
            let refused = sign_in(&app, &provider, |nonce| {
                provider.signed(&header, &provider.claims(nonce, &json!({})))
            }).await;
            assert_eq!(refused.status, 502, "{refused:?}");
        }
        let reads = provider.script().reads_of_keys;
        // Once at the start, and six times in a minute.
        assert!((2..=12).contains(&reads), "{reads}");
        app.finish().await;
    }
}

/// The page of a sign-in that cannot be checked, and its line in the log.
async fn is_refused(app: &App, response: &Response, why: &str) {
    assert_eq!(response.status, 502, "{why}: {response:?}");
    let title = "The sign-in could not be checked";
    assert!(response.text.contains(title), "{why}: {response:?}");
    let says = || {
        let log = app.server.log();
        log.lines().any(|line| {
            line.contains("a sign-in by the identity provider failed") && line.contains(why)
        })
    };
    eventually(why, async || says()).await;
}

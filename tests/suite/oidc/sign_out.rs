//! Signing out at the provider, and by the provider.

use reqwest::Method;
use serde_json::{Value, json};

use super::in_both_modes;
use super::own_provider::{OwnProvider, unsigned};
use super::person::{Person, action, new_person, start};
use crate::suite::web::browser::{Browser, leads_to};
use crate::support::{App, Response, eventually, unix_seconds};

/// Signs out at the provider, by the page that the service leads to.
async fn sign_out_there(person: &mut Person<'_>) -> Response {
    let page = person.browser.get("/app/oidc/logout").await;
    assert_eq!(page.status, 200, "{page:?}");
    let url = page
        .header("refresh")
        .strip_prefix("0; url=")
        .unwrap()
        .to_owned();
    let shown = url.replace('&', "&amp;").replace("&amp;", "&#38;");
    assert!(
        page.text.contains(&shown) || page.text.contains(&url.replace('&', "&amp;")),
        "{page:?}"
    );
    let asked = person.at_provider(&url, None).await;
    assert_eq!(asked.status, 200, "{asked:?}");
    let (_, rest) = asked
        .text
        .split_once("name=\"xsrf\" value=\"")
        .expect(&asked.text);
    let form = format!("xsrf={}&logout=yes", rest.split('"').next().unwrap());
    person.at_provider(&action(&asked.text), Some(&form)).await
}

in_both_modes! {
    async fn signing_out_signs_out_at_the_provider_too(mode: Mode) {
        let app = start(mode, &[]).await;
        let (subject, _) = new_person().await;
        let mut person = Person::new(&app);
        leads_to(&person.sign_in(&subject).await, "/app");
        let out = person.browser.send("/app/account", "/app/logout", &[]).await;
        leads_to(&out, "/app/oidc/logout");
        assert_eq!(person.account().await, None);
        let back = sign_out_there(&mut person).await;
        let login = format!("{}/app/login", app.server.base);
        assert!(back.header("location").starts_with(&login), "{back:?}");
        // A session that a password began has nothing to do with the provider.
        let mut other = Browser::new(&app);
        other.sign_up().await;
        leads_to(&other.send("/app/account", "/app/logout", &[]).await, "/app/login");
        app.finish().await;
    }

    async fn a_session_that_ends_at_the_provider_ends_here(mode: Mode) {
        let app = start(mode, &[]).await;
        let (subject, email) = new_person().await;
        let mut person = Person::new(&app);
        leads_to(&person.sign_in(&subject).await, "/app");
        let mut elsewhere = Person::new(&app);
        leads_to(&elsewhere.sign_in(&subject).await, "/app");
        assert_eq!(person.account().await.as_deref(), Some(&*email));
        // The certified provider tells the service.
        sign_out_there(&mut person).await;
        eventually("the session ends", async || {
            person.browser.app.server.log().contains("authn_token_revoked")
        }).await;
        assert_eq!(person.account().await, None);
        assert_eq!(elsewhere.account().await.as_deref(), Some(&*email), "another session at the provider");
        app.finish().await;
    }

    async fn a_logout_token_ends_what_it_names_and_another_token_nothing(mode: Mode) {
        let provider = OwnProvider::start().await;
        let app = App::start_with(mode, &provider.settings()).await;
        let header = json!({"alg": "ES256", "kid": "known", "typ": "logout+jwt"});
        let enter = async |session: &str| {
            let mut browser = Browser::new(&app);
            let begun = browser.get("/app/oidc/login").await;
            let query = begun.header("location").split_once('?').unwrap().1.to_owned();
            let parameter = |name: &str| {
                let mut query = form_urlencoded::parse(query.as_bytes());
                query.find(|(known, _)| known == name).unwrap().1.into_owned()
            };
            let claims = provider.claims(&parameter("nonce"), &json!({"sid": session}));
            let token = provider.signed(&json!({"alg": "ES256", "kid": "known"}), &claims);
            provider.script().token.clone_from(&token);
            let back = format!("/app/oidc/callback?code=x&state={}", parameter("state"));
            leads_to(&browser.get(&back).await, "/app");
            (browser, token)
        };
        let (mut first, id_token) = enter("first").await;
        let (mut second, _) = enter("second").await;
        let (mut third, _) = enter("third").await;
        let event = "http://schemas.openid.net/event/backchannel-logout";
        let token = |changes: Value| {
            let mut claims = json!({
                "iss": provider.base, "aud": "shunt", "iat": unix_seconds(), "exp": unix_seconds() + 120, "jti": "1",
                "events": {event: {}},
            });
            for (name, value) in changes.as_object().unwrap() {
                claims[name] = value.clone();
            }
            claims
        };
        let send = async |token: &str| {
            let request = app.request(Method::POST, "/app/oidc/backchannel-logout");
            let form = format!("logout_token={token}");
            let kind = "application/x-www-form-urlencoded";
            Response::of(request.header("content-type", kind).body(form)).await
        };
        let whole = json!({"sub": "ada"});
        for (refused, why) in [
            (id_token, "typ"),
            (String::new(), "malformed"),
            (unsigned(&token(whole.clone())), "signed by `none`"),
            (provider.signed(&header, &token(json!({"sub": "ada", "aud": "another"}))), "aud"),
            (provider.signed(&header, &token(json!({"sub": "ada", "nonce": "n"}))), "nonce"),
            (provider.signed(&header, &token(json!({"sub": "ada", "events": {}}))), "events"),
            (provider.signed(&header, &token(json!({}))), "sub or sid"),
        ] {
            let answer = send(&refused).await;
            assert_eq!(answer.status, 400, "{why}: {answer:?}");
            assert!(answer.detail().starts_with("logout_token: "), "{answer:?}");
        }
        let is_in = async |browser: &mut Browser<'_>| browser.get("/app/account").await.status == 200;
        assert!(is_in(&mut first).await && is_in(&mut second).await && is_in(&mut third).await);
        let one = provider.signed(&header, &token(json!({"sub": "ada", "sid": "second"})));
        assert_eq!(send(&one).await.status, 200);
        assert!(is_in(&mut first).await && !is_in(&mut second).await && is_in(&mut third).await);
        let by_session = provider.signed(&header, &token(json!({"sid": "third"})));
        assert_eq!(send(&by_session).await.status, 200);
        assert!(is_in(&mut first).await && !is_in(&mut third).await);
        assert_eq!(send(&provider.signed(&header, &token(whole))).await.status, 200);
        assert!(!is_in(&mut first).await);
        app.finish().await;
    }
}

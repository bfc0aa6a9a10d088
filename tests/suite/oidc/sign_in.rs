//! A person signs in: an account is found, joined or created.

use serde_json::json;

use super::in_both_modes;
use super::person::{Person, is_known_as, new_person, start, start_signed_by};
use crate::suite::abuse::{admin, remove};
use crate::suite::web::browser::leads_to;
use crate::support::provider::rotate_keys;
use crate::support::{eventually, unique, within_a_minute};

in_both_modes! {
    async fn the_first_sign_in_makes_an_account_and_the_same_subject_finds_it_whatever_its_address(mode: Mode) {
        // That is how people are added where registration is closed.
        let app = start(mode, &[("REGISTRATION", "closed")]).await;
        let (subject, email) = new_person().await;
        let mut person = Person::new(&app);
        let page = person.browser.get("/app/login?next=/app/tags").await;
        assert!(page.text.contains("Sign in with 127.0.0.1"), "{page:?}");
        assert!(page.text.contains("href=\"/app/oidc/login?next=%2Fapp%2Ftags\""), "{page:?}");
        let back = person.authorize("/app/oidc/login?next=/app/tags", &subject).await;
        let cookie = person.browser.cookies["shunt_oidc"].clone();
        let entered = person.browser.get(&back).await;
        leads_to(&entered, "/app/tags");
        assert!(!person.browser.cookies.contains_key("shunt_oidc"), "it is used once");
        assert_eq!(person.account().await.as_deref(), Some(&*email));
        is_known_as(&subject, "another@example.org", json!({"email_verified": false})).await;
        let mut elsewhere = Person::new(&app);
        leads_to(&elsewhere.sign_in(&subject).await, "/app");
        assert_eq!(elsewhere.account().await.as_deref(), Some(&*email));
        let log = app.server.log();
        assert!(!log.contains(&cookie) && !log.contains(&email), "{log}");
        app.finish().await;
    }

    async fn tokens_may_be_signed_by_rs256_es256_and_eddsa_and_keys_may_change(mode: Mode) {
        for algorithm in ["RS256", "ES256", "EdDSA"] {
            let app = start_signed_by(mode, algorithm, &[]).await;
            let (subject, email) = new_person().await;
            let mut person = Person::new(&app);
            leads_to(&person.sign_in(&subject).await, "/app");
            assert_eq!(person.account().await.as_deref(), Some(&*email), "{algorithm}");
            rotate_keys().await;
            let (subject, email) = new_person().await;
            let mut person = Person::new(&app);
            leads_to(&person.sign_in(&subject).await, "/app");
            assert_eq!(person.account().await.as_deref(), Some(&*email), "{algorithm}");
            app.finish().await;
        }
    }

    async fn an_account_with_a_password_is_joined_once_its_password_is_given(mode: Mode) {
        let app = start(mode, &[]).await;
        let mut person = Person::new(&app);
        let email = person.browser.sign_up().await;
        let mut person = Person::new(&app);
        let subject = unique();
        is_known_as(&subject, &email.to_uppercase(), json!({})).await;
        leads_to(&person.sign_in(&subject).await, "/app/oidc/join");
        assert_eq!(person.account().await, None, "nobody is signed in yet");
        let page = person.browser.get("/app/oidc/join").await;
        assert!(page.text.contains(&email.to_uppercase()), "{page:?}");
        let wrong = [("password", "wrong horse")];
        let refused = person.browser.send("/app/oidc/join", "/app/oidc/join", &wrong).await;
        assert_eq!(refused.status, 403, "{refused:?}");
        assert!(refused.text.contains("The password is wrong."), "{refused:?}");
        let right = [("password", "correct horse")];
        let joined = person.browser.send("/app/oidc/join", "/app/oidc/join", &right).await;
        leads_to(&joined, "/app");
        assert_eq!(person.account().await.as_deref(), Some(&*email));
        assert!(!person.browser.cookies.contains_key("shunt_join"));
        // From then on without it; the password stays what it was.
        let mut elsewhere = Person::new(&app);
        leads_to(&elsewhere.sign_in(&subject).await, "/app");
        assert_eq!(elsewhere.account().await.as_deref(), Some(&*email));
        assert_eq!(app.account("/auth/login", &email, "correct horse").await.status, 200);
        app.finish().await;
    }

    async fn an_address_that_is_not_confirmed_finds_and_makes_no_account(mode: Mode) {
        let app = start(mode, &[("SITE_CONTACT", "mailto:help@example.org")]).await;
        let (subject, email) = new_person().await;
        for claims in [
            json!({"email_verified": false}),
            json!({"email_verified": null}),
            json!({"email": null}),
            json!({"email": "no address"}),
        ] {
            is_known_as(&subject, &email, claims.clone()).await;
            let mut person = Person::new(&app);
            let refused = person.sign_in(&subject).await;
            assert_eq!(refused.status, 403, "{claims}: {refused:?}");
            assert!(refused.text.contains("Your e-mail address is not confirmed"), "{refused:?}");
            assert!(refused.text.contains("help@example.org"), "{refused:?}");
            assert_eq!(person.account().await, None);
        }
        eventually("the log says so", async || {
            app.server.log().contains("is verified (email_verified)")
        }).await;
        assert!(!app.server.log().contains(&email));
        app.finish().await;
    }

    async fn an_address_that_goes_to_another_person_does_not_give_the_account_away(mode: Mode) {
        let app = start(mode, &[]).await;
        let (subject, email) = new_person().await;
        leads_to(&Person::new(&app).sign_in(&subject).await, "/app");
        let successor = unique();
        is_known_as(&successor, &email, json!({})).await;
        let refused = Person::new(&app).sign_in(&successor).await;
        assert_eq!(refused.status, 403, "{refused:?}");
        assert!(refused.text.contains("This e-mail address is in use"), "{refused:?}");
        app.finish().await;
    }

    async fn a_sign_in_goes_on_only_in_the_browser_that_began_it_and_only_once(mode: Mode) {
        let app = start(mode, &[]).await;
        let (subject, _) = new_person().await;
        let mut person = Person::new(&app);
        let back = person.authorize("/app/oidc/login", &subject).await;
        let mut other = Person::new(&app);
        let refused = other.browser.get(&back).await;
        assert_eq!(refused.status, 400, "{refused:?}");
        assert!(refused.text.contains("This sign-in is over"), "{refused:?}");
        // A browser that began a sign-in of its own.
        other.browser.get("/app/oidc/login").await;
        assert_eq!(other.browser.get(&back).await.status, 400);
        leads_to(&person.browser.get(&back).await, "/app");
        assert_eq!(person.browser.get(&back).await.status, 400);
        for answer in ["", "?code=x", "?state=x", "?code=x&state=x"] {
            let path = format!("/app/oidc/callback{answer}");
            assert_eq!(person.browser.get(&path).await.status, 400, "{answer}");
        }
        app.finish().await;
    }

    async fn a_provider_that_says_no_leads_to_a_page_that_says_what_to_do(mode: Mode) {
        let app = start(mode, &[]).await;
        let mut person = Person::new(&app);
        let begun = person.browser.get("/app/oidc/login").await;
        let url = begun.header("location").to_owned();
        let state = form_urlencoded::parse(url.split_once('?').unwrap().1.as_bytes())
            .find(|(name, _)| name == "state")
            .unwrap()
            .1
            .into_owned();
        let form = person.at_provider(&url, None).await;
        let page = person.at_provider(form.header("location"), None).await;
        assert_eq!(page.status, 200, "{page:?}");
        let path = format!("/app/oidc/callback?error=access_denied&error_description=x&state={state}");
        let refused = person.browser.get(&path).await;
        assert_eq!(refused.status, 403, "{refused:?}");
        assert!(refused.text.contains("You were not signed in"), "{refused:?}");
        eventually("the log says so", async || app.server.log().contains("answered access_denied")).await;
        app.finish().await;
    }

    async fn a_banned_account_gets_a_page_that_says_so(mode: Mode) {
        let app = start(mode, &[]).await;
        let (subject, email) = new_person().await;
        leads_to(&Person::new(&app).sign_in(&subject).await, "/app");
        let by = admin(&app).await;
        let banned = remove(&app, &by, "user", &email, 410).await;
        assert_eq!(banned.status, 200, "{banned:?}");
        let refused = Person::new(&app).sign_in(&subject).await;
        assert_eq!(refused.status, 403, "{refused:?}");
        assert!(refused.text.contains("Your account is blocked"), "{refused:?}");
        app.finish().await;
    }

    async fn sign_ins_are_limited_by_address_as_log_ins_are(mode: Mode) {
        let app = start(mode, &[("LIMIT_LOGIN", "3")]).await;
        let answers = within_a_minute(async || {
            let mut answers = Vec::new();
            for _ in 0..4 {
                let answer = Person::new(&app).browser.get("/app/oidc/login").await;
                answers.push(answer.status.as_u16());
            }
            answers
        })
        .await;
        assert_eq!(answers, [303, 303, 303, 429]);
        app.finish().await;
    }
}

//! What passwords are for beside the provider.

use reqwest::Method;

use super::in_both_modes;
use super::person::{Person, new_person, start};
use crate::suite::web::browser::{Browser, leads_to, token};
use crate::support::Response;

const REFUSED: &str = "Passwords do not log in here; sign in on the pages by the identity provider, and use an API key in programs";

/// What the form for signing in or up is answered if it is sent in spite of the pages.
async fn sent(browser: &mut Browser<'_>, path: &str, email: &str) -> Response {
    let fields = [("email", email), ("password", "correct horse")];
    browser.send_with("x", path, &fields, &[]).await
}

in_both_modes! {
    async fn with_oidc_only_pages_have_no_passwords_and_the_api_still_has(mode: Mode) {
        let app = start(mode, &[("OIDC_ONLY", "true")]).await;
        let (_, email) = new_person().await;
        assert_eq!(app.account("/auth/register", &email, "correct horse").await.status, 200);
        assert_eq!(app.account("/auth/login", &email, "correct horse").await.status, 200);
        let mut browser = Browser::new(&app);
        let page = browser.get("/app/login").await;
        assert!(page.text.contains("/app/oidc/login"), "{page:?}");
        assert!(!page.text.contains("type=\"password\""), "{page:?}");
        leads_to(&browser.get("/app/register").await, "/app/login");
        for path in ["/app/login", "/app/register"] {
            assert_eq!(sent(&mut browser, path, &email).await.status, 403, "{path}");
        }
        app.finish().await;
    }

    async fn with_password_login_off_the_api_takes_keys_only(mode: Mode) {
        let app = start(mode, &[("PASSWORD_LOGIN", "off")]).await;
        let (subject, email) = new_person().await;
        for path in ["/auth/register", "/auth/login"] {
            app.account(path, &email, "correct horse").await.is_error(403, REFUSED);
        }
        let mut person = Person::new(&app);
        leads_to(&person.sign_in(&subject).await, "/app");
        let fields = [("name", "program"), ("scope", "write")];
        let made = person.browser.send("/app/account", "/app/account/keys", &fields).await;
        let (_, rest) = made.text.split_once("shunt_").expect(&made.text);
        let key: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
        let key = format!("shunt_{key}");
        assert_eq!(app.try_shorten(&key, "https://example.org/").await.status, 200);
        app.finish().await;
    }

    async fn an_account_without_a_password_logs_in_to_nothing_by_one_and_can_be_deleted(mode: Mode) {
        let app = start(mode, &[]).await;
        let (subject, email) = new_person().await;
        let mut person = Person::new(&app);
        leads_to(&person.sign_in(&subject).await, "/app");
        for password in ["", "correct horse", "no password at all"] {
            let answer = app.account("/auth/login", &email, password).await;
            answer.is_error(401, "Incorrect email or password");
        }
        let page = person.browser.get("/app/account").await;
        assert!(page.text.contains("this account has no password here"), "{page:?}");
        assert!(!page.text.contains("old_password"), "{page:?}");
        let question = person.browser.get("/app/account/delete").await;
        assert!(!question.text.contains("type=\"password\""), "{question:?}");
        let csrf = token(&question.text);
        let deleted = person.browser.send_with(&csrf, "/app/account/delete", &[], &[]).await;
        leads_to(&deleted, "/app/login");
        assert_eq!(person.account().await, None);
        // The same person begins anew.
        leads_to(&Person::new(&app).sign_in(&subject).await, "/app");
        app.finish().await;
    }

    async fn without_a_provider_its_pages_lead_to_signing_in(mode: Mode) {
        let app = crate::support::App::start(mode).await;
        let mut browser = Browser::new(&app);
        for page in ["login", "callback", "join", "logout"] {
            leads_to(&browser.get(&format!("/app/oidc/{page}")).await, "/app");
        }
        let request = app.request(Method::POST, "/app/oidc/backchannel-logout");
        assert_eq!(Response::of(request).await.status, 404);
        assert!(!browser.get("/app/login").await.text.contains("/app/oidc/"));
        app.finish().await;
    }
}

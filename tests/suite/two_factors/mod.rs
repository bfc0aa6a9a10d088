//! The second factor: an app that shows codes, recovery codes, and who must have one.

mod api;
mod authenticator;
mod cli;
mod pages;
pub(crate) mod passkeys;
mod required;

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use shunt::domain::{Clock, SystemClock, TotpSecret};

use crate::suite::web::browser::{Browser, token};
use crate::support::{App, Response};

pub(crate) const PASSWORD: &str = "correct horse";
pub(crate) const PAGE: &str = "/app/account/two-factors";

/// What the owner of an account has beside the password.
pub(crate) struct Second {
    pub(crate) secret: TotpSecret,
    pub(crate) recovery: Vec<String>,
}

impl Second {
    /// The code that the app shows after so many seconds.
    pub(crate) fn code(&self, seconds: u64) -> String {
        let moment = SystemClock.now().after(Duration::from_secs(seconds));
        self.secret.code_at(moment).to_string()
    }
}

/// What stands on a page between two texts.
pub(crate) fn between<'p>(page: &'p str, before: &str, after: &str) -> &'p str {
    let (_, rest) = page.split_once(before).expect(page);
    rest.split_once(after).expect(page).0
}

/// The app that the page offers to set up: its secret, and what the form has of it.
pub(crate) fn offered(page: &str) -> (TotpSecret, String) {
    let secret = between(page, "<p class=\"new-key\"><code>", "</code>").replace(' ', "");
    let sealed = between(page, "name=\"secret\" value=\"", "\"").to_owned();
    (TotpSecret::parse(&secret).unwrap(), sealed)
}

/// The recovery codes on a page.
pub(crate) fn recovery_codes(page: &str) -> Vec<String> {
    let codes = page.split("<li><code>").skip(1);
    codes
        .map(|rest| rest.split('<').next().unwrap().to_owned())
        .collect()
}

/// Sets the second factor of the account up that is signed in. Codes of now are good afterwards, too.
pub(crate) async fn secure(browser: &mut Browser<'_>, email: &str) -> Second {
    let page = browser.get(PAGE).await.text;
    let (secret, sealed) = offered(&page);
    let second = Second {
        secret,
        recovery: Vec::new(),
    };
    let code = second.code(0);
    let fields = [
        ("action", "on"),
        ("secret", sealed.as_str()),
        ("password", PASSWORD),
        ("otp", code.as_str()),
    ];
    let done = browser.send_with(&token(&page), PAGE, &fields, &[]).await;
    assert_eq!(done.status, 200, "{done:?}");
    let recovery = recovery_codes(&done.text);
    assert_eq!(recovery.len(), 10, "{done:?}");
    forget_used_codes(browser.app, email).await;
    Second { recovery, ..second }
}

/// As if no code was used yet.
pub(crate) async fn forget_used_codes(app: &App, email: &str) {
    let sql = "UPDATE totp_factors SET last_step = 0 WHERE user_id = (SELECT id FROM users WHERE email = $1)";
    app.backend.execute(sql, email).await;
}

/// A fresh account with a second factor, and a browser in which it is signed in.
pub(crate) async fn secured(app: &App) -> (Browser<'_>, String, Second) {
    let mut browser = Browser::new(app);
    let email = browser.sign_up().await;
    let second = secure(&mut browser, &email).await;
    (browser, email, second)
}

/// Logs in to the API.
pub(crate) async fn log_in(app: &App, email: &str, password: &str, otp: &str) -> Response {
    let body = json!({ "email": email, "password": password, "otp": otp });
    app.post("/auth/login", body.to_string()).await
}

/// Gives the password on the page for signing in.
pub(crate) async fn give_password(browser: &mut Browser<'_>, email: &str) -> Response {
    let fields = [
        ("email", email),
        ("password", PASSWORD),
        ("next", "/app/tags"),
    ];
    browser.send("/app/login", "/app/login", &fields).await
}

/// Gives a code after the password.
pub(crate) async fn give_code(browser: &mut Browser<'_>, otp: &str) -> Response {
    let path = "/app/login/code";
    browser.send(path, path, &[("otp", otp)]).await
}

/// A key of an account.
pub(crate) async fn key(app: &App, token: &str) -> String {
    let body = json!({ "name": "a script", "scope": "write" });
    let request = app.request(Method::POST, "/auth/keys");
    let made = Response::of(request.bearer_auth(token).json(&body)).await;
    made.json()["key"].as_str().unwrap().to_owned()
}

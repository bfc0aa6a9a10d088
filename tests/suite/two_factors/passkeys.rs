//! Passkeys: added, asked for, removed. `tests/web/factors.js` does the same with a browser and its own device.

use serde_json::Value;

use super::authenticator::Authenticator;
use super::{PASSWORD, Second, between, forget_used_codes, secured};
use crate::suite::abuse::GRANT;
use crate::suite::web::browser::{Browser, leads_to, token};
use crate::support::{App, Mode, Response, both_modes, eventually};

const PASSKEYS: &str = "/app/account/passkeys";
const SIGN_IN: &str = "/app/login/passkey";

/// The options for the browser on a page, and what its form has of them.
fn options(page: &str) -> (Value, String) {
    let options = between(page, "data-options=\"", "\"").replace("&#34;", "\"");
    let sealed = between(page, "name=\"sealed\" value=\"", "\"").to_owned();
    (serde_json::from_str(&options).expect(&options), sealed)
}

/// Confirms that a passkey is to be added.
async fn begin(browser: &mut Browser<'_>, password: &str, otp: &str) -> Response {
    let fields = [("action", "begin"), ("password", password), ("otp", otp)];
    browser.send(PASSKEYS, PASSKEYS, &fields).await
}

/// Sends the form of a page that has options, with this answer of the device.
async fn finish(browser: &mut Browser<'_>, page: &str, answer: &str) -> Response {
    let (_, sealed) = options(page);
    let fields = [
        ("action", "made"),
        ("sealed", sealed.as_str()),
        ("name", "Telephone"),
        ("answer", answer),
    ];
    browser
        .send_with(&token(page), PASSKEYS, &fields, &[])
        .await
}

/// Adds a passkey to the account that is signed in.
pub(crate) async fn add(browser: &mut Browser<'_>, otp: &str) -> Authenticator {
    let page = begin(browser, PASSWORD, otp).await;
    assert_eq!(page.status, 200, "{page:?}");
    let mut device = Authenticator::new();
    let answer = device.create(&options(&page.text).0);
    let added = finish(browser, &page.text, &answer).await;
    leads_to(&added, "/app/account/passkeys?done=added");
    device
}

/// The form of the page for signing in, and the answer of a device.
pub(crate) async fn signed(
    browser: &mut Browser<'_>,
    device: &mut Authenticator,
) -> [(&'static str, String); 4] {
    let page = browser.get("/app/login?next=/app/tags").await.text;
    let (options, sealed) = options(&page);
    let answer = device.sign(&options);
    let next = "/app/tags".to_owned();
    [
        ("csrf", token(&page)),
        ("sealed", sealed),
        ("answer", answer),
        ("next", next),
    ]
}

async fn send(browser: &mut Browser<'_>, form: &[(&'static str, String); 4]) -> Response {
    let [(_, csrf), rest @ ..] = form;
    let fields = rest.each_ref().map(|(name, value)| (*name, value.as_str()));
    browser.send_with(csrf, SIGN_IN, &fields, &[]).await
}

/// Signs in by a device, in a fresh browser.
async fn sign_in<'a>(app: &'a App, device: &mut Authenticator) -> (Browser<'a>, Response) {
    let mut browser = Browser::new(app);
    let form = signed(&mut browser, device).await;
    let answer = send(&mut browser, &form).await;
    (browser, answer)
}

fn is_refused(answer: &Response) {
    assert_eq!(answer.status, 401, "{answer:?}");
    assert!(
        answer.text.contains("This passkey is not known here"),
        "{answer:?}"
    );
}

/// The number of the only passkey.
async fn number(browser: &mut Browser<'_>) -> String {
    let page = browser.get(PASSKEYS).await.text;
    between(&page, "name=\"passkey\" value=\"", "\"").to_owned()
}

both_modes! {
    with &[("BASE_URL", "http://localhost")];

    async fn a_passkey_is_added_by_the_password_and_signs_in_without_it(app) {
        let mut owner = Browser::new(app);
        let email = owner.sign_up().await;
        let mut other = Browser::new(app);
        let fields = [("email", email.as_str()), ("password", PASSWORD)];
        leads_to(&other.send("/app/login", "/app/login", &fields).await, "/app");
        let wrong = begin(&mut owner, "wrong horse", "").await;
        assert_eq!(wrong.status, 403, "{wrong:?}");
        let mut device = add(&mut owner, "").await;
        let page = owner.get(PASSKEYS).await.text;
        assert!(page.contains("Telephone") && page.contains("never used"), "{page}");
        assert_eq!(other.get("/app").await.status, 303, "the first second factor ends what a password began");
        let (mut browser, entered) = sign_in(app, &mut device).await;
        leads_to(&entered, "/app/tags");
        assert!(browser.get("/app/account").await.text.contains(&email));
        assert!(browser.get(PASSKEYS).await.text.contains("last used"));
        // The password is a way in still, and the API's only one.
        assert_eq!(app.account("/auth/login", &email, PASSWORD).await.status, 200);
        let (_, again) = sign_in(app, &mut device).await;
        leads_to(&again, "/app/tags");
        eventually("the log says so", async || app.server.log().contains("authn_factor_added")).await;
    }

    async fn an_answer_signs_in_once_and_only_to_its_own_challenge(app) {
        let mut owner = Browser::new(app);
        owner.sign_up().await;
        let mut device = add(&mut owner, "").await;
        let mut browser = Browser::new(app);
        let form = signed(&mut browser, &mut device).await;
        let mut thief = Browser::new(app);
        thief.cookies.clone_from(&browser.cookies);
        let mut later = signed(&mut browser, &mut device).await;
        leads_to(&send(&mut thief, &form).await, "/app/tags");
        thief.cookies.clone_from(&browser.cookies);
        is_refused(&send(&mut thief, &form).await);
        // The answer to another challenge.
        later[2].1.clone_from(&form[2].1);
        is_refused(&send(&mut browser, &later).await);
        // A seal of another kind, of another text, and none.
        let fresh = signed(&mut browser, &mut device).await;
        for sealed in [format!("{}x", fresh[1].1), "x".into(), String::new()] {
            let mut forged = fresh.clone();
            forged[1].1 = sealed;
            let late = send(&mut browser, &forged).await.text;
            assert!(late.contains("That took too long. Sign in again.") && late.contains("value=\"/app/tags\""), "{late}");
        }
        for answer in ["", "{}", "null", "[1", "\"text\""] {
            let mut forged = fresh.clone();
            answer.clone_into(&mut forged[2].1);
            is_refused(&send(&mut browser, &forged).await);
        }
        leads_to(&send(&mut browser, &fresh).await, "/app/tags");
    }

    async fn a_device_of_another_site_or_that_verifies_no_person_is_refused(app) {
        let mut owner = Browser::new(app);
        owner.sign_up().await;
        let mut device = add(&mut owner, "").await;
        device.origin = "http://localhost.example.org";
        is_refused(&sign_in(app, &mut device).await.1);
        device.origin = "http://localhost";
        device.verifies = false;
        is_refused(&sign_in(app, &mut device).await.1);
        device.verifies = true;
        leads_to(&sign_in(app, &mut device).await.1, "/app/tags");
        // A copy of the device has an older counter.
        device.counter = 1;
        is_refused(&sign_in(app, &mut device).await.1);
        // A device that this service does not know, and one that was made for another account.
        let mut stranger = Authenticator::new();
        is_refused(&sign_in(app, &mut stranger).await.1);
        // Neither is added.
        for (origin, verifies) in [("http://localhost.example.org", true), ("http://localhost", false)] {
            let page = begin(&mut owner, PASSWORD, "").await.text;
            let mut false_device = Authenticator::new();
            (false_device.origin, false_device.verifies) = (origin, verifies);
            let answer = false_device.create(&options(&page).0);
            is_refused(&finish(&mut owner, &page, &answer).await);
        }
    }

    async fn a_passkey_is_removed_by_the_password_and_all_sessions_end(app) {
        let (mut owner, email, second) = secured(app).await;
        let mut device = add(&mut owner, &second.recovery[0]).await;
        let (mut elsewhere, _) = sign_in(app, &mut device).await;
        let id = number(&mut owner).await;
        let remove = async |owner: &mut Browser<'_>, otp: &str| {
            let fields = [("action", "remove"), ("passkey", &id), ("password", PASSWORD), ("otp", otp)];
            owner.send(PASSKEYS, PASSKEYS, &fields).await
        };
        let wrong = remove(&mut owner, "000000").await;
        assert_eq!(wrong.status, 401, "{wrong:?}");
        assert!(wrong.text.contains(&format!("value=\"{id}\" required checked")), "{wrong:?}");
        // Of another account nothing is removed.
        let mut stranger = Browser::new(app);
        stranger.sign_up().await;
        leads_to(&remove(&mut stranger, "").await, PASSKEYS);
        leads_to(&sign_in(app, &mut device).await.1, "/app/tags");
        leads_to(&remove(&mut owner, &second.recovery[1]).await, "/app/account/passkeys?done=removed");
        assert_eq!(owner.get("/app").await.status, 200);
        assert_eq!(elsewhere.get("/app").await.status, 303, "all other sessions end");
        is_refused(&sign_in(app, &mut device).await.1);
        forget_used_codes(app, &email).await;
    }

    async fn a_ban_a_deletion_and_a_lost_factor_end_a_passkey(app) {
        let mut admin = Browser::new(app);
        let admin_email = admin.sign_up().await;
        app.backend.execute(GRANT, &admin_email).await;
        let mut owner = Browser::new(app);
        let email = owner.sign_up().await;
        let mut device = add(&mut owner, "").await;
        let entered = app.account("/auth/login", &email, PASSWORD).await.json();
        let id = app.get_as(entered["access_token"].as_str().unwrap(), "/auth/me").await.json()["id"].to_string();
        let ban = [("kind", "user"), ("value", email.as_str()), ("reason", "spam"), ("status", "410")];
        let banned = admin.send("/app/admin/removals", "/app/admin/removals", &ban).await;
        assert_eq!(banned.status, 303, "{banned:?}");
        is_refused(&sign_in(app, &mut device).await.1);
        let path = format!("/app/admin/accounts/{id}/unban");
        admin.send("/app/admin/accounts", &path, &[]).await;
        let (_, entered) = sign_in(app, &mut device).await;
        leads_to(&entered, "/app/tags");
        // An administrator lets an owner in who lost the device.
        let path = format!("/app/admin/accounts/{id}/factors");
        leads_to(&admin.send(&path, &path, &[]).await, "/app/admin/accounts?done=factors");
        is_refused(&sign_in(app, &mut device).await.1);
        let audit = admin.get("/app/admin/audit").await.text;
        assert!(audit.contains("Added a passkey:"), "{audit}");
        let mut leaving = Browser::new(app);
        leaving.sign_up().await;
        let mut device = add(&mut leaving, "").await;
        let gone = leaving.send("/app/account/delete", "/app/account/delete", &[("password", PASSWORD)]).await;
        assert_eq!(gone.status, 303, "{gone:?}");
        is_refused(&sign_in(app, &mut device).await.1);
    }

    async fn an_account_has_at_most_10_passkeys(app) {
        let mut owner = Browser::new(app);
        owner.sign_up().await;
        for _ in 0..10 {
            add(&mut owner, "").await;
        }
        let full = begin(&mut owner, PASSWORD, "").await;
        assert_eq!(full.status, 409, "{full:?}");
        assert!(full.text.contains("Your account has 10 passkeys, as many as it may have."), "{full:?}");
    }
}

#[tokio::test]
async fn a_passkey_is_a_second_factor_where_one_is_needed() {
    for mode in [Mode::Embedded, Mode::Production] {
        let settings = [
            ("REQUIRE_TWO_FACTORS", "all"),
            ("BASE_URL", "http://localhost"),
        ];
        let app = App::start_with(mode, &settings).await;
        let mut owner = Browser::new(&app);
        let email = owner.sign_up().await;
        leads_to(&owner.get("/app").await, super::PAGE);
        assert!(owner.get(super::PAGE).await.text.contains(PASSKEYS));
        let mut device = add(&mut owner, "").await;
        assert_eq!(owner.get("/app").await.status, 200);
        let (mut browser, entered) = sign_in(&app, &mut device).await;
        leads_to(&entered, "/app/tags");
        assert_eq!(browser.get("/app").await.status, 200);
        // The password by itself is not enough, and the last factor stays.
        let mut by_password = Browser::new(&app);
        super::give_password(&mut by_password, &email).await;
        leads_to(&by_password.get("/app").await, super::PAGE);
        assert_eq!(
            app.account("/auth/login", &email, PASSWORD).await.status,
            403
        );
        // It sets no other factor up, either.
        let needed = "has a passkey: sign out, and sign in with the passkey.";
        let page = by_password.get(super::PAGE).await.text;
        assert!(page.contains(needed), "{page}");
        let (secret, sealed) = super::offered(&page);
        let app_of_thief = Second {
            secret,
            recovery: Vec::new(),
        };
        let code = app_of_thief.code(0);
        let fields = [
            ("action", "on"),
            ("secret", sealed.as_str()),
            ("password", PASSWORD),
            ("otp", &code),
        ];
        let refused = by_password
            .send_with(&token(&page), super::PAGE, &fields, &[])
            .await;
        assert!(
            refused.status == 403 && refused.text.contains(needed),
            "{refused:?}"
        );
        let refused = begin(&mut by_password, PASSWORD, "").await;
        assert!(
            refused.status == 403 && refused.text.contains(needed),
            "{refused:?}"
        );
        let id = number(&mut browser).await;
        let fields = [
            ("action", "remove"),
            ("passkey", &id),
            ("password", PASSWORD),
        ];
        assert_eq!(browser.send(PASSKEYS, PASSKEYS, &fields).await.status, 403);
        let page: Second = super::secure(&mut browser, &email).await;
        let fields = [
            ("action", "remove"),
            ("passkey", &id),
            ("password", PASSWORD),
            ("otp", &page.recovery[0]),
        ];
        leads_to(
            &browser.send(PASSKEYS, PASSKEYS, &fields).await,
            "/app/account/passkeys?done=removed",
        );
        app.finish().await;
    }
}

#[tokio::test]
async fn at_an_address_where_browsers_have_no_passkeys_there_are_none() {
    let app = App::start(Mode::Embedded).await;
    let mut browser = Browser::new(&app);
    browser.sign_up().await;
    assert_eq!(browser.get(PASSKEYS).await.status, 404);
    assert!(!browser.get("/app/account").await.text.contains("Passkeys"));
    let login = Browser::new(&app).get("/app/login").await.text;
    assert!(!login.contains("data-passkey"), "{login}");
    app.finish().await;
}

//! The second factor on the pages: set up, asked for after the password, removed.

use super::{
    PAGE, PASSWORD, forget_used_codes, give_code, give_password, log_in, offered, recovery_codes,
    secured,
};
use crate::suite::abuse::GRANT;
use crate::suite::groups::pages::last_token;
use crate::suite::web::browser::{Browser, leads_to, token};
use crate::support::{App, both_modes, command, eventually, reset_token};

const OTP: &str = "/app/login/code";

/// Whether somebody is signed in.
async fn is_signed_in(browser: &mut Browser<'_>) -> bool {
    browser.get("/app").await.status == 200
}

both_modes! {
    async fn a_second_factor_is_set_up_by_the_password_and_a_code_of_the_app(app) {
        let mut browser = Browser::new(app);
        let email = browser.sign_up().await;
        let page = browser.get(PAGE).await.text;
        let (secret, sealed) = offered(&page);
        assert!(page.contains("<svg "), "{page}");
        assert!(page.contains(&format!("secret={}", secret.base32())), "{page}");
        let second = super::Second { secret, recovery: Vec::new() };
        let code = second.code(0);
        for (password, otp, fault) in [
            ("wrong horse", code.as_str(), "The password is wrong."),
            (PASSWORD, "000", "This code is wrong, or was used already."),
        ] {
            let fields = [("action", "on"), ("secret", &*sealed), ("password", password), ("otp", otp)];
            let refused = browser.send_with(&token(&page), PAGE, &fields, &[]).await;
            assert!([401, 403].contains(&refused.status.as_u16()), "{refused:?}");
            assert!(refused.text.contains(fault), "{refused:?}");
            assert_eq!(offered(&refused.text).0.base32(), second.secret.base32(), "the app stays the same");
        }
        // What another account was offered is not this one's.
        let mut other = Browser::new(app);
        other.sign_up().await;
        let (_, foreign) = offered(&other.get(PAGE).await.text);
        for sealed in [&*foreign, "", "nonsense"] {
            let fields = [("action", "on"), ("secret", sealed), ("password", PASSWORD), ("otp", &code)];
            leads_to(&browser.send_with(&token(&page), PAGE, &fields, &[]).await, "/app/account/two-factors?done=late");
        }
        assert_eq!(log_in(app, &email, PASSWORD, "").await.status, 200, "it is off still");
        let fields = [("action", "on"), ("secret", &*sealed), ("password", PASSWORD), ("otp", &code)];
        let done = browser.send_with(&token(&page), PAGE, &fields, &[]).await;
        assert_eq!(recovery_codes(&done.text).len(), 10, "{done:?}");
        let shown = browser.get(PAGE).await.text;
        assert!(shown.contains("10 recovery codes are left."), "{shown}");
        assert!(!shown.contains(&second.secret.base32()), "the secret is shown no more");
        assert!(browser.get("/app/account").await.text.contains("It is on"));
        log_in(app, &email, PASSWORD, &code).await.is_error(401, "Invalid one-time password");
    }

    async fn after_the_password_a_code_is_asked_for_and_leads_to_the_page_that_was_wanted(app) {
        let (_, email, second) = secured(app).await;
        let mut browser = Browser::new(app);
        leads_to(&browser.get(OTP).await, "/app");
        leads_to(&give_password(&mut browser, &email).await, OTP);
        assert!(!is_signed_in(&mut browser).await, "the password alone opens nothing");
        let wrong = give_code(&mut browser, "000000x").await;
        assert_eq!(wrong.status, 401, "{wrong:?}");
        assert!(wrong.text.contains("This code is wrong, or was used already."), "{wrong:?}");
        assert!(!is_signed_in(&mut browser).await);
        let half = Browser { app: browser.app, cookies: browser.cookies.clone() };
        leads_to(&give_code(&mut browser, &second.code(0)).await, "/app/tags");
        assert!(is_signed_in(&mut browser).await);
        assert!(!browser.cookies.contains_key("shunt_factor"));
        let mut again = half;
        assert_eq!(give_code(&mut again, &second.code(0)).await.status, 401, "the code was used");
        leads_to(&give_code(&mut again, &second.recovery[0]).await, "/app/tags");
    }

    async fn what_a_browser_keeps_between_password_and_code_ends_with_the_password(app) {
        let (mut owner, email, second) = secured(app).await;
        let mut browser = Browser::new(app);
        leads_to(&give_password(&mut browser, &email).await, OTP);
        let page = browser.get(OTP).await.text;
        let forged = Browser { app: browser.app, cookies: browser.cookies.clone() };
        let (mut forged, mut unknown) = (forged, Browser::new(app));
        let cookie = forged.cookies["shunt_factor"].clone();
        forged.cookies.insert("shunt_factor".into(), format!("{cookie}x"));
        let change = [("old_password", PASSWORD), ("new_password", "another horse")];
        let changed = owner.send("/app/account", "/app/account/password", &change).await;
        leads_to(&changed, "/app/account?done=password");
        assert!(is_signed_in(&mut owner).await);
        let code = second.code(0);
        for browser in [&mut browser, &mut forged] {
            let late = browser.send_with(&token(&page), OTP, &[("otp", &*code)], &[]).await;
            leads_to(&late, "/app/login/code?done=late");
        }
        let csrf = token(&unknown.get("/app/login").await.text);
        let late = unknown.send_with(&csrf, OTP, &[("otp", &*code)], &[]).await;
        leads_to(&late, "/app/login/code?done=late");
        leads_to(&browser.get("/app/login/code?done=late").await, "/app/login?done=late");
        assert!(browser.get("/app/login?done=late").await.text.contains("That took too long."));
    }

    async fn a_second_factor_is_removed_by_the_password_and_a_code_and_other_sessions_end(app) {
        let (mut browser, email, second) = secured(app).await;
        let mut elsewhere = Browser::new(app);
        give_password(&mut elsewhere, &email).await;
        leads_to(&give_code(&mut elsewhere, &second.recovery[0]).await, "/app/tags");
        for (password, otp, status) in [("wrong horse", second.code(0), 403), (PASSWORD, "1".to_owned(), 401)] {
            let fields = [("action", "off"), ("password", password), ("otp", &*otp)];
            let refused = browser.send(PAGE, PAGE, &fields).await;
            assert_eq!(refused.status, status, "{refused:?}");
        }
        let code = second.code(0);
        let fields = [("action", "off"), ("password", PASSWORD), ("otp", &*code)];
        leads_to(&browser.send(PAGE, PAGE, &fields).await, "/app/account?done=factor");
        assert!(is_signed_in(&mut browser).await);
        assert!(!is_signed_in(&mut elsewhere).await);
        assert_eq!(app.account("/auth/login", &email, PASSWORD).await.status, 200);
        eventually("the log says so", async || app.server.log().contains("authn_factor_removed")).await;
    }

    async fn new_recovery_codes_take_the_place_of_the_old_ones(app) {
        let (mut browser, email, second) = secured(app).await;
        let code = second.code(0);
        let fields = [("action", "codes"), ("password", PASSWORD), ("otp", &*code)];
        let shown = browser.send(PAGE, PAGE, &fields).await;
        let new = recovery_codes(&shown.text);
        assert_eq!(new.len(), 10, "{shown:?}");
        log_in(app, &email, PASSWORD, &second.recovery[0]).await.is_error(401, "Invalid one-time password");
        assert_eq!(log_in(app, &email, PASSWORD, &new[0]).await.status, 200);
        assert!(browser.get(PAGE).await.text.contains("9 recovery codes are left."));
    }

    async fn an_administrator_takes_the_second_factor_away_and_that_is_in_the_audit(app) {
        let (mut owner, email, second) = secured(app).await;
        let mut admin = Browser::new(app);
        let admin_email = admin.sign_up().await;
        app.backend.execute(GRANT, &admin_email).await;
        let path = format!("/app/admin/accounts/{}/factors", id_of(app, &email, &second.recovery[0]).await);
        let asked = admin.get(&path).await;
        assert!(asked.text.contains(&email), "{asked:?}");
        assert_eq!(owner.send(PAGE, &path, &[]).await.status, 403);
        leads_to(&admin.send(&path, &path, &[]).await, "/app/admin/accounts?done=factors");
        assert_eq!(app.account("/auth/login", &email, PASSWORD).await.status, 200);
        assert!(!is_signed_in(&mut owner).await, "all sessions end");
        let none = admin.send(&path, &path, &[]).await;
        assert!(none.text.contains("This account has no second step."), "{none:?}");
        let audit = admin.get("/app/admin/audit").await.text;
        for done in ["Turned two-step sign-in on:", "Signed in with a recovery code:", "Removed the second step of:"] {
            assert!(audit.contains(done), "{done}: {audit}");
        }
        // One's own is taken away on one's own page only, for whomever the administrator acts meanwhile.
        let own = app.account("/auth/login", &admin_email, PASSWORD).await.json();
        let own = app.get_as(own["access_token"].as_str().unwrap(), "/auth/me").await.json();
        let own = format!("/app/admin/accounts/{}/factors", own["id"]);
        leads_to(&admin.get(&own).await, "/app/account");
        let made = admin.send("/app/groups", "/app/groups", &[("name", "Operators")]).await;
        let group = made.header("location").rsplit('/').next().unwrap().to_owned();
        let group = group.split('?').next().unwrap();
        admin.send("/app/groups", "/app/groups/choose", &[("group", group)]).await;
        leads_to(&admin.get(&own).await, "/app/account");
        let csrf = last_token(&admin.get("/app/account").await.text);
        leads_to(&admin.send_with(&csrf, &own, &[], &[]).await, "/app/account");
        admin.send("/app/groups", "/app/groups/choose", &[("group", "")]).await;
        // A new password by an administrator leaves the second factor as it is.
        let (_, email, second) = secured(app).await;
        let id = id_of(app, &email, &second.recovery[0]).await;
        let path = format!("/app/admin/accounts/{id}/password");
        let shown = admin.send(&path, &path, &[]).await.text;
        let new = super::between(&shown, "<code>", "</code>");
        app.account("/auth/login", &email, new).await.is_error(401, "One-time password needed");
    }

    async fn the_operator_takes_the_second_factor_away(app) {
        let (_, email, _) = secured(app).await;
        let run = async || {
            let mut command = command(&app.backend.settings());
            command.args(["admin", "reset-two-factors", &email]).output().unwrap()
        };
        let done = run().await;
        assert!(done.status.success(), "{done:?}");
        assert_eq!(app.account("/auth/login", &email, PASSWORD).await.status, 200);
        let none = run().await;
        assert!(String::from_utf8_lossy(&none.stderr).contains("the account has no second factor"), "{none:?}");
    }

    async fn a_password_that_a_link_by_mail_sets_does_not_pass_the_second_factor(app) {
        let (_, email, second) = secured(app).await;
        let link = reset_token(app, &email).await;
        let mut browser = Browser::new(app);
        let chosen = browser.send("/app/login", &format!("/app/forgot/{link}"), &[("password", "another horse")]).await;
        leads_to(&chosen, "/app/forgot?sent=changed");
        assert!(!is_signed_in(&mut browser).await);
        app.account("/auth/login", &email, "another horse").await.is_error(401, "One-time password needed");
        forget_used_codes(app, &email).await;
        assert_eq!(log_in(app, &email, "another horse", &second.code(0)).await.status, 200);
    }
}

/// The number of an account, which logs in by a recovery code for it.
async fn id_of(app: &App, email: &str, recovery: &str) -> i64 {
    let entered = log_in(app, email, PASSWORD, recovery).await.json();
    let token = entered["access_token"].as_str().unwrap();
    app.get_as(token, "/auth/me").await.json()["id"]
        .as_i64()
        .unwrap()
}

//! Another e-mail address for an account: asked for on a page and over the API, and confirmed by a link.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use super::{MailServer, PASSWORD, link_in, operator, start, text_of};
use crate::suite::oidc::in_both_modes;
use crate::suite::oidc::person::{self, Person, new_person};
use crate::suite::two_factors::{log_in, secured};
use crate::suite::web::browser::{Browser, leads_to, token};
use crate::support::{App, Response, reset_token, unique};

const PAGE: &str = "/app/account/email";
const LINK: &str = "/app/account/email/";

fn fresh() -> String {
    format!("{}@example.org", unique())
}

async fn ask(browser: &mut Browser<'_>, to: &str) -> Response {
    let fields = [("email", to), ("password", PASSWORD)];
    browser.send(PAGE, PAGE, &fields).await
}

async fn sign_in(browser: &mut Browser<'_>, email: &str) {
    let fields = [("email", email), ("password", PASSWORD)];
    let done = browser.send("/app/login", "/app/login", &fields).await;
    leads_to(&done, "/app");
}

/// Asks over the API.
async fn patch(app: &App, token: &str, body: Value) -> Response {
    let request = app.request(Method::PATCH, "/auth/me").bearer_auth(token);
    Response::of(request.json(&body)).await
}

async fn token_of(app: &App, email: &str) -> String {
    let entered = app.account("/auth/login", email, PASSWORD).await.json();
    entered["access_token"].as_str().unwrap().to_owned()
}

fn is_to(mail: &Value, email: &str) {
    assert_eq!(mail["to"], json!([email]), "{mail}");
}

in_both_modes! {
    async fn an_address_changes_once_its_mailbox_and_a_session_confirm_it_and_the_former_one_is_told(mode: Mode) {
        let server = MailServer::start(&[]);
        let app = start(mode, &server, &[("SITE_CONTACT", "mailto:help@example.org")]).await;
        let mut owner = Browser::new(&app);
        let (old, new) = (owner.sign_up().await, fresh());
        let (login, forgotten) = (token_of(&app, &old).await, reset_token(&app, &old).await);
        let mut elsewhere = Browser::new(&app);
        sign_in(&mut elsewhere, &old).await;
        assert!(owner.get("/app/account").await.text.contains("href=\"/app/account/email\""));
        leads_to(&ask(&mut owner, &new).await, "/app/account/email?sent=yes");
        assert!(owner.get("/app/account/email?sent=yes").await.text.contains("A mail is on its way"));
        let mail = server.mail(1).await;
        is_to(&mail, &new);
        let path = link_in(&mail, LINK);

        // Neither a stranger who got the mail nor a program that opens links changes anything.
        let signed_out = Browser::new(&app).get(&path).await;
        leads_to(&signed_out, &format!("/app/login?next={}", path.replace('/', "%2F")));
        let mut stranger = Browser::new(&app);
        stranger.sign_up().await;
        assert_eq!(stranger.get(&path).await.status, 404);
        assert_eq!(stranger.send("/app/account", &path, &[]).await.status, 404);
        let question = owner.get(&path).await;
        assert!(question.status == 200 && question.text.contains(&new), "{question:?}");
        assert_eq!(app.get_as(&login, "/auth/me").await.json()["email"], *old);

        leads_to(&owner.send(&path, &path, &[]).await, "/app/account?done=email");
        let account = owner.get("/app/account?done=email").await.text;
        assert!(account.contains(&new) && account.contains("The e-mail address is changed"), "{account}");
        assert_eq!(elsewhere.get("/app").await.status, 303, "other sessions end");
        assert_eq!(app.get_as(&login, "/auth/me").await.status, 401, "tokens end");
        assert_eq!(owner.get(&format!("/app/forgot/{forgotten}")).await.status, 404, "links of the former address end");
        assert_eq!(app.account("/auth/login", &old, PASSWORD).await.status, 401);
        assert_eq!(app.account("/auth/login", &new, PASSWORD).await.status, 200);
        let told = server.mail(2).await;
        is_to(&told, &old);
        let text = text_of(&told);
        assert!(text.contains("has had another e-mail address since") && text.contains("UTC"), "{text}");
        assert!(text.contains("ask the operator at once: help@example.org") && !text.contains(&new), "{text}");

        let used = owner.get(&path).await;
        assert!(used.status == 404 && used.text.contains("used already"), "{used:?}");
        assert_eq!(owner.send("/app/account", &path, &[]).await.status, 404);
        assert_eq!(app.account("/auth/register", &old, PASSWORD).await.status, 200, "the former address is free");
        assert!(operator(&app, &["audit"]).contains("\"action\":\"change_email\""));
        app.finish().await;
    }

    async fn a_taken_address_is_answered_as_a_free_one_and_its_owner_is_told(mode: Mode) {
        let server = MailServer::start(&[]);
        let app = start(mode, &server, &[]).await;
        let taken = Browser::new(&app).sign_up().await;
        let spelt = taken.to_uppercase();
        let (mut one, mut other) = (Browser::new(&app), Browser::new(&app));
        let emails = [one.sign_up().await, other.sign_up().await];
        leads_to(&ask(&mut one, &spelt).await, "/app/account/email?sent=yes");
        let mail = server.mail(1).await;
        is_to(&mail, &spelt);
        let text = text_of(&mail);
        assert!(text.contains("has an account there already") && !text.contains(LINK), "{text}");
        assert!(emails.iter().all(|email| !text.contains(email)), "{text}");
        leads_to(&ask(&mut other, &fresh()).await, "/app/account/email?sent=yes");
        assert!(text_of(&server.mail(2).await).contains(LINK));

        let mut bodies = Vec::new();
        for email in [spelt, fresh()] {
            let login = app.register().await;
            let asked = patch(&app, &login, json!({ "email": email, "password": PASSWORD })).await;
            assert_eq!(asked.status, 202, "{asked:?}");
            let mut body = asked.json();
            assert_eq!(body["email"], *email);
            body["email"].take();
            body["expires_at"].take();
            bodies.push(body);
        }
        assert_eq!(bodies[0], bodies[1]);
        let too_soon = ask(&mut one, &fresh()).await;
        assert_eq!(too_soon.status, 429, "one link in five minutes, whoever has the address");
        app.finish().await;
    }

    async fn an_address_that_somebody_took_meanwhile_is_not_given(mode: Mode) {
        let server = MailServer::start(&[]);
        let app = start(mode, &server, &[]).await;
        let mut owner = Browser::new(&app);
        let (old, new) = (owner.sign_up().await, fresh());
        ask(&mut owner, &new).await;
        let path = link_in(&server.mail(1).await, LINK);
        assert_eq!(app.account("/auth/register", &new.to_uppercase(), PASSWORD).await.status, 200);
        let refused = owner.send(&path, &path, &[]).await;
        assert_eq!(refused.status, 409, "{refused:?}");
        assert!(refused.text.contains("Another account has this e-mail address."), "{refused:?}");
        assert_eq!(app.account("/auth/login", &old, PASSWORD).await.status, 200);
        assert_eq!(server.mails().len(), 1);
        app.finish().await;
    }

    async fn of_two_who_confirm_one_address_at_once_one_gets_it(mode: Mode) {
        let server = MailServer::start(&[]);
        let app = start(mode, &server, &[]).await;
        let new = fresh();
        let mut confirming = Vec::new();
        for number in [1, 2] {
            let mut owner = Browser::new(&app);
            owner.sign_up().await;
            leads_to(&ask(&mut owner, &new).await, "/app/account/email?sent=yes");
            let path = link_in(&server.mail(number).await, LINK);
            let csrf = token(&owner.get(&path).await.text);
            confirming.push(async move { owner.send_with(&csrf, &path, &[], &[]).await.status.as_u16() });
        }
        let mut statuses = join_all(confirming).await;
        statuses.sort_unstable();
        // The second is told that the address is taken, or to try again if it waited for the first.
        assert!(statuses[0] == 303 && [409, 503].contains(&statuses[1]), "{statuses:?}");
        assert_eq!(app.account("/auth/login", &new, PASSWORD).await.status, 200);
        app.finish().await;
    }

    async fn a_link_ends_by_time_by_the_next_one_by_a_new_password_and_by_a_ban(mode: Mode) {
        let server = MailServer::start(&[]);
        let app = start(mode, &server, &[]).await;
        let mut owner = Browser::new(&app);
        let email = owner.sign_up().await;
        let make = async |owner: &mut Browser<'_>, number| {
            let sql = "UPDATE mailed_links SET created_at = 1 WHERE purpose = 'email' AND new_email <> $1";
            if number > 1 {
                app.backend.execute(sql, &email).await;
            }
            leads_to(&ask(owner, &fresh()).await, "/app/account/email?sent=yes");
            let path = link_in(&server.mail(number).await, LINK);
            assert_eq!(owner.get(&path).await.status, 200);
            path
        };
        let is_over = async |owner: &mut Browser<'_>, path: &str| {
            assert_eq!(owner.get(path).await.status, 404);
            assert_eq!(owner.send("/app/account", path, &[]).await.status, 404);
        };
        let replaced = make(&mut owner, 1).await;
        let late = make(&mut owner, 2).await;
        is_over(&mut owner, &replaced).await;
        let sql = "UPDATE mailed_links SET expires_at = 1 WHERE user_id = (SELECT id FROM users WHERE email = $1)";
        app.backend.execute(sql, &email).await;
        is_over(&mut owner, &late).await;
        let before = make(&mut owner, 3).await;
        let passwords = [("old_password", PASSWORD), ("new_password", PASSWORD)];
        let changed = owner.send("/app/account", "/app/account/password", &passwords).await;
        leads_to(&changed, "/app/account?done=password");
        is_over(&mut owner, &before).await;
        let banned = make(&mut owner, 4).await;
        operator(&app, &["ban", &email]);
        assert_eq!(owner.get(&banned).await.status, 303);
        operator(&app, &["unban", &email]);
        sign_in(&mut owner, &email).await;
        is_over(&mut owner, &banned).await;
        app.finish().await;
    }

    async fn a_change_needs_the_password_and_the_code_and_says_at_each_field_what_is_wrong(mode: Mode) {
        let server = MailServer::start(&[]);
        let app = start(mode, &server, &[]).await;
        let (mut owner, email, second) = secured(&app).await;
        let new = fresh();
        for (to, password, otp, status, said) in [
            ("nobody", PASSWORD, "", 422, "Enter a valid e-mail address."),
            (&*new, "wrong horse", "", 403, "The password is wrong."),
            (&new, PASSWORD, "nonsense", 401, "This code is wrong"),
            (&email, PASSWORD, &second.recovery[0], 422, "This is the address of your account already."),
        ] {
            let fields = [("email", to), ("password", password), ("otp", otp)];
            let refused = owner.send(PAGE, PAGE, &fields).await;
            assert_eq!(refused.status, status, "{refused:?}");
            assert!(refused.text.contains(said), "{refused:?}");
            assert!(refused.text.contains(&format!("value=\"{to}\"")), "{refused:?}");
        }
        let entered = log_in(&app, &email, PASSWORD, &second.recovery[1]).await.json();
        let token = entered["access_token"].as_str().unwrap();
        for (body, status, said) in [
            (json!({ "email": "nobody", "password": PASSWORD }), 422, "email: this is not a valid e-mail address"),
            (json!({ "email": new, "password": "wrong horse" }), 403, "Incorrect password"),
            (json!({ "email": new, "password": PASSWORD }), 401, "One-time password needed"),
            (json!({ "email": new, "password": PASSWORD, "otp": "1" }), 401, "Invalid one-time password"),
        ] {
            patch(&app, token, body).await.is_error(status, said);
        }
        let body = json!({ "email": new, "password": PASSWORD, "otp": second.recovery[2] });
        assert_eq!(patch(&app, token, body).await.status, 202);
        let path = link_in(&server.mail(1).await, LINK);
        leads_to(&owner.send(&path, &path, &[]).await, "/app/account?done=email");
        assert_eq!(log_in(&app, &new, PASSWORD, &second.recovery[3]).await.status, 200);
        app.finish().await;
    }

    async fn an_address_at_a_domain_that_may_not_register_is_refused(mode: Mode) {
        let server = MailServer::start(&[]);
        let app = start(mode, &server, &[("REGISTRATION", "example.org")]).await;
        let mut owner = Browser::new(&app);
        owner.sign_up().await;
        let refused = ask(&mut owner, "ada@example.net").await;
        assert_eq!(refused.status, 403, "{refused:?}");
        assert!(refused.text.contains("Accounts here need an e-mail address at example.org."), "{refused:?}");
        app.finish().await;
    }

    async fn an_account_of_the_provider_is_found_by_its_person_after_the_change(mode: Mode) {
        let server = MailServer::start(&[]);
        let mail = server.settings("?tls=none");
        let mail = mail.each_ref().map(|(name, value)| (*name, value.as_str()));
        let app = person::start(mode, &mail).await;
        let (subject, old) = new_person().await;
        let mut person = Person::new(&app);
        leads_to(&person.sign_in(&subject).await, "/app");
        let (new, page) = (fresh(), person.browser.get(PAGE).await.text);
        assert!(page.contains(&old) && !page.contains("type=\"password\""), "{page}");
        let asked = person.browser.send(PAGE, PAGE, &[("email", &new)]).await;
        leads_to(&asked, "/app/account/email?sent=yes");
        let path = link_in(&server.mail(1).await, LINK);
        leads_to(&person.browser.send(&path, &path, &[]).await, "/app/login?done=email");
        let mut again = Person::new(&app);
        leads_to(&again.sign_in(&subject).await, "/app");
        assert_eq!(again.account().await.as_deref(), Some(&*new));
        app.backend.execute("UPDATE web_sessions SET created_at = 1 WHERE user_id = (SELECT id FROM users WHERE email = $1)", &new).await;
        let page = again.browser.get(PAGE).await.text;
        assert!(page.contains("Sign out and in again"), "{page}");
        let late = again.browser.send("/app/account", PAGE, &[("email", &fresh())]).await;
        assert_eq!(late.status, 403, "{late:?}");
        app.finish().await;
    }

    async fn without_a_mail_server_the_page_and_the_api_name_the_contact_and_the_operator_changes_it(mode: Mode) {
        let app = App::start_with(mode, &[("SITE_CONTACT", "mailto:help@example.org")]).await;
        let mut owner = Browser::new(&app);
        let (old, new) = (owner.sign_up().await, fresh());
        let page = owner.get(PAGE).await.text;
        assert!(page.contains("This service sends no mail") && page.contains("help@example.org"), "{page}");
        assert!(!page.contains("action=\"/app/account/email\""), "{page}");
        let refused = owner.send("/app/account", PAGE, &[("email", &new), ("password", PASSWORD)]).await;
        assert_eq!(refused.status, 409, "{refused:?}");
        assert!(refused.text.contains("help@example.org"), "{refused:?}");
        let token = token_of(&app, &old).await;
        let why = "This service sends no mail, and so cannot confirm another address; ask its operator: help@example.org";
        patch(&app, &token, json!({ "email": new, "password": PASSWORD })).await.is_error(409, why);

        let other = Browser::new(&app).sign_up().await;
        assert!(operator(&app, &["set-email", &old, &other.to_uppercase()]).contains("has an account already"));
        assert_eq!(app.get_as(&token, "/auth/me").await.status, 200);
        assert!(operator(&app, &["set-email", &old, &new]).contains(&format!("{old} logs in as {new} now")));
        assert_eq!(app.get_as(&token, "/auth/me").await.status, 401, "tokens end");
        assert_eq!(app.account("/auth/login", &new, PASSWORD).await.status, 200);
        assert!(operator(&app, &["audit"]).contains("\"action\":\"set_email\""));
        app.finish().await;
    }
}

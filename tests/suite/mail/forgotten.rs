//! Forgotten passwords.

use super::{MailServer, link_in, start, text_of};
use crate::suite::web::browser::{Browser, leads_to};
use crate::support::{App, Mode, unique};

const NEW: &str = "staple battery";

async fn ask(browser: &mut Browser<'_>, email: &str) {
    let asked = browser
        .send("/app/forgot", "/app/forgot", &[("email", email)])
        .await;
    leads_to(&asked, "/app/forgot?sent=yes");
}

#[tokio::test]
async fn a_forgotten_password_is_chosen_anew_once_by_a_link_and_all_sessions_end() {
    let server = MailServer::start(&[]);
    for (number, mode) in [(1, Mode::Embedded), (2, Mode::Production)] {
        let app = start(mode, &server, &[]).await;
        let mut owner = Browser::new(&app);
        let email = owner.sign_up().await;
        let mut forgetful = Browser::new(&app);
        let page = forgetful.get("/app/login").await.text;
        assert!(page.contains("href=\"/app/forgot\""), "{page}");
        ask(&mut forgetful, &email.to_uppercase()).await;
        let mail = server.mail(number).await;
        assert_eq!(mail["to"], serde_json::json!([email]));
        let path = link_in(&mail, "/app/forgot/");
        assert!(forgetful.get(&path).await.text.contains(&email));
        let weak = forgetful
            .send(&path, &path, &[("password", "password")])
            .await;
        assert_eq!(weak.status, 422, "{weak:?}");
        let chosen = forgetful.send(&path, &path, &[("password", NEW)]).await;
        leads_to(&chosen, "/app/forgot?sent=changed");
        assert_eq!(owner.get("/app").await.status, 303, "the session ended");
        assert_eq!(app.account("/auth/login", &email, NEW).await.status, 200);
        assert_eq!(
            app.account("/auth/login", &email, "correct horse")
                .await
                .status,
            401
        );
        let used = forgetful.get(&path).await;
        assert!(
            used.status == 404 && used.text.contains("does not work any more"),
            "{used:?}"
        );
        app.finish().await;
    }
}

#[tokio::test]
async fn every_address_is_answered_alike_and_only_an_account_gets_mail_and_that_not_often() {
    let server = MailServer::start(&[]);
    for (number, mode) in [(1, Mode::Embedded), (2, Mode::Production)] {
        let app = start(mode, &server, &[]).await;
        let email = Browser::new(&app).sign_up().await;
        let mut browser = Browser::new(&app);
        for email in [&format!("{}@example.org", unique()), &email, &email] {
            ask(&mut browser, email).await;
        }
        server.mail(number).await;
        let sent = browser.get("/app/forgot?sent=yes").await.text;
        assert!(
            sent.contains("If there is an account with this address"),
            "{sent}"
        );
        let refused = browser
            .send("/app/forgot", "/app/forgot", &[("email", "nobody")])
            .await;
        assert_eq!(refused.status, 422, "{refused:?}");
        ask(&mut browser, &email).await;
        ask(&mut browser, &email).await;
        let over = browser
            .send("/app/forgot", "/app/forgot", &[("email", &email)])
            .await;
        assert_eq!(over.status, 429, "an address asks five times a minute");
        assert_eq!(server.mails().len(), number);
        app.finish().await;
    }
}

#[tokio::test]
async fn a_link_ends_with_a_change_of_the_password_with_a_ban_and_by_time() {
    let server = MailServer::start(&[]);
    for (number, mode) in [(0, Mode::Embedded), (3, Mode::Production)] {
        let app = start(mode, &server, &[]).await;
        for (number, end) in [
            (
                number + 1,
                "UPDATE users SET token_key = hash FROM mailed_links WHERE users.email = $1",
            ),
            (
                number + 2,
                "UPDATE mailed_links SET expires_at = 1 WHERE user_id = (SELECT id FROM users WHERE email = $1)",
            ),
            (number + 3, "DELETE FROM users WHERE email = $1"),
        ] {
            let email = Browser::new(&app).sign_up().await;
            let mut browser = Browser::new(&app);
            ask(&mut browser, &email).await;
            let path = link_in(&server.mail(number).await, "/app/forgot/");
            assert_eq!(browser.get(&path).await.status, 200);
            app.backend.execute(end, &email).await;
            assert_eq!(browser.get(&path).await.status, 404, "{end}");
            let late = browser
                .send("/app/login", &path, &[("password", NEW)])
                .await;
            assert_eq!(late.status, 404, "{end}");
        }
        app.finish().await;
    }
}

#[tokio::test]
async fn a_mail_is_in_the_language_of_the_account() {
    let server = MailServer::start(&[]);
    let app = start(Mode::Embedded, &server, &[]).await;
    let mut owner = Browser::new(&app);
    let email = owner.sign_up().await;
    let german = [("language", "de")];
    owner
        .send("/app/account", "/app/account/language", &german)
        .await;
    ask(&mut Browser::new(&app), &email).await;
    let text = text_of(&server.mail(1).await);
    assert!(text.contains("innerhalb von 30 Minuten"), "{text}");
    assert!(
        text.contains("From: ") && text.contains("links@example.org"),
        "{text}"
    );
    app.finish().await;
}

#[tokio::test]
async fn without_a_mail_server_the_page_names_the_contact() {
    let contact = [("SITE_CONTACT", "mailto:help@example.org")];
    let app = App::start_with(Mode::Embedded, &contact).await;
    let mut browser = Browser::new(&app);
    let page = browser.get("/app/forgot").await;
    assert!(
        page.status == 200 && page.text.contains("help@example.org"),
        "{page:?}"
    );
    assert!(!page.text.contains("<form"), "{page:?}");
    let page = browser.get("/app/login").await.text;
    assert!(
        page.contains("help@example.org") && !page.contains("/app/forgot"),
        "{page}"
    );
    app.finish().await;
}

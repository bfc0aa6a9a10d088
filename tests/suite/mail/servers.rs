//! Mail servers of all kinds: encrypted, with a wrong certificate, hanging, refusing.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::net::TcpListener;

use super::{MailServer, settings_of};
use crate::suite::web::browser::{Browser, leads_to};
use crate::support::{App, Mode, eventually};

/// A service with these settings, after the owner of an account has forgotten the password. The request was answered at once.
async fn forgetting(settings: &[(&str, &str)]) -> App {
    let app = App::start_with(Mode::Embedded, settings).await;
    let email = Browser::new(&app).sign_up().await;
    let mut browser = Browser::new(&app);
    let csrf = crate::suite::web::browser::token(&browser.get("/app/forgot").await.text);
    let started = Instant::now();
    let asked = browser
        .send_with(&csrf, "/app/forgot", &[("email", &email)], &[])
        .await;
    leads_to(&asked, "/app/forgot?sent=yes");
    assert!(started.elapsed() < Duration::from_secs(5));
    app
}

fn by<'a>(settings: &'a [(&'static str, String); 2]) -> [(&'a str, &'a str); 2] {
    settings
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()))
}

async fn counts(app: &App, result: &str) {
    let line = format!("shunt_mails_total{{result=\"{result}\"}} 1");
    eventually("the mail is counted", async || {
        app.get("/metrics").await.text.contains(&line)
    })
    .await;
}

/// Files of an authority, and of a certificate that it issued for `localhost` with its key.
fn certificates(folder: &Path) -> [String; 3] {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate().unwrap();
    let own = authority.self_signed(&authority_key).unwrap();
    let authority = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().unwrap();
    let server = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let server = server.signed_by(&key, &authority).unwrap();
    let texts = [
        ("ca.pem", own.pem()),
        ("mail.pem", server.pem()),
        ("mail.key", key.serialize_pem()),
    ];
    texts.map(|(name, text)| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    })
}

#[tokio::test]
async fn mail_goes_by_starttls_with_a_password_to_a_server_whose_certificate_is_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let [authority, cert, key] = certificates(folder.path());
    let server = MailServer::start(&["--starttls", &cert, &key, "--user", "links", "p w"]);
    let url = format!("smtp://links:p%20w@localhost:{}", server.port);
    let settings = settings_of(&url);
    let [url, from] = by(&settings);
    let app = forgetting(&[url, from, ("SSL_CERT_FILE", &authority)]).await;
    let mail = server.mail(1).await;
    assert_eq!((&mail["tls"], &mail["user"]), (&true.into(), &true.into()));
    counts(&app, "sent").await;
    app.finish().await;
}

#[tokio::test]
async fn no_mail_goes_to_a_server_whose_certificate_is_not_trusted_or_that_does_not_encrypt() {
    let (folder, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let [_, cert, key] = certificates(folder.path());
    let [other, ..] = certificates(elsewhere.path());
    for args in [&["--starttls", &cert, &key][..], &[]] {
        let server = MailServer::start(args);
        let settings = settings_of(&format!("smtp://localhost:{}", server.port));
        let [url, from] = by(&settings);
        let app = forgetting(&[url, from, ("SSL_CERT_FILE", &other)]).await;
        let said = "a mail is not sent yet";
        eventually("it is in the log", async || {
            app.server.log().contains(said) || app.server.log().contains("a mail is given up")
        })
        .await;
        assert!(server.mails().is_empty());
        app.finish().await;
    }
}

#[tokio::test]
async fn a_mail_that_the_server_refuses_is_given_up_counted_and_logged_without_its_address() {
    let server = MailServer::start(&["--refuse"]);
    let settings = server.settings("?tls=none");
    let app = forgetting(&by(&settings)).await;
    counts(&app, "failed").await;
    eventually("it is logged", async || {
        app.server
            .log()
            .contains("the mail server refused it (550)")
    })
    .await;
    let log = app.server.log();
    assert!(!log.contains("@example.org"), "{log}");
    app.finish().await;
}

#[tokio::test]
async fn a_server_that_hangs_costs_no_request_and_no_stop_anything() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("smtp://{}?tls=none", listener.local_addr().unwrap());
    let settings = settings_of(&url);
    let mut app = forgetting(&by(&settings)).await;
    let connection = listener.accept().await.unwrap();
    assert_eq!(app.get("/health").await.status, 200);
    let started = Instant::now();
    app.server.stop().await;
    assert!(started.elapsed() < Duration::from_secs(20));
    assert!(app.server.log().contains("mails are dropped"));
    drop(connection);
    app.backend.remove().await;
}

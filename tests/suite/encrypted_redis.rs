//! Redis over TLS, with a certificate of a private authority, and with a password.

use std::fs;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::support::{App, Mode, RedisServer, refused};

const PASSWORD: &str = "p4ss-of-the-tests";

/// Writes the certificate of an authority, and one that it issued for 127.0.0.1.
fn write_certificates(folder: &Path) {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate().unwrap();
    let own = authority.self_signed(&authority_key).unwrap();
    let authority = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().unwrap();
    let redis = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let redis = redis.signed_by(&key, &authority).unwrap();
    fs::write(folder.join("ca.pem"), own.pem()).unwrap();
    fs::write(folder.join("redis.pem"), redis.pem()).unwrap();
    fs::write(folder.join("redis.key"), key.serialize_pem()).unwrap();
}

#[tokio::test]
async fn clicks_are_counted_over_tls_with_a_password() {
    let folder = tempfile::tempdir().unwrap();
    write_certificates(folder.path());
    let redis = RedisServer::start_with_tls(PASSWORD, folder.path()).await;
    let url = format!("rediss://:{PASSWORD}@127.0.0.1:{}", redis.port());
    let authority = folder.path().join("ca.pem").display().to_string();
    let settings = [
        ("REDIS_URL", url.as_str()),
        ("SSL_CERT_FILE", authority.as_str()),
        ("FLUSH_INTERVAL_MS", "20"),
    ];
    let app = App::start_with(Mode::Production, &settings).await;
    assert_eq!(app.get("/ready").await.json()["redis"], "up");
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    for answered in 1..=10 {
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        assert_eq!(app.clicks(&code).await, answered);
    }
    app.written_back(&code, 10).await;
    assert_eq!(app.get("/ready").await.json()["redis"], "up");
    app.finish().await;
}

#[tokio::test]
async fn a_certificate_of_an_untrusted_authority_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    write_certificates(folder.path());
    let redis = RedisServer::start_with_tls(PASSWORD, folder.path()).await;
    let database = folder.path().join("shunt.db");
    let settings = [
        ("DATABASE_URL", format!("sqlite://{}", database.display())),
        (
            "REDIS_URL",
            format!("rediss://:{PASSWORD}@127.0.0.1:{}", redis.port()),
        ),
    ];
    let settings: Vec<_> = settings
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let ended = tokio::task::spawn_blocking(move || refused(&settings))
        .await
        .unwrap();
    assert_eq!(ended.status.code(), Some(1));
    assert!(ended.stderr.contains("REDIS_URL"), "{}", ended.stderr);
    assert!(!ended.stderr.contains(PASSWORD), "{}", ended.stderr);
}

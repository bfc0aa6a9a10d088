//! Settings that are allowed and risky: the log of the start warns of them.

use crate::support::{Server, refused};

fn settings(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

/// The log of a start with these settings.
async fn log_of_start(pairs: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}/shunt.db", folder.path().display());
    let mut all = settings(&[("DATABASE_URL", &database)]);
    all.extend(settings(pairs));
    let mut server = Server::start(&all).await;
    server.stop().await;
    server.kill();
    server.log()
}

#[tokio::test]
async fn metrics_that_other_machines_can_read_are_warned_of() {
    let warned = "METRICS_BIND: is not set";
    for bind in ["127.0.0.1:0", "[::1]:0"] {
        let log = log_of_start(&[("BIND", bind)]).await;
        assert!(!log.contains("METRICS_BIND"), "{bind}: {log}");
    }
    for bind in ["0.0.0.0:0", "[::]:0"] {
        let log = log_of_start(&[("BIND", bind)]).await;
        assert!(
            log.contains("WARN") && log.contains(warned),
            "{bind}: {log}"
        );
        let log = log_of_start(&[("BIND", bind), ("METRICS_BIND", "127.0.0.1:0")]).await;
        assert!(!log.contains("METRICS_BIND"), "{bind}: {log}");
    }
}

#[tokio::test]
async fn proxies_that_are_everybody_are_warned_of() {
    for (proxies, is_warned_of) in [
        ("0.0.0.0/0", true),
        ("10.0.0.0/8,::/0", true),
        ("0.0.0.0/1,128.0.0.0/1", true),
        ("2000::/3", true),
        ("127.0.0.0/8", false),
        ("10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7", false),
    ] {
        let log = log_of_start(&[("TRUSTED_PROXIES", proxies)]).await;
        assert_eq!(
            log.contains("TRUSTED_PROXIES: "),
            is_warned_of,
            "{proxies}: {log}"
        );
    }
}

#[tokio::test]
async fn a_secret_that_can_be_guessed_is_refused_or_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}/shunt.db", folder.path().display());
    for secret in [
        "x".repeat(32),
        "0".repeat(64),
        "abcd".repeat(8),
        "1 ".repeat(20),
    ] {
        let ended = refused(&settings(&[
            ("DATABASE_URL", &database),
            ("JWT_SECRET", &secret),
        ]));
        assert_eq!(ended.status.code(), Some(1), "{secret}");
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        assert!(ended.stderr.contains("JWT_SECRET: "), "{}", ended.stderr);
        assert!(
            !ended.stderr.contains(&secret[..8]),
            "secrets stay secret: {}",
            ended.stderr
        );
    }
    let random = "9f2c51d7a80be36495cc07f1e2b8d43a6f7790151e83acd2b44f60e9c8d7a135";
    for (secret, is_warned_of) in [
        ("change-me!".repeat(4), true),
        ("0123456789abcdef".repeat(2), true),
        ("abcdefghijklmnopqrstuvwxyz012345".to_owned(), true),
        (random.to_owned(), false),
        ("a secret of the tests, 32 bytes and more".to_owned(), false),
    ] {
        let log = log_of_start(&[("JWT_SECRET", &secret)]).await;
        assert_eq!(
            log.contains("JWT_SECRET: "),
            is_warned_of,
            "{secret}: {log}"
        );
        assert!(!log.contains(&secret[..10]), "secrets stay secret");
    }
}

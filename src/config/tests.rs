use clap::{Args, Parser};
use proptest::prelude::*;

use super::*;

mod oidc;

#[derive(Parser)]
#[command(args_override_self = true)]
struct Line {
    #[command(flatten)]
    config: Config,
}

/// Only flags: the environment belongs to the person who runs the tests.
fn check(flags: &[&str]) -> Result<Config, ConfigError> {
    let defaults = [
        "shunt",
        "--database-url=sqlite://data/shunt.db",
        "--jwt-secret=",
    ];
    let line = Line::try_parse_from(defaults.iter().chain(flags));
    let refused = |error| ConfigError::behind(&error).unwrap().clone();
    line.map_err(refused)?.config.checked()
}

fn fault_of(flags: &[&str]) -> String {
    check(flags)
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default()
}

/// Whether the fault of a setting begins so.
fn is_named(flag: &str, fault: &str) {
    let found = fault_of(&[flag]);
    assert!(found.starts_with(fault), "{flag}: {found}");
}

#[test]
fn a_public_address_has_no_path_and_nothing_that_links_cannot_have() {
    for (flag, name) in [
        ("--base-url=sho.rt", "BASE_URL: "),
        ("--base-url=ftp://sho.rt", "BASE_URL: "),
        (
            "--base-url=https://me:secret@sho.rt",
            "BASE_URL: must be without a user name and password",
        ),
    ] {
        is_named(flag, name);
    }
}

#[test]
fn settings_of_the_administrator_and_of_mail_need_each_other() {
    for (flag, fault) in [
        ("--admin-email=ada", "ADMIN_EMAIL: `ada` is not an e-mail"),
        ("--admin-email=ada@example.org", "ADMIN_EMAIL: the account"),
        ("--admin-password-file=x", "ADMIN_PASSWORD_FILE: is the"),
        (
            "--smtp-url=smtp://localhost",
            "SMTP_URL: mail needs a sender",
        ),
        ("--smtp-url=localhost", "SMTP_URL: must be smtp://"),
        ("--mail-from=a@example.org", "MAIL_FROM: there is no mail"),
        ("--mail-from=nobody", "MAIL_FROM: `nobody` is not"),
    ] {
        is_named(flag, fault);
    }
}

#[test]
fn a_wrong_setting_is_named_with_its_remedy() {
    for (flag, name) in [
        (
            "--bind=here",
            "BIND: `here` is not an address; give an address such as 127.0.0.1:8000 or [::]:8000",
        ),
        (
            "--database-max-connections=0",
            "DATABASE_MAX_CONNECTIONS: must be a whole number from 1 to 1000, not `0`",
        ),
        (
            "--code-length=3",
            "CODE_LENGTH: must be a whole number from 4 to 32, not `3`",
        ),
        (
            "--custom-code-min=0",
            "CUSTOM_CODE_MIN: must be a whole number from 1 to 32, not `0`",
        ),
        ("--redis-url=http://localhost", "REDIS_URL: "),
        ("--redis-url=redis://a,b", "REDIS_URL: "),
        (
            "--redis-url=redis://a/x",
            "REDIS_URL: the path must be the number of a database",
        ),
        (
            "--redis-url=redis://a/1,redis://b/1",
            "REDIS_URL: a cluster has only database 0",
        ),
        (
            "--redis-url=redis://a,rediss://b",
            "REDIS_URL: servers of one cluster are all",
        ),
        (
            "--database-url=sqlite://x.db?mode=rwc",
            "DATABASE_URL: must be without `?`",
        ),
        (
            "--database-url=postgres://shunt:1#topsecret@db/shunt",
            "DATABASE_URL: has a / ? or # before its @",
        ),
        (
            "--database-url=postgres://shunt:12?top&secret@db/shunt",
            "DATABASE_URL: has a / ? or # before its @",
        ),
        (
            "--database-url=postgres://db/shunt?sslmod=verify-full",
            "DATABASE_URL: has an unknown parameter `sslmod`",
        ),
        (
            "--redis-url=redis://shunt:/topsecret@cache",
            "REDIS_URL: has a / ? or # before its @",
        ),
        (
            "--redis-url=redis://cache?foo=bar",
            "REDIS_URL: has an unknown parameter `foo`",
        ),
        (
            "--database-url=sqlite://~/shunt.db",
            "DATABASE_URL: is not read by a shell",
        ),
        ("--redis-prefix=a b", "REDIS_PREFIX: "),
        (
            "--redis-shards=257",
            "REDIS_SHARDS: must be a whole number from 1 to 256, not `257`",
        ),
        ("--redis-shards=0", "REDIS_SHARDS: must be"),
        ("--jwt-secret=short", "JWT_SECRET: is 5 bytes long"),
        ("--jwt-ttl-seconds=-1", "JWT_TTL_SECONDS: "),
        ("--metrics-bind=9090", "METRICS_BIND: "),
        (
            "--metrics-bind=127.0.0.1:8000",
            "METRICS_BIND: is the address of BIND; give another port",
        ),
        (
            "--otlp-endpoint=localhost:4317",
            "OTEL_EXPORTER_OTLP_ENDPOINT: ",
        ),
        ("--log-format=xml", "LOG_FORMAT: `xml`"),
        ("--log=shunt=loud", "RUST_LOG: "),
        ("--log=warning", "RUST_LOG: `warning` is not a level"),
        ("--log=info,sqlx", "RUST_LOG: `sqlx` is not a level"),
        // Made version 0.3.23 of tracing-subscriber panic.
        ("--log= \u{1ee79}=\\16", "RUST_LOG: "),
        ("--click-deadline-ms=1s", "CLICK_DEADLINE_MS: "),
        ("--max-connections=0", "MAX_CONNECTIONS: "),
        ("--max-requests=many", "MAX_REQUESTS: "),
        ("--request-timeout-seconds=0", "REQUEST_TIMEOUT_SECONDS: "),
        ("--header-timeout-seconds=-1", "HEADER_TIMEOUT_SECONDS: "),
        ("--max-header-bytes=100", "MAX_HEADER_BYTES: "),
        ("--body-timeout-seconds=0", "BODY_TIMEOUT_SECONDS: "),
        ("--max-body-bytes=1", "MAX_BODY_BYTES: "),
    ] {
        is_named(flag, name);
    }
}

#[test]
fn a_public_address_is_one_host_without_a_path() {
    for (given, fault) in [
        ("https:sho.rt", "is not an http:// or https:// address"),
        (
            "https://sho.rt,https://b.example",
            "must be a single address",
        ),
        ("https://sho.rt,b.example", "must be a single address"),
        ("https://sho.rt/s", "must have no path"),
        ("https://sho.rt/s/", "must have no path"),
        ("https://sho.rt//", "must have no path"),
        ("https:///sho.rt", "must have no path"),
        ("https://sho.rt/.//", "must have no path"),
        ("https://sho.rt\\", "must have no path"),
        (
            "https://sho.rt/?",
            "must be an http:// or https:// address without ? and #",
        ),
    ] {
        let refused = fault_of(&[&format!("--base-url={given}")]);
        assert!(
            refused.starts_with(&format!("BASE_URL: {fault}")),
            "{given}: {refused}"
        );
    }
}

#[test]
fn a_public_address_is_written_as_a_browser_would() {
    for (given, shown) in [
        ("https://sho.rt\n", "https://sho.rt"),
        (" https://sho.rt/ ", "https://sho.rt"),
        ("HTTPS://SHO.rt:8443", "https://sho.rt:8443"),
        (
            "https://b\u{fc}cher.example",
            "https://xn--bcher-kva.example",
        ),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
    ] {
        assert_eq!(BaseUrl::parse(given).unwrap().as_str(), shown, "{given:?}");
    }
}

#[test]
fn a_database_is_a_file_or_a_server() {
    for raw in [
        "",
        "data/shunt.db",
        "sqlite://",
        "sqlite://data/",
        "mysql://a/b",
    ] {
        assert!(database(raw).is_err(), "{raw}");
    }
    assert!(
        database("sqlite:///var/lib/shunt/shunt.db")
            == Ok(DatabaseUrl::Sqlite("/var/lib/shunt/shunt.db".into()))
    );
    assert!(database("postgres://u:p@localhost:5432/shunt").is_ok());
    let is_default = |raw| database(raw).is_ok_and(|database| database.is_default());
    assert!(is_default(DatabaseUrl::DEFAULT));
    assert!(!is_default("sqlite:///data/shunt.db"));
    assert!(database("postgres://u:p%23@localhost/shunt?sslmode=disable&options[a]=b").is_ok());
}

#[test]
fn a_secret_has_32_bytes_or_is_not_given() {
    let with = |secret: &str| check(&[&format!("--jwt-secret={secret}")]);
    assert!(with("").is_ok_and(|config| config.jwt_secret.is_none()));
    let secret = "9f2c51d7a80be36495cc07f1e2b8d43a";
    assert!(with(&secret[1..]).is_err());
    assert!(with(secret).is_ok_and(|config| config.jwt_secret.is_some()));
    let fault = fault_of(&["--jwt-secret=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]);
    assert!(
        fault.starts_with("JWT_SECRET: repeats a few characters"),
        "{fault}"
    );
}

#[test]
fn a_replica_needs_postgres_and_redis() {
    let replica = "--database-replica-url=postgres://u:p@replica/shunt";
    let postgres = [
        "--database-url=postgres://u:p@primary/shunt",
        "--jwt-secret=0123456789abcdef0123456789abcdef",
    ];
    let redis = "--redis-url=redis://localhost";
    let fault = |flags: &[&str]| fault_of(&[&postgres, flags].concat());
    assert!(fault_of(&[replica]).starts_with("DATABASE_REPLICA_URL: SQLite has no replica"));
    assert!(fault(&[replica]).starts_with("DATABASE_REPLICA_URL: without Redis"));
    assert!(
        fault(&[redis, "--database-replica-url=redis://replica"]).contains("must be postgres://")
    );
    assert_eq!(fault(&[redis, replica]), "");
    assert_eq!(fault(&["--database-replica-url="]), "");
}

#[test]
fn a_secret_may_be_kept_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret");
    let flag = format!("--jwt-secret-file={}", path.display());
    let fault = |flags: &[&str]| fault_of(flags);
    assert!(
        fault(&[&flag]).starts_with("JWT_SECRET_FILE: "),
        "there is no file"
    );
    let secret = "9f2c51d7a80be36495cc07f1e2b8d43a";
    for (kept, good) in [
        (secret.to_owned(), true),
        (format!("{secret}\n"), true),
        (format!("{secret}\r\n"), true),
        ("short\n".to_owned(), false),
        (String::new(), false),
    ] {
        std::fs::write(&path, &kept).unwrap();
        let config = check(&[&flag]);
        assert_eq!(config.is_ok(), good, "{kept:?}");
        if let Ok(config) = config {
            assert_eq!(config.jwt_secret.unwrap().expose(), secret.as_bytes());
        }
    }
    std::fs::write(&path, secret).unwrap();
    assert_eq!(
        fault(&[&flag, &format!("--jwt-secret={secret}")]),
        "JWT_SECRET_FILE: JWT_SECRET is given, too; unset one of them"
    );
}

#[test]
fn every_secret_setting_has_one_for_a_file() {
    let described = Config::augment_args(clap::Command::new("settings"));
    let names: Vec<_> = described
        .get_arguments()
        .filter_map(|arg| Some((arg.get_env()?.to_str()?, arg.is_hide_env_values_set())))
        .collect();
    for (name, is_secret) in &names {
        let file = format!("{name}_FILE");
        assert_eq!(
            names.iter().any(|(name, _)| *name == file),
            *is_secret,
            "{name}"
        );
    }
}

#[test]
fn addresses_in_files_are_read_as_those_of_settings() {
    let folder = tempfile::tempdir().unwrap();
    let flag = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("{text}\n")).unwrap();
        format!("--{name}-file={}", path.display())
    };
    let config = check(&[
        &flag("database-url", "postgres://u:p@db/shunt"),
        &flag("database-replica-url", "postgres://u:p@replica/shunt"),
        &flag("redis-url", "redis://:p@cache"),
        &flag("jwt-secret-previous", "9f2c51d7a80be36495cc07f1e2b8d43a"),
        &flag("otlp-endpoint", "http://localhost:4318"),
    ]);
    let config = config.map_err(|error| error.to_string()).unwrap();
    assert!(matches!(config.database, DatabaseUrl::Postgres(_)));
    assert!(config.database_replica.is_some() && config.redis.is_some());
    assert!(config.jwt_secret_previous.is_some() && config.otlp_endpoint.is_some());
    let wrong = fault_of(&[&flag("redis-url", "http://:secret@cache")]);
    assert!(
        wrong.starts_with("REDIS_URL_FILE: ") && !wrong.contains("secret@"),
        "{wrong}"
    );
}

#[test]
fn an_empty_value_is_none() {
    let config = check(&[
        "--base-url=",
        "--metrics-bind=",
        "--redis-url=",
        "--workers=",
        "--hashing-concurrency=",
        "--otlp-endpoint=",
        "--log=",
    ]);
    let config = config.map_err(|error| error.to_string()).unwrap();
    assert!(config.redis.is_none() && config.metrics_bind.is_none());
    assert_eq!(config.log_filter, "info");
}

proptest! {
    #[test]
    fn no_value_of_a_setting_panics(value in "\\PC*") {
        for flag in ["bind", "base-url", "database-url", "redis-url", "redis-prefix", "jwt-secret", "workers", "log", "cors-origins"] {
            let _ = check(&[&format!("--{flag}={value}")]);
        }
    }
}

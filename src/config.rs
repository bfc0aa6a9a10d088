//! Settings: flags and environment, read once at start and checked into values.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use ipnet::IpNet;
use url::Url;

use crate::domain::{OwnHost, PerMinute};
use crate::telemetry::LogFormat;

/// Settings as given; flags win over the environment.
#[derive(Args, Clone)]
pub struct Settings {
    /// Address of the public listener.
    #[arg(
        long,
        env = "BIND",
        default_value = "127.0.0.1:8000",
        value_name = "ADDRESS"
    )]
    bind: String,
    /// Public address, used for short links and for loop detection. [default: http:// + BIND]
    #[arg(long, env = "BASE_URL", value_name = "URL")]
    base_url: Option<String>,
    /// `sqlite://PATH` (embedded; made at first start) or `postgres://…`.
    #[arg(
        long,
        env = "DATABASE_URL",
        default_value = "sqlite://data/shunt.db",
        hide_env_values = true,
        value_name = "URL"
    )]
    database_url: String,
    /// Connections to Postgres.
    #[arg(
        long,
        env = "DATABASE_MAX_CONNECTIONS",
        default_value = "10",
        value_name = "N"
    )]
    database_max_connections: String,
    /// `redis://…` or `rediss://…`. Unset: no Redis, clicks go straight to the database.
    #[arg(long, env = "REDIS_URL", hide_env_values = true, value_name = "URL")]
    redis_url: Option<String>,
    /// Prefix of every Redis key; instances of one service share it.
    #[arg(
        long,
        env = "REDIS_PREFIX",
        default_value = "shunt",
        value_name = "NAME"
    )]
    redis_prefix: String,
    /// Secret that signs tokens, at least 32 bytes. With SQLite one is made at first start.
    #[arg(
        long,
        env = "JWT_SECRET",
        hide_env_values = true,
        value_name = "SECRET"
    )]
    jwt_secret: Option<String>,
    /// How long a token is valid.
    #[arg(
        long,
        env = "JWT_TTL_SECONDS",
        default_value = "86400",
        value_name = "SECONDS"
    )]
    jwt_ttl_seconds: String,
    /// Where /metrics is served instead of on the public listener.
    #[arg(long, env = "METRICS_BIND", value_name = "ADDRESS")]
    metrics_bind: Option<String>,
    /// `text` for people, `json` for machines.
    #[arg(
        long,
        env = "LOG_FORMAT",
        default_value = "text",
        value_name = "FORMAT"
    )]
    log_format: String,
    /// What is logged: a level, or directives as `shunt=debug,sqlx=warn`.
    #[arg(
        long = "log",
        env = "RUST_LOG",
        default_value = "info",
        value_name = "FILTER"
    )]
    log_filter: String,
    /// Threads that serve redirects. [default: one per core]
    #[arg(long, env = "WORKERS", value_name = "N")]
    workers: Option<String>,
    /// Links held in the process at most.
    #[arg(
        long,
        env = "CACHE_MAX_LINKS",
        default_value = "1000000",
        value_name = "N"
    )]
    cache_max_links: String,
    /// How long the process holds a link, and serves a deleted one while Redis is away.
    #[arg(
        long,
        env = "CACHE_TTL_SECONDS",
        default_value = "60",
        value_name = "SECONDS"
    )]
    cache_ttl_seconds: String,
    /// Look-ups of redirects in the database at once.
    #[arg(
        long,
        env = "LOOKUP_CONCURRENCY",
        default_value = "8",
        value_name = "N"
    )]
    lookup_concurrency: String,
    /// How long a redirect waits for its click to be acknowledged.
    #[arg(
        long,
        env = "CLICK_DEADLINE_MS",
        default_value = "100",
        value_name = "MS"
    )]
    click_deadline_ms: String,
    /// How often clicks are written back to the links.
    #[arg(
        long,
        env = "FLUSH_INTERVAL_MS",
        default_value = "1000",
        value_name = "MS"
    )]
    flush_interval_ms: String,
    /// Passwords hashed at once. [default: half the cores]
    #[arg(long, env = "HASHING_CONCURRENCY", value_name = "N")]
    hashing_concurrency: Option<String>,
    /// Log-in attempts per minute, per address and per account. 0: no limit.
    #[arg(long, env = "LIMIT_LOGIN", default_value = "1200", value_name = "N")]
    limit_login: String,
    /// Registrations per minute and address. 0: no limit.
    #[arg(long, env = "LIMIT_REGISTER", default_value = "1200", value_name = "N")]
    limit_register: String,
    /// Links made per minute and user. 0: no limit.
    #[arg(
        long,
        env = "LIMIT_CREATE",
        default_value = "1000000",
        value_name = "N"
    )]
    limit_create: String,
    /// Proxies whose X-Forwarded-For is believed: networks with commas between, as 10.0.0.0/8.
    #[arg(
        long,
        env = "TRUSTED_PROXIES",
        default_value = "",
        value_name = "NETWORKS"
    )]
    trusted_proxies: String,
    /// Open connections at most; further ones are answered 503 and closed.
    #[arg(
        long,
        env = "MAX_CONNECTIONS",
        default_value = "20000",
        value_name = "N"
    )]
    max_connections: String,
    /// How long a stop may take before it is forced.
    #[arg(
        long,
        env = "SHUTDOWN_TIMEOUT_SECONDS",
        default_value = "30",
        value_name = "SECONDS"
    )]
    shutdown_timeout_seconds: String,
}

/// A setting that stops the start: its name, what is wrong with it and what would be right.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {fault}")]
pub struct ConfigError {
    name: &'static str,
    fault: String,
}

/// Checked settings.
#[derive(Clone)]
pub struct Config {
    /// Address of the public listener.
    pub bind: SocketAddr,
    /// Public address, if it was given.
    pub base_url: Option<BaseUrl>,
    /// The source of truth.
    pub database: Database,
    /// Connections to Postgres, 1 to 1000.
    pub database_max_connections: u32,
    /// The Redis that instances share.
    pub redis: Option<RedisUrl>,
    /// Prefix of every Redis key.
    pub redis_prefix: String,
    /// Secret that signs tokens; `None` only with SQLite.
    pub jwt_secret: Option<JwtSecret>,
    /// How long a token is valid.
    pub jwt_ttl: Duration,
    /// Where /metrics is served instead of on the public listener.
    pub metrics_bind: Option<SocketAddr>,
    /// For whom the log is written.
    pub log_format: LogFormat,
    /// What is logged.
    pub log_filter: String,
    /// Threads that serve redirects.
    pub workers: usize,
    /// Links held in the process at most.
    pub cache_max_links: u64,
    /// How long the process holds a link.
    pub cache_ttl: Duration,
    /// Look-ups of redirects in the database at once.
    pub lookup_concurrency: usize,
    /// How long a redirect waits for its click to be acknowledged.
    pub click_deadline: Duration,
    /// How often clicks are written back.
    pub flush_interval: Duration,
    /// Passwords hashed at once.
    pub hashing_concurrency: usize,
    /// How often per minute somebody may do what.
    pub limits: PerMinute,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Open connections at most.
    pub max_connections: usize,
    /// How long a stop may take.
    pub shutdown_timeout: Duration,
}

/// Where users and links are kept.
#[derive(Clone, PartialEq, Eq)]
pub enum Database {
    /// A file.
    Sqlite(PathBuf),
    /// A server, by URL; the URL may hold a password.
    Postgres(String),
}

/// Address of a Redis; may hold a password, so it has no `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisUrl(pub String);

/// At least 32 bytes; has no `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct JwtSecret(pub Vec<u8>);

/// Public address of the service: scheme, host and maybe a path, without a slash at its end.
#[derive(Clone)]
pub struct BaseUrl {
    text: String,
    own_host: OwnHost,
}

impl BaseUrl {
    /// Checks an address.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn parse(raw: &str) -> Result<Self, String> {
        let url = Url::parse(raw)
            .map_err(|error| format!("{error}; give an address such as https://sho.rt"))?;
        if !matches!(url.scheme(), "http" | "https")
            || url.query().is_some()
            || url.fragment().is_some()
        {
            return Err("must be an http:// or https:// address without ? and #".into());
        }
        let own_host =
            OwnHost::of(&url).ok_or("has no host; give an address such as https://sho.rt")?;
        Ok(Self {
            text: raw.trim_end_matches('/').to_owned(),
            own_host,
        })
    }

    /// The address as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// For telling targets that would lead back here.
    #[must_use]
    pub fn own_host(&self) -> &OwnHost {
        &self.own_host
    }
}

impl Settings {
    /// Checks every setting.
    ///
    /// # Errors
    /// The first that is wrong.
    pub fn check(self) -> Result<Config, ConfigError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let database = database(&self.database_url).map_err(fault("DATABASE_URL"))?;
        Ok(Config {
            bind: address(&self.bind).map_err(fault("BIND"))?,
            base_url: self
                .base_url
                .map(|raw| BaseUrl::parse(&raw).map_err(fault("BASE_URL")))
                .transpose()?,
            database_max_connections: number(
                "DATABASE_MAX_CONNECTIONS",
                &self.database_max_connections,
                1..=1_000,
            )?,
            redis: self
                .redis_url
                .filter(|raw| !raw.is_empty())
                .map(redis_url)
                .transpose()?,
            redis_prefix: prefix(self.redis_prefix)?,
            jwt_secret: jwt_secret(self.jwt_secret, &database)?,
            jwt_ttl: Duration::from_secs(number(
                "JWT_TTL_SECONDS",
                &self.jwt_ttl_seconds,
                1..=315_360_000,
            )?),
            metrics_bind: self
                .metrics_bind
                .map(|raw| address(&raw).map_err(fault("METRICS_BIND")))
                .transpose()?,
            log_format: log_format(&self.log_format)?,
            log_filter: log_filter(self.log_filter)?,
            workers: optional_number("WORKERS", self.workers, 1..=1_024, cores)?,
            cache_max_links: number("CACHE_MAX_LINKS", &self.cache_max_links, 1..=1_000_000_000)?,
            cache_ttl: Duration::from_secs(number(
                "CACHE_TTL_SECONDS",
                &self.cache_ttl_seconds,
                1..=86_400,
            )?),
            lookup_concurrency: number("LOOKUP_CONCURRENCY", &self.lookup_concurrency, 1..=1_000)?,
            click_deadline: Duration::from_millis(number(
                "CLICK_DEADLINE_MS",
                &self.click_deadline_ms,
                10..=60_000,
            )?),
            flush_interval: Duration::from_millis(number(
                "FLUSH_INTERVAL_MS",
                &self.flush_interval_ms,
                10..=3_600_000,
            )?),
            hashing_concurrency: optional_number(
                "HASHING_CONCURRENCY",
                self.hashing_concurrency,
                1..=1_024,
                (cores / 2).max(1),
            )?,
            trusted_proxies: networks(&self.trusted_proxies).map_err(fault("TRUSTED_PROXIES"))?,
            max_connections: number("MAX_CONNECTIONS", &self.max_connections, 1..=10_000_000)?,
            limits: PerMinute {
                login: number("LIMIT_LOGIN", &self.limit_login, 0..=u32::MAX)?,
                register: number("LIMIT_REGISTER", &self.limit_register, 0..=u32::MAX)?,
                create: number("LIMIT_CREATE", &self.limit_create, 0..=u32::MAX)?,
            },
            shutdown_timeout: Duration::from_secs(number(
                "SHUTDOWN_TIMEOUT_SECONDS",
                &self.shutdown_timeout_seconds,
                1..=3_600,
            )?),
            database,
        })
    }
}

fn fault(name: &'static str) -> impl FnOnce(String) -> ConfigError {
    move |fault| ConfigError { name, fault }
}

fn address(raw: &str) -> Result<SocketAddr, String> {
    raw.parse()
        .map_err(|_| format!("`{raw}` is no address; give one such as 127.0.0.1:8000 or [::]:8000"))
}

fn networks(raw: &str) -> Result<Vec<IpNet>, String> {
    let parse = |part: &str| {
        let network = part
            .parse()
            .or_else(|_| part.parse::<IpAddr>().map(IpNet::from));
        network.map_err(|_| {
            format!("`{part}` is no network; give one such as 10.0.0.0/8 or an address")
        })
    };
    raw.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(parse)
        .collect()
}

fn number<T>(
    name: &'static str,
    raw: &str,
    range: std::ops::RangeInclusive<T>,
) -> Result<T, ConfigError>
where
    T: std::str::FromStr + PartialOrd + fmt::Display,
{
    raw.parse()
        .ok()
        .filter(|value| range.contains(value))
        .ok_or_else(|| ConfigError {
            name,
            fault: format!(
                "`{raw}` is out of range; give a whole number from {} to {}",
                range.start(),
                range.end()
            ),
        })
}

fn optional_number<T>(
    name: &'static str,
    raw: Option<String>,
    range: std::ops::RangeInclusive<T>,
    default: T,
) -> Result<T, ConfigError>
where
    T: std::str::FromStr + PartialOrd + fmt::Display,
{
    raw.map_or(Ok(default), |raw| number(name, &raw, range))
}

fn database(raw: &str) -> Result<Database, String> {
    if let Some(path) = raw
        .strip_prefix("sqlite://")
        .or_else(|| raw.strip_prefix("sqlite:"))
    {
        let names_file =
            !path.is_empty() && !path.ends_with('/') && !path.contains('?') && path != ":memory:";
        return names_file
            .then(|| Database::Sqlite(Path::new(path).to_owned()))
            .ok_or_else(|| "names no file; give one such as sqlite://data/shunt.db".into());
    }
    let url = Url::parse(raw).ok();
    url.is_some_and(|url| matches!(url.scheme(), "postgres" | "postgresql"))
        .then(|| Database::Postgres(raw.to_owned()))
        .ok_or_else(|| "must be sqlite://PATH or postgres://USER:PASSWORD@HOST/DATABASE".into())
}

fn redis_url(raw: String) -> Result<RedisUrl, ConfigError> {
    let valid = Url::parse(&raw)
        .is_ok_and(|url| matches!(url.scheme(), "redis" | "rediss") && url.has_host());
    if valid {
        Ok(RedisUrl(raw))
    } else {
        Err(fault("REDIS_URL")(
            "must be redis://HOST:PORT or rediss://HOST:PORT".into(),
        ))
    }
}

fn prefix(raw: String) -> Result<String, ConfigError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    if (1..=64).contains(&raw.len()) && raw.chars().all(plain) {
        Ok(raw)
    } else {
        Err(fault("REDIS_PREFIX")(
            "must be 1 to 64 of A-Z a-z 0-9 - _ . :".into(),
        ))
    }
}

fn jwt_secret(raw: Option<String>, database: &Database) -> Result<Option<JwtSecret>, ConfigError> {
    let wrong = fault("JWT_SECRET");
    match (raw.filter(|raw| !raw.is_empty()), database) {
        (Some(secret), _) if secret.len() < 32 => Err(wrong(format!(
            "is {} bytes long; give at least 32, such as the output of `openssl rand -hex 32`",
            secret.len()
        ))),
        (Some(secret), _) => Ok(Some(JwtSecret(secret.into_bytes()))),
        (None, Database::Sqlite(_)) => Ok(None),
        (None, Database::Postgres(_)) => Err(wrong(
            "is not set; with Postgres give at least 32 bytes, such as the output of `openssl rand -hex 32`".into(),
        )),
    }
}

fn log_format(raw: &str) -> Result<LogFormat, ConfigError> {
    match raw {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err(fault("LOG_FORMAT")(format!(
            "`{raw}` is no format; give text or json"
        ))),
    }
}

fn log_filter(raw: String) -> Result<String, ConfigError> {
    match tracing_subscriber::EnvFilter::try_new(&raw) {
        Ok(_) => Ok(raw),
        Err(error) => Err(fault("RUST_LOG")(format!(
            "{error}; give a level such as info, or shunt=debug"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use proptest::prelude::*;

    use super::*;

    #[derive(Parser)]
    #[command(args_override_self = true)]
    struct Line {
        #[command(flatten)]
        settings: Settings,
    }

    /// Only flags: the environment belongs to whoever runs the tests.
    fn check(flags: &[&str]) -> Result<Config, ConfigError> {
        let defaults = [
            "shunt",
            "--database-url=sqlite://data/shunt.db",
            "--jwt-secret=",
        ];
        let line =
            Line::try_parse_from(defaults.iter().chain(flags)).map_err(|error| error.to_string());
        line.unwrap().settings.check()
    }

    fn fault_of(flags: &[&str]) -> String {
        check(flags)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn a_wrong_setting_is_named_with_its_mend() {
        for (flag, name) in [
            (
                "--bind=here",
                "BIND: `here` is no address; give one such as 127.0.0.1:8000 or [::]:8000",
            ),
            ("--base-url=sho.rt", "BASE_URL: "),
            ("--base-url=ftp://sho.rt", "BASE_URL: "),
            (
                "--database-max-connections=0",
                "DATABASE_MAX_CONNECTIONS: `0` is out of range",
            ),
            ("--redis-url=http://localhost", "REDIS_URL: "),
            ("--redis-prefix=a b", "REDIS_PREFIX: "),
            ("--jwt-secret=short", "JWT_SECRET: is 5 bytes long"),
            ("--jwt-ttl-seconds=-1", "JWT_TTL_SECONDS: "),
            ("--metrics-bind=9090", "METRICS_BIND: "),
            ("--log-format=xml", "LOG_FORMAT: `xml`"),
            ("--log=shunt=loud", "RUST_LOG: "),
            ("--click-deadline-ms=1s", "CLICK_DEADLINE_MS: "),
        ] {
            assert!(
                fault_of(&[flag]).starts_with(name),
                "{flag}: {}",
                fault_of(&[flag])
            );
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
                == Ok(Database::Sqlite("/var/lib/shunt/shunt.db".into()))
        );
        assert!(database("postgres://u:p@localhost:5432/shunt").is_ok());
    }

    #[test]
    fn postgres_needs_a_secret() {
        let postgres = Database::Postgres(String::new());
        assert!(jwt_secret(None, &postgres).is_err());
        assert!(jwt_secret(Some("x".repeat(32)), &postgres).is_ok());
    }

    proptest! {
        #[test]
        fn no_value_of_a_setting_panics(value in "\\PC*") {
            for flag in ["bind", "base-url", "database-url", "redis-url", "redis-prefix", "jwt-secret", "workers", "log"] {
                let _ = check(&[&format!("--{flag}={value}")]);
            }
        }
    }
}

//! Settings: flags and environment, read once at start and checked into values.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ipnet::IpNet;
use url::Url;

use crate::domain::{PerMinute, Shard, TokenSecret};
use crate::telemetry::LogFormat;

mod base_url;
mod guards;
mod parse;

use guards::GuardSettings;
use parse::{
    address, collector, database, fault, given, jwt_secret, log_filter, log_format, networks,
    number, optional_number, other_address, prefix, redis_urls, replica, seconds,
};

pub use base_url::BaseUrl;
pub use guards::Guards;

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
    /// Public address: the document and links to further pages lead there, and no target may. [default: http:// + BIND]
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
    /// A streaming replica of that Postgres, which answers look-ups of redirects where it has caught up; needs
    /// Redis.
    #[arg(
        long,
        env = "DATABASE_REPLICA_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    database_replica_url: Option<String>,
    /// Connections to Postgres, and as many to its replica.
    #[arg(
        long,
        env = "DATABASE_MAX_CONNECTIONS",
        default_value = "10",
        value_name = "N"
    )]
    database_max_connections: String,
    /// `redis://…` or `rediss://…`; several with commas between for a Redis Cluster. Unset: no Redis, clicks go
    /// straight to the database.
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
        default_value = parse::DEFAULT_LOG_FILTER,
        value_name = "FILTER"
    )]
    log_filter: String,
    /// Collector for traces, by OTLP over HTTP, as `http://localhost:4318`. Unset: none are made.
    #[arg(
        long,
        env = "OTEL_EXPORTER_OTLP_ENDPOINT",
        hide_env_values = true,
        value_name = "URL"
    )]
    otlp_endpoint: Option<String>,
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
    /// How long a link is served from memory without confirmation from Redis that nothing changed.
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
    /// How long a redirect waits for its click to be acknowledged: half of it for Redis, half for the database; without
    /// Redis all of it for the database. A database that was not late yet is given 500 ms (without Redis 2000 ms).
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
    #[command(flatten)]
    guards: GuardSettings,
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
    /// URL of its replica, only with Postgres and Redis; may hold a password.
    pub database_replica: Option<String>,
    /// Connections to Postgres, and as many to its replica, 1 to 1000.
    pub database_max_connections: u32,
    /// The Redis that instances share.
    pub redis: Option<RedisUrls>,
    /// Prefix of every Redis key.
    pub redis_prefix: String,
    /// Secret that signs tokens; without one SQLite's is made, and Postgres does not serve.
    pub jwt_secret: Option<TokenSecret>,
    /// How long a token is valid.
    pub jwt_ttl: Duration,
    /// Where /metrics is served instead of on the public listener.
    pub metrics_bind: Option<SocketAddr>,
    /// For whom the log is written.
    pub log_format: LogFormat,
    /// What is logged.
    pub log_filter: String,
    /// Collector for traces.
    pub otlp_endpoint: Option<Url>,
    /// Threads that serve redirects.
    pub workers: usize,
    /// Links held in the process at most.
    pub cache_max_links: u64,
    /// How long a link is served from memory without word from Redis that nothing changed.
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
    /// What clients may use up.
    pub guards: Guards,
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

/// Address of a Redis, or several of a Redis Cluster; may hold passwords, so it has no `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisUrls(pub Vec<String>);

impl RedisUrls {
    /// Into how many shards the data set is cut.
    #[must_use]
    pub fn shards(&self) -> u8 {
        if self.0.len() > 1 {
            Shard::IN_CLUSTER
        } else {
            1
        }
    }
}

impl Settings {
    /// Whether machines read the log: then they read why the service ended, too.
    #[must_use]
    pub fn log_is_json(&self) -> bool {
        matches!(log_format(&self.log_format), Ok(LogFormat::Json))
    }

    /// Checks every setting.
    ///
    /// # Errors
    /// The first that is wrong.
    pub fn check(self) -> Result<Config, ConfigError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let database = database(&self.database_url).map_err(fault("DATABASE_URL"))?;
        let redis = given(self.redis_url)
            .map(|raw| redis_urls(&raw))
            .transpose()?;
        let database_replica = given(self.database_replica_url)
            .map(|raw| replica(&raw, &database, redis.as_ref()))
            .transpose()
            .map_err(fault("DATABASE_REPLICA_URL"))?;
        let bind = address(&self.bind, 8000).map_err(fault("BIND"))?;
        Ok(Config {
            bind,
            base_url: given(self.base_url)
                .map(|raw| BaseUrl::parse(&raw).map_err(fault("BASE_URL")))
                .transpose()?,
            database_max_connections: number(
                "DATABASE_MAX_CONNECTIONS",
                &self.database_max_connections,
                1..=1_000,
            )?,
            redis,
            redis_prefix: prefix(self.redis_prefix)?,
            jwt_secret: jwt_secret(self.jwt_secret)?,
            jwt_ttl: seconds("JWT_TTL_SECONDS", &self.jwt_ttl_seconds, 1..=315_360_000)?,
            metrics_bind: given(self.metrics_bind)
                .map(|raw| other_address(&raw, bind).map_err(fault("METRICS_BIND")))
                .transpose()?,
            otlp_endpoint: given(self.otlp_endpoint)
                .map(|raw| collector(&raw))
                .transpose()?,
            log_format: log_format(&self.log_format)?,
            log_filter: log_filter(self.log_filter)?,
            workers: optional_number("WORKERS", given(self.workers), 1..=1_024, cores)?,
            cache_max_links: number("CACHE_MAX_LINKS", &self.cache_max_links, 1..=1_000_000_000)?,
            cache_ttl: seconds("CACHE_TTL_SECONDS", &self.cache_ttl_seconds, 1..=86_400)?,
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
                given(self.hashing_concurrency),
                1..=1_024,
                (cores / 2).max(1),
            )?,
            trusted_proxies: networks(&self.trusted_proxies).map_err(fault("TRUSTED_PROXIES"))?,
            guards: self.guards.check()?,
            limits: PerMinute {
                login: number("LIMIT_LOGIN", &self.limit_login, 0..=u32::MAX)?,
                register: number("LIMIT_REGISTER", &self.limit_register, 0..=u32::MAX)?,
                create: number("LIMIT_CREATE", &self.limit_create, 0..=u32::MAX)?,
            },
            shutdown_timeout: seconds(
                "SHUTDOWN_TIMEOUT_SECONDS",
                &self.shutdown_timeout_seconds,
                1..=3_600,
            )?,
            database,
            database_replica,
        })
    }
}

#[cfg(test)]
mod tests;

//! Settings, from flags and the environment: a flag wins over its variable. `SETTINGS_FILE` wins over both for a few, anew upon SIGHUP.
//!
//! Each setting is one field of [`Config`]: its flag, variable, default and meaning, and the parser that turns its text into a
//! value. The command line, `shunt config`, the help texts and `deploy/settings.md` follow from it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};
use ipnet::IpNet;
use url::Url;

use crate::domain::{Registration, Shard, TokenSecret};
use crate::telemetry::LogFormat;

mod addresses;
mod administrator;
mod analytics;
mod base_url;
mod checked;
mod clients;
mod error;
mod guards;
mod hooks;
mod kept;
mod mail;
mod oidc;
mod parse;
mod reload;
mod secret_files;
mod setting;
mod site;
mod statements;

use parse::{
    address, collector, cores, database, file, jwt_secret, log_filter, log_format, networks,
    postgres, private_targets, redis_prefix, redis_urls, security_contact, within, yes_or_no,
};
use setting::{Optional, mebibytes, milliseconds, number, number_or, optional, seconds, setting};

pub use addresses::{DatabaseUrl, LOCAL_URL, RedisUrls};
pub use administrator::AdministratorSettings;
pub use analytics::AnalyticsSettings;
pub use base_url::BaseUrl;
pub use clients::{ClientSettings, Compat, Origin};
pub use error::ConfigError;
pub use guards::Guards;
pub use hooks::HookSettings;
pub use kept::KeptSettings;
pub use mail::{MailSettings, SmtpServer, SmtpTls};
pub use oidc::OidcSettings;
pub use reload::Reloaded;
pub use secret_files::SecretFiles;
pub use setting::bind;
pub use site::SiteSettings;
pub use statements::StatementSettings;

/// Comes from one setting; clap would take a `Vec` for a flag that is repeated.
type Networks = Vec<IpNet>;

/// The settings in force. The text on each is what `shunt --help` and `deploy/settings.md` say.
#[derive(Args, Clone)]
pub struct Config {
    /// Address of the public listener.
    #[arg(long, env = "BIND", value_name = "ADDRESS")]
    #[arg(default_value = "127.0.0.1:8000", value_parser = bind())]
    pub bind: SocketAddr,
    /// Public address. [default: http:// + BIND]
    ///
    /// It must be a host that only shunt uses, without a path. Short links, the API document and links to the next page begin
    /// with it; a target on this host is refused.
    #[arg(long, env = "BASE_URL", value_name = "URL")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(BaseUrl::parse))]
    pub base_url: Optional<BaseUrl>,
    /// The database.
    ///
    /// `sqlite://PATH` (embedded, made at the first start, for one process) or `postgres://…`.
    #[arg(
        long = "database-url",
        env = "DATABASE_URL",
        value_name = "URL",
        hide_env_values = true
    )]
    #[arg(default_value = DatabaseUrl::DEFAULT, value_parser = setting(database))]
    pub database: DatabaseUrl,
    /// A streaming replica of that Postgres, which answers look-ups of redirects when it has caught up; needs Redis.
    #[arg(
        long = "database-replica-url",
        env = "DATABASE_REPLICA_URL",
        value_name = "URL",
        hide_env_values = true
    )]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(postgres))]
    pub database_replica: Optional<String>,
    /// Connections to Postgres, and the same number to its replica. Under load, only as many are used at once as make Postgres
    /// faster (at least two); redirects may use all.
    #[arg(long, env = "DATABASE_MAX_CONNECTIONS", value_name = "N")]
    #[arg(default_value = "10", value_parser = number(1..=1_000_u32))]
    pub database_max_connections: u32,
    /// Size of the database from which on links, accounts, keys and reports are refused with 507. 0: no limit.
    ///
    /// Deletions, log-ins, redirects, counting and changes by which a link does not grow go on. The size is measured every 5 s,
    /// so new data of up to 5 s may exceed it. For SQLite, free pages do not count, and the write-ahead log does.
    #[arg(long, env = "DATABASE_MAX_MIB", value_name = "MIB")]
    #[arg(default_value = "0", value_parser = mebibytes(0..=1_073_741_824))]
    pub database_max_mib: u64,
    /// Leave the schema to `shunt migrate`: an instance whose database lacks a migration refuses to start.
    ///
    /// The role of the service then needs no right to change the schema.
    #[arg(
        long,
        env = "NO_MIGRATE",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    #[arg(default_value = "false", value_parser = setting(yes_or_no), action = ArgAction::Set)]
    pub no_migrate: bool,
    /// `redis://…`. Unset: clicks go straight to the database.
    ///
    /// `rediss://…` is encrypted; of a Redis Cluster, several addresses with commas between.
    #[arg(
        long = "redis-url",
        env = "REDIS_URL",
        value_name = "URL",
        hide_env_values = true
    )]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(redis_urls))]
    pub redis: Optional<RedisUrls>,
    /// Prefix of every Redis key; instances of one service share it.
    ///
    /// A start is refused if the keys with this prefix belong to another database.
    #[arg(long, env = "REDIS_PREFIX", value_name = "NAME")]
    #[arg(default_value = "shunt", value_parser = setting(redis_prefix))]
    pub redis_prefix: String,
    /// Data sets into which a Redis Cluster is divided, the same on all instances; a single Redis has one data set.
    ///
    /// Several times the number of masters spreads the load evenly. To change it, stop all instances first.
    #[arg(long, env = "REDIS_SHARDS", value_name = "N")]
    #[arg(default_value = "32", value_parser = number(1..=Shard::MAX_COUNT))]
    pub redis_shards: u16,
    /// Secret that signs tokens, at least 32 bytes.
    ///
    /// With SQLite it may be unset: then it is generated at the first start, and kept in a file beside the database. With Postgres it
    /// is required.
    #[arg(long, env = "JWT_SECRET", value_name = "SECRET")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(jwt_secret))]
    #[arg(hide_env_values = true)]
    pub jwt_secret: Optional<TokenSecret>,
    /// The previous secret: tokens that it signed stay valid until they expire, so that a new `JWT_SECRET` logs no user out.
    /// New tokens are never signed with it.
    #[arg(
        long,
        env = "JWT_SECRET_PREVIOUS",
        value_name = "SECRET",
        hide_env_values = true
    )]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(jwt_secret))]
    pub jwt_secret_previous: Optional<TokenSecret>,
    /// A file of passwords that are refused as new passwords, in addition to the most common ones: one per line, in any case.
    ///
    /// It is read at the start. A million lines take 8 MB of memory. Log-ins are not affected.
    #[arg(long, env = "COMMON_PASSWORDS", value_name = "PATH")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(file))]
    pub common_passwords: Optional<PathBuf>,
    /// How long a token is valid.
    #[arg(
        long = "jwt-ttl-seconds",
        env = "JWT_TTL_SECONDS",
        value_name = "SECONDS"
    )]
    #[arg(default_value = "86400", value_parser = seconds(1..=315_360_000))]
    pub jwt_ttl: Duration,
    /// Address at which /metrics is served, instead of on the public listener.
    #[arg(long, env = "METRICS_BIND", value_name = "ADDRESS")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(|raw| address(raw, 9464)))]
    pub metrics_bind: Optional<SocketAddr>,
    /// `text` for people, `json` for machines.
    ///
    /// No request waits for the reader of the log: past 8,192 unread lines, more lines are dropped.
    #[arg(long, env = "LOG_FORMAT", value_name = "FORMAT")]
    #[arg(default_value = "text", value_parser = setting(log_format))]
    pub log_format: LogFormat,
    /// What is logged: a level, or directives such as `shunt=debug,sqlx=warn`.
    ///
    /// At level debug each request is a line.
    #[arg(long = "log", env = "RUST_LOG", value_name = "FILTER")]
    #[arg(default_value = parse::DEFAULT_LOG_FILTER, value_parser = setting(log_filter))]
    pub log_filter: String,
    /// Collector for traces, by OTLP over HTTP, such as `http://localhost:4318`. Unset: no traces.
    ///
    /// API requests are traced and, at level debug, redirects.
    #[arg(
        long,
        env = "OTEL_EXPORTER_OTLP_ENDPOINT",
        value_name = "URL",
        hide_env_values = true
    )]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(collector))]
    pub otlp_endpoint: Optional<Url>,
    /// Threads that serve redirects. [default: one per core]
    #[arg(long, env = "WORKERS", value_name = "N")]
    #[arg(default_value = "", hide_default_value = true, value_parser = number_or(cores(), 1..=1_024))]
    pub workers: usize,
    /// Memory for links cached in the process, in MiB.
    ///
    /// A link takes some 400 bytes and the length of its target.
    #[arg(
        long = "cache-memory-mib",
        env = "CACHE_MEMORY_MIB",
        value_name = "MIB"
    )]
    #[arg(default_value = "256", value_parser = mebibytes(1..=1_048_576))]
    pub cache_memory: u64,
    /// Most links cached in the process. Unset: as many as fit into the memory.
    #[arg(long, env = "CACHE_MAX_LINKS", value_name = "N")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(|raw: &str| within(&(1..=1_000_000_000_u64), raw)))]
    pub cache_max_links: Optional<u64>,
    /// How long a link is served from memory without confirmation from Redis that nothing changed.
    ///
    /// A deleted link may be served for that long while neither Redis nor Postgres answers. SQLite, which one process owns, needs no
    /// confirmation.
    #[arg(
        long = "cache-ttl-seconds",
        env = "CACHE_TTL_SECONDS",
        value_name = "SECONDS"
    )]
    #[arg(default_value = "60", value_parser = seconds(1..=86_400))]
    pub cache_ttl: Duration,
    /// Look-ups of redirects in the database at the same time.
    #[arg(long, env = "LOOKUP_CONCURRENCY", value_name = "N")]
    #[arg(default_value = "8", value_parser = number(1..=1_000_usize))]
    pub lookup_concurrency: usize,
    /// How long a redirect waits for its click to be acknowledged: half of it for Redis, half for the database; without Redis
    /// all of it for the database. A database that has not been late gets 500 ms (without Redis 2000 ms).
    ///
    /// So clicks are not only in memory while Postgres is merely busy. Once the database was late, it gets only its share,
    /// until it responds in time again.
    #[arg(
        long = "click-deadline-ms",
        env = "CLICK_DEADLINE_MS",
        value_name = "MS"
    )]
    #[arg(default_value = "100", value_parser = milliseconds(10..=60_000))]
    pub click_deadline: Duration,
    /// How often clicks are written back to the links.
    #[arg(
        long = "flush-interval-ms",
        env = "FLUSH_INTERVAL_MS",
        value_name = "MS"
    )]
    #[arg(default_value = "1000", value_parser = milliseconds(10..=3_600_000))]
    pub flush_interval: Duration,
    /// Passwords hashed at the same time. [default: half the cores]
    #[arg(long, env = "HASHING_CONCURRENCY", value_name = "N")]
    #[arg(default_value = "", hide_default_value = true, value_parser = number_or((cores() / 2).max(1), 1..=1_024))]
    pub hashing_concurrency: usize,
    /// Log-in attempts per minute and address. 0: no limit.
    ///
    /// The `LIMIT_` settings hold over all instances. From 1,000 on, the limit of links is approximate: each instance after the
    /// first may let 12.5 % more through.
    #[arg(long, env = "LIMIT_LOGIN", value_name = "N")]
    #[arg(default_value = "60", value_parser = number(0..=u32::MAX))]
    pub limit_login: u32,
    /// Failed log-ins per quarter of an hour, account and address; wrong passwords of a link and address, too. 0: no limit.
    #[arg(long, env = "LIMIT_LOGIN_FAILURES", value_name = "N")]
    #[arg(default_value = "10", value_parser = number(0..=u32::MAX))]
    pub limit_login_failures: u32,
    /// Failed log-ins per hour and account; wrong passwords of a link, too. 0: no limit.
    ///
    /// It stops strangers: an address that logged in to the account before is stopped only by its own failures.
    #[arg(long, env = "LIMIT_ACCOUNT_FAILURES", value_name = "N")]
    #[arg(default_value = "100", value_parser = number(0..=u32::MAX))]
    pub limit_account_failures: u32,
    /// Registrations per minute and address. 0: no limit.
    #[arg(long, env = "LIMIT_REGISTER", value_name = "N")]
    #[arg(default_value = "20", value_parser = number(0..=u32::MAX))]
    pub limit_register: u32,
    /// Accounts created per day (UTC) and address. 0, or `LIMIT_REGISTER` 0: no limit.
    #[arg(long, env = "LIMIT_REGISTER_DAY", value_name = "N")]
    #[arg(default_value = "100", value_parser = number(0..=u32::MAX))]
    pub limit_register_day: u32,
    /// Links created per minute and account. 0: no limit.
    ///
    /// Calls of `POST /urls/bulk` are counted separately at the same rate, over the minutes that 10,000 links take: at 600 per
    /// minute, 10,200 links in 17 minutes. An account may have two such calls at the same time, an address eight.
    #[arg(long, env = "LIMIT_CREATE", value_name = "N")]
    #[arg(default_value = "600", value_parser = number(0..=u32::MAX))]
    pub limit_create: u32,
    /// What an address may add to the database per day (UTC), with all its accounts, by links that it creates or changes:
    /// target, fallback, title, tags, note and aliases of each link, and 256 bytes; 512 bytes for each change, which is an event. A link
    /// is always paused and deleted. 0, or `LIMIT_CREATE` 0: no limit.
    ///
    /// 128 MiB are some 350,000 ordinary links, or 8,000 links of the greatest length. Each instance after the first may let a
    /// 64th more through.
    #[arg(long, env = "LIMIT_CREATE_DAY_MIB", value_name = "MIB")]
    #[arg(default_value = "128", value_parser = mebibytes(0..=1_048_576))]
    pub limit_create_day_mib: u64,
    /// Look-ups of unknown codes per minute and address, on each instance. 0: no limit.
    ///
    /// Past it an address follows only links that the instance has in memory; other codes are answered 429.
    #[arg(long, env = "LIMIT_MISSES", value_name = "N")]
    #[arg(default_value = "600", value_parser = number(0..=u32::MAX))]
    pub limit_misses: u32,
    /// Characters of the codes of new links.
    ///
    /// Once more than one in 100,000 codes of a length was given to a link, new links get one character more.
    #[arg(long, env = "CODE_LENGTH", value_name = "N")]
    #[arg(default_value = "7", value_parser = number(4..=32_usize))]
    pub code_length: usize,
    /// Fewest characters of a code that an owner chooses. Administrators, and everybody who imports links
    /// (`POST /urls/bulk`), may choose shorter codes.
    #[arg(long, env = "CUSTOM_CODE_MIN", value_name = "N")]
    #[arg(default_value = "4", value_parser = number(1..=32_usize))]
    pub custom_code_min: usize,
    /// Links and aliases that an account may have; more are refused with 403. 0: no limit.
    #[arg(long, env = "LINKS_PER_ACCOUNT", value_name = "N")]
    #[arg(default_value = "100000", value_parser = number(0..=1_000_000_000_000_u64))]
    pub links_per_account: u64,
    /// Targets in private networks: `allow`, because people at home link to their own machines, or `refuse`. `refuse` concerns
    /// all addresses and names outside of the public internet: addresses that the registries of IANA do not call reachable,
    /// names of one label, and names that end in `.local`, `.internal`, `.lan`, `.corp`, `.home`, `.test` and the like.
    /// Link-local addresses and the metadata services of clouds are always refused.
    #[arg(long, env = "PRIVATE_TARGETS", value_name = "WHICH")]
    #[arg(action = ArgAction::Set, default_value = "allow", value_parser = setting(private_targets))]
    pub private_targets: bool,
    /// A file of hosts, `*.hosts` (with all hosts below) and beginnings of URLs to which no link may lead, one per line; `!`
    /// before a line makes an exception, `#` a comment. Existing links to them are removed, and restored when their line goes.
    ///
    /// All spellings of a URL are the same URL (`//`, `..`, percent-encoding, IPv4 in IPv6, the order of parameters; but not
    /// the case of a path). A line with a query matches every URL with its path and all of its parameters; as an exception,
    /// only URLs without other parameters. A visit whose forwarded query turns the target into a listed URL is
    /// answered like a removed link: 410, uncounted.
    ///
    /// The file is read again when it changes, and on SIGHUP; a file with an invalid line is ignored then. All instances need
    /// the same file; an instance without a list restores nothing, an empty file restores everything. A line takes 8 bytes of
    /// memory, a line with a query about 50.
    #[arg(long, env = "BLOCKLIST", value_name = "PATH")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(file))]
    pub blocklist: Optional<PathBuf>,
    /// Ask search engines not to list short links: `X-Robots-Tag: noindex` on redirects. `true` or `false`.
    #[arg(long, env = "NOINDEX", value_name = "BOOL")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(default_value = "false", value_parser = setting(yes_or_no), action = ArgAction::Set)]
    pub noindex: bool,
    /// Who may register: `open`, `closed`, or the domains of e-mail addresses, separated by commas, such as example.org.
    #[arg(long, env = "REGISTRATION", value_name = "WHO")]
    #[arg(default_value = "open", value_parser = setting(Registration::parse))]
    pub registration: Registration,
    /// The first administrator.
    #[command(flatten)]
    pub administrator: AdministratorSettings,
    /// Signing in by `OpenID` Connect.
    #[command(flatten)]
    pub oidc: OidcSettings,
    /// For how long things are kept.
    #[command(flatten)]
    pub kept: KeptSettings,
    /// Contact for reports of vulnerabilities: a `mailto:` or `https:` address, served in `/.well-known/security.txt`.
    #[arg(long, env = "SECURITY_CONTACT", value_name = "URL")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(security_contact))]
    pub security_contact: Optional<String>,
    /// What visitors find beside short links.
    #[command(flatten)]
    pub site: SiteSettings,
    /// Mail.
    #[command(flatten)]
    pub mail: MailSettings,
    /// Proxies whose X-Forwarded-For is trusted: networks, separated by commas, such as 10.0.0.0/8.
    #[arg(long, env = "TRUSTED_PROXIES", value_name = "NETWORKS")]
    #[arg(default_value = "", hide_default_value = true, value_parser = setting(networks))]
    pub trusted_proxies: Networks,
    /// Clients that exist.
    #[command(flatten)]
    pub clients: ClientSettings,
    /// What is kept of visitors.
    #[command(flatten)]
    pub analytics: AnalyticsSettings,
    /// Statements.
    #[command(flatten)]
    pub statements: StatementSettings,
    /// Where events may be sent.
    #[command(flatten)]
    pub hooks: HookSettings,
    /// What clients may use up.
    #[command(flatten)]
    pub guards: Guards,
    /// Files that hold secrets.
    #[command(flatten)]
    pub secret_files: SecretFiles,
    /// A file of lines `NAME=value`, read at the start and again on SIGHUP. Its values of `RUST_LOG`, `LIMIT_*` and
    /// `LINKS_PER_ACCOUNT` win over flags and environment. Its other lines are ignored.
    #[arg(long, env = "SETTINGS_FILE", value_name = "PATH")]
    #[arg(default_value = "", hide_default_value = true, value_parser = optional(file))]
    pub settings_file: Optional<PathBuf>,
    /// How long a stop may take before it is forced.
    ///
    /// Open requests get half of it; the rest is for the clicks.
    #[arg(long = "shutdown-timeout-seconds", env = "SHUTDOWN_TIMEOUT_SECONDS")]
    #[arg(value_name = "SECONDS", default_value = "30", value_parser = seconds(1..=3_600))]
    pub shutdown_timeout: Duration,
}

#[cfg(test)]
mod tests;

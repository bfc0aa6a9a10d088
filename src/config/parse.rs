//! From text to values; every error says how to correct it.

use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ipnet::IpNet;
use tracing::level_filters::LevelFilter;
use url::Url;

use super::{DatabaseUrl, RedisUrls};
use crate::domain::{StatsAudience, TokenSecret, WeakSecret};
use crate::telemetry::LogFormat;

/// The default log filter.
pub(super) const DEFAULT_LOG_FILTER: &str = "info";

/// Cores that this process may use.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A whole number in this range.
pub(super) fn within<T: FromStr + PartialOrd + Display>(
    range: &RangeInclusive<T>,
    raw: &str,
) -> Result<T, String> {
    let number = raw.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| {
        format!(
            "must be a whole number from {} to {}, not `{raw}`",
            range.start(),
            range.end()
        )
    })
}

/// An address with a port, such as one with `port`.
pub(super) fn address(raw: &str, port: u16) -> Result<SocketAddr, String> {
    raw.parse().map_err(|_| {
        format!(
            "`{raw}` is not an address; give an address such as 127.0.0.1:{port} or [::]:{port}"
        )
    })
}

pub(super) fn yes_or_no(raw: &str) -> Result<bool, String> {
    match raw.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err(format!("must be true or false, not `{raw}`")),
    }
}

pub(super) fn networks(raw: &str) -> Result<Vec<IpNet>, String> {
    let parse = |part: &str| {
        let network = part
            .parse()
            .or_else(|_| part.parse::<IpAddr>().map(IpNet::from));
        network.map_err(|_| {
            format!("`{part}` is not a network; give a network such as 10.0.0.0/8, or an address")
        })
    };
    raw.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(parse)
        .collect()
}

pub(super) fn database(raw: &str) -> Result<DatabaseUrl, String> {
    if let Some(path) = raw
        .strip_prefix("sqlite://")
        .or_else(|| raw.strip_prefix("sqlite:"))
    {
        if path.contains('?') {
            return Err("must be without `?`; give a file such as sqlite://data/shunt.db".into());
        }
        if path.starts_with("~/") {
            return Err(
                "is not read by a shell, to which ~ is your home; give the whole path".into(),
            );
        }
        let names_file = !path.is_empty() && !path.ends_with('/') && path != ":memory:";
        return names_file
            .then(|| DatabaseUrl::Sqlite(Path::new(path).to_owned()))
            .ok_or_else(|| "names no file; give a file such as sqlite://data/shunt.db".into());
    }
    if raw.starts_with("postgres://") || raw.starts_with("postgresql://") {
        return postgres(raw).map(DatabaseUrl::Postgres);
    }
    Err("must be sqlite://PATH or postgres://USER:PASSWORD@HOST/DATABASE".into())
}

/// Parameters behind the `?` of an address of Postgres that the driver knows. It ignores others: a misspelt `sslmode`
/// would mean no TLS.
const OF_POSTGRES: [&str; 18] = [
    "application_name",
    "dbname",
    "host",
    "hostaddr",
    "options",
    "password",
    "port",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-mode",
    "ssl-root-cert",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "statement-cache-capacity",
    "user",
];

/// The same for Redis.
const OF_REDIS: [&str; 1] = ["protocol"];

/// Whether targets in private networks are refused.
pub(super) fn private_targets(raw: &str) -> Result<bool, String> {
    match raw {
        "allow" => Ok(false),
        "refuse" => Ok(true),
        _ => Err(format!("must be allow or refuse, not `{raw}`")),
    }
}

/// Whether something is kept.
pub(super) fn on_or_off(raw: &str) -> Result<bool, String> {
    match raw {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("must be on or off, not `{raw}`")),
    }
}

pub(super) fn stats_audience(raw: &str) -> Result<StatsAudience, String> {
    match raw {
        "public" => Ok(StatsAudience::Everybody),
        "owner" => Ok(StatsAudience::Owner),
        _ => Err(format!("must be public or owner, not `{raw}`")),
    }
}

/// The address in `security.txt`.
pub(super) fn security_contact(raw: &str) -> Result<String, String> {
    let url = Url::parse(raw).ok();
    let is_contact = url.is_some_and(|url| matches!(url.scheme(), "mailto" | "https" | "tel"));
    if is_contact && raw.bytes().all(|byte| byte.is_ascii_graphic()) {
        Ok(raw.to_owned())
    } else {
        Err(format!(
            "`{raw}` is not a contact; give an address such as mailto:security@example.org"
        ))
    }
}

/// The name of the service on its pages.
pub(super) fn site_name(raw: &str) -> Result<String, String> {
    let name = raw.trim();
    let is_name = (1..=60).contains(&name.chars().count()) && !name.chars().any(char::is_control);
    is_name
        .then(|| name.to_owned())
        .ok_or_else(|| "must be a name of 1 to 60 characters, such as Example Links".to_owned())
}

/// Whom visitors may ask.
pub(super) fn site_contact(raw: &str) -> Result<String, String> {
    security_contact(raw).map_err(|_| {
        format!("`{raw}` is not a contact; give an address such as mailto:links@example.org")
    })
}

/// The address of a Postgres.
pub(super) fn postgres(raw: &str) -> Result<String, String> {
    whole_address(raw)?;
    let url = Url::parse(raw)
        .ok()
        .filter(|url| matches!(url.scheme(), "postgres" | "postgresql"))
        .ok_or("must be postgres://USER:PASSWORD@HOST/DATABASE")?;
    known_parameters(&url, &OF_POSTGRES)?;
    Ok(raw.to_owned())
}

/// A password that contains one of these characters would end the address too early: the rest would be taken for another
/// part, and be shown.
pub(super) fn whole_address(raw: &str) -> Result<(), String> {
    let address = raw.split_once("://").map_or(raw, |(_, address)| address);
    match address.find(['/', '?', '#']) {
        Some(end) if address[end..].contains('@') => Err(
            "has a / ? or # before its @; write them as %2F %3F %23 in a password (and an @ behind as %40)"
                .into(),
        ),
        _ => Ok(()),
    }
}

pub(super) fn known_parameters(url: &Url, known: &[&str]) -> Result<(), String> {
    let mut names = url.query_pairs().map(|(name, _)| name);
    let is_unknown = |name: &std::borrow::Cow<'_, str>| {
        !known.contains(&&**name) && !name.starts_with("options[")
    };
    match names.find(is_unknown) {
        Some(name) => Err(format!(
            "has an unknown parameter `{}`",
            name.escape_debug()
        )),
        None => Ok(()),
    }
}

pub(super) fn redis_urls(raw: &str) -> Result<RedisUrls, String> {
    let wrong = |why: &str| Err(why.to_owned());
    let texts: Vec<_> = raw.split(',').map(|url| url.trim().to_owned()).collect();
    for text in &texts {
        whole_address(text)?;
    }
    let names_redis = |url: &Url| matches!(url.scheme(), "redis" | "rediss") && url.has_host();
    let parsed = texts
        .iter()
        .map(|text| Url::parse(text).ok().filter(names_redis));
    let Some(urls) = parsed.collect::<Option<Vec<_>>>() else {
        return wrong(
            "must be redis://HOST:PORT or rediss://HOST:PORT, or several addresses of a cluster, separated by commas",
        );
    };
    for url in &urls {
        known_parameters(url, &OF_REDIS)?;
    }
    let database = |url: &Url| match url.path().trim_start_matches('/') {
        "" => Some(0),
        number => number.parse::<u32>().ok(),
    };
    if urls.iter().any(|url| database(url).is_none()) {
        return wrong("the path must be the number of a database, such as redis://HOST:PORT/0");
    }
    if urls.len() > 1 {
        if urls.iter().any(|url| database(url) != Some(0)) {
            return wrong("a cluster has only database 0; leave the number out");
        }
        if urls.iter().any(|url| url.scheme() != urls[0].scheme()) {
            return wrong("servers of one cluster are all redis:// or all rediss://");
        }
    }
    Ok(RedisUrls(texts))
}

/// The path of a file.
pub(super) fn file(raw: &str) -> Result<PathBuf, String> {
    if Path::new(raw).is_dir() {
        return Err(format!("`{raw}` is a folder; give a file"));
    }
    Ok(raw.into())
}

pub(super) fn redis_prefix(raw: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    if (1..=64).contains(&raw.len()) && raw.chars().all(plain) {
        Ok(raw.to_owned())
    } else {
        Err("must be 1 to 64 of A-Z a-z 0-9 - _ . :".into())
    }
}

pub(super) fn jwt_secret(raw: &str) -> Result<TokenSecret, String> {
    const GIVE: &str = "such as the output of `openssl rand -hex 32`";
    TokenSecret::from_bytes(raw.into()).map_err(|weak| match weak {
        WeakSecret::Short => format!(
            "is {} bytes long; give at least {}, {GIVE}",
            raw.len(),
            TokenSecret::MIN_BYTES
        ),
        WeakSecret::Monotonous => {
            format!("repeats a few characters, so it can be guessed; give a random secret, {GIVE}")
        }
    })
}

pub(super) fn log_format(raw: &str) -> Result<LogFormat, String> {
    match raw {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err(format!("`{raw}` is not a format; give text or json")),
    }
}

pub(super) fn log_filter(raw: &str) -> Result<String, String> {
    // tracing-subscriber 0.3.23 panics at some texts with a space before a character of several bytes.
    if !raw.is_ascii() {
        return Err(format!(
            "`{raw}` contains characters other than ASCII; give a level such as info, or shunt=debug"
        ));
    }
    if raw.is_empty() {
        return Ok(DEFAULT_LOG_FILTER.into());
    }
    // Such a word would be read as a target, and all others would log nothing.
    if let Some(word) = raw.split(',').map(str::trim).find(|part| is_no_level(part)) {
        return Err(format!(
            "`{word}` is not a level; give error, warn, info, debug, trace or off, or a level for a target, such as shunt=debug"
        ));
    }
    match tracing_subscriber::EnvFilter::try_new(raw) {
        Ok(_) => Ok(raw.to_owned()),
        Err(_) => Err(format!(
            "`{raw}` is not a valid filter; give a level such as info, or shunt=debug"
        )),
    }
}

fn is_no_level(directive: &str) -> bool {
    let is_word = !directive.is_empty() && !directive.contains(['=', '[']);
    is_word && directive.parse::<LevelFilter>().is_err()
}

pub(super) fn collector(raw: &str) -> Result<Url, String> {
    match Url::parse(raw) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(url),
        _ => Err(
            "is not an http:// or https:// address; give an address such as http://localhost:4318"
                .into(),
        ),
    }
}

//! The parts that need nothing but the settings: files that are read, secrets, limits.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use crate::abuse::read_blocklist;
use crate::accounts::{CommonPasswords, Identities, Secrets, load_or_create_secret};
use crate::analytics::{Analytics, Countries};
use crate::cache::CacheLimits;
use crate::config::{BaseUrl, Config, DatabaseUrl};
use crate::domain::{Clock, CurrentBlocklist, StatementKey};
use crate::oidc::{AttemptKey, Provider, ProviderSettings};
use crate::server::error::ServeError;
use crate::shared_redis::RedisShards;
use crate::store::{Store, companion_file, load_or_create_companion};

/// How long an unknown code is cached: a link that is made meanwhile is unknown for that long at most.
const UNKNOWN_TTL: Duration = Duration::from_secs(5);

/// How long a batch that Redis did not acknowledge waits for the journal, until the journal was late once. On a busy
/// machine the journal may take long, and a click that is only in memory is worse than a slow redirect.
const JOURNAL_TIMEOUT: Duration = Duration::from_millis(500);

/// The same without Redis, when the journal is the only sink: a busy disk is slow for a moment.
const JOURNAL_TIMEOUT_ALONE: Duration = Duration::from_secs(2);

/// The limits of the cache, with these settings and this database.
pub(super) fn cache_limits(config: &Config, store: &Store) -> CacheLimits {
    CacheLimits {
        memory: config.cache_memory,
        links: config.cache_max_links,
        link_ttl: config.cache_ttl,
        is_alone: store.has_one_process(),
        unknown_ttl: UNKNOWN_TTL,
        workers: config.workers,
    }
}

/// The countries of addresses, and what finds the classes of clicks if classes are kept. Rules ask for both where they are not.
/// Redis learns how much room classes have there.
pub(super) fn analytics(
    config: &Config,
    redis: Option<&RedisShards>,
) -> Result<(Countries, Analytics), ServeError> {
    let settings = &config.analytics;
    if let Some(redis) = redis {
        redis.set_room_for_details(settings.analytics_redis);
    }
    let countries = match &settings.geoip_database {
        Some(path) => Countries::open(path)
            .map_err(|error| ServeError::Countries(path.display().to_string(), error))?,
        None => Countries::default(),
    };
    let analytics = if settings.are_on {
        Analytics::new(countries.clone())
    } else {
        Analytics::off(countries.clone())
    };
    Ok((countries, analytics))
}

pub(super) fn common_passwords(config: &Config) -> Result<CommonPasswords, ServeError> {
    let file = config.common_passwords.as_deref();
    CommonPasswords::with(file).map_err(|error| {
        let path = file.unwrap_or(Path::new("")).display();
        ServeError::CommonPasswords(path.to_string(), error)
    })
}

/// The runtime on which calls of Postgres run.
pub(super) fn database_runtime(config: &Config) -> Option<Handle> {
    match config.database {
        DatabaseUrl::Postgres(_) => Some(Handle::current()),
        DatabaseUrl::Sqlite(_) => None,
    }
}

/// The deadline of the journal before and after it was late.
pub(super) fn journal_deadlines(config: &Config, has_redis: bool) -> (Duration, Duration) {
    if has_redis {
        // The other half of the deadline is Redis's.
        (JOURNAL_TIMEOUT, config.click_deadline / 2)
    } else {
        (JOURNAL_TIMEOUT_ALONE, config.click_deadline)
    }
}

pub(super) fn blocklist(config: &Config) -> Result<CurrentBlocklist, ServeError> {
    let current = CurrentBlocklist::default();
    if let Some(path) = config.blocklist.as_deref() {
        let read = read_blocklist(path);
        let read = read.map_err(|error| ServeError::Blocklist(path.display().to_string(), error));
        current.set(read?);
    }
    Ok(current)
}

/// The secrets of the settings; with SQLite also the secret beside the database, which is created if it is missing.
pub(super) fn secrets(config: &Config) -> Result<Secrets, ServeError> {
    let current = match (&config.jwt_secret, &config.database) {
        (Some(secret), _) => secret.clone(),
        (None, DatabaseUrl::Sqlite(database)) => {
            load_or_create_secret(&companion_file(database, ".jwt-secret"))?
        }
        (None, DatabaseUrl::Postgres(_)) => return Err(ServeError::NoSecret),
    };
    Ok(Secrets {
        current,
        previous: config.jwt_secret_previous.clone(),
    })
}

/// The key of the settings; with SQLite also the key beside the database, which is created if it is missing.
pub(super) fn statement_key(config: &Config) -> Result<Option<StatementKey>, ServeError> {
    let database = match (&config.statements.statement_key, &config.database) {
        (Some(key), _) => return Ok(Some(key.clone())),
        (None, DatabaseUrl::Sqlite(database)) => database,
        (None, DatabaseUrl::Postgres(_)) => return Ok(None),
    };
    let path = companion_file(database, ".statement-key");
    let shown = path.display().to_string();
    let generate = || StatementKey::generate().map_err(io::Error::other);
    let pem = load_or_create_companion(&path, "sign statements of this service", generate)
        .map_err(|error| ServeError::StatementKeyFile(shown.clone(), error))?;
    let key = StatementKey::parse(&String::from_utf8_lossy(&pem));
    let key = key.map_err(|fault| ServeError::StatementKey(shown, fault))?;
    Ok(Some(key))
}

/// The identity provider, if there is one.
pub(super) fn identities(
    config: &Config,
    base_url: &BaseUrl,
    secrets: &Secrets,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Identities>, ServeError> {
    let Some(settings) = provider_settings(config, base_url) else {
        return Ok(None);
    };
    Ok(Some(Identities {
        provider: Provider::new(settings, Arc::clone(clock))?,
        attempts: AttemptKey::new(&secrets.current),
        admin_group: config.oidc.oidc_admin_group.clone(),
    }))
}

/// How the identity provider is asked, if there is one.
#[must_use]
pub fn provider_settings(config: &Config, base_url: &BaseUrl) -> Option<ProviderSettings> {
    let settings = &config.oidc;
    let (issuer, client) = (&settings.oidc_issuer, &settings.oidc_client_id);
    Some(ProviderSettings {
        issuer: issuer.clone()?,
        client: client.clone()?,
        secret: settings.oidc_client_secret.clone(),
        scopes: settings.oidc_scopes.clone(),
        base_url: base_url.as_str().to_owned(),
        needs_groups: settings.oidc_admin_group.is_some(),
    })
}

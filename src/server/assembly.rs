//! All parts, put together from the settings; from here on nobody sees the settings.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::lifecycle::ServeError;
use crate::accounts::{Accounts, PasswordHasher, TokenSecret, Tokens};
use crate::cache::{CacheLimits, LinkCache};
use crate::clicks::count::Counts;
use crate::clicks::{Delivery, Flusher, MemoryOnly, Recorder, RedisSink, Sinks};
use crate::config::{BaseUrl, Config, Database};
use crate::limits::Limiter;
use crate::links::LinksApi;
use crate::redirect::{Lookups, Redirect};
use crate::shared::SharedRedis;
use crate::store::{Parts, Store};
use crate::telemetry::metrics::RedirectMetrics;

/// Unknown codes held in the process at most.
const UNKNOWN_CODES: u64 = 100_000;

/// How long an unknown code is held: a link made meanwhile is unknown for that long at most.
const UNKNOWN_TTL: Duration = Duration::from_secs(5);

/// How long a redirect waits for the database.
const LOOKUP_DEADLINE: Duration = Duration::from_secs(2);

/// How long the journal may take where clicks have no other place: a busy disk is slow for a moment.
const JOURNAL_PATIENCE: Duration = Duration::from_secs(2);

impl From<&Config> for CacheLimits {
    fn from(config: &Config) -> Self {
        Self {
            links: config.cache_max_links,
            link_ttl: config.cache_ttl,
            unknown: UNKNOWN_CODES,
            unknown_ttl: UNKNOWN_TTL,
        }
    }
}

pub(super) struct Assembly {
    pub(super) store: Parts,
    pub(super) redis: Option<SharedRedis>,
    pub(super) cache: LinkCache,
    pub(super) memory_only: Arc<MemoryOnly>,
    pub(super) flusher: Flusher,
    pub(super) accounts: Accounts,
    pub(super) links: LinksApi,
    lookups: Lookups,
    journal_deadline: Duration,
    last_flush: Mutex<Instant>,
}

/// A redirect's road with a recorder of its own, and what delivers that recorder's batches.
pub(super) struct Road {
    pub(super) redirect: Redirect,
    pub(super) delivery: Delivery,
}

impl Assembly {
    /// To be called on the main runtime.
    pub(super) fn new(
        config: &Config,
        store: Arc<dyn Store>,
        redis: Option<SharedRedis>,
        cache: LinkCache,
        base_url: &BaseUrl,
    ) -> Result<Self, ServeError> {
        let store = store.parts();
        let memory_only = Arc::<MemoryOnly>::default();
        let counts = Counts::new(
            Arc::clone(&store.clicks),
            Arc::clone(&memory_only),
            redis.clone().map(|redis| (redis, cache.clone())),
        );
        let limiter = Limiter::new(config.limits, redis.clone());
        let accounts = Accounts::new(
            Arc::clone(&store.users),
            PasswordHasher::new(config.hashing_concurrency)?,
            Tokens::new(&secret(config)?, config.jwt_ttl),
            limiter.clone(),
        );
        let links = LinksApi {
            links: Arc::clone(&store.links),
            counts,
            cache: cache.clone(),
            limiter,
            own_host: base_url.own_host().clone(),
            base_url: base_url.as_str().into(),
        };
        let lookups = Lookups {
            links: Arc::clone(&store.links),
            at_once: Arc::new(Semaphore::new(config.lookup_concurrency)),
            deadline: LOOKUP_DEADLINE,
            runtime: Handle::current(),
        };
        // The other half of the deadline is Redis's.
        let journal_deadline = match redis {
            Some(_) => config.click_deadline / 2,
            None => config.click_deadline.max(JOURNAL_PATIENCE),
        };
        let flusher = Flusher::new(redis.clone(), Arc::clone(&store.clicks));
        Ok(Self {
            store,
            redis,
            cache,
            memory_only,
            flusher,
            accounts,
            links,
            lookups,
            journal_deadline,
            last_flush: Mutex::new(Instant::now()),
        })
    }

    pub(super) fn flushed_now(&self) {
        *self
            .last_flush
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(super) fn since_last_flush(&self) -> Duration {
        self.last_flush
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .elapsed()
    }

    /// A road for one runtime, with connections and a recorder of its own.
    pub(super) fn road(&self) -> Road {
        let cache = self.cache.with_own_lane();
        let sinks = Sinks {
            redis: self.redis.as_ref().map(RedisSink::new),
            clicks: Arc::clone(&self.store.clicks),
            cache: cache.clone(),
            database_runtime: self.lookups.runtime.clone(),
            deadline: self.journal_deadline,
        };
        Road {
            redirect: Redirect {
                cache,
                recorder: Arc::<Recorder>::default(),
                lookups: self.lookups.clone(),
                metrics: RedirectMetrics::default(),
            },
            delivery: Delivery::new(sinks, Arc::clone(&self.memory_only)),
        }
    }
}

fn secret(config: &Config) -> Result<TokenSecret, ServeError> {
    match (&config.jwt_secret, &config.database) {
        (Some(secret), _) => Ok(TokenSecret::from_bytes(secret.0.clone())?),
        (None, Database::Sqlite(database)) => Ok(TokenSecret::load_or_create(
            &database.with_extension("jwt-secret"),
        )?),
        (None, Database::Postgres(_)) => Err(ServeError::NoSecret),
    }
}

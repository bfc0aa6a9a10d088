//! All parts, put together from the settings; from here on nobody sees the settings.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::lifecycle::{ServeError, Shutdown};
use super::startup::Databases;
use crate::accounts::{Accounts, PasswordHasher, Tokens, load_or_create_secret};
use crate::api::{ApiState, Readiness};
use crate::cache::{CacheLimits, LinkCache, LookupBatcher};
use crate::clicks::counts::Counts;
use crate::clicks::{
    Deliveries, Delivery, Flusher, JournalDeadline, MemoryOnly, Recorder, RedisSink, Sinks,
};
use crate::config::{BaseUrl, Config, Database};
use crate::domain::{Clock, Shard, TokenSecret};
use crate::http::paths;
use crate::limits::Limiter;
use crate::links::{LinkService, ListStreams};
use crate::redirect::{Lookups, Redirect, ReplicaReads};
use crate::redis::{RedisShard, RedisShards};
use crate::store::{PostgresReplica, Store, beside};
use crate::telemetry::metrics::Exposition;
use crate::telemetry::redirects::{LookupMetrics, RedirectMetrics};

/// Unknown codes held in the process at most.
const UNKNOWN_CODES: u64 = 100_000;

/// How long an unknown code is held: a link made meanwhile is unknown for that long at most.
const UNKNOWN_TTL: Duration = Duration::from_secs(5);

/// How long a redirect waits for the database.
const LOOKUP_DEADLINE: Duration = Duration::from_secs(2);

/// How long the journal is waited for where Redis did not answer, until it was late once: on a busy machine it may take
/// long, and a click in memory alone is worse than a slow redirect.
const JOURNAL_TIMEOUT: Duration = Duration::from_millis(500);

/// The same where clicks have no other place: a busy disk is slow for a moment.
const JOURNAL_TIMEOUT_ALONE: Duration = Duration::from_secs(2);

/// What the cache may do with this database.
pub(super) fn cache_limits(config: &Config, store: &Store) -> CacheLimits {
    CacheLimits {
        links: config.cache_max_links,
        link_ttl: config.cache_ttl,
        is_alone: store.outbox.is_alone(),
        unknown: UNKNOWN_CODES,
        unknown_ttl: UNKNOWN_TTL,
        workers: config.workers,
    }
}

pub(super) struct App {
    pub(super) store: Store,
    pub(super) replica: Option<Arc<PostgresReplica>>,
    pub(super) redis: Option<RedisShards>,
    /// Whether the outbox is this process's own.
    pub(super) is_alone: bool,
    pub(super) cache: LinkCache,
    pub(super) memory_only: Arc<MemoryOnly>,
    pub(super) flusher: Flusher,
    pub(super) accounts: Arc<Accounts>,
    pub(super) links: Arc<LinkService>,
    lookups: Lookups,
    database_runtime: Option<Handle>,
    /// While it answers, and once it was late.
    journal_deadlines: (Duration, Duration),
    last_flush: Mutex<BTreeMap<Shard, Instant>>,
    pub(super) clock: Arc<dyn Clock>,
}

/// A redirect's road with a recorder of its own, and what delivers that recorder's batches.
pub(super) struct RedirectWorker {
    pub(super) redirect: Redirect,
    pub(super) work: RecorderTasks,
}

/// What has to run for a road.
pub(super) struct RecorderTasks {
    deliveries: Deliveries,
    recorder: Arc<Recorder>,
    misses: Vec<LookupBatcher>,
}

impl RecorderTasks {
    /// Spawns it on the runtime of the road. `drained` ends it, once every click is delivered.
    pub(super) fn spawn(self, drained: CancellationToken) -> JoinHandle<()> {
        for misses in self.misses {
            // Ends with the last visitor; should it die, every look-up is one in the database.
            tokio::spawn(misses.run());
        }
        tokio::spawn(async move {
            self.recorder
                .run(self.deliveries, drained.cancelled_owned())
                .await;
        })
    }
}

impl App {
    /// To be called on the main runtime.
    pub(super) fn new(
        config: &Config,
        databases: Databases,
        redis: Option<RedisShards>,
        cache: LinkCache,
        base_url: &BaseUrl,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ServeError> {
        let Databases { store, replica } = databases;
        let memory_only = Arc::<MemoryOnly>::default();
        let counts = Counts::new(
            Arc::clone(&store.clicks),
            Arc::clone(&memory_only),
            redis.as_ref(),
            &cache,
        );
        let limiter = Limiter::new(config.limits, redis.clone(), Arc::clone(&clock));
        let accounts = Accounts::new(
            Arc::clone(&store.users),
            PasswordHasher::new(config.hashing_concurrency)?,
            Tokens::new(&secret(config)?, config.jwt_ttl, Arc::clone(&clock)),
            limiter.clone(),
            Arc::clone(&clock),
        );
        let links = LinkService {
            links: Arc::clone(&store.links),
            outbox: Arc::clone(&store.outbox),
            counts,
            cache: cache.clone(),
            limiter,
            list_streams: ListStreams::default(),
            own_host: base_url.own_host().clone(),
            reserved_words: paths::reserved_words(),
            clock: Arc::clone(&clock),
        };
        let lookups = Lookups {
            links: Arc::clone(&store.links),
            replica: replica
                .clone()
                .map(|both| Arc::new(ReplicaReads::new(both))),
            at_once: Arc::new(Semaphore::new(config.lookup_concurrency)),
            deadline: LOOKUP_DEADLINE,
            runtime: Handle::current(),
            metrics: LookupMetrics::default(),
            log: Arc::default(),
        };
        // The other half of the deadline is Redis's.
        let journal_deadlines = match redis {
            Some(_) => (JOURNAL_TIMEOUT, config.click_deadline / 2),
            None => (JOURNAL_TIMEOUT_ALONE, config.click_deadline),
        };
        let database_runtime = match config.database {
            Database::Postgres(_) => Some(Handle::current()),
            Database::Sqlite(_) => None,
        };
        let last_flush = match &redis {
            Some(shards) => shards.iter().map(RedisShard::shard).collect(),
            None => vec![Shard::ONLY],
        };
        let last_flush = last_flush.into_iter().map(|shard| (shard, Instant::now()));
        let flusher = Flusher::new(redis.clone(), Arc::clone(&store.clicks), Arc::clone(&clock));
        Ok(Self {
            is_alone: store.outbox.is_alone(),
            store,
            replica,
            redis,
            cache,
            memory_only,
            flusher,
            accounts: Arc::new(accounts),
            links: Arc::new(links),
            lookups,
            database_runtime,
            journal_deadlines,
            last_flush: Mutex::new(last_flush.collect()),
            clock,
        })
    }

    /// What the handlers of the API work with.
    pub(super) fn api_state(
        &self,
        redirect: Redirect,
        base_url: &BaseUrl,
        metrics: Exposition,
        shutdown: &Shutdown,
    ) -> ApiState {
        ApiState {
            accounts: Arc::clone(&self.accounts),
            links: Arc::clone(&self.links),
            redirect: Arc::new(redirect),
            readiness: Arc::new(Readiness::new(
                Arc::clone(&self.store.database),
                self.replica.clone(),
                self.redis.clone(),
                shutdown.token(),
            )),
            metrics,
            base_address: base_url.into(),
        }
    }

    /// Notes that this instance wrote back all that waited in these shards.
    pub(super) fn flushed(&self, shards: &[Shard]) {
        let mut last = self.last_flush();
        last.extend(shards.iter().map(|shard| (*shard, Instant::now())));
    }

    /// How long ago that was, for every shard.
    pub(super) fn since_last_flush(&self) -> Vec<(Shard, Duration)> {
        let last = self.last_flush();
        last.iter()
            .map(|(shard, at)| (*shard, at.elapsed()))
            .collect()
    }

    fn last_flush(&self) -> MutexGuard<'_, BTreeMap<Shard, Instant>> {
        self.last_flush
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// A road for one runtime, with connections and a recorder of its own.
    pub(super) fn redirect_worker(&self) -> RedirectWorker {
        let (cache, misses) = self.cache.for_worker();
        let recorder = Arc::<Recorder>::default();
        let (while_it_answers, once_late) = self.journal_deadlines;
        let delivery = |redis: Option<&RedisShard>| {
            let sinks = Sinks {
                redis: redis.map(RedisSink::new),
                clicks: Arc::clone(&self.store.clicks),
                cache: cache.clone(),
                database_runtime: self.database_runtime.clone(),
                deadline: JournalDeadline::new(while_it_answers.max(once_late), once_late),
            };
            Delivery::new(sinks, Arc::clone(&self.memory_only))
        };
        let deliveries = match &self.redis {
            None => vec![delivery(None)],
            Some(shards) => shards.iter().map(|redis| delivery(Some(redis))).collect(),
        };
        RedirectWorker {
            redirect: Redirect {
                cache,
                recorder: Arc::clone(&recorder),
                lookups: self.lookups.clone(),
                metrics: RedirectMetrics::default(),
            },
            work: RecorderTasks {
                deliveries: Deliveries::new(deliveries),
                recorder,
                misses,
            },
        }
    }
}

fn secret(config: &Config) -> Result<TokenSecret, ServeError> {
    match (&config.jwt_secret, &config.database) {
        (Some(secret), _) => Ok(secret.clone()),
        (None, Database::Sqlite(database)) => {
            Ok(load_or_create_secret(&beside(database, ".jwt-secret"))?)
        }
        (None, Database::Postgres(_)) => Err(ServeError::NoSecret),
    }
}

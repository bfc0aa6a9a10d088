//! A Redis with generated replies: no panic, no endless wait, and no redirect to a target that no link has.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use shunt::cache::{CacheLimits, LinkCache};
use shunt::clicks::counts::Counts;
use shunt::clicks::{Flusher, MemoryOnly, RecoveryError, RedisSink, recover, settle_parked};
use shunt::domain::{
    Click, Clock, EmailAddress, Interval, Limits, LinkId, LinkProperties, LinkTarget, OwnHost,
    Principal, Shard, ShortCode, SystemClock, TargetUrl, TokenKey, TokenSecret, UserId,
};
use shunt::limits::{Action, CallerHasher, CurrentLimits, Limiter};
use shunt::shared_redis::{Layout, RedisServers, RedisShard, RedisShards};
use shunt::store::migrations::{self, Schema};
use shunt::store::{ClickBatch, ClickDetails, NewLink, SqliteStore, Store, StoreSettings};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::hostile::cases;
use crate::hostile::fake_redis::{FakeRedis, GENERATION, Reply, replies};
use crate::support::clicks::{of_links, owner_of};

/// Far above every deadline.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Every component that uses Redis, over a fake one.
struct Components {
    server: FakeRedis,
    redis: RedisShard,
    shards: RedisShards,
    store: Store,
    cache: LinkCache,
    /// Tasks that end only with a panic.
    tasks: Vec<JoinHandle<()>>,
    links: Vec<LinkId>,
}

impl Components {
    async fn new(folder: &Path) -> Self {
        let server = FakeRedis::start().await;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let servers = RedisServers::parse(&[server.url()]).unwrap();
        let deadline = Duration::from_secs(1);
        let shards = RedisShards::new(&servers, Layout::Single, "s", deadline, &clock);
        let redis = shards.iter().next().unwrap().clone();
        let path = folder.join("shunt.db");
        let store = SqliteStore::open(&path, STORE, Arc::new(SystemClock))
            .await
            .unwrap();
        let store = Store::of(Arc::new(store));
        let (cache, asked) = LinkCache::new(CACHE, Some(&shards)).for_worker();
        let tasks = asked.into_iter().map(|asked| tokio::spawn(asked.run()));
        Self {
            server,
            redis,
            tasks: tasks.collect(),
            cache,
            links: links(&store).await,
            store,
            shards,
        }
    }

    /// Recovers the fake Redis as at a start, with valid replies: it is empty, or in the term that the ledger has.
    async fn start(&self) {
        let text = |text: &str| Reply::Text(text.into());
        let owner = text(self.store.installation());
        let in_use = self.store.data_sets_in_use().await.unwrap();
        self.server.will_reply(match in_use.first() {
            None => vec![
                Reply::Number(1),
                Reply::List(vec![owner, Reply::Nil, Reply::Nil, Reply::Nil]),
                Reply::List(vec![Reply::Number(0), Reply::Number(0)]),
            ],
            Some(in_use) => vec![
                Reply::Number(0),
                Reply::List(vec![
                    owner,
                    text(&in_use.epoch),
                    text(&in_use.term.to_string()),
                    text(&in_use.replication_id),
                ]),
            ],
        });
        self.recover().await.unwrap();
        self.redis.recovered();
    }

    async fn look_up(&self, replies: &[Reply]) {
        let code = ShortCode::generate(7).unwrap();
        let id = LinkId::parse(7).unwrap();
        let known = LinkTarget::of(id, UserId(1), target("https://known.example/"));
        let read = |_| std::future::ready(Ok::<_, ()>(Some(known.clone())));
        let found = self.cache.look_up(&code, Instant::now(), read).await;
        let (link, _) = found.unwrap();
        let link = link.unwrap();
        assert_eq!(link.click().link(), link.id);
        let is_known = link.id == known.id && link.location == known.target.location();
        let (id, active) = (link.id.number(), u8::from(link.is_active));
        let stored = format!("{GENERATION} {id} {active} {}", link.location.as_str());
        assert!(
            is_known || replies.iter().any(|reply| reply.contains(&stored)),
            "{stored}"
        );
        let _ = self
            .cache
            .invalidate(self.cache.shard_of(&code), &[code])
            .await;
        let _ = self.cache.synchronise(Shard::ONLY).await;
    }

    async fn record(&self, number: u64) {
        let sink = RedisSink::new(&self.redis);
        let batch = ClickBatch {
            recorder: 1,
            number,
            interval: Interval::of(SystemClock.now()),
            clicks: of_links([(self.links[0], 1)]),
            details: ClickDetails::default(),
        };
        let _ = sink.record(&batch, Some(1)).await;
        self.store
            .clicks
            .append(&batch, Some("epoch"))
            .await
            .unwrap();
        let _ = settle_parked(&sink, &self.store, &self.cache).await;
        self.store.clicks.release_parked(1, number).await.unwrap();
    }

    async fn count(&self, parked: bool) {
        let in_memory = Arc::new(MemoryOnly::default());
        let counts = Counts::new(
            self.store.clone(),
            in_memory,
            Some(&self.shards),
            &self.cache,
            Arc::new(SystemClock),
        );
        let asked: Vec<_> = self
            .links
            .iter()
            .map(|link| Click::new(*link, owner_of(*link), Shard::ONLY))
            .collect();
        if let Ok(counts) = counts.begin().of(&asked, parked).await {
            assert_eq!(counts.len(), asked.len());
        }
    }

    async fn flush(&self) {
        let flusher = Flusher::new(
            Some(self.shards.clone()),
            self.store.clone(),
            Arc::new(SystemClock),
        );
        let _ = flusher.flush().await;
        let _ = flusher.prune().await;
        let _ = flusher.release().await;
    }

    /// A flush in which two links have the greatest number of clicks there is.
    async fn flush_too_many(&self) {
        let text = |number: &str| Reply::Text(number.into());
        let max = u64::MAX.to_string();
        let found = [text("1:1"), text(&max), text("2:1"), text(&max)];
        self.server.will_reply(vec![
            // A flush under way, its interval and its name, and whether clicks are pending.
            Reply::List(vec![
                Reply::List(vec![text("1")]),
                Reply::List(vec![text("2000000")]),
                Reply::List(vec![text("a name")]),
                Reply::Number(0),
            ]),
            Reply::List(vec![text("0"), Reply::List(found.to_vec())]),
            // No classes.
            Reply::List(vec![]),
        ]);
        self.flush().await;
    }

    async fn limit(&self) {
        let limits = Limits {
            login: 1,
            ..Limits::default()
        };
        let secret = TokenSecret::from_bytes(b"0123456789abcdef0123456789abcdef".to_vec()).unwrap();
        let limiter = Limiter::new(
            CurrentLimits::new(limits),
            Some(self.shards.clone()),
            CallerHasher::new(&secret),
            Arc::new(SystemClock),
        );
        let _ = limiter.count(Action::Login, "somebody").await;
    }

    async fn recover(&self) -> Result<(), RecoveryError> {
        recover(&self.redis, &self.store).await.map(drop)
    }
}

const STORE: StoreSettings = StoreSettings {
    max_connections: 2,
    deadline: Duration::from_secs(10),
    schema: Schema::Migrate(migrations::log),
};

const CACHE: CacheLimits = CacheLimits {
    memory: 1 << 20,
    links: None,
    link_ttl: Duration::from_mins(1),
    is_alone: false,
    unknown_ttl: Duration::from_secs(1),
    workers: 1,
};

fn target(raw: &str) -> TargetUrl {
    let own = OwnHost::of(&"https://sho.rt".parse().unwrap()).unwrap();
    TargetUrl::parse(raw, &own).unwrap()
}

/// Two links, whose ids are numbers that many generated replies have.
async fn links(store: &Store) -> Vec<LinkId> {
    let email: EmailAddress = "ada@example.org".parse().unwrap();
    let key = TokenKey::generate().unwrap();
    let created = store.create_user(&email, "hash", key, SystemClock.now());
    let owner = Principal {
        user: created.await.unwrap(),
        key,
    };
    let mut links = Vec::new();
    for _ in 0..2 {
        let code = ShortCode::generate(7).unwrap();
        let properties = LinkProperties::of(target("https://known.example/"));
        let new = NewLink::new(&code, &properties, owner, SystemClock.now());
        links.push(store.create_link(new, 0).await.unwrap().link.id);
    }
    links
}

/// Runs one operation against each of the generated replies.
fn for_all_replies(ask: &impl AsyncFn(&Components, &[Reply], u64)) {
    let folder = tempfile::tempdir().unwrap();
    let runtime = Runtime::new().unwrap();
    let components = runtime.block_on(Components::new(folder.path()));
    let number = std::cell::Cell::new(0);
    let outcome = TestRunner::new(cases()).run(&replies(), |replies| {
        number.set(number.get() + 1);
        runtime.block_on(async {
            components.start().await;
            components.server.will_reply(replies.clone());
            let asked = timeout(TIMEOUT, ask(&components, &replies, number.get())).await;
            prop_assert!(asked.is_ok(), "the operation does not end");
            prop_assert!(
                !components.tasks.iter().any(JoinHandle::is_finished),
                "a task panicked"
            );
            Ok(())
        })
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

#[test]
fn a_look_up_finds_the_link_of_the_database_or_a_cached_one() {
    for_all_replies(&async |components, replies, _| components.look_up(replies).await);
}

#[test]
fn recording_and_settling_end() {
    for_all_replies(&async |components, _, number| components.record(number).await);
}

#[test]
fn a_count_is_of_all_links_asked_for_or_an_error() {
    for_all_replies(&async |components, _, number| components.count(number % 2 == 0).await);
}

#[test]
fn a_flush_and_its_housekeeping_end() {
    for_all_replies(&async |components, _, _| components.flush().await);
}

#[test]
fn limits_still_count() {
    for_all_replies(&async |components, _, _| components.limit().await);
}

#[test]
fn a_recovery_ends() {
    for_all_replies(&async |components, _, _| {
        let _ = components.recover().await;
    });
}

#[test]
fn an_overflow_of_clicks_never_panics() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let components = Components::new(folder.path()).await;
        components.start().await;
        components.flush_too_many().await;
    });
}

//! Whatever a Redis answers: nobody panics, nobody waits for ever, and nobody is sent where no link leads.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use shunt::cache::{CacheLimits, LinkCache};
use shunt::clicks::counts::Counts;
use shunt::clicks::{Flusher, MemoryOnly, RecoveryError, RedisSink, recover, settle_parked};
use shunt::domain::{
    Click, Clock, EmailAddress, LinkId, LinkTarget, OwnHost, PerMinute, Shard, ShortCode,
    SystemClock, TargetUrl,
};
use shunt::limits::{Action, Limiter};
use shunt::redis::{RedisShard, RedisShards};
use shunt::store::{ClickBatch, NewLink, SqliteStore, Store, StoreSettings};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::cases;
use crate::lies::{LIFE, Lie, LyingRedis, lies};

/// Far above every deadline.
const FOR_EVER: Duration = Duration::from_secs(20);

/// Everything that asks a Redis, on one that lies.
struct Askers {
    server: LyingRedis,
    redis: RedisShard,
    shards: RedisShards,
    store: Store,
    cache: LinkCache,
    /// Ends only with a panic.
    asking: Vec<JoinHandle<()>>,
    links: Vec<LinkId>,
}

impl Askers {
    async fn new(folder: &Path) -> Self {
        let server = LyingRedis::start().await;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let shards =
            RedisShards::new(&[server.url()], "s", Duration::from_secs(1), &clock).unwrap();
        let redis = shards.iter().next().unwrap().clone();
        let path = folder.join("shunt.db");
        let store = SqliteStore::open(&path, STORE, Arc::new(SystemClock))
            .await
            .unwrap();
        let store = Store::of(Arc::new(store));
        let (cache, asked) = LinkCache::new(CACHE, Some(&shards)).for_worker();
        let asking = asked.into_iter().map(|asked| tokio::spawn(asked.run()));
        Self {
            server,
            redis,
            asking: asking.collect(),
            cache,
            links: links(&store).await,
            store,
            shards,
        }
    }

    /// As at start: the first two answers let it in, whatever becomes of what is said later.
    async fn begin(&self) {
        self.server.tell(vec![
            Lie::List(vec![
                Lie::Nil,
                Lie::Nil,
                Lie::Nil,
                Lie::Nil,
                Lie::Text(self.store.database.installation().into()),
            ]),
            Lie::List(vec![
                Lie::Text("epoch".into()),
                Lie::Number(-1),
                Lie::Number(1),
            ]),
        ]);
        self.recover().await.unwrap();
        self.redis.recovered();
    }

    async fn look_up(&self, lies: &[Lie]) {
        let code = ShortCode::generate().unwrap();
        let known = LinkTarget {
            id: LinkId::parse(7).unwrap(),
            target: target("https://known.example/"),
            is_active: true,
        };
        let read = |_told| std::future::ready(Ok::<_, ()>(Some(known.clone())));
        let found = self.cache.look_up(&code, Instant::now(), read).await;
        let (link, _) = found.unwrap();
        let link = link.unwrap();
        assert_eq!(link.click().link(), link.id);
        let is_known = link.id == known.id && link.location == known.target.location();
        let (id, active) = (link.id.number(), u8::from(link.is_active));
        let told = format!("{LIFE} {id} {active} {}", link.location.as_str());
        assert!(is_known || lies.iter().any(|lie| lie.says(&told)), "{told}");
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
            clicks: vec![(self.links[0], 1)],
        };
        let _ = sink.record(&batch).await;
        self.store
            .clicks
            .append(&batch, Some("epoch"))
            .await
            .unwrap();
        let _ = settle_parked([&sink].into_iter(), &*self.store.clicks, &self.cache).await;
        self.store.clicks.release_parked(1, number).await.unwrap();
    }

    async fn count(&self, held: bool) {
        let (clicks, in_memory) = (
            Arc::clone(&self.store.clicks),
            Arc::new(MemoryOnly::default()),
        );
        let counts = Counts::new(clicks, in_memory, Some(&self.shards), &self.cache);
        let asked: Vec<_> = self
            .links
            .iter()
            .map(|link| Click::new(*link, Shard::ONLY))
            .collect();
        if let Ok(counts) = counts.begin().of(&asked, held).await {
            assert_eq!(counts.len(), asked.len());
        }
    }

    async fn flush(&self) {
        let flusher = Flusher::new(
            Some(self.shards.clone()),
            Arc::clone(&self.store.clicks),
            Arc::new(SystemClock),
        );
        let _ = flusher.flush().await;
        let _ = flusher.prune().await;
        let _ = flusher.release().await;
    }

    /// A flush in which two links have as many clicks as a number can tell.
    async fn flush_too_many(&self) {
        let text = |number: &str| Lie::Text(number.into());
        let most = u64::MAX.to_string();
        let found = [text("1"), text(&most), text("2"), text(&most)];
        self.server.tell(vec![
            Lie::List(vec![text("epoch"), Lie::List(vec![text("1")])]),
            Lie::List(vec![text("0"), Lie::List(found.to_vec())]),
        ]);
        self.flush().await;
    }

    async fn limit(&self) {
        let limits = PerMinute {
            login: 1,
            ..PerMinute::default()
        };
        let limiter = Limiter::new(limits, Some(self.shards.clone()), Arc::new(SystemClock));
        let _ = limiter.count(Action::Login, "somebody").await;
    }

    async fn recover(&self) -> Result<(), RecoveryError> {
        let database = &self.store.database;
        recover(&self.redis, &*self.store.clicks, database.installation()).await
    }

    async fn admission(&self) {
        let _ = self.recover().await;
    }
}

const STORE: StoreSettings = StoreSettings {
    max_connections: 2,
    deadline: Duration::from_secs(10),
};

const CACHE: CacheLimits = CacheLimits {
    links: 100,
    link_ttl: Duration::from_mins(1),
    is_alone: false,
    unknown: 100,
    unknown_ttl: Duration::from_secs(1),
    workers: 1,
};

fn target(raw: &str) -> TargetUrl {
    let own = OwnHost::of(&"https://sho.rt".parse().unwrap()).unwrap();
    TargetUrl::parse(raw, &own).unwrap()
}

/// Two, as there are numbers in many a lie.
async fn links(store: &Store) -> Vec<LinkId> {
    let email: EmailAddress = "ada@example.org".parse().unwrap();
    let owner = store
        .users
        .create_user(&email, "hash", SystemClock.now())
        .await
        .unwrap();
    let mut links = Vec::new();
    for _ in 0..2 {
        let new = NewLink {
            code: &ShortCode::generate().unwrap(),
            target: &target("https://known.example/"),
            owner,
            created_at: SystemClock.now(),
        };
        links.push(store.links.create_link(new).await.unwrap().id);
    }
    links
}

/// Runs one kind of question against lie after lie.
fn whatever_it_answers(ask: &impl AsyncFn(&Askers, &[Lie], u64)) {
    let folder = tempfile::tempdir().unwrap();
    let runtime = Runtime::new().unwrap();
    let askers = runtime.block_on(Askers::new(folder.path()));
    let number = std::cell::Cell::new(0);
    let told = TestRunner::new(cases()).run(&lies(), |lies| {
        number.set(number.get() + 1);
        runtime.block_on(async {
            askers.begin().await;
            askers.server.tell(lies.clone());
            let asked = timeout(FOR_EVER, ask(&askers, &lies, number.get())).await;
            prop_assert!(asked.is_ok(), "it waits for ever");
            prop_assert!(
                !askers.asking.iter().any(JoinHandle::is_finished),
                "a task panicked"
            );
            Ok(())
        })
    });
    if let Err(failure) = told {
        panic!("{failure}");
    }
}

#[test]
fn a_look_up_finds_what_the_database_knows_or_what_was_cached() {
    whatever_it_answers(&async |askers, lies, _| askers.look_up(lies).await);
}

#[test]
fn recording_and_settling_end() {
    whatever_it_answers(&async |askers, _, number| askers.record(number).await);
}

#[test]
fn a_count_is_of_all_links_asked_for_or_an_error() {
    whatever_it_answers(&async |askers, _, number| askers.count(number % 2 == 0).await);
}

#[test]
fn a_flush_and_its_housekeeping_end() {
    whatever_it_answers(&async |askers, _, _| askers.flush().await);
}

#[test]
fn limits_still_count() {
    whatever_it_answers(&async |askers, _, _| askers.limit().await);
}

#[test]
fn a_recovery_ends() {
    whatever_it_answers(&async |askers, _, _| askers.admission().await);
}

#[test]
fn an_overflow_of_clicks_never_panics() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let askers = Askers::new(folder.path()).await;
        askers.begin().await;
        askers.flush_too_many().await;
    });
}

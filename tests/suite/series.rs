//! Series between Redis and the database: a click stays in the interval in which it was recorded, and the sum is the count at
//! every step.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redis::AsyncCommands;
use shunt::cache::LinkCache;
use shunt::clicks::counts::{Counts, LinkSeries};
use shunt::clicks::{Flusher, MemoryOnly, RedisSink, recover, settle_parked};
use shunt::domain::{
    Click, Clock, EmailAddress, Interval, LinkGroup, LinkId, LinkProperties, OwnHost, Principal,
    Shard, ShortCode, SystemClock, TargetUrl, TokenKey,
};
use shunt::shared_redis::{Layout, RedisServers, RedisShard, RedisShards};
use shunt::store::migrations::{self, Schema};
use shunt::store::{ClickBatch, ClickDetails, NewLink, SqliteStore, Store, StoreSettings};
use tempfile::TempDir;

use crate::support::RedisServer;
use crate::support::caches::cache;
use crate::support::clicks::{of_links, owner_of};

const NOON: i64 = 2_000_000;

struct Pipeline {
    server: RedisServer,
    shards: RedisShards,
    store: Store,
    sink: RedisSink,
    cache: LinkCache,
    owner: Principal,
    link: LinkId,
    number: u64,
    _folder: TempDir,
}

impl Pipeline {
    async fn new() -> Self {
        let server = RedisServer::start(&[]).await;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let servers = RedisServers::parse(&[server.url()]).unwrap();
        let deadline = Duration::from_secs(5);
        let shards = RedisShards::new(&servers, Layout::Single, "s", deadline, &clock);
        let folder = tempfile::tempdir().unwrap();
        let settings = StoreSettings {
            max_connections: 5,
            deadline,
            schema: Schema::Migrate(migrations::log),
        };
        let path = folder.path().join("shunt.db");
        let store = SqliteStore::open(&path, settings, clock).await.unwrap();
        let store = Store::of(Arc::new(store));
        let shard = shards.iter().next().unwrap();
        recover(shard, &store).await.unwrap();
        shard.recovered();
        let cache = cache(&shards);
        let (owner, link) = link(&store).await;
        Self {
            server,
            sink: RedisSink::new(shard),
            owner,
            link,
            store,
            cache,
            number: 0,
            _folder: folder,
            shards,
        }
    }

    fn batch(&mut self, interval: i64, clicks: u64) -> ClickBatch {
        self.number += 1;
        ClickBatch {
            recorder: 7,
            number: self.number,
            interval: Interval::from_number(interval),
            clicks: of_links([(self.link, clicks)]),
            details: ClickDetails::default(),
        }
    }

    async fn record(&mut self, interval: i64, clicks: u64) {
        let batch = self.batch(interval, clicks);
        self.sink.record(&batch, None).await.unwrap();
    }

    fn flusher(&self) -> Flusher {
        let clock = Arc::new(SystemClock);
        Flusher::new(Some(self.shards.clone()), self.store.clone(), clock)
    }

    /// Writes back all that is in Redis, as one flusher.
    async fn flush(&self) {
        let flusher = self.flusher();
        let outcome = flusher.flush().await;
        assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
        flusher.release().await.unwrap();
    }

    fn counts(&self) -> Counts {
        let in_memory = Arc::new(MemoryOnly::default());
        Counts::new(
            self.store.clone(),
            in_memory,
            Some(&self.shards),
            &self.cache,
            Arc::new(SystemClock),
        )
    }

    /// The link's series, whose sum is the count; it is that of its owner, too, who has no other link.
    async fn series(&self) -> Vec<(i64, u64)> {
        let counts = self.counts();
        let click = Click::new(self.link, owner_of(self.link), Shard::ONLY);
        let counted = counts.begin().of(&[click], false).await.unwrap();
        let all = Interval::FIRST..Interval::LAST;
        let series = counts.begin().series_of(click, all, false).await.unwrap();
        let LinkSeries { count, points, .. } = series;
        assert_eq!((count, points.values().sum()), (counted[&self.link], count));
        assert_eq!(of_owner(&counts, self.owner).await, points);
        let number = |(interval, clicks): (Interval, u64)| (interval.number().into(), clicks);
        points.into_iter().map(number).collect()
    }

    async fn flushes_under_way(&self) -> usize {
        let mut connection = self.server.connection().await;
        connection.scard("{s}:flushing").await.unwrap()
    }

    fn shard(&self) -> &RedisShard {
        self.shards.iter().next().unwrap()
    }
}

async fn of_owner(counts: &Counts, owner: Principal) -> BTreeMap<Interval, u64> {
    let all = Interval::FIRST..Interval::LAST;
    let series = counts.begin().series_of_owner(owner, &LinkGroup::ALL, all);
    series.await.unwrap()
}

async fn link(store: &Store) -> (Principal, LinkId) {
    let email: EmailAddress = "ada@example.org".parse().unwrap();
    let (key, now) = (TokenKey::generate().unwrap(), SystemClock.now());
    let user = store.create_user(&email, "hash", key, now);
    let owner = Principal {
        user: user.await.unwrap(),
        key,
    };
    let own = OwnHost::of(&"https://sho.rt".parse().unwrap()).unwrap();
    let target = TargetUrl::parse("https://example.org/", &own).unwrap();
    let (code, properties) = (ShortCode::generate(7).unwrap(), LinkProperties::of(target));
    let new = NewLink::new(&code, &properties, owner, now);
    let made = store.create_link(new, 0).await.unwrap();
    (owner, made.link.id)
}

#[tokio::test]
async fn a_click_stays_in_its_interval_from_redis_to_the_database() {
    let mut pipeline = Pipeline::new().await;
    pipeline.record(NOON, 1).await;
    pipeline.record(NOON, 2).await;
    assert_eq!(pipeline.series().await, [(NOON, 3)]);
    assert_eq!(pipeline.flushes_under_way().await, 0);
    pipeline.record(NOON + 1, 10).await;
    assert_eq!(pipeline.series().await, [(NOON, 3), (NOON + 1, 10)]);
    assert_eq!(pipeline.flushes_under_way().await, 1, "that of noon waits");
    pipeline.flush().await;
    assert_eq!(pipeline.flushes_under_way().await, 0);
    let expected = [(NOON, 3), (NOON + 1, 10)];
    assert_eq!(pipeline.series().await, expected);

    // Hours of a database that is away, and batches that come late.
    for hour in 2..6 {
        pipeline.record(NOON + hour, 100).await;
        pipeline.record(NOON, 1).await;
        pipeline.record(NOON, 1).await;
    }
    let expected = [
        (NOON, 11),
        (NOON + 1, 10),
        (NOON + 2, 100),
        (NOON + 3, 100),
        (NOON + 4, 100),
        (NOON + 5, 100),
    ];
    assert_eq!(pipeline.series().await, expected);
    assert_eq!(
        pipeline.flushes_under_way().await,
        4,
        "three intervals that have ended, and one flush for all late batches"
    );
    pipeline.flush().await;
    assert_eq!(pipeline.series().await, expected);
    let database =
        pipeline
            .store
            .clicks
            .series(pipeline.link, Interval::FIRST..Interval::LAST, None);
    let written: u64 = database
        .await
        .unwrap()
        .points
        .iter()
        .map(|(_, clicks)| clicks)
        .sum();
    assert_eq!(written, 421, "nothing waits any more");
    let mut connection = pipeline.server.connection().await;
    let keys: Vec<String> = connection.keys("{s}:*").await.unwrap();
    assert!(
        !keys
            .iter()
            .any(|key| key.contains("flush:") || key.ends_with(":pending")),
        "{keys:?}"
    );
    assert!(!keys.contains(&"{s}:intervals".to_owned()), "{keys:?}");
}

#[tokio::test]
async fn a_batch_in_doubt_is_settled_hours_later_in_its_own_interval() {
    let mut pipeline = Pipeline::new().await;
    let in_doubt = pipeline.batch(NOON, 5);
    let epoch = pipeline.shard().term().unwrap().epoch.clone();
    let parked = pipeline.store.clicks.append(&in_doubt, Some(&epoch));
    parked.await.unwrap();
    let mut later = pipeline.batch(NOON + 12, 1);
    later.recorder = 8;
    pipeline.sink.record(&later, None).await.unwrap();
    let sink = RedisSink::new(pipeline.shard());
    for settled in [1, 0] {
        let settling = settle_parked(&sink, &pipeline.store, &pipeline.cache);
        assert_eq!(settling.await.unwrap(), settled);
    }
    let expected = [(NOON, 5), (NOON + 12, 1)];
    assert_eq!(pipeline.series().await, expected);
    pipeline.flush().await;
    assert_eq!(pipeline.series().await, expected);
}

#[tokio::test]
async fn no_click_joins_a_late_flush_that_was_read_under_a_lease_which_has_expired() {
    let mut pipeline = Pipeline::new().await;
    pipeline.record(NOON, 1).await;
    pipeline.flush().await;
    pipeline.record(NOON + 2, 10).await;
    pipeline.record(NOON + 1, 20).await;
    assert_eq!(pipeline.flushes_under_way().await, 1);
    // A flusher has read the late flush, and is too slow to keep its lease.
    let mut connection = pipeline.server.connection().await;
    let epoch = pipeline.shard().term().unwrap().epoch.clone();
    let newest: i64 = connection.hget("{s}:state", "flush").await.unwrap();
    let read = format!("{newest} {epoch}");
    let _: () = connection.hset("{s}:state", "begun", read).await.unwrap();
    for _ in 0..3 {
        pipeline.record(NOON + 1, 30).await;
    }
    assert_eq!(
        pipeline.flushes_under_way().await,
        2,
        "what was read stays as it is; what came later is gathered"
    );
    pipeline.flush().await;
    pipeline.flush().await;
    let expected = [(NOON, 1), (NOON + 1, 110), (NOON + 2, 10)];
    assert_eq!(pipeline.series().await, expected);
}

/// Batches with other links, and how many of those each has.
const BATCHES: i64 = 60;
const OTHERS: i64 = 999;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_series_of_an_owner_has_every_click_however_many_links_wait_and_while_they_are_written_back()
 {
    let mut pipeline = Pipeline::new().await;
    for number in 0..BATCHES {
        let mut batch = pipeline.batch(NOON, 1);
        let first = 1_000_000 + number * OTHERS;
        let others = (first..first + OTHERS).map(|id| (LinkId::parse(id).unwrap(), 1));
        batch.clicks.extend(of_links(others));
        pipeline.sink.record(&batch, None).await.unwrap();
    }
    let counts = pipeline.counts();
    let sum = async || {
        of_owner(&counts, pipeline.owner)
            .await
            .values()
            .sum::<u64>()
    };
    assert_eq!(sum().await, BATCHES.unsigned_abs());

    let recorded = AtomicU64::new(BATCHES.unsigned_abs());
    let last = recorded.load(Ordering::SeqCst) + 50;
    let write = async {
        for number in recorded.load(Ordering::SeqCst)..last {
            let batch = ClickBatch {
                recorder: 7,
                number: number + 1,
                interval: Interval::from_number(NOON),
                clicks: of_links([(pipeline.link, 1)]),
                details: ClickDetails::default(),
            };
            pipeline.sink.record(&batch, None).await.unwrap();
            recorded.store(number + 1, Ordering::SeqCst);
        }
    };
    let read = async || {
        while recorded.load(Ordering::SeqCst) < last {
            let before = recorded.load(Ordering::SeqCst);
            let sum = sum().await;
            let after = recorded.load(Ordering::SeqCst) + 1;
            assert!((before..=after).contains(&sum), "{before} {sum} {after}");
        }
    };
    tokio::join!(write, read(), read(), pipeline.flush());
    assert_eq!(sum().await, last);
    pipeline.flush().await;
    assert_eq!(sum().await, last);
}

//! A flush of more links than fit into memory is read, written and forgotten in pieces, by rising links.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use redis::AsyncCommands;
use redis::aio::MultiplexedConnection;
use shunt::cache::LinkCache;
use shunt::clicks::counts::Counts;
use shunt::clicks::{FlushOutcome, Flusher, MemoryOnly, PieceSize, RedisSink, recover};
use shunt::domain::{
    Click, ClickClass, Clock, Dimension, EmailAddress, Interval, LinkGroup, LinkId, LinkProperties,
    OwnHost, Principal, Shard, ShortCode, SystemClock, TargetUrl, TokenKey,
};
use shunt::shared_redis::{Layout, RedisServers, RedisShards};
use shunt::store::migrations::{self, Schema};
use shunt::store::{
    BreakdownQuery, ClickBatch, ClickDetails, ClicksOf, DetailedClicks, NewLink, PostgresStore,
    Store, StoreSettings,
};
use sqlx::{Connection, PgConnection};
use tokio::sync::Mutex;

use crate::support::caches::cache;
use crate::support::clicks::of_owner;
use crate::support::{Backend, Mode, RedisServer, eventually, locked, waiting_for};

/// Links with clicks; each has as many clicks as its place among them.
const LINKS: u64 = 10;
const CLICKS: u64 = LINKS * (LINKS + 1) / 2;

/// The interval of all clicks.
fn noon() -> Interval {
    Interval::from_number(2_000_000)
}

/// Three links, and all of their classes.
const THREE_LINKS: PieceSize = PieceSize {
    links: 3,
    classes: 1_000,
};

/// The flush under way in Redis.
const FLUSH: &str = "{s}:flush:1:1";

struct Pipeline {
    server: RedisServer,
    backend: Backend,
    shards: RedisShards,
    store: Store,
    cache: LinkCache,
    owner: Principal,
    links: Vec<LinkId>,
    observer: Mutex<PgConnection>,
}

impl Pipeline {
    /// Links with clicks that are pending in Redis, half of each in a batch of its own. A link has two classes.
    async fn new() -> Self {
        let server = RedisServer::start(&[]).await;
        let backend = Backend::new(Mode::Production).await;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let servers = RedisServers::parse(&[server.url()]).unwrap();
        let deadline = Duration::from_secs(5);
        let shards = RedisShards::new(&servers, Layout::Single, "s", deadline, &clock);
        let settings = StoreSettings {
            max_connections: 8,
            // Longer than a test waits.
            deadline: Duration::from_mins(1),
            schema: Schema::Migrate(migrations::log),
        };
        let url = backend.database_url();
        let store = PostgresStore::connect(&url, settings).await.unwrap();
        let store = Store::of(Arc::new(store));
        let shard = shards.iter().next().unwrap();
        recover(shard, &store).await.unwrap();
        shard.recovered();
        let cache = cache(&shards);
        let (owner, links) = links(&store).await;
        let pipeline = Self {
            observer: Mutex::new(PgConnection::connect(&url).await.unwrap()),
            server,
            backend,
            shards,
            store,
            cache,
            owner,
            links,
        };
        pipeline.record(1, "Firefox", 1..=LINKS).await;
        let rest = "Chrome";
        pipeline.record(2, rest, 2..=LINKS).await;
        pipeline
    }

    /// Records clicks of these links: the first batch has one of each, and the second has the rest.
    async fn record(&self, number: u64, browser: &str, places: impl Iterator<Item = u64> + Clone) {
        let class = Arc::new(ClickClass::unknown().with(Dimension::Browser, Some(browser)));
        let of_places = places.map(|place| {
            let link = self.links[usize::try_from(place - 1).unwrap()];
            (link, if number == 1 { 1 } else { place - 1 })
        });
        let details = of_places.clone().map(|(link, clicks)| DetailedClicks {
            link,
            class: Arc::clone(&class),
            clicks,
        });
        let batch = ClickBatch {
            recorder: 7,
            number,
            interval: noon(),
            details: ClickDetails::new(details.collect()),
            clicks: of_owner(self.owner.user, of_places),
        };
        let shard = self.shards.iter().next().unwrap();
        RedisSink::new(shard).record(&batch, None).await.unwrap();
    }

    fn flusher(&self, pieces: PieceSize) -> Flusher {
        let clock = Arc::new(SystemClock);
        let flusher = Flusher::new(Some(self.shards.clone()), self.store.clone(), clock);
        flusher.in_pieces_of(pieces)
    }

    /// Flushes as one instance, which stops afterwards.
    async fn flush(&self, pieces: PieceSize) -> FlushOutcome {
        let flusher = self.flusher(pieces);
        let outcome = flusher.flush().await;
        flusher.release().await.unwrap();
        outcome
    }

    /// Asserts that each link, and the owner of them all, has each click once.
    async fn every_click_counts_once(&self) {
        let in_memory = Arc::new(MemoryOnly::default());
        let (store, shards) = (self.store.clone(), Some(&self.shards));
        let counts = Counts::new(store, in_memory, shards, &self.cache, Arc::new(SystemClock));
        let asked = self.links.iter();
        let asked: Vec<_> = asked
            .map(|link| Click::new(*link, self.owner.user, Shard::ONLY))
            .collect();
        let counted = counts.begin().of(&asked, false).await.unwrap();
        let counted: Vec<_> = self.links.iter().map(|link| counted[link]).collect();
        assert_eq!(counted, (1..=LINKS).collect::<Vec<_>>());
        let all = Interval::FIRST..Interval::LAST;
        for (click, clicks) in asked.iter().zip(1..) {
            let series = counts.begin().series_of(*click, all.clone(), false);
            let series = series.await.unwrap();
            assert_eq!(series.points, BTreeMap::from([(noon(), clicks)]));
        }
        let of_owner = counts
            .begin()
            .series_of_owner(self.owner, &LinkGroup::ALL, all);
        assert_eq!(of_owner.await.unwrap(), BTreeMap::from([(noon(), CLICKS)]));
    }

    /// The clicks of each browser of a link, once all is merged; `-` is one that is not known.
    async fn browsers(&self, place: usize) -> BTreeMap<String, u64> {
        self.flusher(PieceSize::default())
            .merge_clicks()
            .await
            .unwrap();
        while self.store.details.sum_details(u64::MAX).await.unwrap() {}
        let query = BreakdownQuery {
            of: ClicksOf::Link(self.links[place - 1]),
            range: Interval::FIRST..Interval::LAST,
            by: Dimension::Browser,
            filters: Vec::new(),
            limit: 100,
        };
        let found = self.store.details.breakdown(&query).await.unwrap();
        let rows = found.rows.into_iter();
        rows.map(|(browser, sum)| (browser.unwrap_or("-".into()), sum.clicks))
            .collect()
    }

    async fn every_click_has_its_class(&self) {
        for (place, clicks) in (1..).zip(1..=LINKS) {
            let mut expected = BTreeMap::from([("Firefox".to_owned(), 1)]);
            if clicks > 1 {
                expected.insert("Chrome".to_owned(), clicks - 1);
            }
            assert_eq!(self.browsers(place).await, expected);
        }
    }

    async fn redis(&self) -> MultiplexedConnection {
        self.server.connection().await
    }

    /// The places of the links that the flush still has in Redis.
    async fn left_in_redis(&self) -> Vec<u64> {
        let fields: Vec<String> = self.redis().await.hkeys(FLUSH).await.unwrap();
        let place = |field: &String| {
            let (link, _) = field.split_once(':').unwrap();
            let is_its_own = |(_, known): &(u64, &LinkId)| known.number().to_string() == link;
            (1..).zip(&self.links).find(is_its_own).unwrap().0
        };
        let mut places: Vec<_> = fields.iter().map(place).collect();
        places.sort_unstable();
        places
    }

    /// How often Redis was given a command.
    async fn calls(&self, command: &str) -> u64 {
        let mut stats = redis::cmd("INFO");
        let mut connection = self.redis().await;
        let stats: String = stats
            .arg("commandstats")
            .query_async(&mut connection)
            .await
            .unwrap();
        let of_command = format!("cmdstat_{command}:calls=");
        let calls = stats
            .lines()
            .find_map(|line| line.strip_prefix(&of_command));
        calls.map_or(0, |calls| calls.split(',').next().unwrap().parse().unwrap())
    }

    async fn execute(&self, statement: &str) {
        let statement = sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned()));
        statement
            .execute(&mut *self.observer.lock().await)
            .await
            .unwrap();
    }

    /// From now on, an update of the ledger for which the condition holds waits until the lock is released; so does the instance.
    async fn ledger_waits_where(&self, condition: &str) {
        self.execute(&format!(
            "SELECT pg_advisory_lock(7);
             CREATE OR REPLACE FUNCTION wait_for_test() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END $$;
             CREATE TRIGGER waits BEFORE UPDATE ON data_sets FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION wait_for_test()"
        ))
        .await;
    }

    async fn ledger_goes_on(&self) {
        self.execute("SELECT pg_advisory_unlock(7)").await;
    }

    async fn ledger_waits(&self) {
        eventually("an update of the ledger waits", async || {
            let mut observer = self.observer.lock().await;
            waiting_for(&mut observer, "write_flush").await
                + waiting_for(&mut observer, "SET up_to = up_to").await
                > 0
        })
        .await;
    }

    /// Ends the session whose update of the ledger waits: nothing more comes of that instance.
    async fn session_that_waits_ends(&self) {
        self.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock';
             DROP TRIGGER waits ON data_sets",
        )
        .await;
        self.ledger_goes_on().await;
    }

    /// The place of the link that the ledger's mark stands at.
    async fn mark(&self) -> u64 {
        let mut observer = self.observer.lock().await;
        let mark = sqlx::query_scalar("SELECT up_to FROM data_sets");
        let mark: i64 = mark.fetch_one(&mut *observer).await.unwrap();
        let is_at = |(_, link): &(u64, &LinkId)| link.number() == mark;
        (1..)
            .zip(&self.links)
            .find(is_at)
            .map_or(0, |(place, _)| place)
    }

    async fn end(self) {
        let Self { backend, store, .. } = self;
        drop(store);
        backend.remove().await;
    }
}

async fn links(store: &Store) -> (Principal, Vec<LinkId>) {
    let email: EmailAddress = "ada@example.org".parse().unwrap();
    let (key, now) = (TokenKey::generate().unwrap(), SystemClock.now());
    let user = store.create_user(&email, "hash", key, now);
    let owner = Principal {
        user: user.await.unwrap(),
        key,
    };
    let own = OwnHost::of(&"https://sho.rt".parse().unwrap()).unwrap();
    let target = TargetUrl::parse("https://example.org/", &own).unwrap();
    let mut links = Vec::new();
    for _ in 0..LINKS {
        let (code, properties) = (
            ShortCode::generate(7).unwrap(),
            LinkProperties::of(target.clone()),
        );
        let new = NewLink::new(&code, &properties, owner, now);
        links.push(store.create_link(new, 0).await.unwrap().link.id);
    }
    links.sort_unstable();
    (owner, links)
}

fn written(outcome: &FlushOutcome) -> (u64, u64) {
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    assert_eq!(outcome.done, [Shard::ONLY]);
    (outcome.flushed.links, outcome.flushed.clicks)
}

#[tokio::test]
async fn a_flush_of_more_links_than_a_piece_has_is_written_whole_with_its_classes() {
    let pipeline = Pipeline::new().await;
    let outcome = pipeline.flush(THREE_LINKS).await;
    assert_eq!(written(&outcome), (LINKS, CLICKS));
    assert_eq!(pipeline.calls("hscan").await, 4, "three, three, three, one");
    pipeline.every_click_counts_once().await;
    let left: Vec<String> = pipeline.redis().await.keys("{s}:*:1:*").await.unwrap();
    assert_eq!(left, Vec::<String>::new());
    pipeline.every_click_has_its_class().await;
    pipeline.end().await;
}

#[tokio::test]
async fn a_flush_of_a_single_piece_is_read_once_and_forgotten_whole() {
    let pipeline = Pipeline::new().await;
    let before = pipeline.calls("evalsha").await;
    let outcome = pipeline.flush(PieceSize::default()).await;
    assert_eq!(written(&outcome), (LINKS, CLICKS));
    assert_eq!(pipeline.calls("hscan").await, 1);
    let scripts = pipeline.calls("evalsha").await - before;
    // Each script is not known at first.
    assert_eq!(scripts, 2 * 4, "begin, classes, finish, release the lease");
    pipeline.every_click_counts_once().await;
    pipeline.every_click_has_its_class().await;
    pipeline.end().await;
}

#[tokio::test]
async fn counts_are_exact_while_a_flush_is_written_and_forgotten_in_pieces() {
    let pipeline = Pipeline::new().await;
    let third = format!("NEW.up_to = {}", pipeline.links[5].number());
    pipeline.ledger_waits_where(&third).await;
    let (outcome, ()) = tokio::join!(pipeline.flush(THREE_LINKS), async {
        pipeline.ledger_waits().await;
        assert_eq!(pipeline.mark().await, 3, "the second piece is not written");
        let left = pipeline.left_in_redis().await;
        assert_eq!(left, [4, 5, 6, 7, 8, 9, 10], "the first is forgotten");
        pipeline.every_click_counts_once().await;
        pipeline.ledger_goes_on().await;
        for _ in 0..10 {
            pipeline.every_click_counts_once().await;
        }
    });
    assert_eq!(written(&outcome), (LINKS, CLICKS));
    pipeline.every_click_counts_once().await;
    pipeline.end().await;
}

#[tokio::test]
async fn an_instance_that_stops_between_two_pieces_leaves_the_rest_to_the_next() {
    let pipeline = Pipeline::new().await;
    let third = format!("NEW.up_to = {}", pipeline.links[5].number());
    pipeline.ledger_waits_where(&third).await;
    let (outcome, ()) = tokio::join!(pipeline.flush(THREE_LINKS), async {
        pipeline.ledger_waits().await;
        pipeline.session_that_waits_ends().await;
    });
    assert!(outcome.failure.is_some());
    assert_eq!(outcome.flushed.links, 3);
    pipeline.every_click_counts_once().await;
    let next = pipeline.flush(THREE_LINKS).await;
    assert_eq!(written(&next), (7, CLICKS - 6));
    pipeline.every_click_counts_once().await;
    pipeline.every_click_has_its_class().await;
    pipeline.end().await;
}

#[tokio::test]
async fn nothing_is_forgotten_of_a_piece_that_is_not_durable() {
    let pipeline = Pipeline::new().await;
    pipeline.ledger_waits_where("NEW.up_to = OLD.up_to").await;
    let (outcome, ()) = tokio::join!(pipeline.flush(THREE_LINKS), async {
        pipeline.ledger_waits().await;
        assert_eq!(pipeline.mark().await, 3);
        pipeline.session_that_waits_ends().await;
    });
    assert!(outcome.failure.is_some());
    assert_eq!(pipeline.left_in_redis().await.len(), 10);

    // Nor does the next instance take that mark for durable, which reads from there. A crash loses it meanwhile.
    let mut holder = PgConnection::connect(&pipeline.backend.database_url())
        .await
        .unwrap();
    let lock = locked(&mut holder, "SELECT FROM data_sets FOR UPDATE").await;
    let (next, ()) = tokio::join!(pipeline.flush(THREE_LINKS), async {
        let mut lock = lock;
        pipeline.ledger_waits().await;
        assert_eq!(pipeline.left_in_redis().await.len(), 10);
        let crash =
            "DELETE FROM click_parts; UPDATE data_sets SET flush = 0, flush_name = '', up_to = 0";
        sqlx::raw_sql(crash).execute(&mut *lock).await.unwrap();
        lock.commit().await.unwrap();
    });
    assert_eq!(
        written(&next),
        (LINKS, CLICKS),
        "also what is before the piece"
    );
    pipeline.every_click_counts_once().await;
    pipeline.end().await;
}

#[tokio::test]
async fn two_instances_that_write_the_same_flush_count_and_forget_it_once() {
    let pipeline = Pipeline::new().await;
    let third = format!("NEW.up_to = {}", pipeline.links[5].number());
    pipeline.ledger_waits_where(&third).await;
    let one = pipeline.flusher(THREE_LINKS);
    let (of_one, of_other) = tokio::join!(one.flush(), async {
        pipeline.ledger_waits().await;
        // As if it had expired.
        let () = pipeline.redis().await.del("{s}:flusher").await.unwrap();
        let other = pipeline.flush(PieceSize {
            links: 2,
            ..THREE_LINKS
        });
        let (outcome, ()) = tokio::join!(other, async {
            eventually("both wait for the ledger", async || {
                let mut observer = pipeline.observer.lock().await;
                waiting_for(&mut observer, "write_flush").await == 2
            })
            .await;
            pipeline.ledger_goes_on().await;
        });
        outcome
    });
    for outcome in [&of_one, &of_other] {
        assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    }
    let under_way: u64 = pipeline.redis().await.scard("{s}:flushing").await.unwrap();
    assert_eq!(under_way, 0);
    pipeline.every_click_counts_once().await;
    pipeline.end().await;
}

#[tokio::test]
async fn no_link_is_forgotten_of_another_flush_with_the_same_number() {
    let pipeline = Pipeline::new().await;
    let third = format!("NEW.up_to = {}", pipeline.links[5].number());
    pipeline.ledger_waits_where(&third).await;
    let (outcome, ()) = tokio::join!(pipeline.flush(THREE_LINKS), async {
        pipeline.ledger_waits().await;
        // The data set went back, and another flush began under this number.
        let mut redis = pipeline.redis().await;
        let () = redis
            .hset("{s}:intervals", "name:1", "another")
            .await
            .unwrap();
        pipeline.ledger_goes_on().await;
    });
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    assert_eq!(outcome.done, []);
    assert_eq!(
        outcome.flushed.links, 6,
        "the third piece is not of this flush"
    );
    assert_eq!(pipeline.left_in_redis().await, [4, 5, 6, 7, 8, 9, 10]);
    pipeline.end().await;
}

#[tokio::test]
async fn a_piece_has_fewer_links_where_their_classes_take_more_room() {
    let pipeline = Pipeline::new().await;
    let outcome = pipeline
        .flush(PieceSize {
            links: 1_000,
            classes: 4,
        })
        .await;
    assert_eq!(written(&outcome), (LINKS, CLICKS));
    assert_eq!(pipeline.calls("hscan").await, 5, "two links each, or three");
    pipeline.every_click_counts_once().await;
    pipeline.every_click_has_its_class().await;
    pipeline.end().await;
}

#[tokio::test]
async fn clicks_of_a_link_with_more_classes_than_a_piece_has_are_counted_without_a_class() {
    let pipeline = Pipeline::new().await;
    let outcome = pipeline
        .flush(PieceSize {
            links: 1_000,
            classes: 1,
        })
        .await;
    assert_eq!(written(&outcome), (LINKS, CLICKS));
    pipeline.every_click_counts_once().await;
    let of_the_first = BTreeMap::from([("Firefox".to_owned(), 1)]);
    assert_eq!(pipeline.browsers(1).await, of_the_first);
    for (place, clicks) in (2..).zip(2..=LINKS) {
        let browsers = pipeline.browsers(place).await;
        assert_eq!(browsers.values().sum::<u64>(), clicks);
        assert_eq!(browsers.len(), 2);
        assert!(browsers.contains_key("-"), "{browsers:?}");
    }
    pipeline.end().await;
}

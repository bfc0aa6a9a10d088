//! How a cluster is divided into shards: evenly, by all instances alike, and otherwise only once nothing is left behind.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use shunt::clicks::{Flusher, RedisSink, recover};
use shunt::domain::{Clock, Interval, LinkId, SystemClock};
use shunt::shared_redis::{Layout, RedisServers, RedisShards};
use shunt::store::{ClickBatch, ClickDetails};
use shunt::store::{PostgresStore, Store, StoreSettings, migrations};
use sqlx::{Connection, PgConnection};
use tokio::sync::Mutex;

use crate::suite::cluster::shorten_many;
use crate::support::clicks::of_links;
use crate::support::{
    App, Backend, Mode, RedisCluster, RedisServer, eventually, locked, refused, waiting_for,
};

/// How many calls a master had that redirects cause.
async fn calls(master: &RedisServer) -> u64 {
    let mut connection = master.connection().await;
    let mut stats = redis::cmd("INFO");
    let stats: String = stats
        .arg("commandstats")
        .query_async(&mut connection)
        .await
        .unwrap();
    let of_redirects = ["cmdstat_evalsha:", "cmdstat_hget:", "cmdstat_mget:"];
    let calls = stats.lines().filter_map(|line| {
        let known = of_redirects.iter().find_map(|name| line.strip_prefix(name));
        known?
            .strip_prefix("calls=")?
            .split(',')
            .next()?
            .parse::<u64>()
            .ok()
    });
    calls.sum()
}

#[tokio::test]
async fn the_busiest_of_three_masters_has_a_fifth_more_than_its_share_at_most() {
    let cluster = RedisCluster::start().await;
    let urls = cluster.urls();
    let app = App::start_with(Mode::Production, &[("REDIS_URL", urls.as_str())]).await;
    let token = app.register().await;
    let mut codes = Vec::new();
    for _ in 0..50 {
        let twenty = (0..20).map(|_| app.shorten(&token, "https://example.org/"));
        codes.extend(join_all(twenty).await);
    }
    let mut before = Vec::new();
    for master in &cluster.masters {
        before.push(calls(master).await);
    }
    for code in &codes {
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }
    let mut during = Vec::new();
    for (master, before) in cluster.masters.iter().zip(before) {
        during.push(calls(master).await - before);
    }
    let (busiest, all) = (*during.iter().max().unwrap(), during.iter().sum::<u64>());
    assert!(all > 2_000, "{during:?}");
    assert!(busiest * 3 * 10 <= all * 12, "{during:?}");
    // The counts of all links are in one list: one request instead of a thousand.
    let list = app.get_as(&token, "/urls/my").await.json();
    let links = list.as_array().unwrap();
    assert!(links.len() == 1_000 && links.iter().all(|link| link["clicks"] == 1));
    app.server_only().await;
}

#[tokio::test]
async fn an_instance_with_another_number_of_shards_is_refused_while_others_run() {
    let cluster = RedisCluster::start().await;
    let urls = cluster.urls();
    let settings = |shards| [("REDIS_URL", urls.as_str()), ("REDIS_SHARDS", shards)];
    let app = App::start_with(Mode::Production, &settings("8")).await;
    let (_, codes) = shorten_many(&app).await;
    let mut all = app.backend.settings();
    all.extend(settings("32").map(|(name, value)| (name.to_owned(), value.to_owned())));
    let ended = refused(&all);
    assert_eq!(ended.status.code(), Some(1));
    let last = ended.stderr.lines().last().unwrap();
    assert!(
        last.contains("REDIS_SHARDS: ") && last.contains("stop them all"),
        "{last}"
    );
    // The same number is welcome, and the running instance is not disturbed.
    let other = app.another(&settings("8")).await;
    for code in &codes {
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        assert_eq!(other.follow(code).await, 302);
        assert_eq!(app.clicks(code).await, 2);
    }
    drop(other);
    app.server_only().await;
}

#[tokio::test]
async fn a_change_of_the_number_of_shards_loses_no_click_and_revives_no_deleted_link() {
    let cluster = RedisCluster::start().await;
    let urls = cluster.urls();
    let settings = |shards| {
        [
            ("REDIS_URL", urls.as_str()),
            ("REDIS_SHARDS", shards),
            ("FLUSH_INTERVAL_MS", "60000"),
        ]
    };
    let mut app = App::start_with(Mode::Production, &settings("8")).await;
    let (token, codes) = shorten_many(&app).await;
    for code in &codes {
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }
    // Clicks of the shards of this master are parked in the journal.
    cluster.masters[1].pause();
    for code in &codes {
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }
    app.server.kill();
    cluster.masters[1].resume();

    app.server = app.another(&settings("32")).await;
    for code in &codes {
        app.written_back(code, 2).await;
        assert_eq!(app.clicks(code).await, 2);
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }
    assert_eq!(app.delete(&token, &codes[0]).await.status, 204);
    app.server.stop().await;

    app.server = app.another(&settings("8")).await;
    assert_eq!(app.server.follow(&codes[0]).await, 404);
    app.finish().await;
}

/// As a single Redis left it: with pending clicks, a flush under way, and a parked batch.
#[tokio::test]
async fn clicks_of_a_single_redis_that_became_a_cluster_are_written_back_at_the_first_start() {
    let cluster = RedisCluster::start().await;
    let urls = cluster.urls();
    let mut app = App::start_with(Mode::Production, &[("REDIS_URL", "")]).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    let list = app.get_as(&token, "/urls/my").await.json();
    // The first account of the database is its owner.
    let field = format!("{}:1", list[0]["id"]);
    app.server.stop().await;
    let tag = format!("{{{}}}", app.backend.prefix());
    let change = "1700000000000000";
    let state = ["epoch", "7", "term", "7", "change", change, "flush", "1"];
    for command in [
        [&["HSET", &format!("{tag}:state")][..], &state].concat(),
        vec!["HSET", &format!("{tag}:pending"), &field, "10"],
        vec!["SADD", &format!("{tag}:flushing"), "1"],
        vec!["HSET", &format!("{tag}:flush:7:1"), &field, "100"],
        vec![
            "HSET",
            &format!("{tag}:intervals"),
            "1",
            "1900000",
            "2",
            "1900001",
        ],
    ] {
        cluster.execute(&command).await;
    }
    for sql in [
        "INSERT INTO data_sets (epoch, tag, term, replication_id) VALUES ('7', $1, 7, 'single')",
        "INSERT INTO parked_batches (recorder, number, epoch, interval, link_ids, clicks, owners)
         SELECT 77, 1, '7', 1900000, ARRAY[id], ARRAY[1000], ARRAY[owner_id] FROM links, data_sets WHERE tag = $1",
    ] {
        app.backend.execute(sql, &tag).await;
    }

    app.server = app.another(&[("REDIS_URL", &urls)]).await;
    app.written_back(&code, 1_110).await;
    assert_eq!(app.clicks(&code).await, 1_110);
    for master in &cluster.masters {
        let mut find = redis::cmd("KEYS");
        find.arg(format!("{tag}:*"));
        let mut connection = master.connection().await;
        let mut left: Vec<String> = find.query_async(&mut connection).await.unwrap();
        // It expires by itself.
        left.retain(|key| !key.ends_with(":probe"));
        assert_eq!(left, Vec::<String>::new());
    }
    app.server_only().await;
}

/// Shards of a cluster in use, each with a click of a link of its own.
async fn shards_with_a_click_each(
    cluster: &RedisCluster,
    store: &Store,
    prefix: &str,
) -> (RedisShards, Vec<LinkId>) {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let urls: Vec<_> = cluster.urls().split(',').map(str::to_owned).collect();
    let servers = RedisServers::parse(&urls).unwrap();
    let layout = Layout::Shards(8);
    let shards = RedisShards::new(&servers, layout, prefix, Duration::from_secs(5), &clock);
    let mut links = Vec::new();
    for (shard, number) in shards.iter().zip(1..) {
        recover(shard, store).await.unwrap();
        shard.recovered();
        let link = LinkId::parse(number).unwrap();
        let batch = ClickBatch {
            recorder: 7,
            number: 1,
            interval: Interval::of(clock.now()),
            clicks: of_links([(link, 1)]),
            details: ClickDetails::default(),
        };
        RedisSink::new(shard).record(&batch, None).await.unwrap();
        links.push(link);
    }
    (shards, links)
}

/// A store of eight shards, each with a click of a link of its own, and a connection beside it.
struct EightShards {
    _cluster: RedisCluster,
    backend: Backend,
    store: Store,
    shards: RedisShards,
    links: Vec<LinkId>,
    observer: Mutex<PgConnection>,
}

impl EightShards {
    async fn with_connections(max_connections: u32) -> Self {
        let (cluster, backend) = (
            RedisCluster::start().await,
            Backend::new(Mode::Production).await,
        );
        let settings = StoreSettings {
            max_connections,
            // Longer than a test waits.
            deadline: Duration::from_mins(1),
            schema: migrations::Schema::Migrate(migrations::log),
        };
        let url = backend.database_url();
        let store = PostgresStore::connect(&url, settings).await.unwrap();
        let store = Store::of(Arc::new(store));
        let (shards, links) = shards_with_a_click_each(&cluster, &store, backend.prefix()).await;
        let mut observer = PgConnection::connect(&url).await.unwrap();
        // Clicks without a link are passed over.
        for statement in [
            "INSERT INTO users (email, email_key, password_hash, created_at) VALUES ('ada@example.org', 'ada@example.org', '', now_micros())",
            "INSERT INTO links (short_code, target_url, owner_id, created_at)
             SELECT 'code' || n, 'https://example.org/', (SELECT max(id) FROM users), now_micros() FROM generate_series(1, 8) n",
        ] {
            sqlx::raw_sql(statement).execute(&mut observer).await.unwrap();
        }
        Self {
            _cluster: cluster,
            backend,
            store,
            shards,
            links,
            observer: Mutex::new(observer),
        }
    }

    fn flusher(&self) -> Flusher {
        Flusher::new(
            Some(self.shards.clone()),
            self.store.clone(),
            Arc::new(SystemClock),
        )
    }

    /// The clicks of all links that are written back.
    async fn counted(&self) -> u64 {
        let counts = self
            .store
            .clicks
            .counts(&self.links, None)
            .await
            .unwrap()
            .clicks;
        counts.iter().map(|(_, clicks)| clicks).sum()
    }

    /// Sessions that wait for a data set's row in the ledger.
    async fn waiting(&self) -> i64 {
        waiting_for(&mut *self.observer.lock().await, "write_flush").await
    }

    async fn connection(&self) -> PgConnection {
        let url = self.backend.database_url();
        PgConnection::connect(&url).await.unwrap()
    }
}

#[tokio::test]
async fn a_shard_whose_clicks_cannot_be_written_holds_up_no_other() {
    let eight = EightShards::with_connections(5).await;
    let mut holder = eight.connection().await;
    let row = "SELECT FROM data_sets WHERE epoch LIKE '0:%' FOR UPDATE";
    let lock = locked(&mut holder, row).await;

    let flusher = eight.flusher();
    let (outcome, ()) = tokio::join!(flusher.flush(), async {
        eventually("all other shards are written back", async || {
            eight.counted().await == 7
        })
        .await;
        assert_eq!(eight.waiting().await, 1);
        lock.rollback().await.unwrap();
    });
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    assert_eq!((outcome.flushed.clicks, outcome.done.len()), (8, 8));
    flusher.release().await.unwrap();
    eight.backend.remove().await;
}

#[tokio::test]
async fn shards_that_an_instance_does_not_come_to_are_written_back_by_another() {
    let eight = EightShards::with_connections(8).await;
    let mut holder = eight.connection().await;
    let lock = locked(&mut holder, "SELECT FROM data_sets FOR UPDATE").await;

    let (one, other) = (eight.flusher(), eight.flusher());
    let (of_one, of_other, ()) = tokio::join!(one.flush(), other.flush(), async {
        eventually("each instance writes two shards", async || {
            eight.waiting().await == 4
        })
        .await;
        lock.rollback().await.unwrap();
    });
    assert_eq!(of_one.flushed.clicks + of_other.flushed.clicks, 8);
    assert!(of_one.is_shared && of_other.is_shared);
    assert_eq!(eight.counted().await, 8);
    for flusher in [one, other] {
        flusher.release().await.unwrap();
    }
    eight.backend.remove().await;
}

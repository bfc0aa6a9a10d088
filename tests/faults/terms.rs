//! Which Redis is the Redis: servers whose place another one has taken, and data sets that go back while they are in use.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::faults::metric;
use crate::faults::proxy::{Fault, Proxy};
use crate::faults::redis::is_used_again;
use crate::support::{App, Mode, RedisServer, Server, eventually, has_all};

const RARELY: (&str, &str) = ("FLUSH_INTERVAL_MS", "60000");
const OFTEN: (&str, &str) = ("FLUSH_INTERVAL_MS", "20");

/// The metric of an instance; 0 before it is known.
async fn metric_of(server: &Server, name: &str) -> String {
    let metrics = reqwest::get(format!("{}/metrics", server.base)).await;
    let metrics = metrics.unwrap().text().await.unwrap();
    let line = format!("{name} ");
    let value = metrics.lines().find_map(|text| text.strip_prefix(&line));
    value.unwrap_or("0").to_owned()
}

async fn is_superseded(server: &Server) {
    eventually("the instance leaves its Redis", async || {
        metric_of(server, "shunt_redis_superseded{shard=\"0\"}").await == "1"
            && metric_of(server, "shunt_redis_up{shard=\"0\"}").await == "0"
    })
    .await;
}

/// The clicks that an instance says a link has; `None` where it cannot tell.
async fn clicks_by(server: &Server, code: &str) -> Option<u64> {
    let asked = reqwest::get(format!("{}/urls/{code}/stats", server.base)).await;
    let response = asked.unwrap();
    match response.status().as_u16() {
        200 => response.json::<serde_json::Value>().await.unwrap()["clicks"].as_u64(),
        status => {
            assert_eq!(status, 503);
            None
        }
    }
}

/// Waits until the instance can tell, and what it says is never another number.
async fn counts(server: &Server, code: &str, clicks: u64) {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        match clicks_by(server, code).await {
            Some(found) => return assert_eq!(found, clicks),
            None => assert!(Instant::now() < deadline, "the count stays unavailable"),
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// An instance whose connections to a deposed master do not break, and another one at the new master.
struct Deposed {
    app: App,
    other: Server,
    token: String,
    code: String,
    _servers: [RedisServer; 2],
    _lines: [Proxy; 2],
}

impl Deposed {
    async fn start() -> Self {
        let old = RedisServer::start(&[]).await;
        let (old_line, old_port) = (Proxy::to(&old.url()).await, old.port().to_string());
        let settings = [
            ("REDIS_URL", old_line.url()),
            // For so long a deleted link may be served without Redis.
            ("CACHE_TTL_SECONDS", "2"),
            OFTEN,
        ];
        let app = App::start_with(Mode::Production, &settings).await;
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let new = RedisServer::start(&["--replicaof", "127.0.0.1", &old_port]).await;
        let new_line = Proxy::to(&new.url()).await;
        // With its first replica a server gets another replication ID.
        eventually("the replica has everything", async || {
            assert_eq!(app.server.follow(&code).await, 302);
            metric_of(&app.server, "shunt_redis_up{shard=\"0\"}").await == "1"
                && has_all(&new, &old).await
        })
        .await;
        let mut alone = ::redis::cmd("REPLICAOF");
        let alone = alone.arg(&["NO", "ONE"]);
        alone.exec_async(&mut new.connection().await).await.unwrap();

        let other = app.another(&[("REDIS_URL", new_line.url()), OFTEN]).await;
        assert_eq!(other.follow(&code).await, 302);
        is_superseded(&app.server).await;
        Self {
            app,
            other,
            token,
            code,
            _servers: [old, new],
            _lines: [old_line, new_line],
        }
    }
}

#[tokio::test]
async fn a_deposed_master_is_left_although_no_connection_to_it_breaks() {
    let Deposed {
        app,
        other,
        token,
        code,
        _servers,
        _lines,
    } = Deposed::start().await;
    assert_eq!(
        clicks_by(&app.server, &code).await,
        None,
        "the other Redis may have more"
    );
    assert_eq!(app.delete(&token, &code).await.status, 204);
    for server in [&app.server, &other] {
        eventually("the link is gone", async || {
            server.follow(&code).await == 404
        })
        .await;
    }
    // It stays away.
    sleep(Duration::from_secs(1)).await;
    is_superseded(&app.server).await;
    let lines = app
        .server
        .log()
        .matches("this Redis is not used any more")
        .count();
    assert_eq!(lines, 1);
    drop(other);
    app.finish().await;
}

#[tokio::test]
async fn a_deletion_beside_a_deposed_master_is_announced_in_the_new_one_before_it_is_answered() {
    let Deposed {
        app,
        other,
        token,
        _servers,
        _lines,
        ..
    } = Deposed::start().await;
    for _ in 0..5 {
        let code = app.shorten(&token, "https://example.org/").await;
        assert_eq!(other.follow(&code).await, 302);
        assert_eq!(app.delete(&token, &code).await.status, 204);
        let is_late = app
            .server
            .log()
            .contains("is announced to other instances later");
        assert!(other.follow(&code).await == 404 || is_late);
    }
    drop(other);
    app.finish().await;
}

#[tokio::test]
async fn a_change_of_redis_url_loses_no_click_shows_no_low_count_and_can_be_taken_back() {
    let (first, second) = (RedisServer::start(&[]).await, RedisServer::start(&[]).await);
    let (first_line, second_line) = (
        Proxy::to(&first.url()).await,
        Proxy::to(&second.url()).await,
    );
    let mut app =
        App::start_with(Mode::Production, &[("REDIS_URL", first_line.url()), RARELY]).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    for _ in 0..5 {
        assert_eq!(app.server.follow(&code).await, 302);
    }
    let other = app
        .another(&[("REDIS_URL", second_line.url()), RARELY])
        .await;
    counts(&other, &code, 5).await;
    is_superseded(&app.server).await;
    assert_eq!(app.server.follow(&code).await, 302);
    assert_eq!(other.follow(&code).await, 302);
    counts(&other, &code, 7).await;

    app.server.stop().await;
    app.server = app
        .another(&[("REDIS_URL", first_line.url()), RARELY])
        .await;
    is_superseded(&other).await;
    counts(&app.server, &code, 7).await;
    assert_eq!(app.server.follow(&code).await, 302);
    assert_eq!(other.follow(&code).await, 302);
    counts(&app.server, &code, 9).await;
    drop(other);
    app.finish().await;
}

/// Everything that a Redis has, to be put back beneath its connections.
struct Copy(Vec<(Vec<u8>, Vec<u8>)>);

impl Copy {
    async fn of(redis: &RedisServer) -> Self {
        let mut connection = redis.connection().await;
        // As of one moment: a flush that ends meanwhile removes keys.
        let all = "local all = {} for i, key in ipairs(redis.call('KEYS', '*')) do
            all[i] = { key, redis.call('DUMP', key) } end return all";
        let mut copy = ::redis::cmd("EVAL");
        let copy = copy.arg(all).arg(0).query_async(&mut connection).await;
        Self(copy.unwrap())
    }

    async fn put_back(&self, redis: &RedisServer) {
        let mut all = ::redis::pipe();
        all.atomic().cmd("FLUSHALL").ignore();
        for (key, value) in &self.0 {
            all.cmd("RESTORE").arg(key).arg(0).arg(value).ignore();
        }
        let mut connection = redis.connection().await;
        all.exec_async(&mut connection).await.unwrap();
    }
}

async fn is_reported_as_rolled_back(app: &App) {
    eventually("it is reported", async || {
        metric(app, "shunt_redis_rolled_back_total{shard=\"0\"}").await > 0.0
            && app.server.log().contains("Redis was rolled back")
    })
    .await;
}

#[tokio::test]
async fn a_data_set_that_goes_back_while_it_is_in_use_is_found_at_the_next_flush() {
    let redis = RedisServer::start(&[]).await;
    let app = App::start_with(Mode::Production, &[("REDIS_URL", &redis.url()), OFTEN]).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    assert_eq!(app.server.follow(&code).await, 302);
    app.written_back(&code, 1).await;
    let copy = Copy::of(&redis).await;
    for clicks in 2..=4 {
        assert_eq!(app.server.follow(&code).await, 302);
        app.written_back(&code, clicks).await;
    }
    copy.put_back(&redis).await;
    is_reported_as_rolled_back(&app).await;
    counts(&app.server, &code, 4).await;
    is_used_again(&app).await;
    for more in 1..=5 {
        assert_eq!(app.server.follow(&code).await, 302);
        counts(&app.server, &code, 4 + more).await;
    }
    app.finish().await;
}

#[tokio::test]
async fn a_data_set_that_goes_back_while_it_is_in_use_is_found_at_the_next_batch() {
    let redis = RedisServer::start(&[]).await;
    let settings = [("REDIS_URL", &*redis.url()), ("WORKERS", "1"), RARELY];
    let app = App::start_with(Mode::Production, &settings).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    for _ in 0..3 {
        assert_eq!(app.server.follow(&code).await, 302);
    }
    let copy = Copy::of(&redis).await;
    for _ in 0..2 {
        assert_eq!(app.server.follow(&code).await, 302);
    }
    copy.put_back(&redis).await;
    assert_eq!(app.server.follow(&code).await, 302);
    is_reported_as_rolled_back(&app).await;
    // Two of six are lost with Redis.
    counts(&app.server, &code, 4).await;
    is_used_again(&app).await;
    assert_eq!(app.server.follow(&code).await, 302);
    counts(&app.server, &code, 5).await;
    app.finish().await;
}

#[tokio::test]
async fn clicks_whose_batches_a_proxy_answers_with_an_error_of_its_own_count_once() {
    let redis = RedisServer::start(&[]).await;
    let proxy = Proxy::to(&redis.url()).await;
    let settings = [("REDIS_URL", proxy.url()), ("WORKERS", "1"), OFTEN];
    let app = App::start_with(Mode::Production, &settings).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    for clicks in 1..=5 {
        is_used_again(&app).await;
        // Now the worker has a connection, over which the next batch is sent.
        assert_eq!(app.server.follow(&code).await, 302);
        proxy.inject(Fault::Error);
        assert_eq!(app.server.follow(&code).await, 302);
        proxy.inject(Fault::None);
        counts(&app.server, &code, 2 * clicks).await;
    }
    app.finish().await;
}

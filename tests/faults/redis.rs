//! Faults of Redis: redirects go on, and no click is lost.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::faults::load::Load;
use crate::faults::proxy::{Fault, Proxy};
use crate::faults::readers::Readers;
use crate::faults::{
    MAX_DELAY, metric, quick_or_long, redirects_go_on, signal, under_load, warm_links,
};
use crate::support::{App, Mode, RedisServer, eventually};

/// An append-only file that has every acknowledged write, also after `kill -9`.
pub(crate) const FSYNC_ALWAYS: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];

/// The settings as deployed. While an fsync is under way, writes wait in Redis.
const FSYNC_EVERY_SECOND: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "everysec"];

/// Longer than any redirect takes without a fault, also on a busy machine.
const NORMAL: Duration = Duration::from_secs(1);

async fn app_with(url: &str) -> App {
    App::start_with(
        Mode::Production,
        &[("REDIS_URL", url), ("FLUSH_INTERVAL_MS", "100")],
    )
    .await
}

/// Makes Redis refuse writes, as it is full and may evict nothing.
async fn fill(redis: &RedisServer) {
    let mut connection = redis.connection().await;
    ::redis::cmd("CONFIG")
        .arg(&["SET", "maxmemory", "1"])
        .exec_async(&mut connection)
        .await
        .unwrap();
}

/// Waits until the service uses Redis again, which it has to do by itself and soon.
pub(crate) async fn is_used_again(app: &App) {
    let back = Instant::now();
    eventually("Redis is used again", async || {
        metric(app, "shunt_redis_up{shard=\"0\"}").await > 0.0
    })
    .await;
    println!("used again after {:?}", back.elapsed());
}

/// The fault of the moment delays no redirect.
async fn no_redirect_waits(load: &Load, fault: &str) {
    load.tally.slowest();
    redirects_go_on(load).await;
    sleep(quick_or_long(
        Duration::from_secs(2),
        Duration::from_secs(10),
    ))
    .await;
    let slowest = load.tally.slowest();
    println!("{fault}: slowest redirect {slowest:?}");
    assert!(slowest < MAX_DELAY, "{fault}: a redirect took {slowest:?}");
}

/// Redis takes batches again, and redirects that are sent two seconds after its return or later are fast.
async fn is_normal_again(app: &App, load: &Load, fault: &str) {
    let back = Instant::now();
    is_used_again(app).await;
    let taken = async || {
        let labels = r#"{sink="redis",outcome="acknowledged"}"#;
        metric(app, &format!("shunt_click_batches_total{labels}")).await
    };
    let before = taken().await;
    eventually("Redis acknowledges batches", async || {
        taken().await > before
    })
    .await;
    sleep(Duration::from_secs(2).saturating_sub(back.elapsed())).await;
    load.tally.watch_from_now();
    redirects_go_on(load).await;
    let slowest = load.tally.slowest();
    println!("after {fault}: slowest redirect {slowest:?}");
    assert!(
        slowest < NORMAL,
        "after {fault}: a redirect took {slowest:?}"
    );
}

async fn killed(settings: &[&str], kill: impl AsyncFn(&mut RedisServer, &App)) {
    let mut redis = RedisServer::start(settings).await;
    let app = app_with(&redis.url()).await;
    let codes = warm_links(&app).await;
    let (address, load) = under_load(&app, &codes).await;
    let readers = Readers::start(&address, &load.tally).await;
    for _ in 0..quick_or_long(3, 20) {
        kill(&mut redis, &app).await;
        no_redirect_waits(&load, "killed").await;
        redis.start_again().await;
        is_used_again(&app).await;
        redirects_go_on(&load).await;
    }
    let tally = load.stop().await;
    assert_eq!((tally.refused(), tally.cut_off()), (0, 0));
    readers.end_with(tally.check_bounds(&app)).await;
    app.finish().await;
}

mod redis_killed_and_started_again_loses_no_click {
    use super::{App, FSYNC_ALWAYS, FSYNC_EVERY_SECOND, RedisServer, all_is_synced, killed};

    #[tokio::test]
    async fn with_an_fsync_for_each_answer() {
        let kill = async |redis: &mut RedisServer, _: &App| redis.kill();
        killed(&FSYNC_ALWAYS, kill).await;
    }

    #[tokio::test]
    async fn with_an_fsync_each_second() {
        let kill = async |redis: &mut RedisServer, app: &App| {
            // Writes that are acknowledged during a late fsync may be lost, which is no guarantee; so the service pauses.
            app.server.signal("STOP");
            all_is_synced(redis).await;
            redis.kill();
            app.server.signal("CONT");
        };
        killed(&FSYNC_EVERY_SECOND, kill).await;
    }
}

/// Waits until Redis has handed all acknowledged writes to the system.
async fn all_is_synced(redis: &RedisServer) {
    let connection = redis.connection().await;
    eventually("Redis has synced everything", async || {
        let mut info = ::redis::cmd("INFO");
        info.arg("persistence");
        let info: String = info.query_async(&mut connection.clone()).await.unwrap();
        let is_zero = |field: &str| info.lines().any(|line| line == format!("{field}:0"));
        is_zero("aof_pending_bio_fsync") && is_zero("aof_buffer_length")
    })
    .await;
}

#[tokio::test]
async fn a_redis_that_hangs_or_refuses_delays_no_redirect() {
    let redis = RedisServer::start(&FSYNC_ALWAYS).await;
    let proxy = Proxy::to(&redis.url()).await;
    let app = app_with(proxy.url()).await;
    let codes = warm_links(&app).await;
    let (address, load) = under_load(&app, &codes).await;
    let readers = Readers::start(&address, &load.tally).await;
    let mut connection = redis.connection().await;
    let mut ask = async |command: &[&str]| {
        let mut asked = ::redis::cmd(command[0]);
        asked.arg(&command[1..]);
        asked.exec_async(&mut connection).await.unwrap();
    };

    signal(redis.child.id(), "STOP");
    no_redirect_waits(&load, "stopped").await;
    signal(redis.child.id(), "CONT");
    is_normal_again(&app, &load, "stopped").await;

    for (fault, name) in [
        (Fault::Late, "late"),
        (Fault::Cut, "cut"),
        (Fault::Silent, "silent"),
        (Fault::Down, "down"),
        (Fault::Error, "error replies"),
    ] {
        proxy.inject(fault);
        no_redirect_waits(&load, name).await;
        proxy.inject(Fault::None);
        is_normal_again(&app, &load, name).await;
    }

    ask(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]).await;
    ask(&["CONFIG", "SET", "maxmemory", "1"]).await;
    no_redirect_waits(&load, "full").await;
    ask(&["CONFIG", "SET", "maxmemory", "0"]).await;
    is_normal_again(&app, &load, "full").await;

    // A replica of a primary that does not exist answers, and refuses writes.
    ask(&["REPLICAOF", "127.0.0.1", "1"]).await;
    no_redirect_waits(&load, "read-only").await;
    ask(&["REPLICAOF", "NO", "ONE"]).await;
    is_normal_again(&app, &load, "read-only").await;

    redirects_go_on(&load).await;
    let tally = load.stop().await;
    assert_eq!((tally.refused(), tally.cut_off()), (0, 0));
    readers.end_with(tally.check_bounds(&app)).await;
    app.finish().await;
}

#[tokio::test]
async fn an_instance_that_starts_while_redis_is_away_serves_and_uses_it_once_it_is_there() {
    let mut redis = RedisServer::start(&FSYNC_ALWAYS).await;
    let mut app = app_with(&redis.url()).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    assert_eq!(app.get(&format!("/{code}")).await.status, 302);
    redis.kill();
    app.server.kill();

    let url = redis.url();
    app.server = app.another(&[("REDIS_URL", &url)]).await;
    assert_eq!(app.get(&format!("/{code}")).await.status, 302);
    let made = app.shorten(&token, "https://example.org/made").await;
    assert_eq!(app.get(&format!("/{made}")).await.status, 302);
    assert_eq!(app.delete(&token, &made).await.status, 204);
    assert_eq!(app.get(&format!("/{made}")).await.status, 404);
    let stats = app.get(&format!("/urls/{code}/stats")).await;
    assert_eq!(stats.status, 503, "a click is in Redis, perhaps");

    redis.start_again().await;
    is_used_again(&app).await;
    assert_eq!(app.clicks(&code).await, 2);
    assert_eq!(app.get(&format!("/{code}")).await.status, 302);
    assert_eq!(app.clicks(&code).await, 3);
    app.finish().await;
}

#[tokio::test]
async fn a_deletion_takes_effect_though_all_connections_to_redis_were_just_cut() {
    let redis = RedisServer::start(&FSYNC_ALWAYS).await;
    let url = redis.url();
    let settings = [
        ("REDIS_URL", url.as_str()),
        // A long deadline, so that Redis does not count as away on a busy machine.
        ("CLICK_DEADLINE_MS", "10000"),
    ];
    let app = App::start_with(Mode::Production, &settings).await;
    let other = app.another(&settings).await;
    let token = app.register().await;
    for _ in 0..10 {
        let code = app.shorten(&token, "https://example.org/").await;
        for _ in 0..4 {
            assert_eq!(other.follow(&code).await, 302);
        }
        ::redis::cmd("CLIENT")
            .arg(&["KILL", "TYPE", "normal"])
            .exec_async(&mut redis.connection().await)
            .await
            .unwrap();
        assert_eq!(app.delete(&token, &code).await.status, 204);
        assert_eq!(other.follow(&code).await, 404);
    }
    assert!(metric(&app, "shunt_redis_up{shard=\"0\"}").await > 0.0);
    drop(other);
    app.finish().await;
}

#[tokio::test]
async fn pending_clicks_of_a_full_redis_are_read_and_written_back() {
    let redis = RedisServer::start(&["--maxmemory-policy", "noeviction"]).await;
    let url = redis.url();
    let settings = [
        ("REDIS_URL", url.as_str()),
        // Long enough for Redis to be full before the first flush.
        ("FLUSH_INTERVAL_MS", "5000"),
    ];
    let app = App::start_with(Mode::Production, &settings).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    for _ in 0..3 {
        assert_eq!(app.get(&format!("/{code}")).await.status, 302);
    }
    fill(&redis).await;
    assert_eq!(app.get(&format!("/{code}")).await.status, 302);
    assert!(metric(&app, "shunt_redis_up{shard=\"0\"}").await < 1.0);
    eventually("the reason is known", async || {
        app.get(&format!("/urls/{code}/stats")).await.status == 200
    })
    .await;
    assert_eq!(app.clicks(&code).await, 4);
    app.written_back(&code, 4).await;
    assert_eq!(app.clicks(&code).await, 4);
    app.finish().await;
}

#[tokio::test]
async fn a_deletion_takes_effect_on_another_instance_while_redis_is_full() {
    let redis = RedisServer::start(&["--maxmemory-policy", "noeviction"]).await;
    let url = redis.url();
    // A long deadline, so that Redis does not count as away on a busy machine.
    let settings = [("REDIS_URL", url.as_str()), ("CLICK_DEADLINE_MS", "10000")];
    let app = App::start_with(Mode::Production, &settings).await;
    let other = app.another(&settings).await;
    let token = app.register().await;
    let mut codes = Vec::new();
    for _ in 0..10 {
        codes.push(app.shorten(&token, "https://example.org/").await);
    }
    for code in &codes {
        assert_eq!(other.follow(code).await, 302);
    }
    fill(&redis).await;
    for code in &codes {
        assert_eq!(other.follow(code).await, 302);
        assert_eq!(app.delete(&token, code).await.status, 204);
        assert_eq!(other.follow(code).await, 404);
    }
    drop(other);
    app.finish().await;
}

#[tokio::test]
async fn a_cached_link_is_looked_up_again_after_its_ttl_only_while_redis_is_away() {
    let mut redis = RedisServer::start(&FSYNC_ALWAYS).await;
    let url = redis.url();
    let settings = [
        ("REDIS_URL", url.as_str()),
        ("CACHE_TTL_SECONDS", "2"),
        // A long deadline, so that Redis does not count as away on a busy machine.
        ("CLICK_DEADLINE_MS", "10000"),
    ];
    let app = App::start_with(Mode::Production, &settings).await;
    let other = app.another(&settings).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    let path = format!("/{code}");
    let looked_up = async || {
        let redis = metric(&app, r#"shunt_redirects_total{result="redis"}"#).await;
        let database = metric(&app, r#"shunt_redirects_total{result="database"}"#).await;
        format!("{redis} in Redis, {database} in the database")
    };
    assert_eq!(app.get(&path).await.status, 302);
    let at_first = looked_up().await;
    let started = Instant::now();
    while started.elapsed() < Duration::from_secs(3) {
        assert_eq!(app.get(&path).await.status, 302);
        sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(looked_up().await, at_first, "each click confirmed the link");

    redis.kill();
    let delete = reqwest::Client::new().delete(format!("{}/urls/{code}", other.base));
    assert_eq!(
        delete.bearer_auth(&token).send().await.unwrap().status(),
        204
    );
    eventually("the link's TTL is over", async || {
        app.get(&path).await.status == 404
    })
    .await;
    redis.start_again().await;
    is_used_again(&app).await;
    assert_eq!(app.get(&path).await.status, 404);
    drop(other);
    app.finish().await;
}

#[tokio::test]
async fn a_slow_redis_is_not_given_up_while_no_click_waits_for_it() {
    let redis = RedisServer::start(&[]).await;
    let proxy = Proxy::to(&redis.url()).await;
    let app = app_with(proxy.url()).await;
    // Longer than the deadline of a click, and than the interval at which changes are read.
    proxy.inject(Fault::Late);
    sleep(Duration::from_secs(2)).await;
    assert!(metric(&app, "shunt_redis_up{shard=\"0\"}").await > 0.0);
    proxy.inject(Fault::None);
    app.finish().await;
}

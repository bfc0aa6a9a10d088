//! Redis and Postgres both away: clicks wait in memory, which grows with the links and not with the clicks.

use std::time::Duration;

use tokio::time::sleep;

use crate::faults::postgres::Postgres;
use crate::faults::readers::Readers;
use crate::faults::{
    metric, nothing_is_in_memory_alone, redirects_go_on, signal, under_load, warm_links,
};
use crate::support::raw::exchange;
use crate::support::{App, Mode, RedisServer, eventually};

/// A service with a Postgres and a Redis of its own.
struct Service {
    postgres: Postgres,
    redis: RedisServer,
    app: App,
}

/// Worker threads, each with a recorder of its own.
const WORKERS: u32 = 2;

impl Service {
    async fn start() -> Self {
        let postgres = Postgres::start();
        let redis = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]).await;
        let (database_url, redis_url, workers) = (postgres.url(), redis.url(), WORKERS.to_string());
        let settings = [
            ("DATABASE_URL", database_url.as_str()),
            ("REDIS_URL", redis_url.as_str()),
            ("WORKERS", workers.as_str()),
            // Cached links stay valid for the whole test.
            ("CACHE_TTL_SECONDS", "600"),
        ];
        let app = App::start_with(Mode::Production, &settings).await;
        Self {
            postgres,
            redis,
            app,
        }
    }

    fn kill_both(&mut self) {
        self.redis.kill();
        self.postgres.kill();
    }

    async fn restart_both(&mut self) {
        self.redis.start_again().await;
        self.postgres.start_again();
    }

    /// Clicks that are in memory alone.
    async fn in_memory(&self) -> f64 {
        metric(&self.app, "shunt_clicks_memory_only").await
    }

    /// Batches that Postgres acknowledged.
    async fn journal_batches(&self) -> f64 {
        let labels = r#"{sink="journal",outcome="acknowledged"}"#;
        metric(&self.app, &format!("shunt_click_batches_total{labels}")).await
    }
}

#[tokio::test]
async fn with_redis_and_postgres_away_clicks_wait_in_memory() {
    let mut service = Service::start().await;
    let codes = warm_links(&service.app).await;
    let (address, load) = under_load(&service.app, &codes).await;
    let readers = Readers::start(&address, &load.tally).await;
    service.kill_both();
    redirects_go_on(&load).await;
    eventually("clicks wait in memory", async || {
        service.in_memory().await > 0.0
    })
    .await;
    let response = service.app.get(&format!("/urls/{}/stats", codes[0])).await;
    assert_eq!(
        response.status, 503,
        "no count may lack clicks: {response:?}"
    );
    // Every instance is in the same state: if none took traffic, no redirect would be answered.
    let ready = service.app.get("/ready").await;
    let body = ready.json();
    assert_eq!(
        (ready.status.as_u16(), &body["database"], &body["redis"]),
        (200, &"away".into(), &"away".into())
    );
    let logged = |line| service.app.server.log().contains(line);
    eventually("the log says so", async || {
        logged("clicks are in memory alone")
    })
    .await;
    service.restart_both().await;
    nothing_is_in_memory_alone(&service.app).await;
    let logged = |line| service.app.server.log().contains(line);
    eventually("and that it is over", async || {
        logged("delivering clicks works again")
    })
    .await;
    let tally = load.stop().await;
    assert_eq!((tally.refused(), tally.cut_off()), (0, 0));
    readers.end_with(tally.check_bounds(&service.app)).await;
    service.app.finish().await;
}

#[tokio::test]
async fn memory_of_waiting_clicks_grows_with_the_links_and_not_with_the_clicks() {
    let mut service = Service::start().await;
    let codes = warm_links(&service.app).await;
    let (_, load) = under_load(&service.app, &codes).await;
    service.kill_both();
    // Batches that were on their way when both went down have ended.
    sleep(Duration::from_millis(500)).await;
    let known_before = load.tally.answered();
    while load.tally.answered() < known_before + 2_000 {
        sleep(Duration::from_millis(20)).await;
    }
    let tally = load.stop().await;
    let at_least = u32::try_from(tally.answered() - known_before).unwrap();
    let in_memory = service.in_memory().await;
    assert!(
        in_memory >= f64::from(at_least),
        "{in_memory} of {at_least}"
    );

    let before = service.journal_batches().await;
    service.postgres.start_again();
    nothing_is_in_memory_alone(&service.app).await;
    // Per worker: one batch that Redis may have, one that Postgres refused, and one with all later clicks.
    let journal_batches = service.journal_batches().await - before;
    assert!(
        journal_batches <= f64::from(3 * WORKERS),
        "{in_memory} clicks in {journal_batches} batches"
    );
    service.redis.start_again().await;
    assert_eq!((tally.refused(), tally.cut_off()), (0, 0));
    tally.check_bounds(&service.app).await;
    service.app.finish().await;
}

#[tokio::test]
async fn a_stopping_service_delivers_its_clicks_in_memory_to_a_redis_that_is_back() {
    let mut service = Service::start().await;
    let token = service.app.register().await;
    let code = service.app.shorten(&token, "https://example.org/").await;
    assert_eq!(service.app.get(&format!("/{code}")).await.status, 302);
    service.postgres.kill();
    signal(service.redis.child.id(), "STOP");
    for _ in 0..3 {
        assert_eq!(service.app.get(&format!("/{code}")).await.status, 302);
    }
    assert!(service.in_memory().await > 0.0);
    service.app.server.signal("TERM");
    sleep(Duration::from_millis(500)).await;
    signal(service.redis.child.id(), "CONT");
    assert_eq!(service.app.server.ended().await.code(), Some(0));

    service.postgres.start_again();
    let (database_url, redis_url) = (service.postgres.url(), service.redis.url());
    let settings = [
        ("DATABASE_URL", database_url.as_str()),
        ("REDIS_URL", redis_url.as_str()),
    ];
    service.app.server = service.app.another(&settings).await;
    assert_eq!(service.app.clicks(&code).await, 4);
    service.app.finish().await;
}

#[tokio::test]
async fn clicks_that_postgres_was_never_sent_go_to_a_redis_that_is_back() {
    let service = Service::start().await;
    let token = service.app.register().await;
    let code = service.app.shorten(&token, "https://example.org/").await;
    // Each visit has a connection of its own, so both workers get some, and one of them already finds Redis away.
    let visits = async || {
        let request = format!("GET /{code} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
        for _ in 0..4 {
            let response = exchange(&service.app.server.base, &request).await;
            assert!(response.starts_with("HTTP/1.1 302"), "{response}");
        }
    };
    visits().await;
    service.postgres.kill();
    // A pooled connection that was idle for a second is checked before it is used.
    sleep(Duration::from_millis(1_500)).await;
    signal(service.redis.child.id(), "STOP");
    visits().await;
    assert!(service.in_memory().await > 0.0);
    signal(service.redis.child.id(), "CONT");
    nothing_is_in_memory_alone(&service.app).await;

    service.postgres.start_again();
    let counted = async || {
        let stats = service.app.get(&format!("/urls/{code}/stats")).await;
        stats.status == 200 && stats.json()["clicks"] == 8
    };
    eventually("every click is counted", counted).await;
    service.app.finish().await;
}

//! Redis and Postgres both gone: clicks wait in memory, which does not grow with them.

use std::time::Duration;

use tokio::time::sleep;

use crate::postgres::Postgres;
use crate::readers::Readers;
use crate::support::raw::exchange;
use crate::support::{App, Mode, RedisServer, eventually};
use crate::{goes_on, metric, nothing_is_in_memory_alone, signal, under_load, warm_links};

/// A service whose back ends may go.
struct Both {
    postgres: Postgres,
    redis: RedisServer,
    app: App,
}

/// Threads that keep clicks, each for itself.
const WORKERS: u32 = 2;

impl Both {
    async fn start() -> Self {
        let postgres = Postgres::start();
        let redis = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]).await;
        let (database_url, redis_url, workers) = (postgres.url(), redis.url(), WORKERS.to_string());
        let settings = [
            ("DATABASE_URL", database_url.as_str()),
            ("REDIS_URL", redis_url.as_str()),
            ("WORKERS", workers.as_str()),
            // What is known stays known for as long as this takes.
            ("CACHE_TTL_SECONDS", "600"),
        ];
        let app = App::start_with(Mode::Production, &settings).await;
        Self {
            postgres,
            redis,
            app,
        }
    }

    fn go(&mut self) {
        self.redis.kill();
        self.postgres.kill();
    }

    async fn come_back(&mut self) {
        self.redis.start_again().await;
        self.postgres.start_again();
    }

    /// Clicks that are nowhere else.
    async fn in_memory(&self) -> f64 {
        metric(&self.app, "shunt_clicks_memory_only").await
    }

    /// Batches that Postgres took.
    async fn taken(&self) -> f64 {
        let labels = r#"{sink="journal",outcome="acknowledged"}"#;
        metric(&self.app, &format!("shunt_click_batches_total{labels}")).await
    }
}

#[tokio::test]
async fn with_redis_and_postgres_away_clicks_wait_in_memory() {
    let mut both = Both::start().await;
    let codes = warm_links(&both.app).await;
    let (address, load) = under_load(&both.app, &codes).await;
    let readers = Readers::start(&address, &load.books).await;
    both.go();
    sleep(Duration::from_millis(500)).await;
    goes_on(&load).await;
    assert!(both.in_memory().await > 0.0);
    let response = both.app.get(&format!("/urls/{}/stats", codes[0])).await;
    assert_eq!(
        response.status, 503,
        "a number that lacks some clicks: {response:?}"
    );
    let told = |what| both.app.server.log().contains(what);
    eventually("the log says so", async || {
        told("clicks are in memory alone")
    })
    .await;
    both.come_back().await;
    nothing_is_in_memory_alone(&both.app).await;
    let told = |what| both.app.server.log().contains(what);
    eventually("and that it is over", async || {
        told("delivering clicks works again")
    })
    .await;
    let books = load.stop().await;
    assert_eq!((books.refused(), books.cut_off()), (0, 0));
    readers.end_with(books.are_right(&both.app)).await;
    both.app.finish().await;
}

#[tokio::test]
async fn memory_of_waiting_clicks_grows_with_the_links_and_not_with_the_clicks() {
    let mut both = Both::start().await;
    let codes = warm_links(&both.app).await;
    let (_, load) = under_load(&both.app, &codes).await;
    both.go();
    // What was on its way to one of them is through.
    sleep(Duration::from_millis(500)).await;
    let known_before = load.books.answered();
    while load.books.answered() < known_before + 2_000 {
        sleep(Duration::from_millis(20)).await;
    }
    let books = load.stop().await;
    let at_least = u32::try_from(books.answered() - known_before).unwrap();
    let in_memory = both.in_memory().await;
    assert!(
        in_memory >= f64::from(at_least),
        "{in_memory} of {at_least}"
    );

    let before = both.taken().await;
    both.postgres.start_again();
    nothing_is_in_memory_alone(&both.app).await;
    // Per worker: one that Redis may have, one that Postgres did not take, and one of all that came later.
    let taken = both.taken().await - before;
    assert!(
        taken <= f64::from(3 * WORKERS),
        "{in_memory} clicks in {taken} batches"
    );
    both.redis.start_again().await;
    assert_eq!((books.refused(), books.cut_off()), (0, 0));
    books.are_right(&both.app).await;
    both.app.finish().await;
}

#[tokio::test]
async fn a_stopping_service_delivers_its_clicks_in_memory_to_a_redis_that_is_back() {
    let mut both = Both::start().await;
    let token = both.app.register().await;
    let code = both.app.shorten(&token, "https://example.org/").await;
    assert_eq!(both.app.get(&format!("/{code}")).await.status, 302);
    both.postgres.kill();
    signal(both.redis.child.id(), "STOP");
    for _ in 0..3 {
        assert_eq!(both.app.get(&format!("/{code}")).await.status, 302);
    }
    assert!(both.in_memory().await > 0.0);
    both.app.server.signal("TERM");
    sleep(Duration::from_millis(500)).await;
    signal(both.redis.child.id(), "CONT");
    assert_eq!(both.app.server.ended().await.code(), Some(0));

    both.postgres.start_again();
    let (database_url, redis_url) = (both.postgres.url(), both.redis.url());
    let settings = [
        ("DATABASE_URL", database_url.as_str()),
        ("REDIS_URL", redis_url.as_str()),
    ];
    both.app.server = both.app.another(&settings).await;
    assert_eq!(both.app.clicks(&code).await, 4);
    both.app.finish().await;
}

#[tokio::test]
async fn clicks_that_postgres_was_never_sent_go_to_a_redis_that_is_back() {
    let both = Both::start().await;
    let token = both.app.register().await;
    let code = both.app.shorten(&token, "https://example.org/").await;
    // Each on a connection of its own: so both workers have some, of which one finds Redis away already.
    let visits = async || {
        let request = format!("GET /{code} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
        for _ in 0..4 {
            let response = exchange(&both.app.server.base, &request).await;
            assert!(response.starts_with("HTTP/1.1 302"), "{response}");
        }
    };
    visits().await;
    both.postgres.kill();
    // Whoever has a connection asks after a second whether it still lives, before anything is sent.
    sleep(Duration::from_millis(1_500)).await;
    signal(both.redis.child.id(), "STOP");
    visits().await;
    assert!(both.in_memory().await > 0.0);
    signal(both.redis.child.id(), "CONT");
    nothing_is_in_memory_alone(&both.app).await;

    both.postgres.start_again();
    let counted = async || {
        let stats = both.app.get(&format!("/urls/{code}/stats")).await;
        stats.status == 200 && stats.json()["clicks"] == 8
    };
    eventually("every click is counted", counted).await;
    both.app.finish().await;
}

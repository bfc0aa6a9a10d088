//! Redis and Postgres both gone: clicks wait in memory, which does not grow with them.

use std::time::Duration;

use tokio::time::sleep;

use crate::postgres::Postgres;
use crate::readers::Readers;
use crate::support::{App, Mode, RedisServer};
use crate::{goes_on, metric, nothing_is_in_memory_alone, under_load, warm_links};

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
}

#[tokio::test]
async fn with_redis_and_postgres_away_clicks_wait_in_memory() {
    let mut both = Both::start().await;
    let codes = warm_links(&both.app).await;
    let (address, load) = under_load(&both.app, &codes).await;
    let readers = Readers::start(&address, &load.books);
    both.go();
    sleep(Duration::from_millis(500)).await;
    goes_on(&load).await;
    assert!(both.in_memory().await > 0.0);
    let answer = both.app.get(&format!("/urls/{}/stats", codes[0])).await;
    assert_eq!(
        answer.status, 503,
        "a number that lacks some clicks: {answer:?}"
    );
    both.come_back().await;
    nothing_is_in_memory_alone(&both.app).await;
    let books = load.stop().await;
    assert_eq!((books.refused(), books.cut_off()), (0, 0));
    readers.end_with(books.are_right(&both.app)).await;
    both.app.finish().await;
}

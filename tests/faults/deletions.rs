//! A deletion that was answered is not undone, also where Redis and the outbox are away at once.

use std::time::{Duration, Instant};

use sqlx::Executor;
use tokio::time::sleep;

use crate::faults::postgres::Postgres;
use crate::faults::proxy::{Fault, Proxy};
use crate::support::{App, Mode, RedisServer, Server, eventually};

/// Two instances over one Postgres, which reach Redis through one proxy.
struct Service {
    postgres: Postgres,
    #[expect(dead_code, reason = "it runs until the test ends")]
    redis: RedisServer,
    proxy: Proxy,
    app: App,
    other: Server,
    code: String,
}

impl Service {
    /// Both instances and Redis have cached a link, which is deleted while the lines to Redis are cut.
    async fn with_a_link_deleted_without_redis() -> Self {
        let postgres = Postgres::start();
        let redis = RedisServer::start(&[]).await;
        let proxy = Proxy::to(&redis.url()).await;
        let settings = [
            ("DATABASE_URL", &*postgres.url()),
            ("REDIS_URL", proxy.url()),
        ];
        let app = App::start_with(Mode::Production, &settings).await;
        let other = app.another(&settings).await;
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for server in [&app.server, &other] {
            assert_eq!(server.follow(&code).await, 302);
        }
        proxy.inject(Fault::Down);
        assert_eq!(app.delete(&token, &code).await.status, 204);
        assert_eq!(app.server.follow(&code).await, 404);
        Self {
            postgres,
            redis,
            proxy,
            app,
            other,
            code,
        }
    }

    fn servers(&self) -> [&Server; 2] {
        [&self.app.server, &self.other]
    }

    /// Waits until both use Redis, then for two seconds; returns what they answered since they use it.
    async fn answers_once_redis_is_back(&self) -> Vec<u16> {
        self.proxy.inject(Fault::None);
        for server in self.servers() {
            eventually("Redis is used again", async || {
                let metrics = reqwest::get(format!("{}/metrics", server.base))
                    .await
                    .unwrap();
                metrics
                    .text()
                    .await
                    .unwrap()
                    .contains("\nshunt_redis_up{shard=\"0\"} 1\n")
            })
            .await;
        }
        let mut answers = Vec::new();
        let until = Instant::now() + Duration::from_secs(2);
        while Instant::now() < until {
            for server in self.servers() {
                answers.push(server.follow(&self.code).await);
            }
            sleep(Duration::from_millis(20)).await;
        }
        answers
    }
}

#[tokio::test]
async fn a_deleted_link_is_not_followed_when_redis_comes_back_while_postgres_hangs() {
    let service = Service::with_a_link_deleted_without_redis().await;
    service.postgres.signal("STOP");
    let answers = service.answers_once_redis_is_back().await;
    assert!(answers.iter().all(|status| *status != 302), "{answers:?}");
    service.postgres.signal("CONT");
    for server in service.servers() {
        eventually("the database answers", async || {
            server.follow(&service.code).await == 404
        })
        .await;
    }
}

#[tokio::test]
async fn a_deleted_link_is_not_followed_when_redis_comes_back_and_the_outbox_cannot_be_read() {
    let service = Service::with_a_link_deleted_without_redis().await;
    let mut lock = service.postgres.connection().await;
    let sql = "BEGIN; LOCK TABLE link_changes IN ACCESS EXCLUSIVE MODE";
    lock.execute(sqlx::raw_sql(sql)).await.unwrap();
    let answers = service.answers_once_redis_is_back().await;
    assert!(answers.iter().all(|status| *status == 404), "{answers:?}");
    drop(lock);
}

/// Deletes links while Redis does not answer the other instance, which has them in memory and reaches Postgres.
async fn a_deletion_is_felt_without_redis(fault: Fault) {
    let redis = RedisServer::start(&[]).await;
    let proxy = Proxy::to(&redis.url()).await;
    let app = App::start_with(Mode::Production, &[("REDIS_URL", &*redis.url())]).await;
    let other = app.another(&[("REDIS_URL", proxy.url())]).await;
    let token = app.register().await;
    for number in 0..10 {
        let code = app
            .shorten(&token, &format!("https://example.org/{number}"))
            .await;
        proxy.inject(Fault::None);
        for _ in 0..2 {
            assert_eq!(other.follow(&code).await, 302);
        }
        proxy.inject(fault);
        if number % 2 == 0 {
            // Sometimes the instance knows already that Redis does not answer.
            assert_eq!(other.follow(&code).await, 302);
        }
        assert_eq!(app.delete(&token, &code).await.status, 204);
        assert_eq!(other.follow(&code).await, 404, "link {number}");
    }
    drop(other);
    app.finish().await;
}

#[tokio::test]
async fn a_deleted_link_is_not_followed_by_an_instance_that_redis_is_cut_from() {
    a_deletion_is_felt_without_redis(Fault::Down).await;
}

#[tokio::test]
async fn a_deleted_link_is_not_followed_by_an_instance_that_redis_does_not_answer() {
    a_deletion_is_felt_without_redis(Fault::Silent).await;
}

#[tokio::test]
async fn a_deleted_link_is_not_followed_by_an_instance_that_redis_answers_late() {
    a_deletion_is_felt_without_redis(Fault::Late).await;
}

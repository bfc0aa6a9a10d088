//! Redis is late while Postgres is away: what an instance knows stays true, since nothing can change.

use std::time::Duration;

use tokio::time::sleep;

use crate::faults::load::{Address, Load};
use crate::faults::postgres::Postgres;
use crate::faults::{CLIENTS, nothing_is_in_memory_alone, quick_or_long, signal, warm_links};
use crate::support::{App, Mode, RedisServer, Server, eventually};

/// Two instances over one Postgres and one Redis.
struct Service {
    postgres: Postgres,
    redis: RedisServer,
    app: App,
    other: Server,
}

/// How Postgres is away.
#[derive(Clone, Copy)]
enum Away {
    Killed,
    Hanging,
}

impl Service {
    async fn start() -> Self {
        let postgres = Postgres::start();
        let redis = RedisServer::start(&[]).await;
        let settings = [
            ("DATABASE_URL", &*postgres.url()),
            ("REDIS_URL", &*redis.url()),
        ];
        let app = App::start_with(Mode::Production, &settings).await;
        let other = app.another(&settings).await;
        Self {
            postgres,
            redis,
            app,
            other,
        }
    }

    fn take_postgres_away(&mut self, how: Away) {
        match how {
            Away::Killed => self.postgres.kill(),
            Away::Hanging => self.postgres.signal("STOP"),
        }
    }

    fn give_postgres_back(&mut self, how: Away) {
        match how {
            Away::Killed => self.postgres.start_again(),
            Away::Hanging => self.postgres.signal("CONT"),
        }
    }

    async fn pause_redis(&self, pause: Duration) {
        signal(self.redis.child.id(), "STOP");
        sleep(pause).await;
        signal(self.redis.child.id(), "CONT");
    }
}

async fn known_codes_are_followed(how: Away) {
    let mut service = Service::start().await;
    let codes = warm_links(&service.app).await;
    let loads = [&service.app.server, &service.other]
        .map(|server| Load::start(&Address::of(&server.base), &codes, CLIENTS / 2));
    for load in &loads {
        eventually("every link is visited", async || {
            (0..codes.len()).all(|link| load.tally.answered_to(link) > 0)
        })
        .await;
    }
    service.take_postgres_away(how);
    let quiet = quick_or_long(Duration::from_millis(1_500), Duration::from_millis(5_500));
    for pause in [100, 700, 2_000] {
        sleep(quiet).await;
        service.pause_redis(Duration::from_millis(pause)).await;
    }
    sleep(quiet).await;
    for load in &loads {
        let answered = load.tally.answered();
        eventually("redirects go on", async || load.tally.answered() > answered).await;
    }
    service.give_postgres_back(how);
    let mut answered = vec![0; codes.len()];
    for load in loads {
        let tally = load.stop().await;
        assert_eq!((tally.refused(), tally.cut_off()), (0, 0));
        for (link, answered) in answered.iter_mut().enumerate() {
            *answered += tally.answered_to(link);
        }
    }
    nothing_is_in_memory_alone(&service.app).await;
    for (code, answered) in codes.iter().zip(answered) {
        eventually("the count is exact", async || {
            let stats = service.app.get(&format!("/urls/{code}/stats")).await;
            stats.status == 200 && stats.json()["clicks"] == answered
        })
        .await;
    }
    drop(service.other);
    service.app.finish().await;
}

#[tokio::test]
async fn known_codes_are_followed_while_postgres_is_away_however_often_redis_is_late() {
    known_codes_are_followed(Away::Killed).await;
}

#[tokio::test]
async fn known_codes_are_followed_while_postgres_hangs_however_often_redis_is_late() {
    known_codes_are_followed(Away::Hanging).await;
}

async fn codes_that_only_redis_has_are_followed(how: Away) {
    let mut service = Service::start().await;
    let codes = warm_links(&service.app).await;
    // Each worker connects to Redis with its first look-up, which does not wait for that.
    let (other_codes, codes) = codes.split_at(2);
    for _ in 0..20 {
        assert_eq!(service.app.server.follow(&other_codes[0]).await, 302);
        assert_eq!(service.other.follow(&other_codes[1]).await, 302);
    }
    for code in codes {
        assert_eq!(service.app.server.follow(code).await, 302);
    }
    service.take_postgres_away(how);
    // The other instance has none of them in memory.
    for (pause, codes) in [100, 700, 2_000].into_iter().zip(codes.chunks(6)) {
        signal(service.redis.child.id(), "STOP");
        let visits =
            futures_util::future::join_all(codes.iter().map(|code| service.other.follow(code)));
        let back = async {
            sleep(Duration::from_millis(pause)).await;
            signal(service.redis.child.id(), "CONT");
        };
        let (answers, ()) = futures_util::future::join(visits, back).await;
        assert!(answers.iter().all(|status| *status == 302), "{answers:?}");
    }
    service.give_postgres_back(how);
    drop(service.other);
    service.app.finish().await;
}

#[tokio::test]
async fn a_code_that_only_redis_has_is_followed_once_a_late_redis_answers_while_postgres_is_away() {
    codes_that_only_redis_has_are_followed(Away::Killed).await;
}

#[tokio::test]
async fn a_code_that_only_redis_has_is_followed_once_a_late_redis_answers_while_postgres_hangs() {
    codes_that_only_redis_has_are_followed(Away::Hanging).await;
}

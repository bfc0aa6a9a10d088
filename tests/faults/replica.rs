//! A replica of Postgres that lags, hangs and dies: its answers are right, or are not used.

use std::time::{Duration, Instant};

use sqlx::PgConnection;
use tokio::time::sleep;

use crate::faults::metric;
use crate::faults::postgres::Postgres;
use crate::support::{App, Mode, PgBouncer, Server, eventually};

/// The longest that a redirect may take: long enough for a busy machine, and shorter than the deadline of a look-up.
const MAX_LOOK_UP: Duration = Duration::from_millis(1_900);

/// A service, its primary and a replica.
struct Replicated {
    app: App,
    token: String,
    primary: Postgres,
    replica: Postgres,
}

impl Replicated {
    async fn start(setting: &str) -> Self {
        let primary = Postgres::start();
        let replica = primary.replica(setting);
        let url = replica.url();
        Self::over(primary, replica, url).await
    }

    /// A service that reaches the replica by this URL.
    async fn over(primary: Postgres, replica: Postgres, url: String) -> Self {
        let urls = (primary.url(), url);
        let app = App::start_with(Mode::Production, &settings(&urls)).await;
        replica_is(&app, "up").await;
        let token = app.register().await;
        Self {
            app,
            token,
            primary,
            replica,
        }
    }

    /// Another instance, ready to use the replica.
    async fn another(&self) -> Server {
        let urls = (self.primary.url(), self.replica.url());
        let server = self.app.another(&settings(&urls)).await;
        eventually("the other's replica is up", async || {
            let ready = reqwest::get(format!("{}/ready", server.base))
                .await
                .unwrap();
            ready.text().await.unwrap().contains(r#""replica":"up""#)
        })
        .await;
        server
    }

    async fn cold_links(&self, count: usize) -> Vec<String> {
        cold_links(&self.app, &self.token, count).await
    }

    async fn caught_up(&self) {
        caught_up(&self.replica, &self.primary).await;
    }

    async fn answered_by_replica(&self) -> f64 {
        answered_by_replica(&self.app).await
    }

    async fn follows(&self, codes: &[String]) {
        for code in codes {
            let asked = Instant::now();
            assert_eq!(self.app.visit(&format!("/{code}")).await.status, 302);
            let waited = asked.elapsed();
            assert!(waited < MAX_LOOK_UP, "{waited:?} for a redirect");
        }
    }

    /// The replica answers most look-ups, and the primary few. Where a busy machine makes the replica late, the primary
    /// is asked for a second: then other links are followed, once the replica is up again.
    async fn replica_answers_look_ups(&self) {
        eventually("the replica answers most look-ups", async || {
            replica_is(&self.app, "up").await;
            let codes = self.cold_links(21).await;
            self.caught_up().await;
            // The first look-up asks the primary, and reads its position.
            self.follows(&codes[..1]).await;
            self.caught_up().await;
            let before = self.answered_by_replica().await;
            self.follows(&codes[1..]).await;
            self.answered_by_replica().await - before > 10.0
        })
        .await;
    }

    async fn finish(self) {
        self.app.finish().await;
    }
}

/// Links that no client has followed.
async fn cold_links(app: &App, token: &str, count: usize) -> Vec<String> {
    let mut codes = Vec::new();
    for number in 0..count {
        let target = format!("https://example.org/{number}");
        codes.push(app.shorten(token, &target).await);
    }
    codes
}

/// Waits until the replica has replayed all that the primary has written.
pub(crate) async fn caught_up(replica: &Postgres, primary: &Postgres) {
    let mut primary = primary.connection().await;
    let written: i64 = ask(
        &mut primary,
        "SELECT (pg_current_wal_lsn() - '0/0')::bigint",
    )
    .await;
    eventually("the replica has caught up", async || {
        let mut replica = replica.connection().await;
        let replayed = "SELECT (pg_last_wal_replay_lsn() - '0/0')::bigint";
        ask::<i64>(&mut replica, replayed).await >= written
    })
    .await;
}

/// The number of look-ups that the replica answered.
async fn answered_by_replica(app: &App) -> f64 {
    metric(app, r#"shunt_database_lookups_total{server="replica"}"#).await
}

fn settings((primary, replica): &(String, String)) -> [(&str, &str); 2] {
    [("DATABASE_URL", primary), ("DATABASE_REPLICA_URL", replica)]
}

async fn replica_is(app: &App, state: &str) {
    eventually(state, async || {
        let ready = app.get("/ready").await;
        assert_eq!(ready.status, 200, "the replica is nothing to depend on");
        ready.json()["replica"] == state
    })
    .await;
}

async fn ask<T>(connection: &mut PgConnection, sql: &'static str) -> T
where
    T: Send + Unpin + for<'r> sqlx::Decode<'r, sqlx::Postgres> + sqlx::Type<sqlx::Postgres>,
{
    sqlx::query_scalar(sql).fetch_one(connection).await.unwrap()
}

#[tokio::test]
async fn cold_links_are_looked_up_on_the_replica_and_on_the_primary_while_it_is_away() {
    let service = Replicated::start("").await;
    service.replica_answers_look_ups().await;
    assert!(metric(&service.app, "shunt_database_replica_up").await > 0.0);

    service.replica.stop();
    let codes = service.cold_links(5).await;
    service.follows(&codes).await;
    replica_is(&service.app, "away").await;
    let unknown = service.app.get("/nobody-has-this").await;
    unknown.is_error(404, "URL not found");
    service.replica.start_again();
    replica_is(&service.app, "up").await;
    service.replica_answers_look_ups().await;

    // A stopped replica answers nothing and closes nothing. One client waits for it and then for the primary; no other
    // client waits.
    let codes = service.cold_links(5).await;
    service.caught_up().await;
    service.replica.signal("STOP");
    service.follows(&codes).await;
    replica_is(&service.app, "away").await;
    service.replica.signal("CONT");
    replica_is(&service.app, "up").await;
    service.replica_answers_look_ups().await;
    service.finish().await;
}

#[tokio::test]
async fn a_replica_behind_pgbouncer_answers() {
    let primary = Postgres::start();
    let replica = primary.replica("");
    let pgbouncer = PgBouncer::start(&replica.url(), "").await;
    let url = pgbouncer.url_of(&replica.url());
    let service = Replicated::over(primary, replica, url).await;
    service.replica_answers_look_ups().await;
    service.finish().await;
}

#[tokio::test]
async fn a_deleted_link_that_the_replica_still_shows_is_not_followed_and_a_fresh_one_is() {
    let service = Replicated::start("").await;
    let other = service.another().await;
    let deleted = service.cold_links(5).await;
    let (warm, cold) = (service.cold_links(3).await, service.cold_links(3).await);
    service.caught_up().await;
    // Both instances know the position of the primary, so that both may ask the replica.
    for code in &warm {
        for server in [&service.app.server, &other] {
            assert_eq!(server.follow(code).await, 302);
        }
    }

    let mut replica = service.replica.connection().await;
    let _: () = ask(&mut replica, "SELECT pg_wal_replay_pause()").await;
    eventually("the replay is paused", async || {
        let mut replica = service.replica.connection().await;
        let state: String = ask(&mut replica, "SELECT pg_get_wal_replay_pause_state()").await;
        state == "paused"
    })
    .await;
    for code in &deleted {
        assert_eq!(service.app.delete(&service.token, code).await.status, 204);
        for _ in 0..3 {
            assert_eq!(other.follow(code).await, 404);
            assert_eq!(service.app.visit(&format!("/{code}")).await.status, 404);
        }
    }
    let shown: i64 = ask(&mut replica, "SELECT count(*) FROM links").await;
    assert_eq!(shown, 11, "the replica still shows all links");
    let just_started = service.another().await;
    for code in &deleted {
        assert_eq!(just_started.follow(code).await, 404);
    }
    let fresh = service.cold_links(3).await;
    for server in [&other, &just_started] {
        for code in fresh.iter().chain(&cold) {
            assert_eq!(server.follow(code).await, 302);
        }
    }
    // No look-up in between brought the deleted links back.
    for code in &deleted {
        for server in [&other, &just_started, &service.app.server] {
            assert_eq!(server.follow(code).await, 404);
        }
    }
    let _: () = ask(&mut replica, "SELECT pg_wal_replay_resume()").await;
    service.replica_answers_look_ups().await;
    drop((other, just_started));
    service.finish().await;
}

#[tokio::test]
async fn no_deletion_is_undone_by_a_replica_that_is_always_late() {
    let service = Replicated::start("recovery_min_apply_delay = 300").await;
    let other = service.another().await;
    for _ in 0..4 {
        let codes = service.cold_links(15).await;
        service.caught_up().await;
        for three in codes.chunks(3) {
            assert_eq!(
                service.app.delete(&service.token, &three[0]).await.status,
                204
            );
            for (server, left) in [(&other, &three[1]), (&service.app.server, &three[2])] {
                // This look-up reads the position of the primary: from here on the replica may be asked.
                assert_eq!(server.follow(left).await, 302);
                assert_eq!(server.follow(&three[0]).await, 404);
            }
            sleep(Duration::from_millis(100)).await;
        }
    }
    drop(other);
    service.finish().await;
}

#[tokio::test]
async fn a_replica_that_did_not_follow_a_fail_over_is_not_used() {
    let first = Postgres::start();
    let (second, stray) = (first.replica(""), first.replica(""));
    let url = first.url();
    let mut app = App::start_with(Mode::Production, &[("DATABASE_URL", &url)]).await;
    let token = app.register().await;
    let codes = cold_links(&app, &token, 3).await;
    app.server.stop().await;
    caught_up(&second, &first).await;
    // Only the stray replica receives these writes, so it gets ahead of the second server.
    second.stop();
    for _ in 0..3 {
        let _: String = ask(
            &mut first.connection().await,
            "SELECT pg_switch_wal()::text FROM pg_logical_emit_message(false, '', 'ahead')",
        )
        .await;
    }
    caught_up(&stray, &first).await;
    first.stop();
    second.start_again();
    let promoted: bool = ask(&mut second.connection().await, "SELECT pg_promote()").await;
    assert!(promoted);

    let urls = (second.url(), stray.url());
    app.server = app.another(&settings(&urls)).await;
    replica_is(&app, "up").await;
    for _ in 0..2 {
        assert_eq!(app.visit(&format!("/{}", codes[0])).await.status, 302);
    }
    assert_eq!(app.delete(&token, &codes[1]).await.status, 204);
    assert_eq!(app.visit(&format!("/{}", codes[2])).await.status, 302);
    assert_eq!(app.visit(&format!("/{}", codes[1])).await.status, 404);
    assert!(answered_by_replica(&app).await < 1.0);
    // The second server is no replica of itself.
    let url = second.url();
    let alone = app.another(&settings(&(url.clone(), url))).await;
    sleep(Duration::from_millis(500)).await;
    let ready = reqwest::get(format!("{}/ready", alone.base)).await;
    let ready: serde_json::Value = ready.unwrap().json().await.unwrap();
    assert_eq!(
        (&ready["status"], &ready["replica"]),
        (&"ready".into(), &"away".into())
    );
    drop(alone);
    app.finish().await;
}

//! A replica of Postgres that lags, hangs and dies: what it answers is right, or is not used.

use std::time::{Duration, Instant};

use sqlx::PgConnection;
use tokio::time::sleep;

use crate::metric;
use crate::postgres::Postgres;
use crate::support::{App, Mode, PgBouncer, Server, eventually};

/// Long enough that a busy machine passes, shorter than a look-up may take.
const SOON: Duration = Duration::from_millis(1_900);

/// A service, its database and a replica of that.
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

    /// With a way to the replica.
    async fn over(primary: Postgres, replica: Postgres, url: String) -> Self {
        let urls = (primary.url(), url);
        let app = App::start_with(Mode::Production, &settings(&urls)).await;
        is(&app, "up").await;
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
            assert!(waited < SOON, "{waited:?} for a redirect");
        }
    }

    /// It answers most look-ups, and the primary few.
    async fn the_replica_answers(&self) {
        let codes = self.cold_links(21).await;
        self.caught_up().await;
        // The first one asks the primary, and how far that is.
        self.follows(&codes[..1]).await;
        self.caught_up().await;
        let before = self.answered_by_replica().await;
        self.follows(&codes[1..]).await;
        let answered = self.answered_by_replica().await - before;
        // The primary is asked anew now and then, and for a second where a busy machine made the replica late.
        assert!(answered > 10.0, "{answered} of 20");
    }

    async fn finish(self) {
        self.app.finish().await;
    }
}

/// Links that nobody has followed.
async fn cold_links(app: &App, token: &str, count: usize) -> Vec<String> {
    let mut codes = Vec::new();
    for number in 0..count {
        let target = format!("https://example.org/{number}");
        codes.push(app.shorten(token, &target).await);
    }
    codes
}

/// Returns once the replica shows all that the primary does.
async fn caught_up(replica: &Postgres, primary: &Postgres) {
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

/// How many look-ups the replica answered.
async fn answered_by_replica(app: &App) -> f64 {
    metric(app, r#"shunt_database_lookups_total{server="replica"}"#).await
}

fn settings((primary, replica): &(String, String)) -> [(&str, &str); 2] {
    [("DATABASE_URL", primary), ("DATABASE_REPLICA_URL", replica)]
}

async fn is(app: &App, state: &str) {
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
    let both = Replicated::start("").await;
    both.the_replica_answers().await;
    assert!(metric(&both.app, "shunt_database_replica_up").await > 0.0);

    both.replica.stop();
    let codes = both.cold_links(5).await;
    both.follows(&codes).await;
    is(&both.app, "away").await;
    let unknown = both.app.get("/nobody-has-this").await;
    unknown.is_error(404, "URL not found");
    both.replica.start_again();
    is(&both.app, "up").await;
    both.the_replica_answers().await;

    // Answers nothing and closes nothing: one visitor waits for it, and for the primary, and nobody else.
    let codes = both.cold_links(5).await;
    both.caught_up().await;
    both.replica.signal("STOP");
    both.follows(&codes).await;
    is(&both.app, "away").await;
    both.replica.signal("CONT");
    is(&both.app, "up").await;
    both.the_replica_answers().await;
    both.finish().await;
}

#[tokio::test]
async fn a_replica_behind_pgbouncer_answers() {
    let primary = Postgres::start();
    let replica = primary.replica("");
    let pgbouncer = PgBouncer::start(&replica.url(), "").await;
    let url = pgbouncer.url_of(&replica.url());
    let both = Replicated::over(primary, replica, url).await;
    both.the_replica_answers().await;
    both.finish().await;
}

#[tokio::test]
async fn a_deleted_link_that_the_replica_still_shows_is_not_followed_and_a_fresh_one_is() {
    let both = Replicated::start("").await;
    let other = both.another().await;
    let deleted = both.cold_links(5).await;
    let (warm, cold) = (both.cold_links(3).await, both.cold_links(3).await);
    both.caught_up().await;
    // Both know how far the primary is, so that both may ask the replica.
    for code in &warm {
        for server in [&both.app.server, &other] {
            assert_eq!(server.follow(code).await, 302);
        }
    }

    let mut replica = both.replica.connection().await;
    let _: () = ask(&mut replica, "SELECT pg_wal_replay_pause()").await;
    eventually("it replays nothing", async || {
        let mut replica = both.replica.connection().await;
        let state: String = ask(&mut replica, "SELECT pg_get_wal_replay_pause_state()").await;
        state == "paused"
    })
    .await;
    for code in &deleted {
        assert_eq!(both.app.delete(&both.token, code).await.status, 204);
        for _ in 0..3 {
            assert_eq!(other.follow(code).await, 404);
            assert_eq!(both.app.visit(&format!("/{code}")).await.status, 404);
        }
    }
    let shown: i64 = ask(&mut replica, "SELECT count(*) FROM links").await;
    assert_eq!(shown, 11, "the replica was to show them all");
    let just_started = both.another().await;
    for code in &deleted {
        assert_eq!(just_started.follow(code).await, 404);
    }
    let fresh = both.cold_links(3).await;
    for server in [&other, &just_started] {
        for code in fresh.iter().chain(&cold) {
            assert_eq!(server.follow(code).await, 302);
        }
    }
    // Whatever was asked meanwhile: nothing brings them back.
    for code in &deleted {
        for server in [&other, &just_started, &both.app.server] {
            assert_eq!(server.follow(code).await, 404);
        }
    }
    let _: () = ask(&mut replica, "SELECT pg_wal_replay_resume()").await;
    both.the_replica_answers().await;
    drop((other, just_started));
    both.finish().await;
}

#[tokio::test]
async fn no_deletion_is_undone_by_a_replica_that_is_always_late() {
    let both = Replicated::start("recovery_min_apply_delay = 300").await;
    let other = both.another().await;
    for _ in 0..4 {
        let codes = both.cold_links(15).await;
        both.caught_up().await;
        for three in codes.chunks(3) {
            assert_eq!(both.app.delete(&both.token, &three[0]).await.status, 204);
            for (server, left) in [(&other, &three[1]), (&both.app.server, &three[2])] {
                // Asks the primary, and how far that is: from here on the replica may be asked.
                assert_eq!(server.follow(left).await, 302);
                assert_eq!(server.follow(&three[0]).await, 404);
            }
            sleep(Duration::from_millis(100)).await;
        }
    }
    drop(other);
    both.finish().await;
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
    // Only the stray one sees what the first does now, and gets ahead of the second.
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
    is(&app, "up").await;
    for _ in 0..2 {
        assert_eq!(app.visit(&format!("/{}", codes[0])).await.status, 302);
    }
    assert_eq!(app.delete(&token, &codes[1]).await.status, 204);
    assert_eq!(app.visit(&format!("/{}", codes[2])).await.status, 302);
    assert_eq!(app.visit(&format!("/{}", codes[1])).await.status, 404);
    assert!(answered_by_replica(&app).await < 1.0);
    // The second is no replica of itself.
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

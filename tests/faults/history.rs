//! A Postgres that goes back: a standby that lagged takes over, or an old copy of the files is started.

use std::time::Duration;

use tokio::time::sleep;

use crate::faults::metric;
use crate::faults::postgres::Postgres;
use crate::support::{App, Mode, RedisServer, Server, eventually};

const WENT_BACK: &str = "shunt_database_rolled_back_total";
const RARELY: (&str, &str) = ("FLUSH_INTERVAL_MS", "600000");

/// A primary, and a standby of it.
struct Pair {
    primary: Postgres,
    standby: Postgres,
}

impl Pair {
    async fn start() -> Self {
        let primary = Postgres::start();
        for sql in [
            "CREATE ROLE service LOGIN",
            "CREATE DATABASE service OWNER service",
        ] {
            let mut by_hand = primary.connection().await;
            sqlx::raw_sql(sql).execute(&mut by_hand).await.unwrap();
        }
        let standby = primary.replica("");
        Self { primary, standby }
    }

    /// The database of an ordinary role, which owns it and nothing else.
    fn url(&self) -> String {
        let mut url = url::Url::parse(&self.primary.url()).unwrap();
        url.set_username("service").unwrap();
        url.set_path("service");
        url.into()
    }

    /// Waits until the standby has all that was written, and lets it fall behind from then on.
    async fn fall_behind(&self) {
        crate::faults::replica::caught_up(&self.standby, &self.primary).await;
        self.standby.stop();
    }

    /// The primary dies, and the standby takes its place and its address.
    async fn fail_over(&mut self) {
        self.primary.kill();
        self.standby.take_over(&self.primary).await;
    }
}

async fn id_of(app: &App, token: &str, code: &str) -> i64 {
    let listed = app.get_as(token, "/urls/my").await.json();
    let links = listed.as_array().unwrap();
    let found = links.iter().find(|link| link["short_code"] == code);
    found.unwrap()["id"].as_i64().unwrap()
}

async fn account_of(app: &App, token: &str) -> i64 {
    app.get_as(token, "/auth/me").await.json()["id"]
        .as_i64()
        .unwrap()
}

/// Whether the clients of this instance are served by a primary again.
async fn is_served_again(app: &App) {
    eventually("the database is back", async || {
        app.get("/ready").await.json()["database"] == "up"
    })
    .await;
}

async fn comes_to_404(server: &Server, code: &str) {
    eventually("a lost link is not followed", async || {
        server.follow(code).await == 404
    })
    .await;
}

/// Redis or none: without it, other instances learn of it through the database alone.
async fn a_lagging_standby_takes_over(redis: Option<&str>) {
    let mut pair = Pair::start().await;
    let url = pair.url();
    let mut settings = vec![
        ("DATABASE_URL", url.as_str()),
        ("CACHE_TTL_SECONDS", "600"),
        RARELY,
    ];
    settings.push(("REDIS_URL", redis.unwrap_or_default()));
    let app = App::start_with(Mode::Production, &settings).await;
    let other = app.another(&settings).await;
    let token = app.register().await;
    let kept = app.shorten(&token, "https://example.org/kept").await;
    assert_eq!(app.visit(&format!("/{kept}")).await.status, 302);
    pair.fall_behind().await;

    // All of this is lost.
    let mut lost = Vec::new();
    for number in 0..5 {
        let target = format!("https://example.org/lost/{number}");
        lost.push(app.shorten(&token, &target).await);
    }
    let newest_link = id_of(&app, &token, &lost[4]).await;
    let lost_account = app.register().await;
    let newest_account = account_of(&app, &lost_account).await;
    for code in &lost {
        for server in [&app.server, &other] {
            assert_eq!(server.follow(code).await, 302);
        }
    }
    // So that Redis remembers the newest link.
    sleep(Duration::from_millis(1_500)).await;

    pair.fail_over().await;
    is_served_again(&app).await;
    // At once, before any check in the background.
    let fresh = app.shorten(&token, "https://example.org/fresh").await;
    let account = app.register().await;
    assert!(id_of(&app, &token, &fresh).await > newest_link);
    assert!(account_of(&app, &account).await > newest_account);
    app.get_as(&lost_account, "/auth/me")
        .await
        .is_error(401, "Not authenticated");
    for code in &lost {
        for server in [&app.server, &other] {
            comes_to_404(server, code).await;
        }
    }
    assert_eq!(app.visit(&format!("/{kept}")).await.status, 302);
    assert_eq!(app.clicks(&fresh).await, 0, "no click of a lost link");
    eventually("it is told", async || metric(&app, WENT_BACK).await > 0.0).await;
    assert!(app.server.log().contains("the database went back"));
    drop(other);
    app.finish().await;
}

#[tokio::test]
async fn behind_a_standby_that_lagged_no_id_comes_again_and_no_lost_link_is_followed() {
    let redis = RedisServer::start(&[]).await;
    a_lagging_standby_takes_over(Some(&redis.url())).await;
}

#[tokio::test]
async fn without_redis_no_id_comes_again_behind_a_standby_that_lagged() {
    a_lagging_standby_takes_over(None).await;
}

#[tokio::test]
async fn an_instance_that_was_stopped_meanwhile_compares_the_database_with_what_redis_remembers() {
    let redis = RedisServer::start(&[]).await;
    let redis = redis.url();
    let postgres = Postgres::start();
    let url = postgres.url();
    let settings = [
        ("DATABASE_URL", url.as_str()),
        ("REDIS_URL", redis.as_str()),
        RARELY,
    ];
    let mut app = App::start_with(Mode::Production, &settings).await;
    let token = app.register().await;
    let kept = app.shorten(&token, "https://example.org/kept").await;
    postgres.stop();
    let backup = postgres.copy();
    postgres.start_again();
    is_served_again(&app).await;
    let lost = app.shorten(&token, "https://example.org/lost").await;
    let newest = id_of(&app, &token, &lost).await;
    assert_eq!(app.server.follow(&lost).await, 302);
    sleep(Duration::from_millis(1_500)).await;
    app.server.kill();

    postgres.stop();
    postgres.put_back(&backup);
    postgres.start_again();
    app.server = app.another(&settings).await;
    assert_eq!(app.server.follow(&lost).await, 404);
    let fresh = app.shorten(&token, "https://example.org/fresh").await;
    assert!(id_of(&app, &token, &fresh).await > newest);
    assert_eq!(app.visit(&format!("/{kept}")).await.status, 302);
    assert_eq!(app.visit(&format!("/{fresh}")).await.status, 302);
    assert!(metric(&app, WENT_BACK).await > 0.0);
    app.finish().await;
}

#[tokio::test]
async fn a_postgres_that_crashes_and_loses_nothing_did_not_go_back() {
    let postgres = Postgres::start();
    let url = postgres.url();
    let settings = [("DATABASE_URL", url.as_str())];
    let app = App::start_with(Mode::Production, &settings).await;
    let token = app.register().await;
    let mut newest = 0;
    for _ in 0..3 {
        let code = app.shorten(&token, "https://example.org/").await;
        let id = id_of(&app, &token, &code).await;
        // A crashed server leaves out up to 32 numbers.
        assert!((newest + 1..newest + 100).contains(&id), "{newest}, {id}");
        newest = id;
        postgres.kill();
        postgres.start_again();
        is_served_again(&app).await;
        sleep(Duration::from_millis(1_200)).await;
    }
    assert!(metric(&app, WENT_BACK).await < 1.0);
    assert!(!app.server.log().contains("another server"));
    app.finish().await;
}

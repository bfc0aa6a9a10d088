//! Harm to Postgres, and to both: redirects of known codes go on, and no click is lost.

use std::time::{Duration, Instant};

use sqlx::{Connection, PgConnection};
use tokio::time::sleep;

use crate::postgres::Postgres;
use crate::readers::Readers;
use crate::support::{App, Mode, RedisServer, eventually};
use crate::{AT_ONCE, goes_on, metric, quick_or_long, under_load, warm_links};

/// Answers of the API while the database is away.
async fn the_api_is_unavailable(app: &App, token: &str) {
    let answer = app.get_as(token, "/auth/me").await;
    assert_eq!(answer.status, 503, "{answer:?}");
    assert!(!answer.header("retry-after").is_empty());
}

async fn the_api_is_back(app: &App, token: &str) {
    eventually("the API answers again", async || {
        app.get_as(token, "/auth/me").await.status == 200
    })
    .await;
}

#[tokio::test]
async fn postgres_away_stops_no_redirect_of_a_known_code_and_loses_no_click() {
    let postgres = Postgres::start();
    let url = postgres.url();
    let settings = [("DATABASE_URL", url.as_str()), ("FLUSH_INTERVAL_MS", "20")];
    let app = App::start_with(Mode::Production, &settings).await;
    let token = app.register().await;
    let codes = warm_links(&app).await;
    let readers = Readers::start(&[&app.server.base], &codes);
    let (_, load) = under_load(&app, &codes).await;
    load.books.slowest();

    postgres.stop();
    goes_on(&load).await;
    the_api_is_unavailable(&app, &token).await;
    postgres.start_again();
    the_api_is_back(&app, &token).await;

    // Also between the commit of a flush and its removal from Redis.
    for _ in 0..quick_or_long(10, 100) {
        cut_all_connections(&url).await;
        sleep(Duration::from_millis(50)).await;
    }
    the_api_is_back(&app, &token).await;

    // Answers nothing and closes nothing.
    postgres.signal("STOP");
    goes_on(&load).await;
    let asked = Instant::now();
    the_api_is_unavailable(&app, &token).await;
    let waited = asked.elapsed();
    assert!(waited < Duration::from_secs(12), "{waited:?} for an answer");
    sleep(quick_or_long(
        Duration::from_secs(1),
        Duration::from_secs(10),
    ))
    .await;
    postgres.signal("CONT");
    the_api_is_back(&app, &token).await;

    let slowest = load.books.slowest();
    assert!(slowest < AT_ONCE, "a redirect took {slowest:?}");
    let books = load.stop().await;
    assert_eq!((books.refused(), books.cut_off()), (0, 0));
    books.are_right(&app).await;
    readers.stop().await;
    app.finish().await;
}

async fn cut_all_connections(url: &str) {
    let mut admin = PgConnection::connect(url).await.unwrap();
    sqlx::query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
        .execute(&mut admin)
        .await
        .unwrap();
}

#[tokio::test]
async fn postgres_crashing_while_large_flushes_are_written_forgets_no_part_of_them() {
    let postgres = Postgres::start();
    let url = postgres.url();
    let settings = [("DATABASE_URL", url.as_str()), ("FLUSH_INTERVAL_MS", "100")];
    let app = App::start_with(Mode::Production, &settings).await;
    let token = app.register().await;
    let mut codes = Vec::new();
    // More than are written in one transaction.
    for number in 0..800 {
        let target = format!("https://example.org/{number}");
        codes.push(app.shorten(&token, &target).await);
    }
    let (_, load) = under_load(&app, &codes).await;
    for _ in 0..quick_or_long(4, 40) {
        sleep(Duration::from_millis(300)).await;
        postgres.stop();
        postgres.start_again();
        the_api_is_back(&app, &token).await;
    }
    goes_on(&load).await;
    let books = load.stop().await;
    books.are_right(&app).await;
    app.finish().await;
}

#[tokio::test]
async fn with_redis_and_postgres_away_clicks_wait_in_memory() {
    let postgres = Postgres::start();
    let mut redis = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]).await;
    let (database_url, redis_url) = (postgres.url(), redis.url());
    let settings = [
        ("DATABASE_URL", database_url.as_str()),
        ("REDIS_URL", redis_url.as_str()),
        // What is known stays known for as long as this takes.
        ("CACHE_TTL_SECONDS", "600"),
    ];
    let app = App::start_with(Mode::Production, &settings).await;
    let codes = warm_links(&app).await;
    let (_, load) = under_load(&app, &codes).await;
    redis.kill();
    postgres.stop();
    sleep(Duration::from_millis(500)).await;
    goes_on(&load).await;
    assert!(metric(&app, "shunt_clicks_memory_only").await > 0.0);
    let answer = app.get(&format!("/urls/{}/stats", codes[0])).await;
    assert_eq!(
        answer.status, 503,
        "a number that lacks some clicks: {answer:?}"
    );
    redis.start_again().await;
    postgres.start_again();
    eventually("nothing is in memory alone", async || {
        metric(&app, "shunt_clicks_memory_only").await < f64::EPSILON
    })
    .await;
    let books = load.stop().await;
    assert_eq!((books.refused(), books.cut_off()), (0, 0));
    books.are_right(&app).await;
    app.finish().await;
}

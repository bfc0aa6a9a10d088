//! Redis emptied: what was pending in it is lost, once, and nothing is counted twice.

use std::path::Path;

use crate::load::Books;
use crate::proxy::{Harm, Proxy};
use crate::redis::{KEPT, is_used_again};
use crate::support::{App, Mode, RedisServer, eventually};
use crate::{goes_on, metric, quick_or_long, under_load, warm_links};

/// As many of the workers as notice it, each for itself, as a large machine has.
const WORKERS: (&str, &str) = ("WORKERS", "4");

/// It was told so often, by the metric and in the log. A Redis that was emptied while a busy machine kept it from
/// answering in time is looked at again a moment later.
async fn is_told(app: &App, times: u32) {
    eventually("it is told", async || {
        metric(app, "shunt_redis_emptied_total").await >= f64::from(times)
    })
    .await;
    let counted = metric(app, "shunt_redis_emptied_total").await;
    let log = app.server.log();
    let lines = log.matches("Redis lost data or was rolled back").count();
    assert_eq!(
        (counted, lines),
        (f64::from(times), times as usize),
        "metric and log lines"
    );
}

/// What is left of a lost disk.
fn empty(folder: &Path) {
    std::fs::remove_dir_all(folder).unwrap();
    std::fs::create_dir(folder).unwrap();
}

/// At most so many of the answered clicks are missing, and none was counted twice.
fn lacks_at_most(pending: u64, books: &Books, counts: &[u64]) {
    let (answered, counted) = (books.answered(), counts.iter().sum::<u64>());
    assert!(
        counted <= answered,
        "counted twice: {counted} of {answered}"
    );
    let missing = answered - counted;
    println!("{missing} of {answered} are missing, {pending} were pending");
    assert!(
        missing <= pending,
        "{missing} are missing, {pending} were pending"
    );
}

#[tokio::test]
async fn an_emptied_redis_loses_at_most_the_pending_clicks() {
    let redis = RedisServer::start(&KEPT).await;
    let url = redis.url();
    // What is pending stays so.
    let settings = [
        ("REDIS_URL", &*url),
        ("FLUSH_INTERVAL_MS", "60000"),
        WORKERS,
    ];
    let app = App::start_with(Mode::Production, &settings).await;
    let codes = warm_links(&app).await;
    let (_, load) = under_load(&app, &codes).await;
    let mut connection = redis.connection().await;
    let mut pending = 0;
    for times in 1..=quick_or_long(10, 200) {
        ::redis::cmd("FLUSHALL")
            .exec_async(&mut connection)
            .await
            .unwrap();
        pending = load.books.sent();
        goes_on(&load).await;
        is_told(&app, times).await;
    }
    let books = load.stop().await;
    assert_eq!((books.refused(), books.cut_off()), (0, 0));
    lacks_at_most(pending, &books, &books.counts(&app).await);
    app.finish().await;
}

#[tokio::test]
async fn a_redis_that_lost_its_disk_loses_at_most_the_pending_clicks_and_is_reported_once() {
    let mut redis = RedisServer::start(&KEPT).await;
    let url = redis.url();
    let settings = [("REDIS_URL", &*url), ("FLUSH_INTERVAL_MS", "100"), WORKERS];
    let app = App::start_with(Mode::Production, &settings).await;
    for times in 1..=quick_or_long(3, 30) {
        let codes = warm_links(&app).await;
        let (_, load) = under_load(&app, &codes).await;
        goes_on(&load).await;
        let mut written_back = 0;
        for code in &codes {
            written_back += app.backend.clicks_in_database(code).await;
        }
        redis.kill();
        // Until it is noticed batches are sent, which are in doubt.
        eventually("it is noticed", async || {
            metric(&app, "shunt_redis_up").await < 1.0
        })
        .await;
        let pending = load.books.sent() - written_back;
        goes_on(&load).await;
        empty(redis.folder.path());
        redis.start_again().await;
        is_used_again(&app).await;
        goes_on(&load).await;
        is_told(&app, times).await;
        let books = load.stop().await;
        assert_eq!((books.refused(), books.cut_off()), (0, 0));
        lacks_at_most(pending, &books, &books.counts(&app).await);
    }
    app.finish().await;
}

#[tokio::test]
async fn a_batch_in_doubt_that_was_written_back_before_redis_was_emptied_counts_once() {
    let redis = RedisServer::start(&KEPT).await;
    let proxy = Proxy::before(&redis.url()).await;
    let direct = redis.url();
    let rarely = [("REDIS_URL", proxy.url()), ("FLUSH_INTERVAL_MS", "60000")];
    let app = App::start_with(Mode::Production, &rarely).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    let path = format!("/{code}");
    assert_eq!(app.visit(&path).await.status, 302);
    // Redis does what it is asked, and nobody hears of it.
    proxy.does(Harm::Silent);
    assert_eq!(app.visit(&path).await.status, 302);
    let often = [("REDIS_URL", &*direct), ("FLUSH_INTERVAL_MS", "20")];
    let other = app.another(&often).await;
    app.written_back(&code, 2).await;
    let mut connection = redis.connection().await;
    ::redis::cmd("FLUSHALL")
        .exec_async(&mut connection)
        .await
        .unwrap();
    proxy.does(Harm::None);
    is_used_again(&app).await;
    eventually("the count is to be had", async || {
        app.get(&format!("/urls/{code}/stats")).await.status == 200
    })
    .await;
    assert_eq!(app.clicks(&code).await, 2);
    assert_eq!(app.visit(&path).await.status, 302);
    app.written_back(&code, 3).await;
    drop(other);
    app.finish().await;
}

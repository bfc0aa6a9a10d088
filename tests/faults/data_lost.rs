//! Data lost in Redis: at most the pending clicks are missing, the loss is reported once, and no click counts twice.

use std::path::Path;

use crate::faults::load::Tally;
use crate::faults::proxy::{Fault, Proxy};
use crate::faults::redis::{FSYNC_ALWAYS, is_used_again};
use crate::faults::{metric, quick_or_long, redirects_go_on, under_load, warm_links};
use crate::support::{App, Mode, RedisServer, eventually};

/// As many workers as a large machine has, each of which notices the loss for itself.
const WORKERS: (&str, &str) = ("WORKERS", "4");

/// The metric and the log report this many losses. Where a busy machine kept Redis from answering in time, the
/// instance notices the loss a moment later.
async fn is_reported(app: &App, times: u32) {
    eventually("the loss is reported", async || {
        metric(app, "shunt_redis_data_lost_total{shard=\"0\"}").await >= f64::from(times)
    })
    .await;
    let counted = metric(app, "shunt_redis_data_lost_total{shard=\"0\"}").await;
    let log = app.server.log();
    let lines = log.matches("Redis lost data or was rolled back").count();
    assert_eq!(
        (counted, lines),
        (f64::from(times), times as usize),
        "metric and log lines"
    );
}

/// Empties the folder, as after the loss of a disk.
fn empty(folder: &Path) {
    std::fs::remove_dir_all(folder).unwrap();
    std::fs::create_dir(folder).unwrap();
}

/// At most this many of the answered clicks are missing, and none was counted twice.
fn lacks_at_most(pending: u64, tally: &Tally, counts: &[u64]) {
    let (answered, counted) = (tally.answered(), counts.iter().sum::<u64>());
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
    let redis = RedisServer::start(&FSYNC_ALWAYS).await;
    let url = redis.url();
    // Pending clicks stay pending.
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
        pending = load.tally.sent();
        redirects_go_on(&load).await;
        is_reported(&app, times).await;
    }
    let tally = load.stop().await;
    assert_eq!((tally.refused(), tally.cut_off()), (0, 0));
    lacks_at_most(pending, &tally, &tally.counts(&app).await);
    app.finish().await;
}

#[tokio::test]
async fn a_redis_that_lost_its_disk_loses_at_most_the_pending_clicks_and_is_reported_once() {
    let mut redis = RedisServer::start(&FSYNC_ALWAYS).await;
    let url = redis.url();
    let settings = [("REDIS_URL", &*url), ("FLUSH_INTERVAL_MS", "100"), WORKERS];
    let app = App::start_with(Mode::Production, &settings).await;
    for times in 1..=quick_or_long(3, 30) {
        let codes = warm_links(&app).await;
        let (_, load) = under_load(&app, &codes).await;
        redirects_go_on(&load).await;
        let mut written_back = 0;
        for code in &codes {
            written_back += app.backend.clicks_in_database(code).await;
        }
        redis.kill();
        // Until the failure is noticed, batches are still sent, and are in doubt.
        eventually("the failure is noticed", async || {
            metric(&app, "shunt_redis_up{shard=\"0\"}").await < 1.0
        })
        .await;
        let pending = load.tally.sent() - written_back;
        redirects_go_on(&load).await;
        empty(redis.folder.path());
        redis.start_again().await;
        is_used_again(&app).await;
        redirects_go_on(&load).await;
        is_reported(&app, times).await;
        let tally = load.stop().await;
        assert_eq!((tally.refused(), tally.cut_off()), (0, 0));
        lacks_at_most(pending, &tally, &tally.counts(&app).await);
    }
    app.finish().await;
}

#[tokio::test]
async fn a_batch_in_doubt_that_was_written_back_before_redis_was_emptied_counts_once() {
    let redis = RedisServer::start(&FSYNC_ALWAYS).await;
    let proxy = Proxy::to(&redis.url()).await;
    let direct = redis.url();
    let rarely = [("REDIS_URL", proxy.url()), ("FLUSH_INTERVAL_MS", "60000")];
    let app = App::start_with(Mode::Production, &rarely).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    let path = format!("/{code}");
    assert_eq!(app.visit(&path).await.status, 302);
    // Redis executes commands, but its replies are lost.
    proxy.inject(Fault::Silent);
    assert_eq!(app.visit(&path).await.status, 302);
    let often = [("REDIS_URL", &*direct), ("FLUSH_INTERVAL_MS", "20")];
    let other = app.another(&often).await;
    app.written_back(&code, 2).await;
    let mut connection = redis.connection().await;
    ::redis::cmd("FLUSHALL")
        .exec_async(&mut connection)
        .await
        .unwrap();
    proxy.inject(Fault::None);
    is_used_again(&app).await;
    eventually("the count is available", async || {
        app.get(&format!("/urls/{code}/stats")).await.status == 200
    })
    .await;
    assert_eq!(app.clicks(&code).await, 2);
    assert_eq!(app.visit(&path).await.status, 302);
    app.written_back(&code, 3).await;
    drop(other);
    app.finish().await;
}

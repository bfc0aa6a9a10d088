//! Harm done to a real service under real load, with a real Postgres and a real Redis; then the books are
//! checked.
//!
//! `SHUNT_TEST_LONG=1` (`tests/run --long`) makes the harm longer and more frequent.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[expect(dead_code, reason = "shared with the suite, which uses the rest")]
#[expect(unused_macros, reason = "shared with the suite, which uses the rest")]
#[expect(unused_imports, reason = "shared with the suite, which uses the rest")]
#[path = "../suite/support/mod.rs"]
mod support;

mod api;
mod load;
mod nginx;
mod postgres;
mod proxy;
mod readers;

mod both_away;
mod clock;
mod data_lost;
mod databases;
mod instances;
mod redis;
mod replica;
mod service;
mod system;

use std::time::Duration;

use load::{Address, Load};
use support::{App, eventually};

/// Visitors of one test.
const VISITORS: usize = 16;

/// Far above any deadline, so that a busy machine passes; far below any time-out that would tell of waiting.
const AT_ONCE: Duration = Duration::from_millis(1_500);

/// In production: Postgres alone.
const WITHOUT_REDIS: (&str, &str) = ("REDIS_URL", "");

/// One of the two, by how long the tests may take.
fn quick_or_long<T>(quick: T, long: T) -> T {
    if std::env::var_os("SHUNT_TEST_LONG").is_some() {
        long
    } else {
        quick
    }
}

/// Links of a fresh account, each followed once: known to the process.
async fn warm_links(app: &App) -> Vec<String> {
    let token = app.register().await;
    let mut codes = Vec::new();
    for number in 0..20 {
        let code = app
            .shorten(&token, &format!("https://example.org/{number}"))
            .await;
        codes.push(code);
    }
    codes
}

/// Visitors of an instance, who have been at it for a moment.
async fn under_load(app: &App, codes: &[String]) -> (Address, Load) {
    let address = Address::of(&app.server.base);
    let load = Load::start(&address, codes, VISITORS);
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(load.books.answered() > 0, "nobody is answered");
    (address, load)
}

/// Half a second passes, and redirects are answered. How many in that time is the machine's; how long each may
/// take is looked at where it matters.
async fn goes_on(load: &Load) {
    let before = load.books.answered();
    tokio::time::sleep(Duration::from_millis(500)).await;
    eventually("redirects are answered", async || {
        load.books.answered() - before > 50
    })
    .await;
}

/// Every answered click is with a sink.
async fn nothing_is_in_memory_alone(app: &App) {
    eventually("nothing is in memory alone", async || {
        metric(app, "shunt_clicks_memory_only").await < f64::EPSILON
    })
    .await;
}

/// Sends a signal by name, such as `STOP`.
fn signal(process: u32, name: &str) {
    let mut kill = std::process::Command::new("kill");
    let sent = kill
        .arg(format!("-{name}"))
        .arg(process.to_string())
        .status();
    assert!(sent.unwrap().success());
}

/// A metric, with its labels as they are written.
async fn metric(app: &App, name: &str) -> f64 {
    let metrics = app.get("/metrics").await.text;
    let line = format!("{name} ");
    let value = metrics.lines().find_map(|text| text.strip_prefix(&line));
    value.map_or(0.0, |value| value.parse().unwrap())
}

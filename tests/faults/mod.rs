//! Faults injected into a real service under load, with a real Postgres and a real Redis; then the counts are
//! compared with the answered redirects.
//!
//! `SHUNT_TEST_LONG=1` (`tests/run --long`) makes the faults longer and more frequent.

mod api;
mod load;
mod nginx;
mod postgres;
mod proxy;
mod readers;

mod backup;
mod both_away;
mod clock;
mod committed;
mod data_lost;
mod databases;
mod deletions;
mod edits;
mod history;
mod instances;
mod late_redis;
mod max_clicks;
mod redis;
mod redis_away;
mod replica;
mod routes;
mod service;
mod system;
mod terms;
mod versions;

use std::time::Duration;

use crate::support::{App, eventually};
use load::{Address, Load};

/// Clients of one test.
const CLIENTS: usize = 16;

/// The longest that a redirect may take: far above any deadline, so that a busy machine passes, and far below
/// any time-out.
const MAX_DELAY: Duration = Duration::from_millis(1_500);

/// The setting that makes production run on Postgres alone.
const WITHOUT_REDIS: (&str, &str) = ("REDIS_URL", "");

/// Chooses by how long the tests may take.
fn quick_or_long<T>(quick: T, long: T) -> T {
    if std::env::var_os("SHUNT_TEST_LONG").is_some() {
        long
    } else {
        quick
    }
}

/// Links of a fresh account.
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

/// An instance under load from clients that already got responses.
async fn under_load(app: &App, codes: &[String]) -> (Address, Load) {
    loaded(app, |address| Load::start(address, codes, CLIENTS)).await
}

/// The same with all the load that the machine can take.
async fn under_full_load(app: &App, codes: &[String]) -> (Address, Load) {
    loaded(app, |address| Load::full(address, codes, CLIENTS)).await
}

async fn loaded(app: &App, start: impl FnOnce(&Address) -> Load) -> (Address, Load) {
    let address = Address::of(&app.server.base);
    let load = start(&address);
    let links = load.tally.codes().len();
    eventually(
        "all clients get responses, and all links are known",
        async || {
            let is_known = |link| load.tally.answered_to(link) > 0;
            load.tally.answered() > 2 * CLIENTS as u64 && (0..links).all(is_known)
        },
    )
    .await;
    (address, load)
}

/// Waits half a second, and until some redirects were answered. Latency is checked where it matters.
async fn redirects_go_on(load: &Load) {
    let before = load.tally.answered();
    tokio::time::sleep(Duration::from_millis(500)).await;
    eventually("redirects are answered", async || {
        load.tally.answered() - before > 50
    })
    .await;
}

/// Waits until every answered click is with a sink.
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

/// A metric; `name` includes the labels as they are written.
async fn metric(app: &App, name: &str) -> f64 {
    let metrics = app.get("/metrics").await.text;
    let line = format!("{name} ");
    let value = metrics.lines().find_map(|text| text.strip_prefix(&line));
    value.map_or(0.0, |value| value.parse().unwrap())
}

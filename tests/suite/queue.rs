//! The queue of passwords to be hashed, as clients see it that share it with an attacker.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::{App, Mode, Response, eventually, unique};

const ONE_AT_ONCE: &[(&str, &str)] = &[
    ("HASHING_CONCURRENCY", "1"),
    ("TRUSTED_PROXIES", "127.0.0.0/8"),
];

const ATTACKER: &str = "203.0.113.66";

/// A connection with a log-in on it.
async fn logging_in(base: &str, from: &str) -> TcpStream {
    let mut stream = TcpStream::connect(base.trim_start_matches("http://"))
        .await
        .unwrap();
    let body = json!({ "email": format!("{}@example.org", unique()), "password": "wrong horse" });
    let body = body.to_string();
    let request = format!(
        "POST /auth/login HTTP/1.1\r\nHost: test\r\nX-Forwarded-For: {from}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

async fn metric(app: &App, line: &str) -> f64 {
    let metrics = app.get("/metrics").await.text;
    let value = metrics.lines().find_map(|text| text.strip_prefix(line));
    value.map_or(0.0, |value| value.trim().parse().unwrap())
}

async fn waiting(app: &App) -> f64 {
    metric(app, "shunt_password_hashing{state=\"waiting\"}").await
}

#[tokio::test]
async fn a_log_in_whose_client_has_left_waits_no_more() {
    let app = App::start_with(Mode::Embedded, ONE_AT_ONCE).await;
    let connections = (0..200).map(|_| logging_in(&app.server.base, ATTACKER));
    let connections = join_all(connections).await;
    eventually("they wait", async || waiting(&app).await > 20.0).await;
    drop(connections);
    eventually("none waits", async || waiting(&app).await == 0.0).await;
    let hashed = metric(&app, "shunt_password_hashes_total").await;
    assert!(hashed < 180.0, "{hashed} were hashed all the same");
    app.finish().await;
}

/// 300 log-ins that are closed at once, and 40 a second that stay, all from one address.
#[tokio::test]
async fn right_log_ins_get_in_while_one_address_floods_the_queue() {
    let app = App::start_with(Mode::Embedded, ONE_AT_ONCE).await;
    let email = format!("{}@example.org", unique());
    app.account("/auth/register", &email, "correct horse").await;
    let over = Arc::new(AtomicBool::new(false));
    let (base, ended) = (app.server.base.clone(), Arc::clone(&over));
    let attack = tokio::spawn(async move {
        drop(join_all((0..300).map(|_| logging_in(&base, ATTACKER))).await);
        let mut kept = Vec::new();
        for _ in 0..270 {
            kept.push(logging_in(&base, ATTACKER).await);
        }
        while !ended.load(Ordering::Relaxed) {
            kept.push(logging_in(&base, ATTACKER).await);
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
    });
    eventually("the queue is full", async || {
        app.limit_hits("hashing").await > 0
    })
    .await;
    for number in 1..=6 {
        let body = json!({ "email": email, "password": "correct horse" });
        let request = app
            .request(reqwest::Method::POST, "/auth/login")
            .header("x-forwarded-for", format!("198.51.100.{number}"))
            .body(body.to_string());
        let response = Response::of(request).await;
        assert_eq!(response.status, 200, "{number}: {response:?}");
    }
    over.store(true, Ordering::Relaxed);
    attack.await.unwrap();
    app.finish().await;
}

/// Niceness and scheduling policy of the threads that hash (`man 5 proc_pid_stat`, fields 19 and 41).
#[cfg(target_os = "linux")]
fn priorities_of_hashing(pid: u32) -> Vec<(i32, i32)> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let stat = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("stat")).ok();
    let priority = |stat: String| {
        let rest = stat.split_once("(hashing) ")?.1;
        let fields: Vec<_> = rest.split(' ').collect();
        // The first one is field 3.
        Some((fields.get(16)?.parse().ok()?, fields.get(38)?.parse().ok()?))
    };
    let tasks = tasks.flatten().filter_map(stat);
    tasks.filter_map(priority).collect()
}

/// At idle priority a log-in beside other busy processes took many seconds.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn hashing_yields_to_redirects_and_is_not_left_to_idle_time() {
    let app = App::start_with(Mode::Embedded, ONE_AT_ONCE).await;
    let log_ins = join_all((0..40).map(|_| logging_in(&app.server.base, ATTACKER))).await;
    eventually("a hash runs at its own priority", async || {
        priorities_of_hashing(app.server.pid()).contains(&(5, 0))
    })
    .await;
    drop(log_ins);
    app.finish().await;
}

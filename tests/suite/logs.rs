//! Request ids, and log lines about requests.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use shunt::domain::Timestamp;

use crate::support::{
    App, Backend, Mode, RedisServer, Response, both_modes, command, eventually, raw, unique,
};

both_modes! {
    async fn every_response_carries_its_request_id(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let mut seen = Vec::new();
        for path in ["/health", "/urls/my", "/nobody", "/a/b", "/docs", "/urls/r/nobody"] {
            seen.push(app.get(path).await.header("x-request-id").to_owned());
        }
        for _ in 0..3 {
            seen.push(app.visit(&format!("/{code}")).await.header("x-request-id").to_owned());
        }
        assert!(seen.iter().all(|id| id.len() == 16), "{seen:?}");
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 9);
    }

    async fn the_id_that_a_request_brings_is_kept(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for path in [format!("/{code}"), format!("/urls/r/{code}"), format!("/%{:x}{}", code.as_bytes()[0], &code[1..]),
            "/nobody".into(), "/health".into(), "/a/b".into()] {
            let request = app.request(Method::HEAD, &path).header("X-Request-Id", "Edge-7/42:b");
            assert_eq!(Response::of(request).await.header("x-request-id"), "Edge-7/42:b", "{path}");
        }
    }

    async fn an_id_that_is_not_one_short_word_is_replaced(app) {
        for id in ["two words", "", "caf\u{e9}", &"x".repeat(129)] {
            for path in ["/health", "/nobody"] {
                let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nX-Request-Id: {id}\r\n\r\n");
                let response = raw::exchange(&app.server.base, &request).await;
                let line = response.lines().find(|line| line.starts_with("x-request-id: ")).unwrap();
                assert_eq!(line.len(), "x-request-id: ".len() + 16, "{id:?}: {line}");
            }
        }
    }
}

/// The log lines about responses to this request, once there is one.
async fn lines_about(app: &App, id: &str) -> Vec<Value> {
    eventually("the response is logged", async || {
        app.server.log().contains(id)
    })
    .await;
    let log = app.server.log();
    log.lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["fields"]["message"] == "answered" && line["span"]["request_id"] == id)
        .collect()
}

#[tokio::test]
async fn at_debug_each_request_is_one_line() {
    let settings = [("LOG_FORMAT", "json"), ("RUST_LOG", "shunt=debug")];
    let app = App::start_with(Mode::Embedded, &settings).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    let redirect = format!("/{code}");
    for (path, id, status) in [
        ("/urls/my?limit=1", "listing", 401),
        (&redirect, "following", 302),
        ("/nobody", "missing", 404),
    ] {
        let request = app.request(Method::GET, path).header("x-request-id", id);
        assert_eq!(Response::of(request).await.status, status);
        let lines = lines_about(&app, id).await;
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert_eq!(lines[0]["fields"]["status"], status);
        let path = path.split('?').next().unwrap();
        assert_eq!(lines[0]["span"]["url.path"], path);
        assert!(lines[0]["fields"]["seconds"].as_f64().unwrap() > 0.0);
    }
}

#[tokio::test]
async fn at_info_requests_are_not_logged() {
    let app = App::start(Mode::Embedded).await;
    let request = app
        .request(Method::GET, "/nobody")
        .header("x-request-id", "quiet");
    Response::of(request).await;
    assert_eq!(app.get("/health").await.status, 200);
    assert!(!app.server.log().contains("quiet"));
    app.finish().await;
}

#[tokio::test]
async fn no_secret_is_logged_at_any_level() {
    let mode = Mode::Production;
    let app = App::start_with(mode, &[("RUST_LOG", "trace"), ("LOG_FORMAT", "json")]).await;
    let (email, password) = (format!("{}@example.org", unique()), "open sesame, please");
    app.account("/auth/register", &email, password).await;
    let response = app.account("/auth/login", &email, password).await;
    let token = response.json()["access_token"].as_str().unwrap().to_owned();
    let code = app
        .shorten(&token, "https://example.org/?key=of-the-target")
        .await;
    app.get_as(&token, "/urls/my?cursor=of-the-cursor").await;
    app.get_as(&format!("{token}x"), "/auth/me").await;
    app.account("/auth/login", &email, "open sesame, wrongly")
        .await;
    app.post(
        "/auth/login",
        json!({ "email": email, "password": 17 }).to_string(),
    )
    .await;
    app.visit(&format!("/{code}?token={token}")).await;
    let log = app.server.log();
    assert!(log.contains("answered"));
    let signature = token.rsplit('.').next().unwrap();
    for secret in [
        &*email,
        "open sesame",
        signature,
        "of-the-target",
        "of-the-cursor",
    ] {
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret}");
    }
    app.finish().await;
}

/// Every line has the shape of the log.
fn is_log(text: &str) {
    assert!(!text.is_empty());
    for line in text.lines() {
        let parsed: Value =
            serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"));
        let time = parsed["timestamp"].as_str().unwrap();
        assert!(time.parse::<Timestamp>().is_ok(), "{line}");
        assert!(
            ["ERROR", "WARN", "INFO"].contains(&parsed["level"].as_str().unwrap()),
            "{line}"
        );
        assert!(
            !parsed["fields"]["message"].as_str().unwrap().is_empty(),
            "{line}"
        );
        assert!(parsed["target"].is_string(), "{line}");
    }
}

/// Runs the program with these settings until it listens or ends; what it wrote to standard output and standard error.
async fn output_of_a_run(settings: &[(String, String)], line: &[&str]) -> (String, String) {
    let mut child = command(settings)
        .args(line)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    tokio::task::spawn_blocking(move || {
        let mut log = String::new();
        for line in stderr.lines().map_while(Result::ok) {
            if line.contains("listening") {
                let killed = Command::new("kill").arg(child.id().to_string()).status();
                assert!(killed.unwrap().success());
            }
            log += &line;
            log.push('\n');
        }
        let output = child.wait_with_output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), log)
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn in_a_log_for_machines_every_line_from_the_first_to_the_last_has_one_shape() {
    let backend = Backend::new(Mode::Embedded).await;
    let mut settings = backend.settings();
    for (name, value) in [
        ("BIND", "127.0.0.1:0"),
        ("LOG_FORMAT", "json"),
        ("RUST_LOG", "info"),
    ] {
        settings.push((name.to_owned(), value.to_owned()));
    }
    let (output, log) = output_of_a_run(&settings, &[]).await;
    assert_eq!(output, "");
    is_log(&log);
    let listening = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|line| line["fields"]["message"] == "listening")
        .unwrap();
    let address = listening["fields"]["address"].as_str().unwrap();
    assert!(address.starts_with("127.0.0.1:"), "{listening}");
    assert!(log.contains("stopped"), "{log}");
}

#[tokio::test]
async fn where_a_service_listens_is_logged_at_every_level() {
    let backend = Backend::new(Mode::Embedded).await;
    let mut settings = backend.settings();
    for (name, value) in [
        ("BIND", "127.0.0.1:0"),
        ("LOG_FORMAT", "json"),
        ("RUST_LOG", "error"),
    ] {
        settings.push((name.to_owned(), value.to_owned()));
    }
    let (_, log) = output_of_a_run(&settings, &[]).await;
    is_log(&log);
    assert_eq!(log.lines().count(), 1, "{log}");
}

#[tokio::test]
async fn in_a_log_for_machines_a_refused_start_is_a_line_of_it() {
    let occupied = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let occupied = occupied.local_addr().unwrap().to_string();
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}/shunt.db", folder.path().display());
    for (name, value, line, code, word) in [
        ("WORKERS", "many", &[][..], 1, "WORKERS"),
        ("BIND", &*occupied, &[], 1, "BIND"),
        (
            "RUST_LOG",
            "info",
            &["serve", "--no-such-flag"],
            2,
            "--no-such-flag",
        ),
        (
            "RUST_LOG",
            "info",
            &["migrate", "--no-such-flag"],
            2,
            "--no-such-flag",
        ),
    ] {
        let settings = [
            ("LOG_FORMAT", "json"),
            ("DATABASE_URL", &database),
            (name, value),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let (output, log) = output_of_a_run(&settings, line).await;
        assert_eq!(output, "");
        is_log(&log);
        let last: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
        assert_eq!(last["fields"]["exit_code"], code, "{last}");
        assert!(
            last["fields"]["message"].as_str().unwrap().contains(word),
            "{last}"
        );
    }
}

#[tokio::test]
async fn a_redis_that_comes_and_goes_is_logged_once_and_counted() {
    const TIMES: usize = 4;
    let started = Instant::now();
    let mut redis = RedisServer::start(&["--appendonly", "yes"]).await;
    let app = App::start_with(Mode::Production, &[("REDIS_URL", &redis.url())]).await;
    let value = async |name: &str| {
        let metrics = app.get("/metrics").await.text;
        let value = metrics.lines().find_map(|line| line.strip_prefix(name));
        value.unwrap().trim().parse::<usize>().unwrap()
    };
    for times in 1..=TIMES {
        redis.kill();
        eventually("its absence is counted", async || {
            value("shunt_redis_outages_total{shard=\"0\"}").await >= times
        })
        .await;
        redis.start_again().await;
        eventually("it is used again", async || {
            value("shunt_redis_up{shard=\"0\"}").await == 1
        })
        .await;
    }
    let log = app.server.log();
    let lines = |text: &str| log.lines().filter(|line| line.contains(text)).count();
    // Once a minute at most, however slow this machine is.
    let minutes = usize::try_from(started.elapsed().as_secs() / 60).unwrap();
    let (away, up) = (lines("Redis is away"), lines("Redis is up"));
    assert!((1..=1 + minutes).contains(&away), "{log}");
    // The first is of the start.
    assert!((2..=2 + minutes).contains(&up), "{log}");
    app.finish().await;
}

/// A terminal that is paused with Ctrl-S leaves its log unread, and so does a log driver that hangs.
#[tokio::test]
async fn an_unread_log_delays_no_request() {
    const MORE_LINES_THAN_A_PIPE_HOLDS: usize = 2_000;
    let backend = Backend::new(Mode::Embedded).await;
    let mut settings = backend.settings();
    settings.push(("RUST_LOG".into(), "shunt=debug".into()));
    settings.push(("BIND".into(), "127.0.0.1:0".into()));
    let (_unread, stderr) = std::io::pipe().unwrap();
    let mut child = command(&settings)
        .stdout(Stdio::piped())
        .stderr(stderr)
        .spawn()
        .unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let base = stdout.lines().find_map(|line| {
        let line = line.unwrap();
        let (_, address) = line.split_once("listening on ")?;
        Some(address.trim().to_owned())
    });
    let base = base.unwrap();
    let client = reqwest::Client::builder()
        .timeout(Duration::from_secs(10))
        .build()
        .unwrap();
    for _ in 0..MORE_LINES_THAN_A_PIPE_HOLDS {
        let response = client.get(format!("{base}/nobody1")).send().await.unwrap();
        assert_eq!(response.status(), 404);
    }
    let killed = Command::new("kill").arg(child.id().to_string()).status();
    assert!(killed.unwrap().success());
    let ended = tokio::task::spawn_blocking(move || child.wait().unwrap());
    let ended = tokio::time::timeout(Duration::from_secs(30), ended).await;
    assert_eq!(ended.unwrap().unwrap().code(), Some(0));
}

//! Settings that are wrong, missing or left out.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use sqlx::{Connection, SqliteConnection};

use crate::support::{App, Backend, Mode, RedisServer, Server, command, eventually, refused};

fn settings(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn a_wrong_setting_stops_the_start_with_one_line_that_names_it() {
    for (name, value) in [
        ("BIND", "nowhere"),
        ("BASE_URL", "sho.rt"),
        ("DATABASE_URL", "mysql://localhost/x"),
        ("REDIS_URL", "localhost"),
        ("REDIS_PREFIX", "a b"),
        ("JWT_SECRET", "short"),
        ("JWT_TTL_SECONDS", "soon"),
        ("METRICS_BIND", "9090"),
        ("LOG_FORMAT", "xml"),
        ("RUST_LOG", "shunt=loud"),
        ("WORKERS", "0"),
        ("CACHE_MAX_LINKS", "-1"),
        ("CACHE_TTL_SECONDS", "0"),
        ("LOOKUP_CONCURRENCY", "0"),
        ("CLICK_DEADLINE_MS", "1s"),
        ("FLUSH_INTERVAL_MS", "0"),
        ("HASHING_CONCURRENCY", "x"),
        ("SHUTDOWN_TIMEOUT_SECONDS", "0"),
        ("DATABASE_MAX_CONNECTIONS", "0"),
        ("LIMIT_LOGIN", "many"),
        ("CORS_ORIGINS", "https://a.example, *"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}/shunt.db", folder.path().display());
        let mut all = settings(&[("DATABASE_URL", &database)]);
        all.extend(settings(&[(name, value)]));
        let ended = refused(&all);
        assert_eq!(ended.status.code(), Some(1), "{name}");
        assert_eq!(ended.stderr.lines().count(), 1, "{name}: {}", ended.stderr);
        assert!(ended.stderr.contains(name), "{name}: {}", ended.stderr);
    }
}

#[test]
fn postgres_without_a_secret_refuses_to_start() {
    let ended = refused(&settings(&[("DATABASE_URL", "postgres://localhost/shunt")]));
    assert_eq!(ended.status.code(), Some(1));
    assert!(ended.stderr.contains("JWT_SECRET"), "{}", ended.stderr);
}

#[test]
fn postgres_is_migrated_without_a_secret() {
    let mut migrate = command(&settings(&[(
        "DATABASE_URL",
        "postgres://127.0.0.1:9/shunt",
    )]));
    let mut child = migrate
        .arg("migrate")
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    // The program gets as far as trying to connect.
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    stderr.read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.contains("DATABASE_URL"), "{line}");
}

#[test]
fn a_database_that_is_missing_is_tried_again_for_30_seconds_and_then_named() {
    let secret = "0123456789abcdef".repeat(2);
    let started = std::time::Instant::now();
    let ended = refused(&settings(&[
        ("DATABASE_URL", "postgres://u:hidden@127.0.0.1:9/shunt"),
        ("JWT_SECRET", &secret),
    ]));
    assert!(started.elapsed().as_secs() >= 25, "{}", ended.stderr);
    assert_eq!(ended.status.code(), Some(1));
    let last = ended.stderr.lines().last().unwrap();
    assert!(last.contains("DATABASE_URL"), "{last}");
    assert!(
        ended.stderr.lines().count() > 3,
        "it says so meanwhile: {}",
        ended.stderr
    );
    assert!(!ended.stderr.contains("hidden"), "passwords stay secret");
}

#[tokio::test]
async fn a_missing_redis_is_named_and_the_service_runs_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}/shunt.db", folder.path().display());
    let server = Server::start(&settings(&[
        ("DATABASE_URL", &database),
        ("REDIS_URL", "redis://:hidden@127.0.0.1:9"),
    ]))
    .await;
    assert_eq!(server.follow("unseen").await, 404);
    let log = server.log();
    assert!(log.contains("REDIS_URL"), "{log}");
    assert!(!log.contains("hidden"), "passwords stay secret");
}

#[tokio::test]
async fn servers_that_form_no_cluster_are_not_used_as_one() {
    let (one, other) = (RedisServer::start(&[]).await, RedisServer::start(&[]).await);
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}/shunt.db", folder.path().display());
    let both = format!("{},{}", one.url(), other.url());
    let started = std::time::Instant::now();
    let ended = refused(&settings(&[
        ("DATABASE_URL", &database),
        ("REDIS_URL", &both),
    ]));
    assert_eq!(ended.status.code(), Some(1));
    let last = ended.stderr.lines().last().unwrap();
    assert!(
        last.contains("REDIS_URL: ") && last.contains("is no Redis Cluster"),
        "{last}"
    );
    assert!(started.elapsed().as_secs() < 25, "it will not be one soon");
}

#[tokio::test]
async fn a_redis_that_wants_another_password_is_named_at_once() {
    let redis = RedisServer::start(&["--requirepass", "right horse"]).await;
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}/shunt.db", folder.path().display());
    let plain = redis.url();
    let wrong = plain.replace("redis://", "redis://:wrong-horse@");
    for (url, fault) in [
        (plain.as_str(), "wants a password"),
        (&wrong, "does not let this user and password in"),
    ] {
        let started = std::time::Instant::now();
        let ended = refused(&settings(&[
            ("DATABASE_URL", &database),
            ("REDIS_URL", url),
        ]));
        assert_eq!(ended.status.code(), Some(1));
        let last = ended.stderr.lines().last().unwrap();
        assert!(
            last.contains("REDIS_URL: ") && last.contains(fault),
            "{last}"
        );
        assert!(!ended.stderr.contains("horse"), "passwords stay secret");
        assert!(started.elapsed().as_secs() < 25, "{}", ended.stderr);
    }
}

#[test]
fn the_reason_of_a_failed_start_is_json_where_the_log_is() {
    let ended = refused(&settings(&[("LOG_FORMAT", "json"), ("WORKERS", "many")]));
    assert_eq!(ended.status.code(), Some(1));
    let line: serde_json::Value = serde_json::from_str(ended.stderr.trim()).unwrap();
    let message = line["fields"]["message"].as_str().unwrap();
    assert!(message.contains("WORKERS"), "{line}");
    assert_eq!(line["fields"]["exit_code"], 1);
}

#[test]
fn a_schema_of_a_newer_version_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}/shunt.db", folder.path().display());
    let all = settings(&[("DATABASE_URL", &database)]);
    let mut server = command(&[]);
    server.arg("migrate").env("DATABASE_URL", &database);
    assert!(server.status().unwrap().success());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut connection = SqliteConnection::connect(&database).await.unwrap();
        let newer = sqlx::raw_sql("INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (999, 'contract 999 newer', true, x'00', 0)");
        newer.execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    });
    let ended = refused(&all);
    assert_eq!(ended.status.code(), Some(1));
    assert!(ended.stderr.contains("newer shunt"), "{}", ended.stderr);
}

#[test]
fn a_taken_address_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}/shunt.db", folder.path().display());
    let address = taken.local_addr().unwrap().to_string();
    let ended = refused(&settings(&[
        ("DATABASE_URL", &database),
        ("BIND", &address),
    ]));
    assert_eq!(ended.status.code(), Some(1));
    assert!(ended.stderr.contains(&address), "{}", ended.stderr);
    let made = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(
        made, 0,
        "the listener may be an instance that uses the database"
    );
}

#[tokio::test]
async fn the_keys_of_another_database_are_refused() {
    let app = App::start(Mode::Production).await;
    let other = Backend::new(Mode::Production).await;
    let mut settings = other.settings();
    settings.retain(|(name, _)| name != "REDIS_PREFIX");
    settings.push(("REDIS_PREFIX".into(), app.backend.prefix().into()));
    let ended = refused(&settings);
    assert_eq!(ended.status.code(), Some(1));
    let sentence = "belongs to another database";
    assert!(ended.stderr.contains(sentence), "{}", ended.stderr);
    app.finish().await;
}

#[tokio::test]
async fn an_address_that_is_none_is_warned_of_where_links_would_have_it() {
    for (bind, base_url, is_warned_of) in [
        ("0.0.0.0:0", "", true),
        ("[::]:0", "", true),
        ("0.0.0.0:0", "https://sho.rt", false),
        ("127.0.0.1:0", "", false),
    ] {
        let app = App::start_with(Mode::Embedded, &[("BIND", bind), ("BASE_URL", base_url)]).await;
        let is_in_log = || app.server.log().contains("BASE_URL is not set");
        if is_warned_of {
            eventually("the warning is logged", async || is_in_log()).await;
        }
        assert_eq!(is_in_log(), is_warned_of, "{bind}: {}", app.server.log());
        app.finish().await;
    }
}

#[tokio::test]
async fn databases_side_by_side_share_no_data() {
    let folder = tempfile::tempdir().unwrap();
    let with = |name: &str| {
        let url = format!("sqlite://{}/{name}", folder.path().display());
        settings(&[("DATABASE_URL", &url)])
    };
    let one = Server::start(&with("links.prod")).await;
    let other = Server::start(&with("links.staging")).await;
    let user = serde_json::json!({"email": "ada@example.org", "password": "correct horse"});
    let client = reqwest::Client::new();
    let registered = async |server: &Server| {
        let register = client.post(format!("{}/auth/register", server.base));
        let response: serde_json::Value = register
            .json(&user)
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap();
        response["access_token"].as_str().unwrap().to_owned()
    };
    let token = registered(&one).await;
    registered(&other).await;
    for (server, status) in [(&one, 200), (&other, 401)] {
        let me = client.get(format!("{}/auth/me", server.base));
        let response = me.bearer_auth(&token).send().await.unwrap();
        assert_eq!(response.status(), status);
    }
}

#[tokio::test]
async fn tokens_live_as_long_as_the_setting_says() {
    let app = App::start_with(Mode::Embedded, &[("JWT_TTL_SECONDS", "1")]).await;
    let token = app.register().await;
    crate::support::eventually("the token expires", async || {
        app.get_as(&token, "/auth/me").await.status == 401
    })
    .await;
    app.finish().await;
}

#[tokio::test]
async fn metrics_are_public_unless_they_have_an_address_of_their_own() {
    let app = App::start(Mode::Embedded).await;
    assert!(app.get("/metrics").await.text.contains("shunt_build_info"));
    app.finish().await;
    let app = App::start_with(Mode::Embedded, &[("METRICS_BIND", "127.0.0.1:0")]).await;
    assert_eq!(app.get("/metrics").await.status, 404);
    app.finish().await;
}

#[tokio::test]
async fn a_response_past_a_limit_says_when_to_retry() {
    let app = App::start_with(Mode::Production, &[("LIMIT_CREATE", "3")]).await;
    let token = app.register().await;
    let mut refused = None;
    for _ in 0..8 {
        let response = app.try_shorten(&token, "https://example.org/").await;
        if response.status == 429 {
            refused = Some(response);
            break;
        }
    }
    let refused = refused.expect("a limit of 3 a minute stops the eighth at the latest");
    assert!(refused.header("retry-after").parse::<u64>().unwrap() >= 1);
    assert!(!refused.detail().is_empty());
    let other = app.register().await;
    assert_eq!(
        app.try_shorten(&other, "https://example.org/").await.status,
        200,
        "limits are per user"
    );
    app.finish().await;
}

/// Migrates a new database with these flags; what it wrote to its log.
fn log_with_flags(flags: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}/shunt.db", folder.path().display());
    let mut command = command(&[]);
    let ended = command
        .args(["migrate", "--database-url", &database])
        .args(flags)
        .output()
        .unwrap();
    assert!(ended.status.success(), "{ended:?}");
    String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap()
}

#[test]
fn a_start_warns_once_of_secrets_in_flags_and_names_what_to_use_instead() {
    const SECRET: &str = "dT9yuQ0ViKd2r8b6M4cXeW5zJnLh3pGa";
    let log = log_with_flags(&[
        "--jwt-secret",
        SECRET,
        "--redis-url=redis://:right-horse@localhost",
    ]);
    let warnings: Vec<_> = log
        .lines()
        .filter(|line| line.contains("all users of this machine"))
        .collect();
    assert_eq!(warnings.len(), 1, "{log}");
    for name in [
        "JWT_SECRET or JWT_SECRET_FILE for --jwt-secret",
        "REDIS_URL or REDIS_URL_FILE for --redis-url",
    ] {
        assert!(warnings[0].contains(name), "{log}");
    }
    assert!(
        !log.contains(SECRET)
            && !log.contains("right-horse")
            && !warnings[0].contains("--database-url"),
        "{log}"
    );
    assert!(
        !log_with_flags(&["--redis-url", "redis://localhost"])
            .contains("all users of this machine")
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_service_writes_no_core_dump() {
    let app = App::start(Mode::Embedded).await;
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", app.server.pid())).unwrap();
    let cores = limits
        .lines()
        .find(|line| line.starts_with("Max core file size"))
        .unwrap();
    let words: Vec<_> = cores.split_whitespace().collect();
    assert_eq!(words[4..6], ["0", "0"], "{cores}");
    app.finish().await;
}

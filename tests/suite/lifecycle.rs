//! Stops, restarts and crashes.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use sqlx::{Connection, PgConnection};
use tokio::sync::Mutex;

use crate::support::{
    App, Mode, Server, both_modes, command, eventually, free_port, locked, waiting_for,
};

/// Clients that visit links over several connections until they are stopped, and count requests per code.
struct Clients {
    stop: Arc<AtomicBool>,
    answered: HashMap<String, Arc<AtomicU64>>,
    sent: HashMap<String, Arc<AtomicU64>>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Clients {
    fn start(base: &str, codes: &[String], connections: usize) -> Self {
        let counters = || {
            codes
                .iter()
                .map(|code| (code.clone(), Arc::<AtomicU64>::default()))
                .collect()
        };
        let mut clients = Self {
            stop: Arc::default(),
            answered: counters(),
            sent: counters(),
            tasks: Vec::new(),
        };
        for number in 0..connections {
            let code = codes[number % codes.len()].clone();
            let (answered, sent) = (
                Arc::clone(&clients.answered[&code]),
                Arc::clone(&clients.sent[&code]),
            );
            let (stop, url) = (Arc::clone(&clients.stop), format!("{base}/{code}"));
            clients.tasks.push(tokio::spawn(async move {
                let client = reqwest::Client::builder()
                    .redirect(reqwest::redirect::Policy::none())
                    .build()
                    .unwrap();
                while !stop.load(Ordering::SeqCst) {
                    sent.fetch_add(1, Ordering::SeqCst);
                    match client.get(&url).send().await {
                        Ok(response) if response.status() == 302 => {
                            answered.fetch_add(1, Ordering::SeqCst);
                        }
                        Ok(response) => panic!("answered {}", response.status()),
                        Err(_) => break,
                    }
                }
            }));
        }
        clients
    }

    async fn end(self) -> HashMap<String, (u64, u64)> {
        self.stop.store(true, Ordering::SeqCst);
        for task in self.tasks {
            task.await.unwrap();
        }
        let counts = |code: &String| {
            (
                self.answered[code].load(Ordering::SeqCst),
                self.sent[code].load(Ordering::SeqCst),
            )
        };
        self.answered
            .keys()
            .map(|code| (code.clone(), counts(code)))
            .collect()
    }
}

async fn links(app: &App, count: usize) -> Vec<String> {
    let token = app.register().await;
    let mut codes = Vec::new();
    for _ in 0..count {
        codes.push(app.shorten(&token, "https://example.org/").await);
    }
    codes
}

#[tokio::test]
async fn after_a_stop_the_file_of_the_embedded_mode_is_whole_by_itself() {
    let mut app = App::start(Mode::Embedded).await;
    app.register().await;
    app.server.stop().await;
    let copy = tempfile::tempdir().unwrap();
    let file = copy.path().join("shunt.db");
    std::fs::copy(app.backend.folder().join("shunt.db"), &file).unwrap();
    let url = format!("sqlite://{}", file.display());
    let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
    let users: i64 = sqlx::query_scalar("SELECT count(*) FROM users")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(users, 1);
}

both_modes! {
    async fn a_restart_loses_no_data(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for _ in 0..10 {
            app.visit(&format!("/{code}")).await;
        }
        app.server.stop().await;
        app.server = Server::start(&app.backend.settings()).await;
        assert_eq!(app.clicks(&code).await, 10);
        assert_eq!(app.get_as(&token, "/urls/my").await.json()[0]["clicks"], 10);
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }

    async fn after_kill_9_under_load_every_answered_redirect_is_counted(app) {
        let codes = links(app, 4).await;
        let mut expected: HashMap<String, (u64, u64)> = HashMap::new();
        // A long deadline: on a busy machine both sinks may be late, and clicks in memory alone are not guaranteed.
        let mut settings = app.backend.settings();
        settings.push(("CLICK_DEADLINE_MS".into(), "10000".into()));
        app.server.stop().await;
        app.server = Server::start(&settings).await;
        for _ in 0..3 {
            let clients = Clients::start(&app.server.base, &codes, 16);
            tokio::time::sleep(Duration::from_millis(700)).await;
            app.server.kill();
            for (code, (answered, sent)) in clients.end().await {
                let so_far = expected.entry(code).or_default();
                *so_far = (so_far.0 + answered, so_far.1 + sent);
            }
            app.server = Server::start(&settings).await;
            for (code, (answered, sent)) in &expected {
                let clicks = app.clicks(code).await;
                assert!(*answered <= clicks && clicks <= *sent, "{answered} <= {clicks} <= {sent}");
            }
        }
        assert!(expected.values().all(|(answered, _)| *answered > 0), "the load was real");
    }

    async fn a_stop_under_load_cuts_off_no_response_and_loses_no_click(app) {
        let codes = links(app, 4).await;
        let clients = Clients::start(&app.server.base, &codes, 16);
        tokio::time::sleep(Duration::from_millis(500)).await;
        app.server.stop().await;
        let counts_by_code = clients.end().await;
        app.server = Server::start(&app.backend.settings()).await;
        for (code, (answered, _)) in counts_by_code {
            assert_eq!(app.clicks(&code).await, answered);
        }
    }

    async fn an_idle_connection_delays_no_stop(app) {
        let address = app.server.base.trim_start_matches("http://").to_owned();
        let _idle = tokio::net::TcpStream::connect(address).await.unwrap();
        assert_eq!(app.get("/health").await.status, 200);
        app.server.stop().await;
        app.server = Server::start(&app.backend.settings()).await;
    }
}

#[test]
fn a_stop_ends_the_wait_for_the_database() {
    let mut starting = command(&[
        (
            "DATABASE_URL".into(),
            "postgres://u@127.0.0.1:9/shunt".into(),
        ),
        ("JWT_SECRET".into(), "0123456789abcdef".repeat(2)),
    ]);
    let mut starting = starting.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(starting.stderr.take().unwrap()).lines();
    let tries = |line: &Result<String, _>| {
        line.as_ref()
            .is_ok_and(|line| line.contains("trying again"))
    };
    assert!(lines.any(|line| tries(&line)), "it does not wait");
    let pid = starting.id().to_string();
    assert!(Command::new("kill").arg(pid).status().unwrap().success());
    let rest: Vec<_> = lines.map_while(Result::ok).collect();
    assert_eq!(starting.wait().unwrap().code(), Some(0), "{rest:?}");
}

#[tokio::test]
async fn half_a_request_for_metrics_delays_no_stop() {
    let metrics = format!("127.0.0.1:{}", free_port());
    let settings = [
        ("METRICS_BIND", &*metrics),
        ("SHUTDOWN_TIMEOUT_SECONDS", "8"),
    ];
    let mut app = App::start_with(Mode::Embedded, &settings).await;
    let mut stream = tokio::net::TcpStream::connect(&metrics).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut stream, b"GET /metrics HTTP/1.1\r\n")
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    app.server.stop().await;
    app.backend.remove().await;
}

#[tokio::test]
async fn a_second_signal_ends_the_service_at_once() {
    let mut app = App::start_with(Mode::Embedded, &[("SHUTDOWN_TIMEOUT_SECONDS", "3600")]).await;
    let address = app.server.base.trim_start_matches("http://").to_owned();
    // A request that never ends delays the stop.
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = "POST /auth/login HTTP/1.1\r\nHost: test\r\nContent-Length: 1000\r\n\r\n{";
    tokio::io::AsyncWriteExt::write_all(&mut stream, head.as_bytes())
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    app.server.signal("INT");
    eventually("it is stopping", async || {
        app.server.log().contains("a second signal ends at once")
    })
    .await;
    app.server.signal("INT");
    assert_eq!(app.server.ended().await.code(), Some(130));
    app.backend.remove().await;
}

#[tokio::test]
async fn a_stop_during_a_flush_also_writes_back_the_clicks_that_came_after_its_start() {
    // A long deadline, so that clicks go to Redis on a busy machine, too.
    let settings = [("FLUSH_INTERVAL_MS", "50"), ("CLICK_DEADLINE_MS", "10000")];
    let mut app = App::start_with(Mode::Production, &settings).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    let of_backend: HashMap<_, _> = app.backend.settings().into_iter().collect();
    let url = &of_backend["DATABASE_URL"];
    let observer = Mutex::new(PgConnection::connect(url).await.unwrap());
    let mut holder = PgConnection::connect(url).await.unwrap();
    assert_eq!(app.server.follow(&code).await, 302);
    app.written_back(&code, 1).await;
    let locked = locked(&mut holder, "SELECT FROM link_clicks FOR UPDATE").await;
    assert_eq!(app.server.follow(&code).await, 302);
    eventually("the second click is being merged", async || {
        waiting_for(&mut *observer.lock().await, "merge_parts").await > 0
    })
    .await;
    assert_eq!(app.server.follow(&code).await, 302);
    app.server.signal("TERM");
    eventually("it is stopping", async || {
        app.server.log().contains("stopping")
    })
    .await;
    locked.rollback().await.unwrap();
    assert_eq!(app.server.ended().await.code(), Some(0));
    assert_eq!(app.backend.clicks_in_database(&code).await, 3);
    app.backend.remove().await;
}

#[tokio::test]
async fn sighup_reads_limits_and_the_log_level_again_and_loses_no_click() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("reload.env");
    let path = file.to_str().unwrap().to_owned();
    std::fs::write(&file, "# limits\nLIMIT_REGISTER=1000\nBIND=ignored\n").unwrap();
    let app = App::start_with(Mode::Embedded, &[("SETTINGS_FILE", &path)]).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    for _ in 0..20 {
        app.visit(&format!("/{code}")).await;
    }
    let hangup = async |text: &str, said: &str| {
        std::fs::write(&file, text).unwrap();
        app.server.signal("HUP");
        eventually(said, async || app.server.log().contains(said)).await;
    };
    hangup(
        "LINKS_PER_ACCOUNT=\"1\"\nRUST_LOG=shunt=debug\n",
        "LINKS_PER_ACCOUNT: 0, now 1",
    )
    .await;
    assert!(
        app.server.log().contains("LIMIT_REGISTER: 1000, now 0"),
        "back to its own value"
    );
    assert_eq!(
        app.try_shorten(&token, "https://example.org/").await.status,
        403
    );
    eventually("debug lines are logged", async || {
        app.get("/health").await;
        app.server.log().contains("answered")
    })
    .await;
    hangup(
        "LIMIT_CREATE=many\n",
        "SETTINGS_FILE: LIMIT_CREATE: must be a whole number",
    )
    .await;
    assert_eq!(
        app.try_shorten(&token, "https://example.org/").await.status,
        403,
        "nothing changed"
    );
    hangup(
        "LINKS_PER_ACCOUNT=5\nRUST_LOG=info",
        "LINKS_PER_ACCOUNT: 1, now 5",
    )
    .await;
    app.shorten(&token, "https://example.org/").await;
    assert_eq!(app.clicks(&code).await, 20);
    app.finish().await;
}

#[tokio::test]
async fn sighup_without_a_file_of_settings_changes_nothing() {
    let app = App::start(Mode::Embedded).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    for _ in 0..3 {
        app.server.signal("HUP");
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }
    let said = "SETTINGS_FILE is not set";
    eventually(said, async || app.server.log().contains(said)).await;
    app.finish().await;
}

#[tokio::test]
async fn a_start_goes_on_where_the_database_ends_its_first_questions() {
    let mut app = App::start(Mode::Production).await;
    app.server.stop().await;
    let settings: HashMap<_, _> = app.backend.settings().into_iter().collect();
    let url = &settings["DATABASE_URL"];
    let mut holder = PgConnection::connect(url).await.unwrap();
    let mut observer = PgConnection::connect(url).await.unwrap();
    let lock = locked(
        &mut holder,
        "LOCK TABLE parked_batches IN ACCESS EXCLUSIVE MODE",
    )
    .await;
    let ended = async {
        while waiting_for(&mut observer, "parked_batches LEFT JOIN data_sets").await == 0 {}
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
            AND wait_event_type = 'Lock' AND query LIKE '%parked_batches%'";
        sqlx::raw_sql(end).execute(&mut observer).await.unwrap();
        lock.rollback().await.unwrap();
    };
    let (started, ()) = tokio::join!(app.another(&[]), ended);
    app.server = started;
    assert!(app.server.log().contains("trying again"));
    app.finish().await;
}

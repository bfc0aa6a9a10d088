//! Requests that are too slow or too many get a 503 with `Retry-After`, and the service goes on.

use futures_util::StreamExt;
use futures_util::future::{join, join_all};
use futures_util::stream::FuturesUnordered;
use reqwest::Method;
use serde_json::json;
use sqlx::{Connection, PgConnection, SqliteConnection};

use crate::support::{App, Mode, Response, Server, both_modes, eventually, unique};

/// Locks out everything else from the database, until dropped.
pub(crate) enum DatabaseLock {
    Postgres(#[expect(dead_code, reason = "it holds the lock, and is not read")] PgConnection),
    Sqlite(#[expect(dead_code, reason = "it holds the lock, and is not read")] SqliteConnection),
}

impl DatabaseLock {
    /// Locks `table` in Postgres, and all writes in SQLite.
    pub(crate) async fn on(app: &App, table: &'static str) -> Self {
        Self::in_mode(app, table, "ACCESS EXCLUSIVE").await
    }

    /// Locks writes of `table` in Postgres, and all writes in SQLite.
    pub(crate) async fn on_writes(app: &App, table: &'static str) -> Self {
        Self::in_mode(app, table, "SHARE").await
    }

    async fn in_mode(app: &App, table: &'static str, mode: &'static str) -> Self {
        let settings = app.backend.settings();
        let (_, url) = settings
            .iter()
            .find(|(name, _)| name == "DATABASE_URL")
            .unwrap();
        if url.starts_with("sqlite:") {
            let mut connection = SqliteConnection::connect(url).await.unwrap();
            let begin = sqlx::raw_sql("BEGIN IMMEDIATE");
            begin.execute(&mut connection).await.unwrap();
            return Self::Sqlite(connection);
        }
        let mut connection = PgConnection::connect(url).await.unwrap();
        let lock = format!("BEGIN; LOCK TABLE {table} IN {mode} MODE");
        let lock = sqlx::raw_sql(sqlx::AssertSqlSafe(lock));
        lock.execute(&mut connection).await.unwrap();
        Self::Postgres(connection)
    }
}

/// Permits for requests of the API.
const MAX_REQUESTS: usize = 30;

/// Restarts the service with a short time limit for requests. The preparations of a test come before, without it.
async fn restart_with_short_limits(app: &mut App) {
    let mut settings = app.backend.settings();
    settings.push(("REQUEST_TIMEOUT_SECONDS".into(), "1".into()));
    settings.push(("MAX_REQUESTS".into(), MAX_REQUESTS.to_string()));
    app.server.stop().await;
    app.server = Server::start(&settings).await;
}

fn is_busy(response: &Response) {
    assert_eq!(response.status, 503, "{response:?}");
    assert_eq!(response.header("retry-after"), "1");
    assert!(!response.detail().is_empty());
}

both_modes! {
    async fn a_request_that_takes_too_long_is_answered_503_and_counted(app) {
        let token = app.register().await;
        restart_with_short_limits(app).await;
        let lock = DatabaseLock::on(app, "links").await;
        // On a busy machine the deadline of the database may end at the same time.
        eventually("a request took too long", async || {
            let response = app.try_shorten(&token, "https://example.org/").await;
            is_busy(&response);
            app.limit_hits("request_time").await >= 1
        })
        .await;
        drop(lock);
    }

    async fn as_many_late_requests_as_there_are_permits_leave_the_service_working(app) {
        let token = app.register().await;
        restart_with_short_limits(app).await;
        let lock = DatabaseLock::on(app, "links").await;
        let late = (0..MAX_REQUESTS).map(|_| app.try_shorten(&token, "https://example.org/"));
        for response in join_all(late).await {
            is_busy(&response);
        }
        drop(lock);
        eventually("links are made again", async || {
            app.try_shorten(&token, "https://example.org/").await.status == 200
        })
        .await;
    }
}

#[tokio::test]
async fn past_its_capacity_the_api_sheds_load_at_once_while_redirects_go_on() {
    let app = App::start_with(Mode::Production, &[("MAX_REQUESTS", "1")]).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    let lock = DatabaseLock::on(&app, "links").await;
    let shed = async {
        eventually("the only permit is taken", async || {
            app.get_as(&token, "/auth/me").await.status == 503
        })
        .await;
        let shed = app.get_as(&token, "/auth/me").await;
        shed.is_error(503, "The service is busy; try again");
        assert_eq!(shed.header("retry-after"), "1");
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        // A percent-encoded code does not take the fast path, and is a redirect all the same.
        let spelt = format!("/urls/r/%{:02x}{}", code.as_bytes()[0], &code[1..]);
        let preview = Response::of(app.request(Method::HEAD, &spelt)).await;
        assert_eq!(preview.status, 302);
        assert_eq!(app.get("/health").await.status, 200);
        drop(lock);
    };
    // The request that checks whether the permit is taken may hold it at that moment.
    let made = eventually("a link is made", async || {
        app.try_shorten(&token, "https://example.org/2")
            .await
            .status
            == 200
    });
    join(made, shed).await;
    assert_eq!(app.get_as(&token, "/auth/me").await.status, 200);
    assert!(app.limit_hits("requests").await >= 1);
    app.finish().await;
}

/// Two lists wait for a lock with the only connections, and others for them.
#[tokio::test]
async fn a_queue_for_the_database_that_stands_refuses_requests_while_redirects_go_on() {
    let app = App::start_with(
        Mode::Production,
        &[
            ("DATABASE_MAX_CONNECTIONS", "2"),
            ("DATABASE_QUEUE_MS", "100"),
        ],
    )
    .await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    let lock = DatabaseLock::on(&app, "links").await;
    let lists = join_all((0..30).map(|_| app.get_as(&token, "/urls/my")));
    let visits = async {
        eventually("a list is refused", async || {
            app.limit_hits("database_queue").await >= 1
        })
        .await;
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    };
    let (lists, ()) = join(lists, visits).await;
    let mut refused = 0;
    for list in lists {
        is_busy(&list);
        refused += u64::from(list.detail() == "The service is busy; try again");
    }
    assert!(refused >= 1);
    assert_eq!(app.limit_hits("database_queue").await, refused);
    assert_eq!(app.limit_hits("requests").await, 0);
    drop(lock);
    eventually("lists are sent again", async || {
        app.get_as(&token, "/urls/my").await.status == 200
    })
    .await;
    app.finish().await;
}

/// Waiting for a connection and then for the table share one deadline.
#[tokio::test]
async fn waiting_for_a_connection_counts_towards_the_deadline_of_the_database() {
    let settings = [
        ("DATABASE_MAX_CONNECTIONS", "1"),
        // The first link waits for 3 s, the others, which are made together, for 3 s more.
        ("REQUEST_TIMEOUT_SECONDS", "11"),
    ];
    let app = App::start_with(Mode::Production, &settings).await;
    let token = app.register().await;
    let lock = DatabaseLock::on(&app, "links").await;
    let late = (0..3).map(|_| app.try_shorten(&token, "https://example.org/"));
    for response in join_all(late).await {
        is_busy(&response);
    }
    assert_eq!(app.limit_hits("request_time").await, 0);
    drop(lock);
    app.finish().await;
}

#[tokio::test]
async fn log_ins_past_the_hashing_queue_are_answered_503_and_counted() {
    let mut app = App::start_with(Mode::Production, &[("HASHING_CONCURRENCY", "1")]).await;
    // The one log-in with a permit waits for the database, and 256 wait for the permit.
    let _lock = DatabaseLock::on(&app, "users").await;
    let email = format!("{}@example.org", unique());
    let mut log_ins: FuturesUnordered<_> = (0..300)
        .map(|_| app.account("/auth/login", &email, "correct horse"))
        .collect();
    loop {
        let response = log_ins.next().await.unwrap();
        is_busy(&response);
        if response.detail() == "The service is busy; try again" {
            break;
        }
    }
    assert!(app.limit_hits("hashing").await >= 1);
    drop(log_ins);
    app.server.kill();
    app.backend.remove().await;
}

#[tokio::test]
async fn a_list_says_as_of_when_it_is_while_clicks_are_only_in_memory() {
    let app = App::start(Mode::Embedded).await;
    let (owner, other) = (app.register().await, app.register().await);
    let code = app.shorten(&owner, "https://example.org/").await;
    let lock = DatabaseLock::on(&app, "click_journal").await;
    assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    is_busy(&app.get(&format!("/urls/{code}/stats")).await);
    let listed = app.get_as(&owner, "/urls/my").await;
    assert_eq!(
        (listed.status.as_u16(), &listed.json()[0]["clicks"]),
        (200, &json!(0))
    );
    assert_ne!(listed.header("clicks-as-of"), "");
    for list in ["/urls/my", "/urls/my?limit=1"] {
        assert_eq!(app.get_as(&other, list).await.text, "[]\n");
    }
    drop(lock);
    eventually("the click is written", async || {
        app.get(&format!("/urls/{code}/stats")).await.status == 200
    })
    .await;
    app.finish().await;
}

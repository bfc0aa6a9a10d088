//! Work that takes too long, or is too much: a 503 that says when to come back, and the service goes on.

use futures_util::StreamExt;
use futures_util::future::{join, join_all};
use futures_util::stream::FuturesUnordered;
use reqwest::Method;
use sqlx::{Connection, PgConnection, SqliteConnection};

use crate::support::{Answer, App, Mode, Server, both_modes, eventually, unique};

/// Somebody who has the database to himself, until dropped.
pub(crate) enum Held {
    Postgres(#[expect(dead_code, reason = "it is held, not read")] PgConnection),
    Sqlite(#[expect(dead_code, reason = "it is held, not read")] SqliteConnection),
}

impl Held {
    /// Nobody else gets at `table`; in SQLite nobody else writes.
    pub(crate) async fn begin(app: &App, table: &'static str) -> Self {
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
        let lock = format!("BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE");
        let lock = sqlx::raw_sql(sqlx::AssertSqlSafe(lock));
        lock.execute(&mut connection).await.unwrap();
        Self::Postgres(connection)
    }
}

/// Places for requests of the API.
const PLACES: usize = 30;

/// Starts it again with little patience; what a test prepares may take its time.
async fn loses_patience(app: &mut App) {
    let mut settings = app.backend.settings();
    settings.push(("REQUEST_TIMEOUT_SECONDS".into(), "1".into()));
    settings.push(("MAX_REQUESTS".into(), PLACES.to_string()));
    app.server.stop().await;
    app.server = Server::start(&settings).await;
}

fn says_when_to_come_back(answer: &Answer) {
    assert_eq!(answer.status, 503, "{answer:?}");
    assert_eq!(answer.header("retry-after"), "1");
    assert!(!answer.detail().is_empty());
}

both_modes! {
    async fn a_request_that_takes_too_long_is_answered_503_and_counted(app) {
        let token = app.register().await;
        loses_patience(app).await;
        let held = Held::begin(app, "links").await;
        // On a busy machine the database's own patience may end at the same time.
        eventually("a request took too long", async || {
            let answer = app.try_shorten(&token, "https://example.org/").await;
            says_when_to_come_back(&answer);
            app.limit_hits("request_time").await >= 1
        })
        .await;
        drop(held);
    }

    async fn after_as_many_late_requests_as_there_are_places_the_service_goes_on(app) {
        let token = app.register().await;
        loses_patience(app).await;
        let held = Held::begin(app, "links").await;
        let late = (0..PLACES).map(|_| app.try_shorten(&token, "https://example.org/"));
        for answer in join_all(late).await {
            says_when_to_come_back(&answer);
        }
        drop(held);
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
    let held = Held::begin(&app, "links").await;
    let shed = async {
        eventually("the only place is taken", async || {
            app.get_as(&token, "/auth/me").await.status == 503
        })
        .await;
        let shed = app.get_as(&token, "/auth/me").await;
        shed.is_error(503, "The service is busy; try again");
        assert_eq!(shed.header("retry-after"), "1");
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        // A code that is spelt otherwise goes the API's way, and is a redirect all the same.
        let spelt = format!("/urls/r/%{:02x}{}", code.as_bytes()[0], &code[1..]);
        let preview = Answer::of(app.request(Method::HEAD, &spelt)).await;
        assert_eq!(preview.status, 302);
        assert_eq!(app.get("/health").await.status, 200);
        drop(held);
    };
    // Whoever asks whether the place is taken may have it just then.
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

/// Not even twice as long: waiting for a connection, and then for the table.
#[tokio::test]
async fn who_waits_for_a_connection_waits_no_longer_for_the_database_in_all() {
    let settings = [
        ("DATABASE_MAX_CONNECTIONS", "1"),
        ("REQUEST_TIMEOUT_SECONDS", "8"),
    ];
    let app = App::start_with(Mode::Production, &settings).await;
    let token = app.register().await;
    let held = Held::begin(&app, "links").await;
    let late = (0..3).map(|_| app.try_shorten(&token, "https://example.org/"));
    for answer in join_all(late).await {
        says_when_to_come_back(&answer);
    }
    assert_eq!(app.limit_hits("request_time").await, 0);
    drop(held);
    app.finish().await;
}

#[tokio::test]
async fn log_ins_past_those_that_may_wait_for_a_hash_are_answered_503_and_counted() {
    let mut app = App::start_with(Mode::Production, &[("HASHING_CONCURRENCY", "1")]).await;
    // Whose turn it is waits for the database, and 256 wait for their turn.
    let _held = Held::begin(&app, "users").await;
    let email = format!("{}@example.org", unique());
    let mut log_ins: FuturesUnordered<_> = (0..300)
        .map(|_| app.account("/auth/login", &email, "correct horse"))
        .collect();
    loop {
        let answer = log_ins.next().await.unwrap();
        says_when_to_come_back(&answer);
        if answer.detail() == "The service is busy; try again" {
            break;
        }
    }
    assert!(app.limit_hits("hashing").await >= 1);
    drop(log_ins);
    app.server.kill();
    app.backend.remove().await;
}

#[tokio::test]
async fn a_list_without_links_is_empty_also_while_clicks_are_only_in_memory() {
    let app = App::start(Mode::Embedded).await;
    let (owner, other) = (app.register().await, app.register().await);
    let code = app.shorten(&owner, "https://example.org/").await;
    let held = Held::begin(&app, "click_journal").await;
    assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    says_when_to_come_back(&app.get_as(&owner, "/urls/my").await);
    for list in ["/urls/my", "/urls/my?limit=1"] {
        assert_eq!(app.get_as(&other, list).await.text, "[]");
    }
    drop(held);
    eventually("the click is written", async || {
        app.get(&format!("/urls/{code}/stats")).await.status == 200
    })
    .await;
    app.finish().await;
}

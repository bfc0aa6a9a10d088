//! Look-ups of redirects in the database are bounded, also while clients disconnect and the database hangs.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Method;
use sqlx::{Connection, Executor, PgConnection};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::suite::web::browser::ACCEPT;
use crate::support::{App, Mode, Response, eventually, locked, waiting_for};

const CONCURRENCY: &str = "2";
const CLIENTS: usize = 20;

/// How long the requests of all clients take to arrive.
const ARRIVAL: Duration = Duration::from_millis(500);

/// Blocks every other connection from the links.
const LOCK_LINKS: &str = "LOCK TABLE links IN ACCESS EXCLUSIVE MODE";

/// The number of look-ups that wait for the lock.
async fn waiting_look_ups(observer: &mut PgConnection) -> i64 {
    waiting_for(observer, "target").await
}

#[tokio::test]
async fn a_redirect_that_cannot_be_looked_up_is_tried_and_counted_once() {
    let app = App::start(Mode::Production).await;
    let of_backend: HashMap<_, _> = app.backend.settings().into_iter().collect();
    let mut holder = PgConnection::connect(&of_backend["DATABASE_URL"])
        .await
        .unwrap();
    let locked = locked(&mut holder, LOCK_LINKS).await;
    let response = app.get("/unseen").await;
    assert_eq!(
        (response.status.as_u16(), response.header("retry-after")),
        (503, "1")
    );
    let metrics = app.get("/metrics").await.text;
    for expected in [
        r#"shunt_redirects_total{result="unavailable"} 1"#,
        "shunt_redirect_duration_seconds_count 1",
    ] {
        assert!(
            metrics.lines().any(|line| line == expected),
            "{expected} in {metrics}"
        );
    }
    locked.rollback().await.unwrap();
    app.finish().await;
}

#[tokio::test]
async fn a_browser_whose_link_cannot_be_looked_up_gets_a_page_in_its_language() {
    let app = App::start(Mode::Production).await;
    let of_backend: HashMap<_, _> = app.backend.settings().into_iter().collect();
    let mut holder = PgConnection::connect(&of_backend["DATABASE_URL"])
        .await
        .unwrap();
    let locked = locked(&mut holder, LOCK_LINKS).await;
    let asked = app.request(Method::GET, "/unseen").header("accept", ACCEPT);
    let page = Response::of(asked.header("accept-language", "de")).await;
    assert_eq!(
        (page.status.as_u16(), page.header("retry-after")),
        (503, "1")
    );
    assert!(
        page.text.contains("<h1>Vorübergehend nicht verfügbar</h1>"),
        "{page:?}"
    );
    locked.rollback().await.unwrap();
    app.finish().await;
}

#[tokio::test]
async fn clients_that_share_a_database_look_up_are_not_counted_as_found_in_redis() {
    let app = App::start(Mode::Production).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    let of_backend: HashMap<_, _> = app.backend.settings().into_iter().collect();
    let url = &of_backend["DATABASE_URL"];
    let observer = Mutex::new(PgConnection::connect(url).await.unwrap());
    let mut holder = PgConnection::connect(url).await.unwrap();
    let locked = locked(&mut holder, LOCK_LINKS).await;
    let path = format!("/{code}");
    let visits = join_all((0..5).map(|_| app.visit(&path)));
    let release = async {
        eventually("the database is asked", async || {
            waiting_look_ups(&mut *observer.lock().await).await > 0
        })
        .await;
        // A client that arrives after the look-up finds the link in Redis.
        sleep(ARRIVAL).await;
        locked.rollback().await.unwrap();
    };
    let (responses, ()) = tokio::join!(visits, release);
    assert!(
        responses.iter().all(|response| response.status == 302),
        "{responses:?}"
    );
    let metrics = app.get("/metrics").await.text;
    let of = |result| {
        let name = format!("shunt_redirects_total{{result=\"{result}\"}} ");
        let line = metrics.lines().find_map(|line| line.strip_prefix(&name));
        line.unwrap_or("0").parse::<u32>().unwrap()
    };
    assert_eq!(
        (of("redis"), of("database") + of("process")),
        (0, 5),
        "{metrics}"
    );
    app.finish().await;
}

#[tokio::test]
async fn clients_that_disconnect_free_no_look_up_while_the_database_hangs() {
    let settings = [("LOOKUP_CONCURRENCY", CONCURRENCY), ("WORKERS", "1")];
    let app = App::start_with(Mode::Production, &settings).await;
    let of_backend: HashMap<_, _> = app.backend.settings().into_iter().collect();
    let url = &of_backend["DATABASE_URL"];
    let mut observer = PgConnection::connect(url).await.unwrap();
    let mut holder = PgConnection::connect(url).await.unwrap();
    let locked = locked(&mut holder, LOCK_LINKS).await;
    let address = app.server.base.trim_start_matches("http://");
    let mut max = 0;
    for client in 0..CLIENTS {
        // Not a plain request: hyper serves it, and drops it when the client is gone.
        let request =
            format!("GET /unseen{client} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        max = max.max(waiting_look_ups(&mut observer).await);
    }
    assert_eq!(max.to_string(), CONCURRENCY);
    locked.rollback().await.unwrap();
    eventually("look-ups are answered again", async || {
        app.visit("/unseen").await.status == 404
    })
    .await;
    app.finish().await;
}

/// Postgres goes on with the plan that it made while the table was small.
#[tokio::test]
async fn no_request_scans_the_whole_table_of_links_once_there_are_many() {
    let one_connection = [("DATABASE_MAX_CONNECTIONS", "1")];
    let mut app = App::start_with(Mode::Production, &one_connection).await;
    let of_backend: HashMap<_, _> = app.backend.settings().into_iter().collect();
    let mut by_hand = PgConnection::connect(&of_backend["DATABASE_URL"])
        .await
        .unwrap();
    let token = app.register().await;
    let mut codes = Vec::new();
    for _ in 0..20 {
        codes.push(app.shorten(&token, "https://example.org/").await);
    }
    let ask = async |codes: &[String], clicks| {
        for code in codes {
            app.visit(&format!("/{code}")).await;
            app.get(&format!("/unknown{clicks}{code}")).await;
            app.get_as(&token, "/urls/my?limit=5").await;
            assert_eq!(app.clicks(code).await, clicks);
        }
        app.written_back(&codes[0], clicks).await;
        assert_eq!(app.delete(&token, &codes[1]).await.status, 204);
    };
    ask(&codes[..10], 1).await;
    // So that the planner knows how small the tables are, and plans again.
    by_hand
        .execute("ANALYZE links, link_clicks, click_parts, parked_batches, data_sets")
        .await
        .unwrap();
    ask(&codes[10..], 1).await;
    let many = "INSERT INTO links (short_code, target_url, owner_id, created_at)
        SELECT 'many' || n, 'https://example.org/', (SELECT min(id) FROM users), now_micros()
        FROM generate_series(1, 20000) n";
    by_hand.execute(many).await.unwrap();
    let clicks = "SELECT count_clicks(array_agg(id ORDER BY id), array_agg(1::bigint), 1900000) FROM links WHERE short_code LIKE 'many%'";
    by_hand.execute(clicks).await.unwrap();
    let of_many: Vec<_> = (19_990..20_000).map(|n| format!("many{n}")).collect();
    ask(&of_many, 2).await;
    app.server.stop().await;
    // Postgres publishes the rows that a connection has read when the connection ends.
    eventually("the service's connections have ended", async || {
        app.backend.connections_of_the_service().await == 0
    })
    .await;
    let read: i64 = sqlx::query_scalar(
        "SELECT ((SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname IN ('links', 'link_clicks'))
               + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname IN ('links', 'link_clicks')))::bigint",
    )
    .fetch_one(&mut by_hand)
    .await
    .unwrap();
    eprintln!("READ {read}");
    assert!(read < 100_000, "{read} rows were read");
    drop(by_hand);
    app.backend.remove().await;
}

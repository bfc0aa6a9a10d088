//! Look-ups of redirects in the database are bounded, whatever visitors and the database do.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::join_all;
use sqlx::{Connection, Executor, PgConnection};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::support::{App, Mode, eventually, locked, waiting_for};

const AT_ONCE: &str = "2";
const VISITORS: usize = 20;

/// How long visitors who are on their way may take to arrive.
const ALL_HAVE_COME: Duration = Duration::from_millis(500);

/// Keeps everybody from the links.
const ALL_LINKS: &str = "LOCK TABLE links IN ACCESS EXCLUSIVE MODE";

/// Look-ups that wait for it.
async fn under_way(observer: &mut PgConnection) -> i64 {
    waiting_for(observer, "target").await
}

#[tokio::test]
async fn a_redirect_that_cannot_be_looked_up_is_tried_and_counted_once() {
    let app = App::start(Mode::Production).await;
    let of_backend: HashMap<_, _> = app.backend.settings().into_iter().collect();
    let mut holder = PgConnection::connect(&of_backend["DATABASE_URL"])
        .await
        .unwrap();
    let locked = locked(&mut holder, ALL_LINKS).await;
    let answer = app.get("/unseen").await;
    assert_eq!(
        (answer.status.as_u16(), answer.header("retry-after")),
        (503, "1")
    );
    let metrics = app.get("/metrics").await.text;
    for told in [
        r#"shunt_redirects_total{result="unavailable"} 1"#,
        "shunt_redirect_duration_seconds_count 1",
    ] {
        assert!(
            metrics.lines().any(|line| line == told),
            "{told} in {metrics}"
        );
    }
    locked.rollback().await.unwrap();
    app.finish().await;
}

#[tokio::test]
async fn visitors_who_share_a_look_up_in_the_database_do_not_count_as_found_in_redis() {
    let app = App::start(Mode::Production).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    let of_backend: HashMap<_, _> = app.backend.settings().into_iter().collect();
    let url = &of_backend["DATABASE_URL"];
    let observer = Mutex::new(PgConnection::connect(url).await.unwrap());
    let mut holder = PgConnection::connect(url).await.unwrap();
    let locked = locked(&mut holder, ALL_LINKS).await;
    let path = format!("/{code}");
    let visits = join_all((0..5).map(|_| app.visit(&path)));
    let release = async {
        eventually("the database is asked", async || {
            under_way(&mut *observer.lock().await).await > 0
        })
        .await;
        // Who comes after it was looked up does find it in Redis.
        sleep(ALL_HAVE_COME).await;
        locked.rollback().await.unwrap();
    };
    let (answers, ()) = tokio::join!(visits, release);
    assert!(
        answers.iter().all(|answer| answer.status == 302),
        "{answers:?}"
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
async fn visitors_who_leave_do_not_make_room_for_further_look_ups_while_the_database_hangs() {
    let settings = [("LOOKUP_CONCURRENCY", AT_ONCE), ("WORKERS", "1")];
    let app = App::start_with(Mode::Production, &settings).await;
    let of_backend: HashMap<_, _> = app.backend.settings().into_iter().collect();
    let url = &of_backend["DATABASE_URL"];
    let mut observer = PgConnection::connect(url).await.unwrap();
    let mut holder = PgConnection::connect(url).await.unwrap();
    let locked = locked(&mut holder, ALL_LINKS).await;
    let address = app.server.base.trim_start_matches("http://");
    let mut most = 0;
    for visitor in 0..VISITORS {
        // Not a plain request: hyper serves it, and lets go of it when the visitor is gone.
        let request =
            format!("GET /unseen{visitor} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        most = most.max(under_way(&mut observer).await);
    }
    assert_eq!(most.to_string(), AT_ONCE);
    locked.rollback().await.unwrap();
    eventually("look-ups are answered again", async || {
        app.visit("/unseen").await.status == 404
    })
    .await;
    app.finish().await;
}

/// Whoever asks: Postgres keeps the plan that it made while there were few.
#[tokio::test]
async fn no_request_reads_the_links_from_end_to_end_once_there_are_many() {
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
    // So that whoever plans knows how few there are, and plans again.
    by_hand
        .execute("ANALYZE links, link_clicks, click_journal, flush_ledger")
        .await
        .unwrap();
    ask(&codes[10..], 1).await;
    let many = "INSERT INTO links (short_code, target_url, owner_id, created_at)
        SELECT 'many' || n, 'https://example.org/', (SELECT min(id) FROM users), now()
        FROM generate_series(1, 20000) n";
    by_hand.execute(many).await.unwrap();
    let clicks = "INSERT INTO link_clicks SELECT id, 1 FROM links WHERE short_code LIKE 'many%'";
    by_hand.execute(clicks).await.unwrap();
    let of_many: Vec<_> = (19_990..20_000).map(|n| format!("many{n}")).collect();
    ask(&of_many, 2).await;
    app.server.stop().await;
    // What a connection read is told when it has ended.
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

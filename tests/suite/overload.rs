//! Too many connections, slow clients and big requests are refused; other clients notice nothing.

use std::time::Duration;

use reqwest::Method;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::support::{App, Backend, Mode, Server, eventually};

/// Far longer than any limit that these tests set.
const TIMEOUT: Duration = Duration::from_secs(20);

async fn connect(app: &App) -> TcpStream {
    let address = app.server.base.trim_start_matches("http://");
    TcpStream::connect(address).await.unwrap()
}

/// Everything that arrives until the server closes.
async fn to_the_end(stream: &mut TcpStream) -> String {
    let mut response = Vec::new();
    // A reset is an end, too.
    let _ = timeout(TIMEOUT, stream.read_to_end(&mut response))
        .await
        .expect("the connection is closed");
    String::from_utf8_lossy(&response).into_owned()
}

#[tokio::test]
async fn a_connection_over_the_limit_is_answered_503_and_closed() {
    let app = App::start_with(Mode::Embedded, &[("MAX_CONNECTIONS", "4")]).await;
    let mut open = Vec::new();
    let refused = loop {
        let mut stream = connect(&app).await;
        let mut first = [0; 12];
        // A connection within the limit waits for a request; one over it gets its 503 at once.
        match timeout(Duration::from_millis(300), stream.read_exact(&mut first)).await {
            Ok(read) => break read.map(|_| first).unwrap(),
            Err(_) => open.push(stream),
        }
        assert!(open.len() <= 4, "more than four are open");
    };
    assert_eq!(&refused, b"HTTP/1.1 503");
    drop(open);
    eventually("another connection is accepted", async || {
        let health = app.request(Method::GET, "/health").send().await;
        health.is_ok_and(|response| response.status().is_success())
    })
    .await;
    eventually("the refused connection is counted", async || {
        app.limit_hits("connections").await >= 1
    })
    .await;
    app.finish().await;
}

#[tokio::test]
async fn connections_of_clients_leave_file_descriptors_for_the_databases() {
    let backend = Backend::new(Mode::Production).await;
    let mut settings = backend.settings();
    // A long deadline, so that the click goes to Redis on a busy machine, too.
    settings.push(("CLICK_DEADLINE_MS".into(), "10000".into()));
    let server = Server::start_within(128, &settings).await;
    let app = App::of(backend, server);
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    let mut open = Vec::new();
    for _ in 0..128 {
        open.push(connect(&app).await);
    }
    // A worker connects to Redis with its first click.
    assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    let metrics = app.get("/metrics").await.text;
    let counted = r#"shunt_click_batches_total{sink="redis",outcome="acknowledged"} 1"#;
    assert!(metrics.contains(counted), "{metrics}");
    assert!(app.server.log().contains("MAX_CONNECTIONS"));
    drop(open);
    app.finish().await;
}

#[tokio::test]
async fn a_head_that_trickles_in_is_cut_off_and_delays_no_other_client() {
    let app = App::start_with(Mode::Embedded, &[("HEADER_TIMEOUT_SECONDS", "1")]).await;
    for start in [
        "GET /K7mXq2R HTTP/1.1\r\nX: ",
        "POST /auth/login HTTP/1.1\r\nX: ",
    ] {
        let mut stream = connect(&app).await;
        stream.write_all(start.as_bytes()).await.unwrap();
        timeout(TIMEOUT, async {
            while stream.write_all(b"x").await.is_ok() {
                sleep(Duration::from_millis(100)).await;
            }
        })
        .await
        .expect("it is cut off");
        assert_eq!(app.get("/health").await.status, 200);
    }
    assert!(app.limit_hits("header_time").await >= 1);
    app.finish().await;
}

/// A request whose head has this many bytes in all.
fn with_head_of(length: usize, path: &str) -> String {
    let line = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nX: ");
    let padding = "x".repeat(length - line.len() - 4);
    format!("{line}{padding}\r\n\r\n")
}

async fn response_to_a_head_of(length: usize, path: &str, app: &App) -> String {
    let mut stream = connect(app).await;
    let head = with_head_of(length, path);
    stream.write_all(head.as_bytes()).await.unwrap();
    to_the_end(&mut stream).await
}

#[tokio::test]
async fn a_head_that_is_too_long_is_answered_431_on_both_paths() {
    let app = App::start(Mode::Embedded).await;
    let paths = ["/health", "/K7mXq2R"];
    for (path, length) in [
        paths.map(|path| (path, 16 * 1024 + 1)),
        paths.map(|path| (path, 40_000)),
    ]
    .concat()
    {
        let before = app.limit_hits("header_size").await;
        let response = response_to_a_head_of(length, path, &app).await;
        assert!(response.starts_with("HTTP/1.1 431 "), "{path}: {response}");
        eventually("it is counted", async || {
            app.limit_hits("header_size").await == before + 1
        })
        .await;
    }
    app.finish().await;
}

#[tokio::test]
async fn a_head_just_within_the_limit_is_read_on_both_paths() {
    let app = App::start(Mode::Embedded).await;
    for (path, status) in [("/health", 200), ("/K7mXq2R", 404)] {
        let response = response_to_a_head_of(16 * 1024, path, &app).await;
        let begin = format!("HTTP/1.1 {status} ");
        assert!(response.starts_with(&begin), "{path}: {response}");
    }
    app.finish().await;
}

#[tokio::test]
async fn a_head_has_up_to_100_headers_on_both_paths() {
    let app = App::start(Mode::Embedded).await;
    for (path, status) in [("/health", 200), ("/K7mXq2R", 404)] {
        for (headers, status) in [(30, status), (100, status), (101, 431)] {
            let further = "X: x\r\n".repeat(headers - 2);
            let head =
                format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n{further}\r\n");
            let mut stream = connect(&app).await;
            stream.write_all(head.as_bytes()).await.unwrap();
            let response = to_the_end(&mut stream).await;
            let begin = format!("HTTP/1.1 {status} ");
            assert!(response.starts_with(&begin), "{path} {headers}: {response}");
        }
    }
    app.finish().await;
}

#[tokio::test]
async fn the_limit_of_a_head_is_a_setting() {
    for (max, status) in [("8192", 431), ("65536", 200)] {
        let app = App::start_with(Mode::Embedded, &[("MAX_HEADER_BYTES", max)]).await;
        let response = response_to_a_head_of(12_000, "/health", &app).await;
        let begin = format!("HTTP/1.1 {status} ");
        assert!(response.starts_with(&begin), "{max}: {response}");
        app.finish().await;
    }
}

#[tokio::test]
async fn a_body_that_trickles_in_is_answered_408() {
    let app = App::start_with(Mode::Embedded, &[("BODY_TIMEOUT_SECONDS", "1")]).await;
    let mut stream = connect(&app).await;
    let head = "POST /auth/login HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\n{";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut response = [0; 12];
    timeout(TIMEOUT, stream.read_exact(&mut response))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(&response, b"HTTP/1.1 408");
    assert!(app.limit_hits("body_time").await >= 1);
    app.finish().await;
}

#[tokio::test]
async fn a_body_over_the_limit_is_answered_413_with_the_limit() {
    let app = App::start_with(Mode::Embedded, &[("MAX_BODY_BYTES", "1024")]).await;
    let body = format!("{{\"email\": \"{}\"}}", "x".repeat(2_000));
    let response = app.post("/auth/login", body).await;
    response.is_error(413, "The body is larger than 1024 bytes");
    assert!(app.limit_hits("body_size").await >= 1);
    app.finish().await;
}

#[tokio::test]
async fn bodies_that_never_arrive_take_no_permit_from_other_requests() {
    let app = App::start_with(Mode::Embedded, &[("MAX_REQUESTS", "1")]).await;
    let token = app.register().await;
    let mut streams = Vec::new();
    for route in ["/auth/login", "/auth/register", "/auth/login"] {
        let mut stream = connect(&app).await;
        let head = format!("POST {route} HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\n{{");
        stream.write_all(head.as_bytes()).await.unwrap();
        streams.push(stream);
    }
    sleep(Duration::from_millis(300)).await;
    assert_eq!(app.get_as(&token, "/auth/me").await.status, 200);
    app.register().await;
    drop(streams);
    app.finish().await;
}

#[tokio::test]
async fn ten_thousand_idle_connections_cost_less_than_200_mib() {
    const CONNECTIONS: usize = 10_000;
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let needed = CONNECTIONS as u64 + 500;
    assert!(
        maximum.is_none_or(|maximum| maximum >= needed),
        "this test needs {needed} open files: ulimit -Hn"
    );
    let current = maximum;
    setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();

    let app = App::start(Mode::Embedded).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    let before = app.server.resident_kib();
    let mut idle = Vec::with_capacity(CONNECTIONS);
    let request = format!("GET /{code} HTTP/1.1\r\nHost: test\r\n\r\n");
    for _ in 0..CONNECTIONS {
        let mut stream = connect(&app).await;
        // Each connection serves one request, whose memory has to be given back.
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = [0; 12];
        stream.read_exact(&mut response).await.unwrap();
        assert_eq!(&response, b"HTTP/1.1 302");
        idle.push(stream);
    }
    // The memory of the start may have been given back meanwhile.
    let grown = app.server.resident_kib().saturating_sub(before);
    assert!(grown < 200 * 1024, "{grown} KiB");
    let visited = app.get(&format!("/{code}")).await;
    assert_eq!(visited.status, 302);
    let stats = app.get(&format!("/urls/{code}/stats")).await.json();
    assert_eq!(stats["clicks"], CONNECTIONS + 1);
    drop(idle);
    app.finish().await;
}

#[tokio::test]
async fn a_client_that_reads_nothing_of_a_long_response_prevents_no_shutdown() {
    let mut app = App::start_with(Mode::Embedded, &[("SHUTDOWN_TIMEOUT_SECONDS", "4")]).await;
    let mut stream = connect(&app).await;
    let request = "GET /openapi.json HTTP/1.1\r\nHost: test\r\n\r\n".repeat(200);
    let _ = timeout(Duration::from_secs(2), stream.write_all(request.as_bytes())).await;
    app.server.signal("TERM");
    let ended = timeout(TIMEOUT, app.server.ended()).await;
    assert!(ended.is_ok(), "it did not stop");
    drop(stream);
}

#[tokio::test]
async fn a_connection_that_idles_longer_than_allowed_is_closed_on_both_paths() {
    let app = App::start_with(Mode::Embedded, &[("HEADER_TIMEOUT_SECONDS", "1")]).await;
    for path in ["/K7mXq2R", "/health"] {
        let mut stream = connect(&app).await;
        let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        assert!(to_the_end(&mut stream).await.starts_with("HTTP/1.1 "));
    }
    app.finish().await;
}

//! The list of the caller's own links.

use reqwest::Method;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{App, Mode, Response, both_modes, eventually};

fn codes(list: &Value) -> Vec<String> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|link| link["short_code"].as_str().unwrap().to_owned())
        .collect()
}

async fn some_links(app: &App, token: &str, count: usize) -> Vec<String> {
    let mut codes = Vec::new();
    for number in 0..count {
        codes.push(
            app.shorten(token, &format!("https://example.org/{number}"))
                .await,
        );
    }
    codes.reverse();
    codes
}

/// More links than fit into the socket buffers of a client that reads nothing.
const LONG_LIST: usize = 4_000;

/// The token of an account with so many links that the whole list is 8 MB long.
async fn long_list(app: &App) -> String {
    const COPIES: &str = "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 4000)
        INSERT INTO links (short_code, target_url, owner_id, created_at)
        SELECT short_code || '-' || n, target_url, owner_id, created_at FROM links, numbers WHERE short_code = $1";
    let token = app.register().await;
    let target = format!("https://example.org/{}", "x".repeat(2_000));
    let code = app.shorten(&token, &target).await;
    app.backend.execute(COPIES, &code).await;
    token
}

/// Requests the whole list and reads only the beginning of it.
async fn slow_reader(app: &App, token: &str) -> TcpStream {
    slow_reader_from(app, token, "203.0.113.1").await
}

/// The same behind a proxy, where there is one.
async fn slow_reader_from(app: &App, token: &str, address: &str) -> TcpStream {
    let from = format!("X-Forwarded-For: {address}\r\n");
    let address = app.server.base.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "GET /urls/my HTTP/1.1\r\nHost: test\r\n{from}Authorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).await.unwrap();
    assert!([&b"HTTP/1.1 200"[..], b"HTTP/1.1 429"].contains(&&begin[..]));
    stream
}

both_modes! {
    async fn a_list_has_the_callers_own_links_newest_first(app) {
        let (ada, bob) = (app.register().await, app.register().await);
        let of_ada = some_links(app, &ada, 5).await;
        let of_bob = some_links(app, &bob, 1).await;
        let response = app.get_as(&ada, "/urls/my").await;
        assert_eq!(response.status, 200);
        assert_eq!(response.header("content-type"), "application/json");
        assert_eq!(codes(&response.json()), of_ada);
        assert_eq!(codes(&app.get_as(&bob, "/urls/my").await.json()), of_bob);
        assert_eq!(response.json()[0].as_object().unwrap().len(), 5);
    }

    async fn a_list_without_links_is_empty(app) {
        let token = app.register().await;
        assert_eq!(app.get_as(&token, "/urls/my").await.text, "[]\n");
    }

    async fn a_list_has_the_exact_clicks(app) {
        let token = app.register().await;
        let links = some_links(app, &token, 3).await;
        for (code, visits) in links.iter().zip([0, 1, 4]) {
            for _ in 0..visits {
                app.visit(&format!("/{code}")).await;
            }
        }
        let list = app.get_as(&token, "/urls/my").await.json();
        let clicks: Vec<_> = list.as_array().unwrap().iter().map(|link| link["clicks"].as_u64().unwrap()).collect();
        assert_eq!(clicks, [0, 1, 4]);
    }

    async fn pages_lead_through_the_whole_list(app) {
        let token = app.register().await;
        let links = some_links(app, &token, 7).await;
        let mut path = "/urls/my?limit=3".to_owned();
        let mut pages = Vec::new();
        loop {
            let response = app.get_as(&token, &path).await;
            assert_eq!(response.status, 200);
            pages.push(codes(&response.json()));
            let link = response.header("link").to_owned();
            if link.is_empty() {
                break;
            }
            let next = link.strip_prefix('<').unwrap().strip_suffix(">; rel=\"next\"").unwrap();
            path = next.strip_prefix(&app.server.base).expect("the base address").to_owned();
        }
        assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 1]);
        assert_eq!(pages.concat(), links);
    }

    async fn the_last_page_has_no_next_page(app) {
        let token = app.register().await;
        some_links(app, &token, 3).await;
        assert_eq!(app.get_as(&token, "/urls/my?limit=3").await.header("link"), "");
    }

    async fn a_bad_limit_or_cursor_is_refused_by_name(app) {
        let token = app.register().await;
        for (query, field) in [
            ("limit=0", "limit"), ("limit=-1", "limit"), ("limit=1001", "limit"), ("limit=x", "limit"), ("limit=", "limit"),
            ("cursor=x", "cursor"), ("cursor=", "cursor"), ("limit=1&limit=2", "limit"),
            ("cursor=ffffffffffffffffffffffffffffffff", "cursor"),
        ] {
            let response = app.get_as(&token, &format!("/urls/my?{query}")).await;
            assert_eq!(response.status, 422, "{query}");
            assert!(response.detail().starts_with(field), "{query}: {}", response.detail());
        }
    }

    async fn a_list_longer_than_a_page_comes_whole(app) {
        let token = app.register().await;
        let me = app.get_as(&token, "/auth/me").await.json()["id"].to_string();
        app.backend.execute(
            "INSERT INTO links (short_code, target_url, owner_id, created_at)
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1234)
             SELECT 'bulk' || n.i, 'https://example.org/', users.id, users.created_at FROM n, users
             WHERE CAST(users.id AS text) = $1",
            &me,
        ).await;
        let list = app.get_as(&token, "/urls/my").await.json();
        let ids: Vec<_> = list.as_array().unwrap().iter().map(|link| link["id"].as_i64().unwrap()).collect();
        assert_eq!(ids.len(), 1234);
        assert!(ids.windows(2).all(|pair| pair[0] > pair[1]), "equal moments go by falling id");
    }

    async fn an_account_with_slow_readers_blocks_no_list_of_others(app) {
        let (ada, bob) = (long_list(app).await, long_list(app).await);
        let mut readers = Vec::new();
        for _ in 0..4 {
            readers.push(slow_reader(app, &ada).await);
        }
        let refused = app.get_as(&ada, "/urls/my").await;
        refused.is_error(429, "Too many requests; try again in 1 s");
        assert_eq!(refused.header("retry-after"), "1");
        assert_eq!(app.limit_hits("lists").await, 1);
        assert_eq!(app.get_as(&ada, "/urls/my?limit=1").await.status, 200);
        let of_bob = app.get_as(&bob, "/urls/my").await;
        assert_eq!(codes(&of_bob.json()).len(), LONG_LIST + 1);
        drop(readers);
        eventually("the places are free again", async || {
            app.get_as(&ada, "/urls/my").await.status == 200
        })
        .await;
    }
}

const PROXIED: (&str, &str) = ("TRUSTED_PROXIES", "127.0.0.0/8");

#[tokio::test]
async fn accounts_with_slow_readers_at_one_address_block_no_list_of_others() {
    let app = App::start_with(Mode::Embedded, &[PROXIED]).await;
    let mut readers = Vec::new();
    for _ in 0..8 {
        let token = long_list(&app).await;
        for _ in 0..4 {
            let reader = slow_reader_from(&app, &token, "203.0.113.1");
            readers.push(reader.await);
        }
    }
    let other = long_list(&app).await;
    let list = app
        .request(Method::GET, "/urls/my")
        .bearer_auth(&other)
        .header("x-forwarded-for", "198.51.100.1");
    let response = Response::of(list).await;
    assert_eq!(response.status, 200, "{}", response.text);
    assert_eq!(codes(&response.json()).len(), LONG_LIST + 1);
    assert_eq!(app.limit_hits("lists").await, 24);
    drop(readers);
    app.finish().await;
}

#[tokio::test]
async fn a_client_that_reads_its_list_too_slowly_is_cut_off_and_counted() {
    let settings = [("MIN_READ_BYTES_PER_SECOND", "100000000")];
    let app = App::start_with(Mode::Embedded, &settings).await;
    let token = long_list(&app).await;
    let mut reader = slow_reader(&app, &token).await;
    for _ in 0..600 {
        if app.limit_hits("read_rate").await == 1 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(app.limit_hits("read_rate").await, 1);
    let mut rest = Vec::new();
    let _ = reader.read_to_end(&mut rest).await;
    assert!(!rest.ends_with(b"0\r\n\r\n"), "it does not look whole");
    let in_time = app.get_as(&token, "/urls/my").await;
    assert_eq!(codes(&in_time.json()).len(), LONG_LIST + 1);
    app.finish().await;
}

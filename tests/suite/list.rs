//! The list of the caller's own links.

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{App, both_modes, eventually};

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
    let address = app.server.base.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request =
        format!("GET /urls/my HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).await.unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200");
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

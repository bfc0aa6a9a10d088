//! Uploads of many links that are announced and come slowly, or not at all.

use reqwest::Method;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::suite::web::browser::Browser;
use crate::support::{App, Response, both_modes, eventually};

use super::{announce, connect_from};

const MAX_BYTES: usize = 32 << 20;

async fn bulk(app: &App, token: &str, path: &str) -> Response {
    let request = app.request(Method::POST, path).bearer_auth(token);
    Response::of(request.json(&json!([{"target_url": "https://example.org/"}]))).await
}

/// An upload whose body is awaited.
async fn upload(app: &App, token: &str, path: &str, announced: &str) -> TcpStream {
    let mut stream = connect_from(app, "127.0.9.1").await;
    let headers = format!(
        "Authorization: Bearer {token}\r\nContent-Type: application/json\r\n{announced}\r\n"
    );
    let status = announce(&mut stream, &format!("POST {path}"), &headers).await;
    assert_eq!(status, 100);
    stream
}

both_modes! {
    async fn idle_uploads_take_no_room_from_others(app) {
        let other = app.register().await;
        let mut idle = Vec::new();
        for announced in [format!("Content-Length: {MAX_BYTES}"), "Transfer-Encoding: chunked".to_owned()] {
            for path in ["/urls/bulk", "/urls/bulk?dry_run=true"] {
                let token = app.register().await;
                for _ in 0..2 {
                    idle.push(upload(app, &token, path, &announced).await);
                }
                for path in ["/urls/bulk", "/urls/bulk?dry_run=true"] {
                    assert_eq!(bulk(app, &other, path).await.status, 200);
                }
            }
        }
    }

    async fn an_account_has_a_quarter_of_the_memory_for_what_is_sent(app) {
        let mut browser = Browser::new(app);
        let email = browser.sign_up().await;
        let log_in = app.account("/auth/login", &email, "correct horse").await.json();
        let token = log_in["access_token"].as_str().unwrap().to_owned();
        let mut large = upload(app, &token, "/urls/bulk", &format!("Content-Length: {MAX_BYTES}")).await;
        large.write_all(&vec![b' '; MAX_BYTES - 4_096]).await.unwrap();
        let body = vec![b' '; 100_000];
        eventually("the account has its part", async || {
            let more = app.request(Method::POST, "/urls/bulk").bearer_auth(&token);
            Response::of(more.body(body.clone())).await.status == 429
        })
        .await;
        let table = format!("target_url\n{}", "https://example.org/\n".repeat(5_000));
        let refused = browser.send("/app/import", "/app/import", &[("table", &table), ("action", "check")]).await;
        assert_eq!(refused.status, 429, "{refused:?}");
        assert!(app.limit_hits("buffers_of_client").await >= 2);
        // Others have theirs, and the account what takes little.
        let other = app.register().await;
        assert_eq!(bulk(app, &other, "/urls/bulk").await.status, 200);
        assert_eq!(bulk(app, &token, "/urls/bulk").await.status, 200);
        drop(large);
        eventually("what is given up makes room", async || {
            let more = app.request(Method::POST, "/urls/bulk").bearer_auth(&token);
            Response::of(more.body(body.clone())).await.status == 422
        })
        .await;
    }

    async fn an_array_of_millions_of_parts_is_refused_without_a_list_of_them(app) {
        let token = app.register().await;
        let before = app.server.peak_kib();
        let mut body = "0,".repeat(10_000_000);
        body.insert(0, '[');
        body.push_str("0]");
        let sent = app.request(Method::POST, "/urls/bulk").bearer_auth(&token).body(body);
        Response::of(sent).await.is_error(422, "body: must have at most 10000 links; send the others in another call");
        let grown = app.server.peak_kib().saturating_sub(before);
        assert!(grown < 100 * 1024, "{grown} KiB for 20 MB");
    }

    async fn the_results_of_a_call_take_a_part_of_the_memory_until_they_are_read(app) {
        let token = app.register().await;
        let target = format!("https://example.org/{}", "a".repeat(2_000));
        let link = json!({ "target_url": target });
        let links = serde_json::to_string(&vec![link; 10_000]).unwrap();
        let post = async || {
            let request = app.request(Method::POST, "/urls/bulk?dry_run=true").bearer_auth(&token);
            request.body(links.clone()).send().await.unwrap()
        };
        let unread = post().await;
        assert_eq!(unread.status(), 200);
        let refused = post().await;
        assert_eq!((refused.status(), &refused.headers()["retry-after"]), (429.try_into().unwrap(), &"1".parse().unwrap()));
        assert_eq!(app.get_as(&token, "/urls/my").await.status, 200);
        drop(unread);
        eventually("the room is given back", async || post().await.status() == 200).await;
    }

    async fn a_link_of_many_that_is_very_long_is_refused_and_stops_no_other(app) {
        let token = app.register().await;
        let zeros = vec![0; 100_000];
        let body = json!([{ "x": zeros }, { "target_url": "https://example.org/" }, { "tags": vec![""; 100_000] }]);
        let request = app.request(Method::POST, "/urls/bulk").bearer_auth(&token);
        let results = Response::of(request.json(&body)).await.json();
        let statuses: Vec<_> = results.as_array().unwrap().iter().map(|result| result["status"].as_u64()).collect();
        assert_eq!(statuses, [Some(422), Some(200), Some(422)]);
        assert_eq!(results[0]["detail"], "body: each link must have at most 196608 bytes of JSON");
    }
}

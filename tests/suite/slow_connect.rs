//! A Redis to which connecting takes longer than the deadline of a command.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{App, Mode, RedisServer, eventually};

/// How long the first reply on every connection takes: several times a command's deadline.
const HANDSHAKE: Duration = Duration::from_millis(300);

/// Long enough for a test to act before a connection is there, and shorter than the deadline of connecting.
const LONG_HANDSHAKE: Duration = Duration::from_millis(1_500);

/// A proxy to `port` that delays the first reply of every connection; its URL.
async fn slow_to_connect(port: u16, handshake: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(pass_on(client, port, handshake));
        }
    });
    format!("redis://{address}")
}

async fn pass_on(client: TcpStream, port: u16, handshake: Duration) {
    let server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
    let mut first = [0; 4096];
    let Ok(length) = from_server.read(&mut first).await else {
        return;
    };
    tokio::time::sleep(handshake).await;
    if to_client.write_all(&first[..length]).await.is_ok() {
        let _ = tokio::io::copy(&mut from_server, &mut to_client).await;
    }
}

#[tokio::test]
async fn clicks_reach_a_redis_that_takes_long_to_connect_to() {
    let redis = RedisServer::start(&[]).await;
    let url = slow_to_connect(redis.port(), HANDSHAKE).await;
    let settings = [
        ("REDIS_URL", url.as_str()),
        ("FLUSH_INTERVAL_MS", "60000"),
        ("WORKERS", "1"),
    ];
    let app = App::start_with(Mode::Production, &settings).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    let connection = redis.connection().await;
    let pending = format!("{{{}}}:pending", app.backend.prefix());
    // While the connection is made, clicks go to the journal.
    assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    eventually("a click is in Redis", async || {
        app.visit(&format!("/{code}")).await;
        let mut exists = redis::cmd("EXISTS");
        exists.arg(&pending);
        exists.query_async(&mut connection.clone()).await.unwrap()
    })
    .await;
    app.finish().await;
}

#[tokio::test]
async fn a_deleted_link_is_gone_also_while_its_clicks_have_no_connection_to_redis_yet() {
    let redis = RedisServer::start(&[]).await;
    let near = redis.url();
    let app = App::start_with(Mode::Production, &[("REDIS_URL", near.as_str())]).await;
    let far = slow_to_connect(redis.port(), LONG_HANDSHAKE).await;
    let mut other = app
        .another(&[("REDIS_URL", far.as_str()), ("WORKERS", "1")])
        .await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    let visit = async || {
        let link = format!("{}/{code}", other.base);
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        let response = client.build().unwrap().get(link).send().await.unwrap();
        response.status().as_u16()
    };
    // Statistics are read over the pool: once they come, one of its connections reaches Redis.
    eventually("it reaches Redis", async || {
        let stats = format!("{}/urls/{code}/stats", other.base);
        reqwest::get(stats).await.unwrap().status() == 200
    })
    .await;
    assert_eq!(visit().await, 302);
    assert_eq!(app.delete(&token, &code).await.status, 204);
    assert_eq!(visit().await, 404);
    other.stop().await;
    app.finish().await;
}

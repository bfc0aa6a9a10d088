//! A Redis behind a line over which connecting takes longer than a command may.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::support::{App, Mode, RedisServer, eventually};

/// How long the first answer on every connection takes: several times a command's deadline.
const HANDSHAKE: Duration = Duration::from_millis(300);

/// Passes bytes on to `port`, the first answer of a connection late; the address of its own.
async fn slow_line(port: u16) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(pass_on(client, port));
        }
    });
    format!("redis://{address}")
}

async fn pass_on(client: TcpStream, port: u16) {
    let server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
    let mut first = [0; 4096];
    let Ok(length) = from_server.read(&mut first).await else {
        return;
    };
    tokio::time::sleep(HANDSHAKE).await;
    if to_client.write_all(&first[..length]).await.is_ok() {
        let _ = tokio::io::copy(&mut from_server, &mut to_client).await;
    }
}

#[tokio::test]
async fn clicks_reach_a_redis_that_takes_long_to_connect_to() {
    let redis = RedisServer::start(&[]).await;
    let url = slow_line(redis.port()).await;
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

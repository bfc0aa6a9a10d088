//! Raw requests, as no ordinary client sends them.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends bytes unchanged and reads until the server closes, or is silent for a while.
pub(crate) async fn exchange(base: &str, request: impl AsRef<[u8]>) -> String {
    let mut stream = TcpStream::connect(base.trim_start_matches("http://"))
        .await
        .unwrap();
    stream.write_all(request.as_ref()).await.unwrap();
    let mut response = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(Ok(length)) =
        tokio::time::timeout(Duration::from_millis(500), stream.read(&mut piece)).await
    {
        if length == 0 {
            break;
        }
        response.extend_from_slice(&piece[..length]);
    }
    String::from_utf8_lossy(&response).into_owned()
}

/// A `GET` of a path, undecoded and unnormalised.
pub(crate) async fn get(base: &str, path: &str) -> String {
    exchange(
        base,
        format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"),
    )
    .await
}

/// A `GET` without `Connection: close`, as a browser sends it.
pub(crate) async fn get_plain(base: &str, path: &str) -> String {
    exchange(base, format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n")).await
}

//! Raw bytes to the service and back.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How long a busy machine may take to answer and to close.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Everything that came back on one connection.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) text: String,
    /// The service ended the connection.
    pub(crate) closed: bool,
}

impl Received {
    /// The status of every response, in order.
    pub(crate) fn statuses(&self) -> Vec<u16> {
        self.text
            .match_indices("HTTP/1.1 ")
            .map(|(at, found)| self.text[at + found.len()..][..3].parse().unwrap())
            .collect()
    }

    /// A header of the first response; empty where it has none of this name.
    pub(crate) fn header(&self, name: &str) -> &str {
        let head = self.text.split("\r\n\r\n").next().unwrap_or_default();
        head.lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map_or("", |(_, value)| value)
    }
}

/// Sends bytes unchanged; reads until the service closes, or does not for a long time.
pub(crate) async fn send(base: &str, bytes: impl AsRef<[u8]>) -> Received {
    let mut stream = TcpStream::connect(base.trim_start_matches("http://"))
        .await
        .unwrap();
    // After a refusal the service may close while the client is still sending.
    let _ = stream.write_all(bytes.as_ref()).await;
    let mut received = Vec::new();
    let mut piece = [0; 4096];
    let deadline = tokio::time::Instant::now() + TIMEOUT;
    let closed = loop {
        match tokio::time::timeout_at(deadline, stream.read(&mut piece)).await {
            Ok(Ok(0) | Err(_)) => break true,
            Ok(Ok(length)) => received.extend_from_slice(&piece[..length]),
            Err(_) => break false,
        }
    };
    Received {
        text: String::from_utf8_lossy(&received).into_owned(),
        closed,
    }
}

/// A plain `GET` of an unchanged request target, and then a request after which the service closes:
/// its 404 is the last response, unless the first one ended the connection.
pub(crate) async fn get_then_close(base: &str, target: &str) -> Received {
    let last = "GET /the/last HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";
    send(
        base,
        format!("GET {target} HTTP/1.1\r\nHost: test\r\n\r\n{last}"),
    )
    .await
}

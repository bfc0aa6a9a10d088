//! What all share: an account or an address that keeps its part for long takes no more than a quarter, and nothing from others.

mod bodies;
mod live;
mod unread;
mod uploads;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::support::App;

/// Limits by address as they are by default; other tests have none.
const BY_ADDRESS: (&str, &str) = ("MAX_CONNECTIONS_PER_ADDRESS", "512");

/// A connection from an address of this machine.
async fn connect_from(app: &App, address: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket
        .bind(format!("{address}:0").parse().unwrap())
        .unwrap();
    let service = app.server.base.trim_start_matches("http://");
    socket.connect(service.parse().unwrap()).await.unwrap()
}

/// Sends a request's head, whose body is announced; returns the status of what comes first: 100 where the body is awaited.
async fn announce(stream: &mut TcpStream, line: &str, headers: &str) -> u16 {
    let head = format!("{line} HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\n{headers}\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    status(stream).await
}

/// The status of the response that comes next, of which only the first line is read.
async fn status(stream: &mut TcpStream) -> u16 {
    let mut begin = [0; 12];
    stream.read_exact(&mut begin).await.unwrap();
    let begin = str::from_utf8(&begin).unwrap();
    begin.strip_prefix("HTTP/1.1 ").unwrap().parse().unwrap()
}

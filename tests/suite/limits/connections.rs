//! One address cannot take every connection.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::support::{App, Mode, eventually};

const FOUR: (&str, &str) = ("MAX_CONNECTIONS_PER_ADDRESS", "4");

/// An idle connection from an address of this machine that other tests do not use.
async fn connect_from(app: &App, address: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket
        .bind(format!("{address}:0").parse().unwrap())
        .unwrap();
    let service = app.server.base.trim_start_matches("http://");
    socket.connect(service.parse().unwrap()).await.unwrap()
}

/// The first line of the response to a request on this connection, or of what came before it.
async fn first_line(stream: &mut TcpStream) -> String {
    let request = "GET /health HTTP/1.1\r\nHost: test\r\n\r\n";
    let _ = stream.write_all(request.as_bytes()).await;
    let mut bytes = [0; 1024];
    let length = stream.read(&mut bytes).await.unwrap_or(0);
    let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
    text.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn an_address_with_all_its_connections_gets_429_and_other_addresses_are_served() {
    let app = App::start_with(Mode::Embedded, &[FOUR]).await;
    let mut open = Vec::new();
    for _ in 0..4 {
        let mut stream = connect_from(&app, "127.0.7.1").await;
        assert_eq!(first_line(&mut stream).await, "HTTP/1.1 200 OK");
        open.push(stream);
    }
    let mut refused = connect_from(&app, "127.0.7.1").await;
    let mut response = String::new();
    refused.read_to_string(&mut response).await.unwrap();
    assert!(
        response.starts_with("HTTP/1.1 429 Too Many Requests\r\n"),
        "{response}"
    );
    assert!(response.contains("retry-after: 1\r\n"), "{response}");
    assert!(
        response.contains(r#"{"detail":"Too many connections from your address"#),
        "{response}"
    );
    let mut other = connect_from(&app, "127.0.7.2").await;
    assert_eq!(first_line(&mut other).await, "HTTP/1.1 200 OK");
    assert!(app.limit_hits("connections_of_address").await >= 1);
    open.pop();
    eventually("a closed connection makes room", async || {
        let mut stream = connect_from(&app, "127.0.7.1").await;
        first_line(&mut stream).await == "HTTP/1.1 200 OK"
    })
    .await;
    drop(open);
    app.finish().await;
}

#[tokio::test]
async fn a_trusted_proxy_may_have_any_number_of_connections() {
    let settings = [FOUR, ("TRUSTED_PROXIES", "127.0.7.0/24")];
    let app = App::start_with(Mode::Embedded, &settings).await;
    let mut open = Vec::new();
    for _ in 0..20 {
        let mut stream = connect_from(&app, "127.0.7.1").await;
        assert_eq!(first_line(&mut stream).await, "HTTP/1.1 200 OK");
        open.push(stream);
    }
    drop(open);
    app.finish().await;
}

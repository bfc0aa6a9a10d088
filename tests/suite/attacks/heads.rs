//! Request smuggling: requests whose end two programs could see in different places. Nothing hidden in one is
//! served as the next, nothing is served twice or out of order, and after a 400 the connection ends.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{App, Mode, with_app};

use super::wire;

/// First lines of requests: one on the fast path, and two that hyper serves.
pub(super) fn beginnings(code: &str) -> [String; 3] {
    [
        format!("GET /{code} HTTP/1.1\r\nHost: test\r\n"),
        "GET /health HTTP/1.1\r\nHost: test\r\n".to_owned(),
        "POST /auth/login HTTP/1.1\r\nHost: test\r\n".to_owned(),
    ]
}

/// The code of a link to request, and that of a link hidden in requests: its clicks show that it was served.
pub(super) async fn hidden_link(app: &App) -> (String, String) {
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    let hidden = app.shorten(&token, "https://example.org/hidden").await;
    (code, hidden)
}

#[tokio::test]
async fn a_request_of_doubtful_length_is_refused_and_bytes_after_it_are_never_read() {
    with_app(Mode::Embedded, async |app: &mut App| {
        let (code, hidden) = hidden_link(app).await;
        let next = format!("GET /{hidden} HTTP/1.1\r\nHost: test\r\n\r\n");
        let length = next.len();
        for beginning in beginnings(&code) {
            for rest in [
                format!("Content-Length: 0\r\nContent-Length: {length}\r\n\r\n"),
                format!("Content-Length: {length}\r\nContent-Length: 0\r\n\r\n"),
                format!("Content-Length: 0, {length}\r\n\r\n"),
                format!("Content-Length: {length}, 0\r\n\r\n"),
                "Content-Length: -1\r\n\r\n".to_owned(),
                "Content-Length: +0\r\n\r\n".to_owned(),
                "Content-Length: 0x0\r\n\r\n".to_owned(),
                "Content-Length: 0 0\r\n\r\n".to_owned(),
                "Content-Length: 0.0\r\n\r\n".to_owned(),
                "Content-Length: zero\r\n\r\n".to_owned(),
                "Content-Length: \r\n\r\n".to_owned(),
                "Content-Length: 18446744073709551616\r\n\r\n".to_owned(),
                "Content-Length: \u{664}\r\n\r\n".to_owned(),
                "Transfer-Encoding: xchunked\r\n\r\n".to_owned(),
                "Transfer-Encoding: chunked, identity\r\n\r\n".to_owned(),
                "Transfer-Encoding: chunked, gzip\r\n\r\n".to_owned(),
                "Transfer-Encoding: identity\r\n\r\n".to_owned(),
                "Transfer-Encoding: \r\n\r\n".to_owned(),
                "Transfer-Encoding: chunke\r\n\r\n".to_owned(),
                "Transfer-Encoding: \"chunked\"\r\n\r\n".to_owned(),
                "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n".to_owned(),
                "Transfer-Encoding\r\n: chunked\r\n\r\n".to_owned(),
                "Transfer-Encoding : chunked\r\n\r\n".to_owned(),
                "Content-Length : 0\r\n\r\n".to_owned(),
                "Content-Length\t: 0\r\n\r\n".to_owned(),
                "Content-Length\0: 0\r\n\r\n".to_owned(),
                " Content-Length: 0\r\n\r\n".to_owned(),
                "X: y\r\n Content-Length: 0\r\n\r\n".to_owned(),
                "X: y\r\n\tTransfer-Encoding: chunked\r\n\r\n".to_owned(),
                "Transfer-Encoding:\r\n chunked\r\n\r\n".to_owned(),
                "X: y\rTransfer-Encoding: chunked\r\n\r\n".to_owned(),
                "X: y\0\r\n\r\n".to_owned(),
                ": y\r\n\r\n".to_owned(),
                "X\r\n\r\n".to_owned(),
                "X(y): z\r\n\r\n".to_owned(),
                "\u{e9}: z\r\n\r\n".to_owned(),
            ] {
                let received =
                    wire::send(&app.server.base, format!("{beginning}{rest}{next}")).await;
                assert!(received.closed, "{beginning}{rest}");
                assert_eq!(
                    received.statuses(),
                    [400],
                    "{beginning}{rest}{}",
                    received.text
                );
            }
        }
        assert_eq!((app.clicks(&code).await, app.clicks(&hidden).await), (0, 0));
    })
    .await;
}

#[tokio::test]
async fn a_client_that_stops_sending_after_its_request_is_answered() {
    with_app(Mode::Embedded, async |app: &mut App| {
        let (code, _) = hidden_link(app).await;
        let address = app.server.base.trim_start_matches("http://");
        for (path, status) in [
            (format!("/{code}"), 302),
            ("/health".to_owned(), 200),
            ("/urls/unseen/stats".to_owned(), 404),
        ] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
            let mut response = String::new();
            stream.read_to_string(&mut response).await.unwrap();
            assert!(
                response.starts_with(&format!("HTTP/1.1 {status} ")),
                "{path}: {response}"
            );
        }
    })
    .await;
}

/// RFC 9112, 3.2.
#[tokio::test]
async fn a_request_that_does_not_name_one_host_is_refused() {
    with_app(Mode::Embedded, async |app: &mut App| {
        let (code, _) = hidden_link(app).await;
        for beginning in [
            format!("GET /{code} HTTP/1.1\r\n"),
            format!("GET /urls/r/{code} HTTP/1.1\r\n"),
            format!("HEAD /{code} HTTP/1.1\r\n"),
            "GET /health HTTP/1.1\r\n".to_owned(),
            "POST /auth/login HTTP/1.1\r\n".to_owned(),
        ] {
            for hosts in [
                "",
                "Host: test\r\nHost: test\r\n",
                "Host: test\r\nhost: other\r\n",
            ] {
                let request = format!("{beginning}{hosts}\r\n");
                let received = wire::send(&app.server.base, request.repeat(2)).await;
                assert!(received.closed, "{request}");
                assert_eq!(received.statuses(), [400], "{request}{}", received.text);
            }
        }
        assert_eq!(app.clicks(&code).await, 0);
        let without_host = format!("GET /{code} HTTP/1.0\r\n\r\n");
        let received = wire::send(&app.server.base, without_host).await;
        assert!(
            received.text.starts_with("HTTP/1.0 302 "),
            "{}",
            received.text
        );
        assert_eq!(app.clicks(&code).await, 1);
    })
    .await;
}

/// RFC 9112, 6.3: with both, the chunks decide or the request is refused; either way the connection ends.
#[tokio::test]
async fn a_request_with_a_length_and_chunks_is_the_last_of_its_connection() {
    with_app(Mode::Embedded, async |app: &mut App| {
        let (code, hidden) = hidden_link(app).await;
        let next = format!("GET /{hidden} HTTP/1.1\r\nHost: test\r\n\r\n");
        let length = next.len();
        for beginning in beginnings(&code) {
            for lines in [
                format!(
                    "Content-Length: {}\r\nTransfer-Encoding: chunked\r\n",
                    length + 5
                ),
                format!(
                    "Transfer-Encoding: chunked\r\nContent-Length: {}\r\n",
                    length + 5
                ),
                "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n".to_owned(),
                "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n".to_owned(),
                "Transfer-Encoding: CHUNKED\r\nContent-Length: 0\r\n".to_owned(),
                "Transfer-Encoding: gzip, chunked\r\nContent-Length: 0\r\n".to_owned(),
            ] {
                let request = format!("{beginning}{lines}\r\n0\r\n\r\n{next}");
                let received = wire::send(&app.server.base, request).await;
                assert!(received.closed, "{beginning}{lines}");
                assert_eq!(
                    received.statuses().len(),
                    1,
                    "{beginning}{lines}{}",
                    received.text
                );
                assert!(
                    received.statuses()[0] != 500,
                    "{beginning}{lines}{}",
                    received.text
                );
            }
        }
        assert_eq!(app.clicks(&hidden).await, 0);
    })
    .await;
}

#[tokio::test]
async fn bad_chunks_end_the_connection() {
    with_app(Mode::Embedded, async |app: &mut App| {
        let (code, hidden) = hidden_link(app).await;
        let next = format!("GET /{hidden} HTTP/1.1\r\nHost: test\r\n\r\n");
        for beginning in beginnings(&code) {
            for chunks in [
                "g\r\n",
                "-1\r\n",
                "0x1\r\nx\r\n",
                "1\r\nxx\r\n",
                "1\nx\n",
                "1\r\nx",
                "\r\n",
                ";\r\n",
                " 0\r\n\r\n",
                "+0\r\n\r\n",
                "ffffffffffffffff\r\n",
                "10000000000000000\r\n",
                "fffffffffffffffff\r\nx",
                "1 1\r\nx\r\n",
                "0\r\r\n\r\n",
                "0\n\r\n",
                "1;\u{0}=\n\r\nx\r\n0\r\n\r\n",
                "2\r\nx\r\n0\r\n\r\n",
                "0\r\nX\r\n\r\n",
                "0\r\n: y\r\n\r\n",
            ] {
                let request =
                    format!("{beginning}Transfer-Encoding: chunked\r\n\r\n{chunks}{next}{next}");
                let received = wire::send(&app.server.base, request).await;
                assert!(received.closed, "{beginning}{chunks:?}: {}", received.text);
                let statuses = received.statuses();
                assert!(
                    statuses.len() == 1 && statuses[0] < 500,
                    "{beginning}{chunks:?}: {}",
                    received.text
                );
            }
        }
        assert_eq!(app.clicks(&hidden).await, 0);
    })
    .await;
}

/// A body belongs to its request, also where the route reads none.
#[tokio::test]
async fn a_body_is_never_read_as_a_request() {
    with_app(Mode::Embedded, async |app: &mut App| {
        let (code, hidden) = hidden_link(app).await;
        let inside = format!("GET /{hidden} HTTP/1.1\r\nHost: test\r\n\r\n");
        let length = inside.len();
        let last = "GET /the/last HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";
        for beginning in beginnings(&code).into_iter().chain([
            format!("HEAD /{code} HTTP/1.1\r\nHost: test\r\n"),
            "GET /nopenope HTTP/1.1\r\nHost: test\r\n".to_owned(),
            "DELETE /urls/x HTTP/1.1\r\nHost: test\r\n".to_owned(),
            "PUT /nothing/here HTTP/1.1\r\nHost: test\r\n".to_owned(),
        ]) {
            for body in [
                format!("Content-Length: {length}\r\n\r\n{inside}"),
                format!("Content-Length: {length}\r\nContent-Length: {length}\r\n\r\n{inside}"),
                format!("Content-Length: 0{length}\r\n\r\n{inside}"),
                format!("Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{inside}\r\n0\r\n\r\n"),
                format!("Transfer-Encoding: chunked\r\n\r\n{length:x};x=\"\r\n{inside}\r\n0\r\nX: y\r\n\r\n"),
            ] {
                let received = wire::send(&app.server.base, format!("{beginning}{body}{last}")).await;
                assert!(received.closed, "{beginning}{body}");
                let statuses = received.statuses();
                assert!((1..=2).contains(&statuses.len()), "{beginning}{body}{}", received.text);
                if statuses.len() == 2 {
                    assert_eq!(statuses[1], 404, "{beginning}{body}{}", received.text);
                }
            }
        }
        assert_eq!(app.clicks(&hidden).await, 0);
    })
    .await;
}

#[tokio::test]
async fn rubbish_after_a_redirect_ends_the_connection_after_it() {
    with_app(Mode::Embedded, async |app: &mut App| {
        let (code, hidden) = hidden_link(app).await;
        let next = format!("GET /{hidden} HTTP/1.1\r\nHost: test\r\n\r\n");
        let mut answered = 0;
        for rubbish in [
            "\0",
            "rubbish\r\n\r\n",
            "GET\r\n\r\n",
            "\r\n\r\n\0",
            "HTTP/1.1 200 OK\r\n\r\n",
            "\u{16}\u{3}\u{1}",
            "GET / HTTP/1.1\r\n : x\r\n\r\n",
            "GET / HTTP/3.0\r\n\r\n",
            "<xml>\r\n\r\n",
            "{\"email\":1}\r\n\r\n",
        ] {
            let redirect = format!("GET /{code} HTTP/1.1\r\nHost: test\r\n\r\n");
            let received = wire::send(
                &app.server.base,
                format!("{redirect}{redirect}{rubbish}{next}"),
            )
            .await;
            answered += 2;
            assert!(received.closed, "{rubbish:?}");
            assert_eq!(
                received.statuses(),
                [302, 302, 400],
                "{rubbish:?}: {}",
                received.text
            );
        }
        assert_eq!(
            (app.clicks(&code).await, app.clicks(&hidden).await),
            (answered, 0)
        );
    })
    .await;
}

/// On either path, and however the bytes are cut into packets.
#[tokio::test]
async fn mixed_requests_are_answered_once_each_and_in_order() {
    with_app(Mode::Embedded, async |app: &mut App| {
        let (code, other) = hidden_link(app).await;
        let mut requests = String::new();
        let mut expected = Vec::new();
        for number in 0..60 {
            let (request, status) = match number % 5 {
                0 => (format!("GET /{code} HTTP/1.1\r\nHost: test\r\n\r\n"), 302),
                1 => ("GET /health HTTP/1.1\r\nHost: test\r\n\r\n".to_owned(), 200),
                2 => (format!("HEAD /{other} HTTP/1.1\r\nHost: test\r\n\r\n"), 302),
                3 => (
                    "POST /auth/login HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\n{}"
                        .to_owned(),
                    422,
                ),
                _ => (
                    "GET /nopenope HTTP/1.1\r\nHost: test\r\n\r\n".to_owned(),
                    404,
                ),
            };
            requests += &request;
            expected.push(status);
        }
        requests += "GET /the/last HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";
        expected.push(404);
        let received = wire::send(&app.server.base, requests).await;
        assert_eq!(received.statuses(), expected);
        assert_eq!((app.clicks(&code).await, app.clicks(&other).await), (12, 0));
    })
    .await;
}

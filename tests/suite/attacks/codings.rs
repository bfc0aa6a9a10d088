//! Request smuggling by `Transfer-Encoding`: a body is read in chunks if the header says exactly `chunked`, once. A list
//! that hides `chunked` from one program and shows it to another is refused, and ends the connection.

use crate::support::{App, Mode, with_app};

use super::heads::{beginnings, hidden_link};
use super::wire;

/// Lines that are refused because `chunked` is not alone. Those with a name are from the mutations of
/// github.com/defparam/smuggler (`configs/default.py`) and github.com/PortSwigger/http-request-smuggler.
const NOT_ALONE: [&str; 16] = [
    // cowComma
    "Transfer-Encoding: cow, chunked",
    // revdualchunk
    "Transfer-Encoding: cow\r\nTransfer-Encoding: chunked",
    // doubletransfer1
    "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
    // PortSwigger's cowComma
    "Transfer-Encoding: identity, chunked",
    "Transfer-Encoding: gzip, chunked",
    "Transfer-Encoding: gzip,chunked",
    "Transfer-Encoding: deflate\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: gzip\r\nX: y\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: chunked, chunked",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    "transfer-encoding: chunked\r\nTRANSFER-ENCODING: CHUNKED",
    "Transfer-Encoding: , chunked",
    "Transfer-Encoding:\r\nTransfer-Encoding: chunked",
    "Transfer-Encoding: chunked;q=1, chunked",
    "Transfer-Encoding: \"chunked\", chunked",
    "Transfer-Encoding: chunked identity, chunked",
];

/// Lines after which the end of the body cannot be known (RFC 9112, 6.3) or that are no headers at all, from the same
/// sources.
const UNREADABLE: [&str; 24] = [
    // nameprefix1
    " Transfer-Encoding: chunked",
    // tabprefix2
    "Transfer-Encoding\t:\tchunked",
    // spacejoin1
    "Transfer Encoding: chunked",
    // smashed
    "Transfer Encoding:chunked",
    // space1
    "Transfer-Encoding : chunked",
    // vertprefix1
    "Transfer-Encoding:\u{b}chunked",
    // commaCow
    "Transfer-Encoding: chunked, cow",
    // PortSwigger's commaCow
    "Transfer-Encoding: chunked, identity",
    // linewrapped1
    "Transfer-Encoding:\n chunked",
    // quoted
    "Transfer-Encoding: \"chunked\"",
    // aposed
    "Transfer-Encoding: 'chunked'",
    // lazygrep
    "Transfer-Encoding: chunk",
    // 0dspam
    "Transfer\r-Encoding: chunked",
    // nested
    "Transfer-Encoding: cow chunked bar",
    // accentCH
    "Transfer-Encoding: ch\u{96}nked",
    // accentTE
    "Transf\u{82}r-Encoding: chunked",
    // x-rout
    "X:X\rTransfer-Encoding: chunked",
    // spjunk
    "Transfer-Encoding x: chunked",
    // revdualchunkinv2
    "Transfer-Encoding: chunked\rTransfer-Encoding: aSDaxcaxzd",
    // doubletransfer1
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
    "Transfer-Encoding: chunked,",
    "Transfer-Encoding: chunked;q=1",
    "Transfer-Encoding: x-chunked",
    "Transfer-Encoding: chunked\u{a0}",
];

/// Lines that say `chunked` and nothing else, however they are written, from the same sources.
const CHUNKED: [&str; 7] = [
    // tabprefix1
    "Transfer-Encoding:\tchunked",
    // valueprefix1
    "Transfer-Encoding:  chunked",
    // sarcasm
    "TrAnSFer-EnCODinG: cHuNkeD",
    // yelling
    "TRANSFER-ENCODING: CHUNKED",
    // tabsuffix
    "Transfer-Encoding: chunked\t",
    // x-nout
    "X:X\nTransfer-Encoding: chunked",
    "Transfer-Encoding:chunked",
];

/// Sends each line at the head of a chunked request with another one behind it; returns the statuses.
async fn statuses(app: &App, beginning: &str, line: &[u8], next: &str) -> Vec<u16> {
    let mut request = beginning.as_bytes().to_vec();
    request.extend_from_slice(line);
    request.extend_from_slice(b"\r\n\r\n0\r\n\r\n");
    request.extend_from_slice(next.as_bytes());
    let received = wire::send(&app.server.base, request).await;
    assert!(received.closed, "{beginning}{}", line.escape_ascii());
    received.statuses()
}

#[tokio::test]
async fn a_body_that_is_not_just_chunked_is_refused_with_501_and_bytes_after_it_are_never_read() {
    with_app(Mode::Embedded, async |app: &mut App| {
        let (code, hidden) = hidden_link(app).await;
        let next = format!("GET /{hidden} HTTP/1.1\r\nHost: test\r\n\r\n");
        for beginning in beginnings(&code) {
            for (expected, lines) in [(501, &NOT_ALONE[..]), (400, &UNREADABLE)] {
                for line in lines {
                    let found = statuses(app, &beginning, line.as_bytes(), &next).await;
                    assert_eq!(found, [expected], "{beginning}{line:?}");
                }
            }
        }
        let response = wire::send(
            &app.server.base,
            "GET /health HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        )
        .await;
        let detail = r#"{"detail":"Transfer-Encoding: must be chunked, once, or left out"}"#;
        assert!(
            response.text.trim_end().ends_with(detail),
            "{}",
            response.text
        );
        assert_eq!((app.clicks(&code).await, app.clicks(&hidden).await), (0, 0));
    })
    .await;
}

#[tokio::test]
async fn chunked_alone_is_read_as_chunks_however_it_is_written() {
    with_app(Mode::Embedded, async |app: &mut App| {
        let (code, _) = hidden_link(app).await;
        let last = "GET /the/last HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";
        for (beginning, status) in beginnings(&code).iter().zip([302, 200, 422]) {
            for line in CHUNKED {
                let found = statuses(app, beginning, line.as_bytes(), last).await;
                assert_eq!(found, [status, 404], "{beginning}{line:?}");
            }
        }
        assert_eq!(app.clicks(&code).await, CHUNKED.len() as u64);
    })
    .await;
}

/// Every byte that is not a printable one, in the four places where smuggler puts it (`midspace`, `postspace`,
/// `prespace`, `endspace`). The length covers the hidden request, so that it stays hidden if the line is not
/// understood, too.
#[tokio::test]
async fn no_stray_byte_around_the_header_lets_a_hidden_request_through() {
    with_app(Mode::Embedded, async |app: &mut App| {
        let (_, hidden) = hidden_link(app).await;
        let next = format!("GET /{hidden} HTTP/1.1\r\nHost: test\r\n\r\n");
        let length = "0\r\n\r\n".len() + next.len();
        let beginning = format!(
            "POST /auth/login HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: {length}\r\n"
        );
        for byte in (0x01..0x20).chain(0x7f..=0xff_u8) {
            for (before, after) in [
                ("Transfer-Encoding:", "chunked"),
                ("Transfer-Encoding", ": chunked"),
                ("", "Transfer-Encoding: chunked"),
                ("Transfer-Encoding: chunked", ""),
            ] {
                let line = [before.as_bytes(), &[byte], after.as_bytes()].concat();
                let found = statuses(app, &beginning, &line, &next).await;
                let refused = [400, 422, 501];
                assert!(
                    found.len() == 1 && refused.contains(&found[0]),
                    "{}: {found:?}",
                    line.escape_ascii()
                );
            }
        }
        assert_eq!(app.clicks(&hidden).await, 0);
    })
    .await;
}

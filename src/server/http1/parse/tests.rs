use std::cell::RefCell;
use std::convert::Infallible;
use std::io::Cursor;

use axum::body::HttpBody;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use tokio::io::join;
use tokio::runtime::Builder;

use super::*;
use crate::http::paths::{Class, ROUTES};

fn parse(received: &[u8]) -> Head<'_> {
    super::parse(received, MAX_HEAD_BYTES)
}

fn plain(request: &str) -> bool {
    matches!(parse(request.as_bytes()), Head::Redirect(_))
}

#[test]
fn a_redirect_of_a_browser_is_plain() {
    let request = "GET /K7mXq2R HTTP/1.1\r\nHost: sho.rt\r\nConnection: keep-alive\r\nX-Request-Id: 7b\r\nuser-agent: curl/8\r\nReferer: https://example.org/\r\nSec-GPC: 1\r\n\r\n";
    let length = request.len();
    let mut visitor = VisitorHeaders::default();
    visitor.read("user-agent", b"curl/8");
    visitor.read("Referer", b"https://example.org/");
    visitor.read("Sec-GPC", b"1");
    assert_eq!(
        parse(request.as_bytes()),
        Head::Redirect(RedirectRequest {
            path: "/K7mXq2R",
            code: ShortCode::parse("K7mXq2R").unwrap(),
            is_head: false,
            host: b"sho.rt",
            id: Some(b"7b"),
            visitor,
            length
        })
    );
    assert!(plain(
        "HEAD /urls/r/K7mXq2R HTTP/1.1\r\nHost: sho.rt\r\n\r\n"
    ));
}

#[test]
fn a_head_is_plain_up_to_its_limit_and_that_of_the_names_of_its_headers() {
    let with = |lines: &str| format!("GET /K7mXq2R HTTP/1.1\r\nHost: sho.rt\r\n{lines}\r\n");
    let value = |bytes| with(&format!("X: {}\r\n", "v".repeat(bytes)));
    let name = |bytes| with(&format!("{}: v\r\n", "X".repeat(bytes)));
    assert!(plain(&value(16_000)) && !plain(&value(17_000)));
    assert!(plain(&name(4_000)) && !plain(&name(4_100)));
    assert!(plain(&with(&"X: v\r\n".repeat(99))) && !plain(&with(&"X: v\r\n".repeat(100))));
    let head = value(9_000);
    assert_eq!(super::parse(head.as_bytes(), 8_192), Head::Other);
    assert_eq!(
        super::parse(&head.as_bytes()[..8_191], 8_192),
        Head::Partial
    );
    assert_eq!(super::parse(&head.as_bytes()[..8_192], 8_192), Head::Other);
}

#[test]
fn a_speculative_load_is_told_by_any_of_its_headers() {
    for (header, expected) in [
        ("Sec-Purpose: prefetch", true),
        ("sec-purpose: prefetch;prerender", true),
        ("Sec-Purpose: prefetch;anonymous-client-ip", true),
        ("Sec-Purpose: other, prefetch ; prerender", true),
        ("SEC-PURPOSE:\tPREFETCH ", true),
        ("Sec-Purpose: other\r\nSec-Purpose: prefetch", true),
        ("Purpose: prefetch", true),
        ("Purpose: Preview", true),
        ("X-Moz: prefetch", true),
        ("X-Purpose: preview", true),
        ("X-Purpose: instant", true),
        ("Purpose: prefetch\r\nX-Purpose: other", true),
        ("Sec-Purpose: other", false),
        ("Sec-Purpose: prefetched", false),
        ("Purpose: ", false),
        ("X-Purposes: preview", false),
        ("X-Other: prefetch", false),
    ] {
        let request = format!("GET /K7mXq2R HTTP/1.1\r\nHost: sho.rt\r\n{header}\r\n\r\n");
        let Head::Redirect(request) = parse(request.as_bytes()) else {
            panic!("{header}")
        };
        let visitor = request.visitor.visitor(None, &String::new, None);
        assert_eq!(visitor.is_speculative, expected, "{header}");
    }
}

#[test]
fn everything_else_is_left_to_hyper() {
    for request in [
        "POST /K7mXq2R HTTP/1.1\r\n\r\n",
        "GET /K7mXq2R HTTP/1.0\r\n\r\n",
        "GET /health HTTP/1.1\r\n\r\n",
        "GET /K7mXq2R?x=1 HTTP/1.1\r\n\r\n",
        "GET /%4b7mXq2R HTTP/1.1\r\n\r\n",
        "GET http://sho.rt/K7mXq2R HTTP/1.1\r\n\r\n",
        "GET /K7mXq2R HTTP/1.1\r\nConnection: close\r\n\r\n",
        "GET /K7mXq2R HTTP/1.1\r\nContent-Length: 0\r\n\r\n",
        "GET /K7mXq2R HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "GET /K7mXq2R HTTP/1.1\r\nUpgrade: h2c\r\n\r\n",
        "GET /K7mXq2R HTTP/1.1\r\nExpect: 100-continue\r\n\r\n",
        "GET /K7mXq2R HTTP/1.1\r\nno colon\r\n\r\n",
        "\x16\x03\x01",
    ] {
        assert_eq!(parse(request.as_bytes()), Head::Other, "{request}");
    }
}

/// A page of the service is never read as a code, whichever pages there are.
#[test]
fn of_the_table_of_paths_only_redirects_are_plain() {
    for route in ROUTES {
        let path = route
            .template
            .replace("{short_code}", "K7mXq2R")
            .replace("{file}", "K7mXq2R");
        let request = format!("GET {path} HTTP/1.1\r\nHost: sho.rt\r\n\r\n");
        assert_eq!(plain(&request), route.class == Class::Redirect, "{path}");
    }
}

/// The requests that hyper reads from the same bytes: method, path, and whether there is a body.
fn read_by_hyper(bytes: Vec<u8>) -> Vec<(Method, String, bool)> {
    let seen = RefCell::new(Vec::new());
    let service = service_fn(async |request: Request<Incoming>| {
        let has_body = !request.body().is_end_stream();
        let path = request.uri().to_string();
        seen.borrow_mut()
            .push((request.method().clone(), path, has_body));
        Ok::<_, Infallible>(hyper::Response::new(String::new()))
    });
    let stream = join(Cursor::new(bytes), tokio::io::sink());
    let connection = http1::Builder::new()
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service);
    let runtime = Builder::new_current_thread().build().unwrap();
    // It ends with an error if the bytes end in the middle of something.
    let _ = runtime.block_on(connection);
    seen.into_inner()
}

/// Heads that differ a little from the head of a redirect.
fn heads() -> impl Strategy<Value = Vec<u8>> {
    let method = prop_oneof![4 => Just("GET"), 2 => Just("HEAD"), 1 => Just("POST")];
    let path = prop_oneof![
        4 => "/[A-Za-z0-9_-]{1,12}",
        3 => "/urls/r/[A-Za-z0-9_-]{1,12}",
        1 => "/[!-~]{0,20}",
        1 => "https?://[a-z]{1,5}/[A-Za-z0-9_-]{1,12}",
    ];
    let version = prop_oneof![6 => Just("HTTP/1.1"), 1 => Just("HTTP/1.0"), 1 => Just("HTTP/2.0")];
    let end = || prop_oneof![6 => Just("\r\n"), 1 => Just("\n"), 1 => Just("\r")];
    let name = prop_oneof![
        4 => "[A-Za-z0-9!#$%&'*+.^_|~-]{1,20}",
        1 => "(?i)(connection|content-length|transfer-encoding|expect|te|upgrade|host) ?",
    ];
    let value = prop_oneof![
        4 => "[ -~]{0,30}",
        1 => "(?i) ?(keep-alive|close|chunked|0|5|100-continue)",
        1 => "[\\t -~ü]{0,10}",
    ];
    let header = (name, value, end()).prop_map(|(name, value, end)| format!("{name}:{value}{end}"));
    let headers = vec(header, 0..36).prop_map(|headers| headers.concat());
    let changes = prop_oneof![3 => vec((any::<Index>(), any::<u8>()), 0), 1 => vec((any::<Index>(), any::<u8>()), 1..3)];
    (method, path, version, end(), headers, end(), changes).prop_map(
        |(method, path, version, end, headers, last, changes)| {
            let mut head = format!("{method} {path} {version}{end}{headers}{last}").into_bytes();
            for (place, byte) in changes {
                let place = place.index(head.len());
                head[place] = byte;
            }
            head
        },
    )
}

proptest! {
    #[test]
    fn a_head_that_is_not_complete_is_partial(end in 0_usize..39) {
        let request = "GET /K7mXq2R HTTP/1.1\r\nHost: sho.rt\r\n\r\n";
        prop_assert_eq!(parse(&request.as_bytes()[..end]), Head::Partial);
        prop_assert!(plain(request));
    }

    #[test]
    fn no_input_panics(received in vec(any::<u8>(), 0..300)) {
        let _ = parse(&received);
    }

    #[test]
    fn hyper_would_have_read_every_plain_redirect_alike(head in heads()) {
        if let Head::Redirect(RedirectRequest { code, is_head, length, .. }) = parse(&head) {
            let next = b"GET /the-next-request HTTP/1.1\r\nHost: sho.rt\r\n\r\n";
            let seen = read_by_hyper([&head[..length], next].concat());
            prop_assert_eq!(seen.len(), 2, "{:?}", &seen);
            let (method, path, has_body) = &seen[0];
            prop_assert_eq!(method, if is_head { Method::HEAD } else { Method::GET });
            prop_assert_eq!(redirect_code(path), Some(code));
            prop_assert!(!has_body);
            prop_assert_eq!(&seen[1].1, "/the-next-request");
        }
    }
}

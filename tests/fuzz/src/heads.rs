//! Heads of requests: what the fast path reads, hyper reads alike.

use std::cell::RefCell;
use std::convert::Infallible;
use std::io::Cursor;

use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::join;
use tokio::runtime::{Builder, Runtime};

use crate::http::paths::redirect_code;
use crate::parse::{Head, header_values, parse};
use crate::request_target;

/// The longest head that the service reads by default.
const MAX_HEAD: usize = 16 * 1024;

thread_local! {
    static RUNTIME: Runtime = Builder::new_current_thread().build().expect("a runtime");
}

/// A request as hyper reads it.
struct Seen {
    method: Method,
    path: String,
    has_body: bool,
    agents: Vec<Vec<u8>>,
}

fn read_by_hyper(bytes: Vec<u8>) -> Vec<Seen> {
    let seen = RefCell::new(Vec::new());
    let service = service_fn(async |request: Request<Incoming>| {
        let agents = request.headers().get_all("user-agent").iter();
        seen.borrow_mut().push(Seen {
            method: request.method().clone(),
            path: request.uri().to_string(),
            has_body: !request.body().is_end_stream(),
            agents: agents.map(|value| value.as_bytes().to_vec()).collect(),
        });
        Ok::<_, Infallible>(Response::new(String::new()))
    });
    let stream = join(Cursor::new(bytes), tokio::io::sink());
    let connection = http1::Builder::new()
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service);
    // It ends with an error if the bytes end in the middle of something.
    let _ = RUNTIME.with(|runtime| runtime.block_on(connection));
    seen.into_inner()
}

/// A plain redirect is the same request to hyper, and ends at the same byte; the target is encoded once.
pub fn fast_path(received: &[u8]) {
    let encoded = request_target::encoded(received);
    assert_eq!(request_target::encoded(&encoded), encoded);
    let Head::Redirect(request) = parse(received, MAX_HEAD) else {
        return;
    };
    // A plain redirect is sent as it came, and nothing after it changes it.
    let head = &received[..request.length];
    assert!(matches!(parse(head, MAX_HEAD), Head::Redirect(again) if again == request));
    assert_eq!(request_target::encoded(head), head);
    let agents: Vec<_> = header_values(head, "user-agent");
    assert_eq!(agents.first().copied(), request.visitor.agent);
    let next = b"GET /the-next-request HTTP/1.1\r\nHost: sho.rt\r\n\r\n";
    let seen = read_by_hyper([head, next].concat());
    assert_eq!(seen.len(), 2, "hyper reads another number of requests");
    let method = if request.is_head {
        Method::HEAD
    } else {
        Method::GET
    };
    assert_eq!(seen[0].method, method);
    assert_eq!(seen[0].path, request.path);
    assert_eq!(redirect_code(&seen[0].path), Some(request.code));
    assert!(!seen[0].has_body);
    assert_eq!(seen[0].agents, agents);
    assert_eq!(seen[1].path, "/the-next-request");
}

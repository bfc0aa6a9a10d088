//! Responses as bytes: the only place that writes a status line or a header itself.
//!
//! The router and hyper make most responses. Three kinds are written here: responses of the fast path, which copies ready
//! bytes; errors that hyper makes itself, which get a body; and the refusal of a connection beyond the limit.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use axum::body::{Bytes, to_bytes};
use axum::response::Response;
use httpdate::HttpDate;

use crate::domain::Clock;
use crate::http::{LINK_RULES, RequestId, RequestIds, security_header_lines};

/// Writes the responses of the fast path. Both kinds end with the same headers: `Connection` if the connection closes, the
/// request id, and `Date`.
pub(in crate::server) struct FastPathRenderer {
    clock: Arc<dyn Clock>,
    rendered: Mutex<Rendered>,
}

/// What follows the location of a redirect: in general, and of a link that search engines are asked not to list.
const AFTER_LOCATION: &[u8] = b"\r\ncache-control: private, no-store\r\ncontent-length: 0\r\n";
const AFTER_UNLISTED: &[u8] =
    b"\r\ncache-control: private, no-store\r\nx-robots-tag: noindex\r\ncontent-length: 0\r\n";

/// The same of a redirect to a fallback.
const AFTER_FALLBACK: &[u8] = b"\r\ncache-control: no-store\r\ncontent-length: 0\r\n";
const AFTER_UNLISTED_FALLBACK: &[u8] =
    b"\r\ncache-control: no-store\r\nx-robots-tag: noindex\r\ncontent-length: 0\r\n";

/// What one response leaves to the next one.
#[derive(Default)]
struct Rendered {
    date: DateHeader,
    /// The buffer of a response, until it is sent.
    response: Vec<u8>,
}

/// The headers that differ from response to response.
pub(in crate::server) struct ResponseHeaders<'a> {
    pub(in crate::server) id: &'a RequestId,
    /// Whether the connection closes after the response.
    pub(in crate::server) closes: bool,
    /// When the response is made.
    pub(in crate::server) now: Instant,
}

/// What follows the location of a redirect that counts a click.
fn after_location(noindex: bool) -> &'static [u8] {
    if noindex {
        AFTER_UNLISTED
    } else {
        AFTER_LOCATION
    }
}

impl FastPathRenderer {
    pub(in crate::server) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            rendered: Mutex::default(),
        }
    }

    /// Sends a redirect to `location`, and returns what `send` does. `noindex`: search engines are asked not to list the link.
    pub(in crate::server) fn redirect<T>(
        &self,
        location: &str,
        noindex: bool,
        headers: &ResponseHeaders<'_>,
        send: impl FnOnce(&[u8]) -> T,
    ) -> T {
        let after = after_location(noindex);
        self.found(location, after, headers, send)
    }

    /// The same of a link with so many rules, none of which is followed.
    pub(in crate::server) fn without_rules<T>(
        &self,
        location: &str,
        noindex: bool,
        rules: usize,
        headers: &ResponseHeaders<'_>,
        send: impl FnOnce(&[u8]) -> T,
    ) -> T {
        let after = after_location(noindex);
        let after = [after, format!("{LINK_RULES}: {rules}\r\n").as_bytes()].concat();
        self.found(location, &after, headers, send)
    }

    /// The same for the fallback of a link.
    pub(in crate::server) fn fallback<T>(
        &self,
        location: &str,
        noindex: bool,
        headers: &ResponseHeaders<'_>,
        send: impl FnOnce(&[u8]) -> T,
    ) -> T {
        let after = if noindex {
            AFTER_UNLISTED_FALLBACK
        } else {
            AFTER_FALLBACK
        };
        self.found(location, after, headers, send)
    }

    fn found<T>(
        &self,
        location: &str,
        after_location: &[u8],
        headers: &ResponseHeaders<'_>,
        send: impl FnOnce(&[u8]) -> T,
    ) -> T {
        let mut rendered = self.rendered();
        let response = &mut rendered.response;
        response.extend_from_slice(b"HTTP/1.1 302 Found\r\nlocation: ");
        response.extend_from_slice(location.as_bytes());
        response.extend_from_slice(after_location);
        rendered.end_head(headers, &*self.clock);
        send(&rendered.response)
    }

    /// Sends a prepared response; without its body if the request was a `HEAD`.
    pub(in crate::server) fn prepared<T>(
        &self,
        response: &PreparedResponse,
        has_body: bool,
        headers: &ResponseHeaders<'_>,
        send: impl FnOnce(&[u8]) -> T,
    ) -> T {
        let mut rendered = self.rendered();
        rendered.response.extend_from_slice(&response.head);
        rendered.end_head(headers, &*self.clock);
        if has_body {
            rendered.response.extend_from_slice(&response.body);
        }
        send(&rendered.response)
    }

    /// With an empty buffer.
    fn rendered(&self) -> MutexGuard<'_, Rendered> {
        let mut rendered = self.rendered.lock().unwrap_or_else(PoisonError::into_inner);
        rendered.response.clear();
        rendered
    }
}

impl Rendered {
    fn end_head(&mut self, headers: &ResponseHeaders<'_>, clock: &dyn Clock) {
        let response = &mut self.response;
        if headers.closes {
            response.extend_from_slice(b"connection: close\r\n");
        }
        response.extend_from_slice(b"x-request-id: ");
        response.extend_from_slice(headers.id.as_bytes());
        response.extend_from_slice(b"\r\n");
        response.extend_from_slice(self.date.at(headers.now, clock));
        response.extend_from_slice(b"\r\n");
    }
}

/// A response of the router as bytes, made once and sent often.
pub(in crate::server) struct PreparedResponse {
    /// The head as far as it is always the same, without its last headers and its end.
    head: Vec<u8>,
    body: Bytes,
}

impl PreparedResponse {
    /// Reads the whole response, whose body must be in memory.
    pub(in crate::server) async fn new(response: Response) -> Self {
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX)
            .await
            .expect("the body of an error is in memory");
        let mut head = format!("HTTP/1.1 {}\r\n", parts.status).into_bytes();
        for (name, value) in &parts.headers {
            head.extend_from_slice(name.as_str().as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(value.as_bytes());
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(format!("content-length: {}\r\n", body.len()).as_bytes());
        Self { head, body }
    }
}

/// The `Date` header, made once a second.
#[derive(Default)]
struct DateHeader {
    valid_until: Option<Instant>,
    line: Vec<u8>,
}

impl DateHeader {
    fn at(&mut self, now: Instant, clock: &dyn Clock) -> &[u8] {
        if self.valid_until.is_none_or(|until| now >= until) {
            let date = clock.now();
            let rest_of_second = 1_000_000_000 - date.subsec_nanos();
            self.valid_until = Some(now + Duration::from_nanos(u64::from(rest_of_second)));
            self.line =
                format!("date: {}\r\n", HttpDate::from(SystemTime::from(date))).into_bytes();
        }
        &self.line
    }
}

/// The header that is in the errors that hyper makes itself, and in no other error of the service.
const NO_BODY: &[u8] = b"\r\ncontent-length: 0\r\n";

/// An error that hyper made itself, with a body; `None` for every other response. `is_line_cut`: the request's first line did
/// not come in full.
pub(in crate::server) fn error_with_body(
    response: &[u8],
    is_line_cut: bool,
    ids: &RequestIds,
) -> Option<Vec<u8>> {
    let status = response.strip_prefix(b"HTTP/1.")?.get(2..5)?;
    if status[0] != b'4' || !response.ends_with(b"\r\n\r\n") {
        return None;
    }
    let head_end = response
        .windows(NO_BODY.len())
        .position(|window| window == NO_BODY)?;
    let line_end = response.windows(2).position(|window| window == b"\r\n")?;
    let (mut line, mut status) = (&response[..line_end], status);
    if is_line_cut && status == b"431" {
        (line, status) = (b"HTTP/1.1 414 URI Too Long", b"414");
    }
    let detail = match status {
        b"414" => "The request URL is too long; send a shorter URL",
        b"431" => "The head of the request is too large",
        _ => "The request cannot be understood",
    };
    let body = format!("{{\"detail\":\"{detail}\"}}\n");
    let headers = format!(
        "\r\ncontent-type: application/json\r\n{}x-request-id: {}\r\ncontent-length: {}\r\n",
        security_header_lines(),
        ids.make().as_str(),
        body.len(),
    );
    let (head, rest) = (
        &response[line_end..head_end],
        &response[head_end + NO_BODY.len()..],
    );
    Some([line, head, headers.as_bytes(), rest, body.as_bytes()].concat())
}

/// The response to a connection beyond the limit.
pub(in crate::server) fn refused_connection(status: &str, detail: &str, id: &RequestId) -> Vec<u8> {
    let body = format!("{{\"detail\":\"{detail}\"}}\n");
    format!(
        "HTTP/1.1 {status}\r\nretry-after: 1\r\nconnection: close\r\n\
        content-type: application/json\r\ncontent-length: {}\r\nx-request-id: {}\r\n{}\r\n{body}",
        body.len(),
        id.as_str(),
        security_header_lines(),
    )
    .into_bytes()
}

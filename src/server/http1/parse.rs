//! Reads the head of a request, as far as the fast path knows requests.

use std::mem::MaybeUninit;

use crate::domain::ShortCode;
use crate::http::RequestId;
use crate::http::paths::redirect_code;

/// Longest head that the fast path reads.
pub(super) const MAX_HEAD_BYTES: usize = 4 * 1024;

/// Most headers of a request that the fast path answers; browsers send about 15.
const MAX_HEADERS: usize = 32;

/// The head of a request, or the bytes of it that have come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Head<'a> {
    /// A part of the head is missing.
    Partial,
    /// A plain redirect.
    Redirect(RedirectRequest<'a>),
    /// Any other request, and bytes that are none.
    Other,
}

/// A request that the fast path answers: `GET` or `HEAD` of a code, HTTP/1.1, without a body, on a connection that
/// stays open.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RedirectRequest<'a> {
    pub(super) path: &'a str,
    pub(super) code: ShortCode,
    pub(super) is_head: bool,
    /// The request id that the client gave.
    pub(super) id: Option<RequestId>,
    /// The first `User-Agent` and `Referer`.
    pub(super) agent: Option<&'a [u8]>,
    pub(super) referrer: Option<&'a [u8]>,
    /// Whether the client asks not to be analysed.
    pub(super) opts_out: bool,
    /// Bytes of the head.
    pub(super) length: usize,
}

/// Reads a head that may not be complete yet.
pub(super) fn parse(received: &[u8]) -> Head<'_> {
    if received.is_empty() {
        return Head::Partial;
    }
    let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut []);
    let length = match request.parse_with_uninit_headers(received, &mut headers) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if received.len() < MAX_HEAD_BYTES => return Head::Partial,
        Ok(httparse::Status::Partial) | Err(_) => return Head::Other,
    };
    let is_head = match request.method {
        Some("GET") => false,
        Some("HEAD") => true,
        _ => return Head::Other,
    };
    let Some((path, code)) = request
        .path
        .and_then(|path| Some((path, redirect_code(path)?)))
    else {
        return Head::Other;
    };
    if request.version != Some(1) || !request.headers.iter().all(is_plain) {
        return Head::Other;
    }
    let named = |name: &'static str| {
        let headers = request.headers.iter();
        headers.filter(move |header| header.name.eq_ignore_ascii_case(name))
    };
    if named("host").count() != 1 {
        return Head::Other;
    }
    let id = named("x-request-id")
        .next()
        .and_then(|header| RequestId::parse(header.value));
    Head::Redirect(RedirectRequest {
        path,
        code,
        is_head,
        id,
        agent: named("user-agent").next().map(|header| header.value),
        referrer: named("referer").next().map(|header| header.value),
        opts_out: named("sec-gpc")
            .chain(named("dnt"))
            .any(|header| header.value == b"1"),
        length,
    })
}

/// The values of a header in a head that was read before.
pub(super) fn header_values<'a>(head: &'a [u8], name: &str) -> Vec<&'a [u8]> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    if request.parse(head).is_err() {
        return Vec::new();
    }
    let named = request.headers.iter();
    let named = named.filter(|header| header.name.eq_ignore_ascii_case(name));
    named.map(|header| header.value).collect()
}

/// Whether a request with this header may be a plain redirect: the header says nothing about a body, and nothing about
/// the connection but that it stays open.
fn is_plain(header: &httparse::Header<'_>) -> bool {
    const OF_BODY_AND_CONNECTION: [&str; 6] = [
        "connection",
        "content-length",
        "expect",
        "te",
        "transfer-encoding",
        "upgrade",
    ];
    match OF_BODY_AND_CONNECTION
        .iter()
        .find(|name| header.name.eq_ignore_ascii_case(name))
    {
        Some(&"connection") => header.value.eq_ignore_ascii_case(b"keep-alive"),
        Some(_) => false,
        None => true,
    }
}

#[cfg(test)]
mod tests;

//! Reads the head of a request, as far as the fast path knows requests.

use std::mem::MaybeUninit;

use crate::domain::ShortCode;
use crate::http::VisitorHeaders;
use crate::http::paths::redirect_code;

/// Longest head that the fast path reads, unless the settings have a lower limit. hyper would work longer on a long head than on a
/// whole redirect.
pub(super) const MAX_HEAD_BYTES: usize = 16 * 1024;

/// Most headers of a request, for hyper as well; browsers send about 15.
const MAX_HEADERS: usize = 100;

/// Most bytes of the names of a request's headers together; the names that a browser sends take 250. hyper works 12 us for each 1,024.
pub(super) const MAX_NAME_BYTES: usize = 4 * 1024;

/// The head of a request, or the bytes of it that have come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Head<'a> {
    /// A part of the head is missing.
    Partial,
    /// A plain redirect.
    Redirect(RedirectRequest<'a>),
    /// Any other request, and bytes that are not a request.
    Other,
}

/// A request that the fast path answers: `GET` or `HEAD` of a code, HTTP/1.1, without a body, on a connection that
/// stays open.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RedirectRequest<'a> {
    pub(super) path: &'a str,
    pub(super) code: ShortCode,
    pub(super) is_head: bool,
    /// The host that it names.
    pub(super) host: &'a [u8],
    /// The first `X-Request-Id`.
    pub(super) id: Option<&'a [u8]>,
    pub(super) visitor: VisitorHeaders<'a>,
    /// Bytes of the head.
    pub(super) length: usize,
}

/// Reads a head of at most `max` bytes, that may not be complete yet.
pub(super) fn parse(received: &[u8], max: usize) -> Head<'_> {
    if received.is_empty() {
        return Head::Partial;
    }
    let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut []);
    let length = match request.parse_with_uninit_headers(received, &mut headers) {
        Ok(httparse::Status::Complete(length)) if length <= max => length,
        Ok(httparse::Status::Partial) if received.len() < max => return Head::Partial,
        Ok(_) | Err(_) => return Head::Other,
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
    if request.version != Some(1) {
        return Head::Other;
    }
    let mut redirect = RedirectRequest {
        path,
        code,
        is_head,
        host: &[],
        id: None,
        visitor: VisitorHeaders::default(),
        length,
    };
    let names = || request.headers.iter().map(|header| header.name.len());
    if length > MAX_NAME_BYTES && names().sum::<usize>() > MAX_NAME_BYTES {
        return Head::Other;
    }
    let mut hosts = 0;
    for header in &*request.headers {
        if !redirect.read(header, &mut hosts) {
            return Head::Other;
        }
    }
    if hosts == 1 {
        Head::Redirect(redirect)
    } else {
        Head::Other
    }
}

impl<'a> RedirectRequest<'a> {
    /// Notes what a header says. Returns whether a request with this header may be a plain redirect: it says nothing about a
    /// body, and nothing about the connection but that it stays open.
    fn read(&mut self, header: &httparse::Header<'a>, hosts: &mut u32) -> bool {
        let (name, value) = (header.name, header.value);
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        match name.len() {
            2 => return !is("te"),
            4 if is("host") => {
                *hosts += 1;
                self.host = value;
            }
            4 => {}
            6 => return !is("expect"),
            7 if is("upgrade") => return false,
            10 if is("connection") => return value.eq_ignore_ascii_case(b"keep-alive"),
            12 if is("x-request-id") => self.id = self.id.or(Some(value)),
            14 => return !is("content-length"),
            17 => return !is("transfer-encoding"),
            _ => self.visitor.read(name, value),
        }
        true
    }
}

/// The values of a header in a head that was read before.
pub(super) fn header_values<'a>(head: &'a [u8], name: &str) -> Vec<&'a [u8]> {
    let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut []);
    if request
        .parse_with_uninit_headers(head, &mut headers)
        .is_err()
    {
        return Vec::new();
    }
    let named = request.headers.iter();
    let named = named.filter(|header| header.name.eq_ignore_ascii_case(name));
    named.map(|header| header.value).collect()
}

#[cfg(test)]
mod tests;

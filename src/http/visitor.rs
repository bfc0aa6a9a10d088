//! What the headers of a request say of its visitor.

use axum::http::header::{DNT, HeaderName, REFERER, USER_AGENT};
use axum::http::{HeaderMap, HeaderValue};

use crate::analytics::{AddressOf, Visitor};

const SEC_GPC: HeaderName = HeaderName::from_static("sec-gpc");

/// The visitor of a request with these headers and this query.
#[must_use]
pub fn visitor_of<'a>(
    headers: &'a HeaderMap,
    query: Option<&'a str>,
    address: AddressOf<'a>,
) -> Visitor<'a> {
    let value = |name| headers.get(name).map(HeaderValue::as_bytes);
    let says_one = |name| headers.get_all(name).iter().any(|value| value == "1");
    Visitor {
        address,
        agent: value(USER_AGENT),
        referrer: value(REFERER),
        query,
        opts_out: says_one(SEC_GPC) || says_one(DNT),
    }
}

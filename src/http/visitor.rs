//! What the headers of a request say of its visitor.

use axum::http::header::{DNT, HeaderName, REFERER, USER_AGENT};
use axum::http::{HeaderMap, HeaderValue};

use crate::analytics::{AddressOf, Visitor};

const SEC_GPC: HeaderName = HeaderName::from_static("sec-gpc");

/// The headers by which browsers say that they load a page before anybody visits it: that of the Fetch standard, and those
/// of Chrome, Safari and Firefox before it.
const PURPOSES: [HeaderName; 4] = [
    HeaderName::from_static("sec-purpose"),
    HeaderName::from_static("purpose"),
    HeaderName::from_static("x-purpose"),
    HeaderName::from_static("x-moz"),
];

/// Whether one of these headers says so, in whichever of its values or parameters (`prefetch;prerender`).
#[must_use]
pub fn is_speculative(purpose: &[u8]) -> bool {
    const WORDS: [&str; 4] = ["prefetch", "prerender", "preview", "instant"];
    // Browsers send up to 40 bytes; to look through thousands would take longer than a redirect.
    const LONGEST: usize = 64;
    if purpose.len() > LONGEST {
        return false;
    }
    let mut values = purpose.split(|byte| matches!(byte, b',' | b';'));
    values.any(|value| {
        let value = value.trim_ascii();
        WORDS
            .iter()
            .any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
    })
}

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
        is_speculative: PURPOSES.iter().any(|name| {
            let mut values = headers.get_all(name).iter();
            values.any(|value| is_speculative(value.as_bytes()))
        }),
        opts_out: says_one(SEC_GPC) || says_one(DNT),
    }
}

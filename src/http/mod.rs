//! HTTP beneath the endpoints: typed errors become responses, extractors parse requests, and one table has all paths.
//!
//! No other module knows the status codes of failures. Every error body is `{"detail": "…"}`.

mod admission;
mod admitted;
mod basic;
mod clicks_as_of;
mod client_address;
mod cors;
mod csv;
mod cursor;
#[cfg(test)]
pub mod documented;
mod errors;
mod extractors;
mod fallback;
mod hosts;
mod html;
mod json;
mod live;
mod multipart;
pub mod paths;
mod redirects;
pub mod removals;
mod request_id;
mod same_origin;
mod security_headers;
mod visitor;

pub use admission::{Admission, with_admission};
pub use admitted::Admitted;
pub use basic::{basic_password, is_basic};
pub use clicks_as_of::{CLICKS_AS_OF, with_clicks_as_of};
pub use client_address::{Asking, ClientAddress, ClientLeft, FORWARDED_FOR, Peer, TrustedProxies};
pub use cors::Cors;
pub use csv::clicks_csv;
pub use cursor::{cursor, parse_cursor};
pub use errors::{ApiError, BLOCKED_BY, ErrorBody, ErrorDetail, LinkAtRest};
pub use extractors::{
    BodyLimits, JsonBody, OptionalJsonBody, PathCode, QueryOf, ReadBody, parse_object, read_body,
};
pub use fallback::{catch_panic, method_not_allowed, not_found};
pub use hosts::{CodesOf, with_domain};
pub use html::{HTML, accepts_html, prefers_html, ranked};
pub use json::{JSON, Json, json_line};
pub use live::{MayListen, UNBUFFERED, Unending, live_events};
pub use multipart::{is_multipart, parts};
pub use redirects::{LINK_RULES, redirect_to};
pub use request_id::{RequestId, RequestIds, X_REQUEST_ID};
pub use same_origin::{is_same_origin, refuse_cross_origin};
pub use security_headers::{security_header_lines, with_security_headers};
pub use visitor::{ForwardedFor, VisitorHeaders};

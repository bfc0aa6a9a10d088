//! Where typed errors become answers, and extractors whose rejections are answers, too.
//!
//! Nobody else knows status codes of failures. Every error body is `{"detail": "…"}`.

mod admission;
mod client_address;
pub mod documented;
mod errors;
mod extractors;
mod fallback;
pub mod paths;
mod redirects;
mod request_id;
mod security_headers;

pub use admission::{Admission, admitted};
pub use client_address::{ClientAddress, Peer, TrustedProxies};
pub use errors::{ApiError, ErrorBody};
pub use extractors::{BodyLimits, CodeParameter, JsonBody, PathCode, QueryOf};
pub use fallback::{method_not_allowed, not_found, panicked};
pub use request_id::{RequestId, RequestIds, X_REQUEST_ID};
pub use security_headers::{security_header_lines, with_security_headers};

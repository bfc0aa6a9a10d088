//! Where typed errors become answers, and extractors whose rejections are answers, too.
//!
//! Nobody else knows status codes of failures. Every error body is `{"detail": "…"}`.

mod api_error;
mod browsers;
mod client;
pub mod documented;
mod extract;
mod fallback;
mod request_id;

pub use api_error::{ApiError, ErrorBody};
pub use browsers::{security_header_lines, with_security_headers};
pub use client::{ClientAddress, Peer, TrustedProxies};
pub use extract::{BodyLimits, CodeParameter, JsonBody, PathCode, QueryOf};
pub use fallback::{method_not_allowed, not_found, panicked};
pub use request_id::{RequestId, RequestIds, X_REQUEST_ID};

//! HTTP/1.1 on a worker: the fast path for plain redirects, hyper for every other request.

pub(super) mod dispatch;
pub(super) mod error_bodies;
pub(super) mod fast_path;
mod idle_timer;
mod request_target;

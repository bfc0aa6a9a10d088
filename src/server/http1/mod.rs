//! HTTP/1.1 on a worker: the fast path for plain redirects, hyper for every other request.
//!
//! | file | what it does |
//! | --- | --- |
//! | `connection` | serves a connection: first on the fast path, then with hyper |
//! | `fast_path` | answers plain redirects without hyper |
//! | `buffers` | buffers of a worker that are used again |
//! | `parse` | reads the head of a request for the fast path |
//! | `request_target` | percent-encodes what hyper would refuse |
//! | `dispatch` | answers the requests that hyper read: a redirect on the worker, any other on the main runtime |
//! | `forward` | sends a response while it is being made |
//! | `paced` | a connection whose client must read what it requested |
//! | `shared_stream` | a connection whose client is watched while its request is answered |
//! | `error_bodies` | gives a body to the errors that hyper makes itself |
//! | `render` | the only place that writes responses as bytes |
//! | `idle_timer` | closes a connection that takes too long for its next request |

mod asked;
mod buffers;
pub(super) mod connection;
pub(super) mod dispatch;
mod error_bodies;
mod fast_path;
mod forward;
mod idle_timer;
mod paced;
mod parse;
pub(super) mod render;
mod request_target;
mod shared_stream;

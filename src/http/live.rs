//! Live click counts, as server-sent events.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderName;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse, Response};
use futures_util::future::BoxFuture;
use futures_util::stream::unfold;

use crate::links::{Listener, LiveCount};

/// nginx would keep events back until there are many.
pub const UNBUFFERED: (HeaderName, HeaderValue) = (
    HeaderName::from_static("x-accel-buffering"),
    HeaderValue::from_static("no"),
);

/// Looks without news after which a comment is sent: a proxy closes a connection on which nothing comes.
const QUIET: u32 = 15;

/// Browsers reconnect after this time.
const RETRY: Duration = Duration::from_secs(3);

/// In the extensions of a response that is sent for as long as its client listens: it has a bound of its own.
#[derive(Clone, Copy, Debug)]
pub struct Unending;

/// Whether a client may still listen; asked at each look.
pub type MayListen = Box<dyn FnMut() -> BoxFuture<'static, bool> + Send>;

struct Events {
    listener: Listener,
    may_listen: MayListen,
    sent: Option<LiveCount>,
    quiet: u32,
}

/// The events of a listener, until it is no longer allowed to listen.
pub fn live_events(listener: Listener, may_listen: MayListen) -> Response {
    let events = Events {
        listener,
        may_listen,
        sent: None,
        quiet: 0,
    };
    let stream = unfold(events, async |mut events| {
        let piece = events.next().await?;
        Some((Ok::<_, std::convert::Infallible>(piece), events))
    });
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        UNBUFFERED,
    ];
    let mut response = (headers, Body::from_stream(stream)).into_response();
    response.extensions_mut().insert(Unending);
    response
}

impl Events {
    /// The next piece of the body; `None` at its end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let read = self.listener.next().await;
            if !(self.may_listen)().await {
                return None;
            }
            match read {
                Ok(None) => return None,
                Ok(Some(count)) if self.sent != Some(count) => {
                    let is_first = self.sent.is_none();
                    (self.sent, self.quiet) = (Some(count), 0);
                    return Some(event(count, is_first).into());
                }
                // What cannot be read now is read at the next look.
                Ok(Some(_)) | Err(_) => {}
            }
            self.quiet += 1;
            if self.quiet >= QUIET {
                self.quiet = 0;
                return Some(Bytes::from_static(b":\n\n"));
            }
        }
    }
}

fn event(count: LiveCount, is_first: bool) -> String {
    let retry = if is_first {
        format!("retry: {}\n", RETRY.as_millis())
    } else {
        String::new()
    };
    let (clicks, last_minute) = (count.clicks, count.last_minute);
    format!("{retry}data: {{\"clicks\":{clicks},\"last_minute\":{last_minute}}}\n\n")
}

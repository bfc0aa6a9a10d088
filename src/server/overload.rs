//! How much of the API is worked on at once, and how long on each request.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use metrics::Counter;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::config::Guards;
use crate::http::ApiError;
use crate::telemetry::metrics::LIMIT_HITS;

/// Whole lists that are sent at once: a client that reads slowly keeps about a megabyte of one in memory.
const MOST_STREAMS: usize = 32;

/// The places of requests that are worked on; cheap to clone.
#[derive(Clone)]
pub(super) struct Overload {
    places: Arc<Semaphore>,
    /// Those of answers that are still being made while they are sent.
    streams: Arc<Semaphore>,
    patience: Duration,
    /// Counts what there was no place for.
    full: Counter,
}

impl Overload {
    pub(super) fn new(guards: &Guards) -> Self {
        Self {
            places: Arc::new(Semaphore::new(guards.max_requests)),
            streams: Arc::new(Semaphore::new(MOST_STREAMS)),
            patience: guards.request_timeout,
            full: metrics::counter!(LIMIT_HITS, "limit" => "requests"),
        }
    }

    /// Notes that a request is worked on, before it costs a task and a change of threads: three times what
    /// can be done must not take the time from what is being done. [`held`] keeps the place until there is
    /// an answer.
    ///
    /// # Errors
    /// The answer, where there is no place.
    pub(super) fn admit<B>(&self, request: &mut hyper::Request<B>) -> Result<(), Response> {
        if takes_a_place(request.uri().path()) {
            let place = self.place().ok_or_else(|| refused(&self.full))?;
            request.extensions_mut().insert(place);
        }
        Ok(())
    }

    /// Notes that an answer is made while it is sent.
    ///
    /// # Errors
    /// The answer instead, where there are too many such already.
    pub(super) fn stream(&self) -> Result<OwnedSemaphorePermit, Response> {
        let place = Arc::clone(&self.streams).try_acquire_owned();
        place.map_err(|_| refused(&self.full))
    }

    fn place(&self) -> Option<Place> {
        let place = Arc::clone(&self.places).try_acquire_owned();
        place.ok().map(|place| Place(Arc::new(place)))
    }
}

/// Given back once nobody works on the request any more.
#[derive(Clone)]
struct Place(#[expect(dead_code, reason = "it is held, not read")] Arc<OwnedSemaphorePermit>);

/// Redirects are never shed, however their code is spelt. Whoever registers or logs in takes one of the places
/// for hashing once the body is there: bodies that come slowly keep nobody from anything.
fn takes_a_place(path: &str) -> bool {
    let of_links = path.starts_with("/urls/") && !path.starts_with("/urls/r/");
    of_links || path == "/auth/me"
}

/// Holds the place of a request while it is worked on, and bounds how long that takes.
pub(super) async fn held(
    State(overload): State<Overload>,
    mut request: Request,
    next: Next,
) -> Response {
    let mut place = request.extensions_mut().remove::<Place>();
    if place.is_none() && takes_a_place(request.uri().path()) {
        place = overload.place();
        if place.is_none() {
            return refused(&overload.full);
        }
    }
    let late = || metrics::counter!(LIMIT_HITS, "limit" => "request_time");
    let answer = timeout(overload.patience, next.run(request))
        .await
        .unwrap_or_else(|_| refused(&late()));
    drop(place);
    answer
}

fn refused(hits: &Counter) -> Response {
    hits.increment(1);
    ApiError::overloaded().into_response()
}

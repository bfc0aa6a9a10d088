//! Bounds of the API: how many requests are worked on at once, and how long each may take.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use metrics::Counter;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::ApiError;
use super::paths::{Class, route_of};
use crate::config::Guards;
use crate::store::{Commits, for_waiting_client};
use crate::telemetry::metrics::LIMIT_HITS;

/// Whole lists that are sent at once: a client that reads slowly keeps about a megabyte of one in memory.
const MAX_STREAMS: usize = 32;

/// Permits for requests and for streamed responses; cheap to clone.
#[derive(Clone)]
pub struct Admission {
    requests: Arc<Semaphore>,
    /// Permits of responses that are produced while they are sent.
    streams: Arc<Semaphore>,
    timeout: Duration,
    /// See [`for_waiting_client`].
    database_queue: Duration,
    /// Counts the refusals for want of a permit.
    full: Counter,
}

impl Admission {
    /// With as many permits as the settings say.
    #[must_use]
    pub fn new(guards: &Guards) -> Self {
        Self {
            requests: Arc::new(Semaphore::new(guards.max_requests)),
            streams: Arc::new(Semaphore::new(MAX_STREAMS)),
            timeout: guards.request_timeout,
            database_queue: guards.database_queue,
            full: metrics::counter!(LIMIT_HITS, "limit" => "requests"),
        }
    }

    /// Gives a request its permit, if its route needs one, before the request costs a task and a change of threads: under
    /// overload, refusals must not take the time of the work that is going on. [`with_admission`] keeps the permit until
    /// there is a response.
    ///
    /// # Errors
    /// The response, where no permit is left.
    pub fn admit<B>(&self, request: &mut hyper::Request<B>) -> Result<(), Response> {
        if needs_permit(request.uri().path()) {
            let permit = self.permit().ok_or_else(|| refused(&self.full))?;
            request.extensions_mut().insert(permit);
        }
        Ok(())
    }

    /// The permit of a response that is produced while it is sent.
    ///
    /// # Errors
    /// The response to send instead, where no permit is left.
    pub fn stream(&self) -> Result<OwnedSemaphorePermit, Response> {
        let permit = Arc::clone(&self.streams).try_acquire_owned();
        permit.map_err(|_| refused(&self.full))
    }

    fn permit(&self) -> Option<AdmissionPermit> {
        let permit = Arc::clone(&self.requests).try_acquire_owned();
        permit.ok().map(|permit| AdmissionPermit(Arc::new(permit)))
    }
}

/// Released when the work on the request has ended.
#[derive(Clone)]
struct AdmissionPermit(
    #[expect(dead_code, reason = "it is held, not read")] Arc<OwnedSemaphorePermit>,
);

fn needs_permit(path: &str) -> bool {
    route_of(path).is_some_and(|route| route.class == Class::Bounded)
}

/// Keeps the permit of a request while it is worked on, and bounds how long that takes until something is committed.
pub async fn with_admission(
    State(admission): State<Admission>,
    mut request: Request,
    next: Next,
) -> Response {
    let mut permit = request.extensions_mut().remove::<AdmissionPermit>();
    if permit.is_none() && needs_permit(request.uri().path()) {
        permit = admission.permit();
        if permit.is_none() {
            return refused(&admission.full);
        }
    }
    let late = || metrics::counter!(LIMIT_HITS, "limit" => "request_time");
    let commits = Commits::default();
    let mut response = pin!(commits.of(async {
        match &permit {
            Some(_) => for_waiting_client(admission.database_queue, next.run(request)).await,
            // Hashing has a queue of its own, and what it took is not thrown away.
            None => next.run(request).await,
        }
    }));
    match timeout(admission.timeout, &mut response).await {
        Ok(response) => response,
        // What is committed is answered so. The rest of the work has deadlines of its own.
        Err(_) if commits.has_any() => response.await,
        Err(_) => refused(&late()),
    }
}

fn refused(hits: &Counter) -> Response {
    hits.increment(1);
    ApiError::overloaded().into_response()
}

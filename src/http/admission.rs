//! Bounds of the API: how many requests are worked on at once, how long each may take, and how much of what clients send slowly
//! and read slowly is kept.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use metrics::Counter;
use tokio::time::timeout;

use super::admitted::{Admitted, HasCommitted, Shares};
use super::paths::{Class, route_of};
use super::{ApiError, ClientAddress, Peer, TrustedProxies};
use crate::config::Guards;
use crate::limits::{AtOnce, ClientShare, Full};
use crate::store::{Commits, for_waiting_client};
use crate::telemetry::metrics::LIMIT_HITS;

/// Whole lists that are sent at the same time: a client that reads slowly keeps about a megabyte of its list in memory.
const MAX_STREAMS: usize = 32;

/// Bytes of bodies that clients are sending, and of responses that they have not read. One body of the largest size is a quarter.
const ROOM: usize = 128 << 20;

/// Shares of permits, streams and memory; cheap to clone.
#[derive(Clone)]
pub struct Admission {
    shares: Shares,
    /// Responses that are produced while they are sent.
    streams: AtOnce,
    /// Whether addresses have shares.
    by_address: bool,
    timeout: Duration,
    /// See [`for_waiting_client`].
    database_queue: Duration,
}

impl Admission {
    /// With as many permits as the settings say.
    #[must_use]
    pub fn new(guards: &Guards) -> Self {
        Self {
            shares: Shares {
                requests: AtOnce::requests(guards.max_requests),
                bodies: AtOnce::bodies(guards.max_requests),
                room: AtOnce::new(ROOM, ["buffers", "buffers_of_client"]),
            },
            streams: AtOnce::new(MAX_STREAMS, ["requests", "lists"]),
            by_address: guards.max_connections_per_address > 0,
            timeout: guards.request_timeout,
            database_queue: guards.database_queue,
        }
    }

    /// Gives a request its permit, if its route needs one, before the request costs a task and a change of threads: under
    /// overload, refusals must not take the time of the work that is going on. [`with_admission`] ends it once there is a response.
    ///
    /// # Errors
    /// The response when no permit is left.
    pub fn admit<B>(
        &self,
        request: &mut hyper::Request<B>,
        proxies: &TrustedProxies,
    ) -> Result<Arc<Admitted>, Response> {
        let peer = request.extensions().get().map(|Peer(peer)| *peer);
        let address = ClientAddress::of_request(peer, proxies, request.headers());
        let admitted = self.admitted(request.uri().path(), address);
        let admitted = admitted.map_err(refused)?;
        request.extensions_mut().insert(Arc::clone(&admitted));
        Ok(admitted)
    }

    fn admitted(&self, path: &str, address: ClientAddress) -> Result<Arc<Admitted>, Full> {
        let needs_permit = route_of(path).is_some_and(|route| route.class == Class::Bounded);
        let address = self.by_address.then(|| address.into());
        let admitted = Admitted::new(self.shares.clone(), address, needs_permit);
        admitted.take_permit()?;
        Ok(Arc::new(admitted))
    }

    /// The permit of a response that is produced while it is sent.
    ///
    /// # Errors
    /// The response to send instead, when no permit is left.
    pub fn stream(&self, admitted: &Admitted) -> Result<ClientShare, Response> {
        let mut stream = admitted.place_in(&self.streams);
        stream.add(1).map_err(refused)?;
        Ok(stream)
    }
}

/// Keeps the permit of a request while it is worked on, and bounds how long that takes until something is committed.
pub async fn with_admission(
    State(admission): State<Admission>,
    client: ClientAddress,
    mut request: Request,
    next: Next,
) -> Response {
    let admitted = match request.extensions().get::<Arc<Admitted>>() {
        Some(admitted) => Arc::clone(admitted),
        None => match admission.admitted(request.uri().path(), client) {
            Ok(admitted) => admitted,
            Err(full) => return refused(full),
        },
    };
    request.extensions_mut().insert(Arc::clone(&admitted));
    let _permit = admitted.ends();
    let late: Counter = metrics::counter!(LIMIT_HITS, "limit" => "request_time");
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let commits = Commits::default();
    let mut response = pin!(commits.of(async {
        if admitted.needs_permit() {
            for_waiting_client(admission.database_queue, next.run(request)).await
        } else {
            // Hashing has its own queue, and its work is not thrown away.
            next.run(request).await
        }
    }));
    let mut response = match timeout(admission.timeout, &mut response).await {
        Ok(response) => response,
        // What is committed is answered so. The rest of the work has deadlines of its own.
        Err(_) if commits.has_any() => response.await,
        Err(_) => {
            late.increment(1);
            return ApiError::overloaded().into_response();
        }
    };
    if commits.has_any() && !is_read {
        response.extensions_mut().insert(HasCommitted);
    }
    response
}

fn refused(full: Full) -> Response {
    ApiError::from(full).into_response()
}

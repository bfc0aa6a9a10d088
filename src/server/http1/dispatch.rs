//! The entrance of a request on a worker: redirects are served on the spot, everything else crosses over
//! to the main runtime.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::HeaderValue;
use axum::http::header::{CONNECTION, HOST};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use futures_util::stream::unfold;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper::{Method, Request, StatusCode, Version};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::timeout;
use tower::ServiceExt;
use tracing::Instrument;

use crate::domain::ShortCode;
use crate::http::paths::redirect_code;
use crate::http::{Admission, ApiError, Peer, RequestId, RequestIds, X_REQUEST_ID};
use crate::redirect::Redirect;
use crate::server::lifecycle::Shutdown;
use crate::telemetry::requests::RequestSpan;

/// Pieces of an answer that may wait for a slow client.
const PIECES_AHEAD: usize = 1;

/// How long a client may take to read a piece.
const READING_TIMEOUT: Duration = Duration::from_secs(30);

/// What is on the other side; cheap to clone.
#[derive(Clone)]
pub(in crate::server) struct Api {
    pub(in crate::server) router: Router,
    pub(in crate::server) admission: Admission,
}

/// What serves the requests of a worker's connections.
pub(in crate::server) struct Dispatcher {
    redirect: Redirect,
    api: Api,
    main: Handle,
    ids: Arc<RequestIds>,
    stop: Shutdown,
}

impl Dispatcher {
    pub(in crate::server) fn new(
        redirect: Redirect,
        api: Api,
        main: Handle,
        ids: Arc<RequestIds>,
        stop: Shutdown,
    ) -> Self {
        Self {
            redirect,
            api,
            main,
            ids,
            stop,
        }
    }

    /// What makes ids for answers that are not given here.
    pub(in crate::server) fn ids(&self) -> Arc<RequestIds> {
        Arc::clone(&self.ids)
    }

    /// For one connection, whose other end is `peer`.
    pub(in crate::server) fn gate(self: &Arc<Self>, peer: Option<SocketAddr>) -> ConnectionService {
        ConnectionService {
            entrance: Arc::clone(self),
            peer: peer.map(Peer),
        }
    }
}

/// The entrance as one connection has it.
pub(in crate::server) struct ConnectionService {
    entrance: Arc<Dispatcher>,
    peer: Option<Peer>,
}

impl Service<Request<Incoming>> for ConnectionService {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let entrance = Arc::clone(&self.entrance);
        if let Some(peer) = self.peer {
            request.extensions_mut().insert(peer);
        }
        Box::pin(async move {
            let id = entrance.ids.of(request.headers());
            let is_addressed = names_one_host(&request);
            let mut response = match redirect_code(request.uri().path()) {
                _ if !is_addressed => {
                    ApiError::bad_request("The request has to name one host").into_response()
                }
                Some(code) if matches!(*request.method(), Method::GET | Method::HEAD) => {
                    let is_head = request.method() == Method::HEAD;
                    entrance.follow(&code, is_head, &request, &id).await
                }
                _ => match entrance.api.admission.admit(&mut request) {
                    Ok(()) => entrance.cross_over(request, &id).await,
                    Err(refusal) => {
                        let (method, path) = (request.method().as_str(), request.uri().path());
                        if let Some(observed) = RequestSpan::at_debug(id.as_str(), method, path) {
                            observed.answered(refusal.status().as_u16());
                        }
                        refusal
                    }
                },
            };
            let status = response.status();
            let headers = response.headers_mut();
            headers.insert(X_REQUEST_ID, HeaderValue::from(&id));
            if entrance.stop.is_asked() || !is_addressed || leaves_a_body(status) {
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok(response)
        })
    }
}

/// Whether the request says for which host it is, once: others on its way may have believed another (RFC 9112, 3.2).
fn names_one_host(request: &Request<Incoming>) -> bool {
    let hosts = request.headers().get_all(HOST).iter().count();
    hosts == 1 || hosts == 0 && request.version() < Version::HTTP_11
}

/// Whether the rest of the body, which may never come, is not waited for: then hyper closes the connection.
fn leaves_a_body(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT
    )
}

impl Dispatcher {
    /// Answers a redirect, here on the worker.
    async fn follow(
        &self,
        code: &ShortCode,
        is_head: bool,
        request: &Request<Incoming>,
        id: &RequestId,
    ) -> Response {
        let path = request.uri().path();
        let observed = RequestSpan::at_debug(id.as_str(), request.method().as_str(), path);
        let followed = if is_head {
            self.redirect.preview(code).await
        } else {
            self.redirect.follow(code).await
        };
        let response = followed.into_response();
        if let Some(observed) = observed {
            observed.answered(response.status().as_u16());
        }
        response
    }

    /// Answers on the main runtime, so that neither work nor connections of the API end up here.
    async fn cross_over(&self, request: Request<Incoming>, id: &RequestId) -> Response {
        let main = self.main.clone();
        let observed = RequestSpan::api(
            id.as_str(),
            request.method().as_str(),
            request.uri().path(),
            request.headers(),
        );
        let request = request.map(Body::new);
        let api = self.api.router.clone();
        let admission = self.api.admission.clone();
        let answering = async move {
            let Ok(response) = api.oneshot(request).await;
            if response.body().size_hint().exact().is_some() {
                return response;
            }
            match admission.stream() {
                Ok(place) => bring_body_over(response, &main, place, READING_TIMEOUT),
                Err(refusal) => refusal,
            }
        };
        let answered = self
            .main
            .spawn(answering.instrument(observed.span().clone()));
        let response = answered.await.unwrap_or_else(|failed| {
            tracing::error!(parent: observed.span(), %failed, "a request could not be answered");
            ApiError::internal("the handler was lost").into_response()
        });
        observed.answered(response.status().as_u16());
        response
    }
}

/// A body that is still being made goes on being made here, until its end or until nobody reads it.
fn bring_body_over(
    response: Response,
    main: &Handle,
    place: OwnedSemaphorePermit,
    patience: Duration,
) -> Response {
    response.map(|body| {
        let (sender, receiver) = mpsc::channel::<Result<Bytes, axum::Error>>(PIECES_AHEAD);
        let making = main.spawn(async move {
            let _place = place;
            let mut pieces = body.into_data_stream();
            while let Some(piece) = pieces.next().await {
                match timeout(patience, sender.send(piece)).await {
                    Ok(Ok(())) => {}
                    // The client is gone.
                    Ok(Err(_)) => break,
                    Err(_) => return Err("the client reads too slowly"),
                }
            }
            Ok(())
        });
        Body::from_stream(unfold(
            (receiver, Some(making)),
            async |(mut receiver, making)| {
                if let Some(piece) = receiver.recv().await {
                    return Some((piece, (receiver, making)));
                }
                // Half an answer must not look like a whole one.
                let failed = match making?.await {
                    Ok(Ok(())) => return None,
                    Ok(Err(slow)) => axum::Error::new(slow),
                    Err(failed) => {
                        tracing::error!(%failed, "an answer could not be finished");
                        axum::Error::new(failed)
                    }
                };
                Some((Err(failed), (receiver, None)))
            },
        ))
    })
}

#[cfg(test)]
mod tests {
    use tokio::sync::Semaphore;

    use super::*;

    fn place() -> OwnedSemaphorePermit {
        Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap()
    }

    fn response(
        pieces: impl futures_util::Stream<Item = Result<&'static str, axum::Error>> + Send + 'static,
    ) -> Response {
        Response::new(Body::from_stream(pieces))
    }

    #[tokio::test]
    async fn an_answer_comes_over_whole() {
        let pieces = futures_util::stream::iter([Ok("[1,"), Ok("2]")]);
        let response = bring_body_over(
            response(pieces),
            &Handle::current(),
            place(),
            READING_TIMEOUT,
        );
        let body = axum::body::to_bytes(response.into_body(), 100)
            .await
            .unwrap();
        assert_eq!(&*body, b"[1,2]");
    }

    #[tokio::test]
    async fn who_reads_nothing_is_not_waited_for_for_ever() {
        let pieces = futures_util::stream::iter((0..10).map(|_| Ok("piece")));
        let patience = Duration::from_millis(10);
        let response = bring_body_over(response(pieces), &Handle::current(), place(), patience);
        tokio::time::sleep(50 * patience).await;
        assert!(
            axum::body::to_bytes(response.into_body(), 100)
                .await
                .is_err()
        );
    }

    #[tokio::test]
    async fn a_panic_in_the_middle_of_an_answer_is_an_error_to_whoever_reads_it() {
        let pieces = unfold(0, async |number| {
            assert!(number < 2, "this panic is part of the test");
            Some((Ok("piece"), number + 1))
        });
        let response = bring_body_over(
            response(pieces),
            &Handle::current(),
            place(),
            READING_TIMEOUT,
        );
        assert!(
            axum::body::to_bytes(response.into_body(), 100)
                .await
                .is_err()
        );
    }
}

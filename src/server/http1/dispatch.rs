//! Dispatches the requests that hyper read: a redirect is answered on the worker, any other request on the main
//! runtime.

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
use hyper::{Method, Request, StatusCode, Uri, Version};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::time::timeout;
use tower::ServiceExt;
use tracing::Instrument;

use crate::domain::ShortCode;
use crate::http::paths::{self, redirect_code};
use crate::http::{Admission, ApiError, Peer, RequestId, RequestIds, X_REQUEST_ID};
use crate::redirect::Redirect;
use crate::server::shutdown::Shutdown;
use crate::telemetry::requests::RequestSpan;

/// Chunks of a response body that may wait for a slow client.
const CHUNKS_AHEAD: usize = 1;

/// How long a client may take to read a chunk.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// The API on the main runtime; cheap to clone.
#[derive(Clone)]
pub(in crate::server) struct Api {
    pub(in crate::server) router: Router,
    pub(in crate::server) admission: Admission,
}

/// Serves the requests of one worker's connections.
pub(super) struct Dispatcher {
    redirect: Redirect,
    api: Api,
    main: Handle,
    ids: Arc<RequestIds>,
    shutdown: Shutdown,
}

impl Dispatcher {
    pub(super) fn new(
        redirect: Redirect,
        api: Api,
        main: Handle,
        ids: Arc<RequestIds>,
        shutdown: Shutdown,
    ) -> Self {
        Self {
            redirect,
            api,
            main,
            ids,
            shutdown,
        }
    }

    /// The service of one connection, whose other end is `peer`.
    pub(super) fn service_for(self: &Arc<Self>, peer: Option<SocketAddr>) -> ConnectionService {
        ConnectionService {
            dispatcher: Arc::clone(self),
            peer: peer.map(Peer),
        }
    }
}

/// The dispatcher for one connection.
pub(super) struct ConnectionService {
    dispatcher: Arc<Dispatcher>,
    peer: Option<Peer>,
}

impl Service<Request<Incoming>> for ConnectionService {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let dispatcher = Arc::clone(&self.dispatcher);
        if let Some(peer) = self.peer {
            request.extensions_mut().insert(peer);
        }
        Box::pin(async move {
            let id = dispatcher.ids.of(request.headers());
            if let Some(uri) = without_slash(request.uri()) {
                *request.uri_mut() = uri;
            }
            let is_addressed = names_one_host(&request);
            let mut response = match redirect_code(request.uri().path()) {
                _ if !is_addressed => {
                    ApiError::bad_request("The request has to name one host").into_response()
                }
                Some(code) if matches!(*request.method(), Method::GET | Method::HEAD) => {
                    let is_head = request.method() == Method::HEAD;
                    dispatcher.redirect(&code, is_head, &request, &id).await
                }
                _ => match dispatcher.api.admission.admit(&mut request) {
                    Ok(()) => dispatcher.call_api(request, &id).await,
                    Err(refusal) => {
                        let (method, path) = (request.method().as_str(), request.uri().path());
                        if let Some(span) = RequestSpan::at_debug(id.as_str(), method, path) {
                            span.answered(refusal.status().as_u16());
                        }
                        refusal
                    }
                },
            };
            let status = response.status();
            let headers = response.headers_mut();
            headers.insert(X_REQUEST_ID, HeaderValue::from(&id));
            if dispatcher.shutdown.is_draining() || !is_addressed || closes_unread(status) {
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok(response)
        })
    }
}

/// The address without the slash behind its code; `None` where there is none.
fn without_slash(uri: &Uri) -> Option<Uri> {
    let path = paths::without_slash(uri.path())?;
    let path_and_query = match uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(path_and_query.parse().ok()?);
    Uri::from_parts(parts).ok()
}

/// Whether the request names its host exactly once: with two, a proxy before this service may have taken the other
/// one (RFC 9112, 3.2).
fn names_one_host(request: &Request<Incoming>) -> bool {
    let hosts = request.headers().get_all(HOST).iter().count();
    hosts == 1 || hosts == 0 && request.version() < Version::HTTP_11
}

/// Whether the connection closes with the rest of the request's body unread, since that may never come.
fn closes_unread(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT
    )
}

impl Dispatcher {
    /// Answers a redirect on the worker.
    async fn redirect(
        &self,
        code: &ShortCode,
        is_head: bool,
        request: &Request<Incoming>,
        id: &RequestId,
    ) -> Response {
        let path = request.uri().path();
        let span = RequestSpan::at_debug(id.as_str(), request.method().as_str(), path);
        let redirected = if is_head {
            self.redirect.preview(code).await
        } else {
            self.redirect.follow(code).await
        };
        let response = redirected.into_response();
        if let Some(span) = span {
            span.answered(response.status().as_u16());
        }
        response
    }

    /// Answers on the main runtime, so that neither work nor connections of the API are on the worker.
    async fn call_api(&self, request: Request<Incoming>, id: &RequestId) -> Response {
        let main = self.main.clone();
        let span = RequestSpan::api(
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
                Ok(permit) => forward_body(response, &main, permit, READ_TIMEOUT),
                Err(refusal) => refusal,
            }
        };
        let answered = self.main.spawn(answering.instrument(span.span().clone()));
        let response = answered.await.unwrap_or_else(|failed| {
            tracing::error!(parent: span.span(), %failed, "a request could not be answered");
            ApiError::internal("the handler was lost").into_response()
        });
        span.answered(response.status().as_u16());
        response
    }
}

/// Forwards a body that is still being made on the main runtime, until its end or until the client stops reading.
fn forward_body(
    response: Response,
    main: &Handle,
    permit: OwnedSemaphorePermit,
    read_timeout: Duration,
) -> Response {
    response.map(|body| {
        let (sender, receiver) = mpsc::channel::<Result<Bytes, axum::Error>>(CHUNKS_AHEAD);
        let producer = main.spawn(async move {
            let _permit = permit;
            let mut chunks = body.into_data_stream();
            while let Some(chunk) = chunks.next().await {
                match timeout(read_timeout, sender.send(chunk)).await {
                    Ok(Ok(())) => {}
                    // The client is gone.
                    Ok(Err(_)) => break,
                    Err(_) => return Err("the client reads too slowly"),
                }
            }
            Ok(())
        });
        Body::from_stream(unfold(
            (receiver, Some(producer)),
            async |(mut receiver, producer)| {
                if let Some(chunk) = receiver.recv().await {
                    return Some((chunk, (receiver, producer)));
                }
                // A part of a response must not look like a whole one.
                let failed = match producer?.await {
                    Ok(Ok(())) => return None,
                    Ok(Err(slow)) => axum::Error::new(slow),
                    Err(failed) => {
                        tracing::error!(%failed, "a response could not be finished");
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

    fn permit() -> OwnedSemaphorePermit {
        Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap()
    }

    fn response(
        chunks: impl futures_util::Stream<Item = Result<&'static str, axum::Error>> + Send + 'static,
    ) -> Response {
        Response::new(Body::from_stream(chunks))
    }

    #[tokio::test]
    async fn a_response_is_forwarded_whole() {
        let chunks = futures_util::stream::iter([Ok("[1,"), Ok("2]")]);
        let response = forward_body(response(chunks), &Handle::current(), permit(), READ_TIMEOUT);
        let body = axum::body::to_bytes(response.into_body(), 100)
            .await
            .unwrap();
        assert_eq!(&*body, b"[1,2]");
    }

    #[tokio::test]
    async fn a_client_that_reads_nothing_is_given_up() {
        let chunks = futures_util::stream::iter((0..10).map(|_| Ok("chunk")));
        let read_timeout = Duration::from_millis(10);
        let response = forward_body(response(chunks), &Handle::current(), permit(), read_timeout);
        tokio::time::sleep(50 * read_timeout).await;
        assert!(
            axum::body::to_bytes(response.into_body(), 100)
                .await
                .is_err()
        );
    }

    #[tokio::test]
    async fn a_panic_in_the_middle_of_a_response_is_an_error_to_its_reader() {
        let chunks = unfold(0, async |number| {
            assert!(number < 2, "this panic is part of the test");
            Some((Ok("chunk"), number + 1))
        });
        let response = forward_body(response(chunks), &Handle::current(), permit(), READ_TIMEOUT);
        assert!(
            axum::body::to_bytes(response.into_body(), 100)
                .await
                .is_err()
        );
    }
}

//! Dispatches the requests that hyper read: a redirect is answered on the worker, any other request on the main
//! runtime.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::http::header::{AUTHORIZATION, CONNECTION, HOST, TRANSFER_ENCODING};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::service::Service;
use hyper::{Method, Request, StatusCode, Version};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use tracing::Instrument;

use super::asked::{is_read, preview, root_of, wish_of, without_slash};
use super::forward::forward_body;
use super::parse::MAX_NAME_BYTES;
use super::shared_stream::SharedStream;
use crate::analytics::LastClass;
use crate::domain::{ServedHost, ShortCode};
use crate::http::paths::{self, Class, redirect_code, route_of};
use crate::http::{
    Admission, Admitted, ApiError, ClientAddress, ClientLeft, CodesOf, Cors, LinkAtRest, Peer,
    RequestId, RequestIds, TrustedProxies, Unending, VisitorHeaders, X_REQUEST_ID, is_basic,
};
use crate::redirect::Redirect;
use crate::server::shutdown::Shutdown;
use crate::telemetry::requests::RequestSpan;
use crate::web::{ErrorPages, PageWish};

/// The API on the main runtime; cheap to clone.
#[derive(Clone)]
pub(in crate::server) struct Api {
    pub(in crate::server) router: Router,
    /// Errors for browsers.
    pub(in crate::server) pages: ErrorPages,
    pub(in crate::server) admission: Admission,
    pub(in crate::server) proxies: TrustedProxies,
    pub(in crate::server) cors: Cors,
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
    pub(super) fn service_for(
        self: &Arc<Self>,
        peer: Option<SocketAddr>,
        stream: SharedStream,
    ) -> ConnectionService {
        ConnectionService {
            dispatcher: Arc::clone(self),
            peer: peer.map(Peer),
            stream,
            last_class: Arc::default(),
        }
    }
}

/// The dispatcher for one connection.
pub(super) struct ConnectionService {
    dispatcher: Arc<Dispatcher>,
    peer: Option<Peer>,
    stream: SharedStream,
    last_class: Arc<LastClass>,
}

impl Service<Request<Incoming>> for ConnectionService {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        let (dispatcher, stream) = (Arc::clone(&self.dispatcher), self.stream.clone());
        let last_class = Arc::clone(&self.last_class);
        if let Some(peer) = self.peer {
            request.extensions_mut().insert(peer);
        }
        Box::pin(async move {
            let id = dispatcher.ids.of(request.headers());
            let host = dispatcher.host_of(&request);
            if let Some(host) = &host {
                request
                    .extensions_mut()
                    .insert(CodesOf::Host(Arc::clone(host)));
            }
            let is_elsewhere = host
                .as_ref()
                .filter(|_| !paths::is_of_every_host(request.uri().path()));
            let elsewhere = is_elsewhere.map(|host| root_of(host, &request));
            if let Some(uri) = without_slash(request.uri()) {
                *request.uri_mut() = uri;
            }
            if let Some(uri) = preview(&request) {
                *request.uri_mut() = uri;
            }
            let doubt = doubt_about(&request);
            let is_last = doubt.is_some();
            let code = redirect_code(request.uri().path());
            let code = code.and_then(|code| CodesOf::place(request.extensions().get(), code));
            let mut response = match (doubt, elsewhere, code) {
                (Some(doubt), _, _) => doubt.into_response(),
                (None, Some(response), _) => {
                    let wish = PageWish::of_headers(request.headers());
                    dispatcher.as_wished(response, wish, None).await
                }
                (None, None, Some(code)) if is_read(request.method()) => {
                    let is_head = request.method() == Method::HEAD;
                    let response = dispatcher.redirect(&code, is_head, &request, &id, &last_class);
                    let response = response.await;
                    let opens = !is_head && is_locked(&response) && has_password(request.headers());
                    if opens {
                        // Passwords are compared beside the API.
                        let wish = PageWish::of_headers(request.headers());
                        let response = dispatcher.admitted(request, &id, &stream).await;
                        dispatcher.as_wished(response, wish, Some(code)).await
                    } else {
                        // The headers are read only when there is no redirect.
                        let is_error = !response.status().is_redirection();
                        let wish = is_error.then(|| PageWish::of_headers(request.headers()));
                        let wish = wish.flatten();
                        dispatcher.as_wished(response, wish, Some(code)).await
                    }
                }
                _ => {
                    let wish = wish_of(&request);
                    let code = wish.and_then(|_| paths::decoded_code(request.uri().path()));
                    let code =
                        code.and_then(|code| CodesOf::place(request.extensions().get(), code));
                    let response = dispatcher.shared(request, &id, &stream).await;
                    dispatcher.as_wished(response, wish, code).await
                }
            };
            let status = response.status();
            let headers = response.headers_mut();
            headers.insert(X_REQUEST_ID, HeaderValue::from(&id));
            if dispatcher.shutdown.is_draining() || is_last || closes_unread(status) {
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Ok(response)
        })
    }
}

/// A redirect that gets here may have a password.
fn is_queued(path: &str) -> bool {
    let is_of_queue = |class| matches!(class, Class::Queued | Class::Redirect);
    route_of(path).is_some_and(|route| is_of_queue(route.class))
}

/// Whether the link needs a password.
fn is_locked(response: &Response) -> bool {
    response.extensions().get() == Some(&LinkAtRest::Locked)
}

fn has_password(headers: &HeaderMap) -> bool {
    let value = headers.get(AUTHORIZATION);
    value.is_some_and(|value| is_basic(value.as_bytes()))
}

/// The refusal of a request that another program may have read in another way, or whose headers took long to read; its connection
/// ends.
fn doubt_about(request: &Request<Incoming>) -> Option<ApiError> {
    if !names_one_host(request) {
        return Some(ApiError::bad_request("The request has to name one host"));
    }
    let names: usize = request
        .headers()
        .iter()
        .map(|(name, _)| name.as_str().len())
        .sum();
    if names > MAX_NAME_BYTES {
        return Some(ApiError::long_names(MAX_NAME_BYTES));
    }
    (!has_plain_coding(request)).then(ApiError::unknown_coding)
}

/// Whether the body is sent as it is, or in chunks and in no other way. hyper reads any list that ends with `chunked` as
/// chunks, and does not undo the codings before it (RFC 9112, 6.1: an unknown one is answered 501).
fn has_plain_coding(request: &Request<Incoming>) -> bool {
    let mut codings = request.headers().get_all(TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => true,
        (Some(coding), None) => coding.as_bytes().eq_ignore_ascii_case(b"chunked"),
        (Some(_), Some(_)) => false,
    }
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
    /// The host that a request names, if it is not the service's own: in its target, or in its header.
    fn host_of<B>(&self, request: &Request<B>) -> Option<Arc<ServedHost>> {
        let hosts = self.redirect.hosts.get();
        let named = match request.uri().authority() {
            Some(authority) => authority.as_str().as_bytes(),
            None => request.headers().get(HOST)?.as_bytes(),
        };
        hosts.named(named).cloned()
    }

    /// An error as a page, if the client prefers a page; perhaps an error of a visit to a code.
    async fn as_wished(
        &self,
        response: Response,
        wish: Option<PageWish>,
        code: Option<ShortCode>,
    ) -> Response {
        let pages = &self.api.pages;
        match (wish, code) {
            (None, _) => response,
            (Some(wish), None) => pages.in_place_of(response, wish),
            (Some(wish), Some(code)) => pages.in_place_of_visit(&code, response, wish).await,
        }
    }

    /// Answers any request but a redirect, perhaps for a page of another origin.
    async fn shared(
        &self,
        request: Request<Incoming>,
        id: &RequestId,
        stream: &SharedStream,
    ) -> Response {
        let Some(sharing) = self.api.cors.of(&request) else {
            return self.admitted(request, id, stream).await;
        };
        let response = match sharing.preflight().await {
            Some(response) => response,
            None => self.admitted(request, id, stream).await,
        };
        sharing.on(response)
    }

    /// Answers any request but a redirect, if it is admitted.
    async fn admitted(
        &self,
        mut request: Request<Incoming>,
        id: &RequestId,
        stream: &SharedStream,
    ) -> Response {
        let admitted = self.api.admission.admit(&mut request, &self.api.proxies);
        let admitted = match admitted {
            Ok(admitted) => admitted,
            Err(refusal) => {
                let (method, path) = (request.method().as_str(), request.uri().path());
                if let Some(span) = RequestSpan::at_debug(|| id.as_str(), method, path) {
                    span.answered(refusal.status().as_u16());
                }
                return refusal;
            }
        };
        if !is_queued(request.uri().path()) {
            return self.call_api(request, admitted, id).await;
        }
        let left = CancellationToken::new();
        request.extensions_mut().insert(ClientLeft(left.clone()));
        // Cancelled also where hyper gives the connection up.
        let _left = left.clone().drop_guard();
        let answering = self.call_api(request, admitted, id);
        tokio::pin!(answering);
        tokio::select! {
            response = &mut answering => response,
            () = stream.closed() => {
                left.cancel();
                answering.await
            }
        }
    }

    /// Answers a redirect on the worker.
    async fn redirect(
        &self,
        code: &ShortCode,
        is_head: bool,
        request: &Request<Incoming>,
        id: &RequestId,
        last_class: &LastClass,
    ) -> Response {
        let path = request.uri().path();
        let span = RequestSpan::at_debug(|| id.as_str(), request.method().as_str(), path);
        let peer = request.extensions().get().map(|Peer(peer)| *peer);
        let client =
            || ClientAddress::of_request(peer, &self.api.proxies, request.headers()).into();
        let headers = VisitorHeaders::of(request.headers());
        let visitor = headers.visitor(request.uri().query(), &client, Some(last_class));
        let redirected = if is_head {
            self.redirect.preview(code, &visitor).await
        } else {
            self.redirect.follow(code, &visitor).await
        };
        let response = redirected.into_response();
        if let Some(span) = span {
            span.answered(response.status().as_u16());
        }
        response
    }

    /// Answers on the main runtime, so that neither work nor connections of the API are on the worker.
    async fn call_api(
        &self,
        request: Request<Incoming>,
        admitted: Arc<Admitted>,
        id: &RequestId,
    ) -> Response {
        let main = self.main.clone();
        let peer: Option<&Peer> = request.extensions().get();
        let is_trusted = peer.is_some_and(|peer| self.api.proxies.trust(peer.0.ip()));
        let span = RequestSpan::api(
            id.as_str(),
            request.method().as_str(),
            request.uri().path(),
            is_trusted.then(|| request.headers()),
        );
        let request = request.map(Body::new);
        let api = self.api.router.clone();
        let admission = self.api.admission.clone();
        let answering = async move {
            let Ok(response) = api.oneshot(request).await;
            if response.body().size_hint().exact().is_some() {
                return admitted.keep(response).await;
            }
            if response.extensions().get::<Unending>().is_some() {
                return forward_body(response, &main, (), admitted);
            }
            match admission.stream(&admitted) {
                Ok(permit) => forward_body(response, &main, permit, admitted),
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

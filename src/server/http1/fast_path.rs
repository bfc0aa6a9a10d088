//! The fast path: plain redirects are read off the socket and answered without hyper.
//!
//! A general HTTP stack spends more on a request than the redirect itself does. So each connection starts on the fast
//! path, which knows one shape of request (see [`RedirectRequest`]). When a request has any other shape, hyper takes
//! over the connection and keeps it: it gets every byte that was read and not answered (with the request's target as a
//! browser would have sent it, see `request_target`). The fast path decides nothing in another way than hyper or the
//! router would.

use std::future::poll_fn;
use std::io;
use std::mem::take;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::response::IntoResponse;
use bytes::{Buf, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};

use super::buffers::{Buffers, FIRST_READ};
use super::idle_timer::IdleTimer;
use super::parse::{Head, MAX_HEAD_BYTES, RedirectRequest, header_values, parse};
use super::render::{FastPathRenderer, PreparedResponse, ResponseHeaders};
use super::request_target;
use crate::analytics::{LastClass, Visitor};
use crate::config::Guards;
use crate::domain::{Clock, RemovalStatus};
use crate::http::{
    ApiError, ClientAddress, FORWARDED_FOR, ForwardedFor, RequestId, RequestIds, TrustedProxies,
    is_basic,
};
use crate::redirect::{Redirect, RedirectError};
use crate::server::shutdown::Shutdown;
use crate::telemetry::requests::RequestSpan;
use crate::web::{ErrorPages, PageWish};

/// Requests of one connection that are answered before other connections get their turn.
const MAX_CONSECUTIVE: u32 = 16;

/// How long a client may take to read a response.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Answers plain redirects; one per worker.
pub(super) struct FastPath {
    redirect: Redirect,
    renderer: FastPathRenderer,
    /// The response to an unknown code, as the router gives it.
    not_found: PreparedResponse,
    /// The responses to the code of a removed link, as the router gives them.
    gone: PreparedResponse,
    blocked: PreparedResponse,
    /// The response to the code of a link that needs a password, as the router gives it.
    locked: PreparedResponse,
    /// The response if the code cannot be looked up, as the router gives it.
    unavailable: PreparedResponse,
    buffers: Buffers,
    ids: Arc<RequestIds>,
    proxies: TrustedProxies,
    /// Errors for browsers.
    pages: ErrorPages,
    /// A connection that completes no request for this long, later on up to twice as long, is closed.
    request_timeout: Duration,
    /// Longest head that is read here.
    max_head: usize,
}

/// How a connection left the fast path.
pub(super) enum FastPathOutcome {
    /// It is closed, or must be closed.
    Closed,
    /// hyper takes over, beginning with the bytes that were read and not answered.
    HandedOver(TcpStream, Vec<u8>),
}

impl FastPath {
    pub(super) async fn new(
        redirect: Redirect,
        ids: Arc<RequestIds>,
        proxies: TrustedProxies,
        pages: ErrorPages,
        clock: Arc<dyn Clock>,
        guards: &Guards,
    ) -> Self {
        Self {
            renderer: FastPathRenderer::new(clock),
            redirect,
            not_found: PreparedResponse::new(ApiError::url_not_found().into_response()).await,
            locked: PreparedResponse::new(RedirectError::Locked.into_response()).await,
            gone: removed(RemovalStatus::Gone).await,
            blocked: removed(RemovalStatus::LegalReasons).await,
            unavailable: PreparedResponse::new(ApiError::not_now().into_response()).await,
            buffers: Buffers::default(),
            ids,
            proxies,
            pages,
            request_timeout: guards.header_timeout,
            max_head: guards.max_header_bytes.min(MAX_HEAD_BYTES),
        }
    }

    /// Answers requests for as long as they are plain redirects.
    pub(super) async fn serve(
        &self,
        mut stream: TcpStream,
        shutdown: &Shutdown,
    ) -> FastPathOutcome {
        let mut received = BytesMut::new();
        let mut consecutive = 0;
        let last_class = LastClass::default();
        let mut hosts = self.redirect.hosts.view();
        let peer = stream.peer_addr().ok();
        let (draining, timer) = (shutdown.draining(), sleep(self.request_timeout));
        tokio::pin!(draining, timer);
        let mut idle_timer = IdleTimer::new(shutdown, draining, timer, self.request_timeout);
        loop {
            match parse(&received, self.max_head) {
                Head::Redirect(mut request) => {
                    request.code = hosts.code_at(request.host, request.code);
                    let length = request.length;
                    let head = &received[..length];
                    let forwarded_for = request.visitor.forwarded_for();
                    let client = || self.client(peer, forwarded_for, head);
                    let visitor = request.visitor.visitor(None, &client, Some(&last_class));
                    let responding = self.respond(&request, head, &visitor, shutdown, &stream);
                    let Some((unsent, closes)) = responding.await else {
                        break;
                    };
                    if write(&mut stream, unsent).await.is_err() || closes {
                        return FastPathOutcome::Closed;
                    }
                    idle_timer.request_answered();
                    received.advance(length);
                    // A client that sends thousands of requests ahead does not keep the worker from other clients.
                    consecutive += 1;
                    if consecutive == MAX_CONSECUTIVE {
                        consecutive = 0;
                        yield_now().await;
                    }
                }
                Head::Other => break,
                Head::Partial => {
                    consecutive = 0;
                    let is_idle = received.is_empty();
                    let read = self.read(&mut stream, &mut received);
                    match idle_timer.wait_for(read, is_idle).await {
                        None | Some(Ok(0) | Err(_)) => return FastPathOutcome::Closed,
                        Some(Ok(_)) => {}
                    }
                }
            }
        }
        FastPathOutcome::HandedOver(stream, request_target::encoded(&received).into_owned())
    }

    /// Reads what has come. A connection takes a buffer only then, so that an idle one has none.
    async fn read(&self, stream: &mut TcpStream, received: &mut BytesMut) -> io::Result<usize> {
        if received.is_empty() {
            self.buffers.give_back(take(received));
        }
        poll_fn(|context| stream.poll_read_ready(context)).await?;
        if received.is_empty() {
            *received = self.buffers.take();
        } else {
            // The rest of a long head at once: each part is read from the beginning again.
            let room = if received.len() < FIRST_READ {
                FIRST_READ
            } else {
                self.max_head
            };
            received.reserve(room.saturating_sub(received.len()));
        }
        stream.read_buf(received).await
    }

    /// The address of the client whose request has this head.
    fn client(
        &self,
        peer: Option<SocketAddr>,
        forwarded_for: ForwardedFor<'_>,
        head: &[u8],
    ) -> String {
        let lines = match forwarded_for {
            ForwardedFor::Missing => Vec::new(),
            ForwardedFor::Line(line) => vec![line],
            ForwardedFor::Lines => header_values(head, FORWARDED_FOR),
        };
        ClientAddress::behind(peer, &self.proxies, lines.into_iter()).into()
    }

    /// Sends as much of the response as the connection takes at once. Returns the rest, and whether the connection closes after it;
    /// `None` if the request has a password that is to be compared.
    async fn respond(
        &self,
        request: &RedirectRequest<'_>,
        head: &[u8],
        visitor: &Visitor<'_>,
        shutdown: &Shutdown,
        stream: &TcpStream,
    ) -> Option<(io::Result<Vec<u8>>, bool)> {
        let id = request.id.and_then(RequestId::parse);
        let id = id.unwrap_or_else(|| self.ids.make());
        let method = if request.is_head { "HEAD" } else { "GET" };
        let span = RequestSpan::at_debug(|| id.as_str(), method, request.path);
        let redirected = if request.is_head {
            self.redirect.preview(&request.code, visitor).await
        } else {
            self.redirect.follow(&request.code, visitor).await
        };
        // Read only now: the shutdown may have been requested while the click was on its way.
        let closes = shutdown.is_draining();
        let headers = |now| ResponseHeaders {
            id: &id,
            closes,
            now,
        };
        let send = |response: &[u8]| send(stream, response);
        let (status, unsent) = match redirected {
            Ok(redirected) => {
                let location = redirected.location().as_str();
                let headers = headers(redirected.at());
                let noindex = redirected.noindex();
                let renderer = &self.renderer;
                let unsent = match redirected.rules_left_out() {
                    0 => renderer.redirect(location, noindex, &headers, send),
                    rules => renderer.without_rules(location, noindex, rules, &headers, send),
                };
                (302, unsent)
            }
            Err(RedirectError::Fallback(fallback)) => {
                let location = fallback.location().as_str();
                let noindex = fallback.noindex();
                let headers = headers(Instant::now());
                let unsent = self.renderer.fallback(location, noindex, &headers, send);
                (302, unsent)
            }
            Err(RedirectError::Locked) if !request.is_head && has_password(head) => return None,
            Err(error) => {
                let refused;
                let page = match wish(head) {
                    None => None,
                    Some(wish) => {
                        let error = error.clone().into_response();
                        let page = self.pages.in_place_of_visit(&request.code, error, wish);
                        // Boxed: seldom needed, and every connection would have room for it.
                        let page = Box::pin(page).await;
                        Some((page.status().as_u16(), PreparedResponse::new(page).await))
                    }
                };
                let (status, prepared) = match error {
                    _ if page.is_some() => page
                        .as_ref()
                        .map_or((404, &self.not_found), |(status, page)| (*status, page)),
                    error @ (RedirectError::TooMany(_) | RedirectError::QueryTooLong(_)) => {
                        let response = error.into_response();
                        let status = response.status().as_u16();
                        refused = PreparedResponse::new(response).await;
                        (status, &refused)
                    }
                    RedirectError::Locked => (403, &self.locked),
                    RedirectError::Removed(status) => {
                        let prepared = match status {
                            RemovalStatus::Gone => &self.gone,
                            RemovalStatus::LegalReasons => &self.blocked,
                        };
                        (status.code(), prepared)
                    }
                    error if error.is_not_found() => (404, &self.not_found),
                    _ => (503, &self.unavailable),
                };
                let headers = headers(Instant::now());
                let has_body = !request.is_head;
                let unsent = self.renderer.prepared(prepared, has_body, &headers, send);
                (status, unsent)
            }
        };
        if let Some(span) = span {
            span.answered(status);
        }
        Some((unsent, closes))
    }
}

async fn removed(status: RemovalStatus) -> PreparedResponse {
    PreparedResponse::new(ApiError::url_removed(status).into_response()).await
}

/// Whether a request with this head has the password of a link. It is read only for links that need one.
fn has_password(head: &[u8]) -> bool {
    let mut values = header_values(head, "authorization").into_iter();
    values.next().is_some_and(is_basic)
}

/// What the client with this head prefers to JSON. It is read only when there is no redirect.
fn wish(head: &[u8]) -> Option<PageWish> {
    let value = |name| {
        let value = header_values(head, name).into_iter().next();
        value
            .and_then(|value| str::from_utf8(value).ok())
            .unwrap_or_default()
    };
    PageWish::of(value("accept"), value("accept-language"))
}

/// Sends what the connection takes at once, nearly always the whole response, and returns the rest.
fn send(stream: &TcpStream, response: &[u8]) -> io::Result<Vec<u8>> {
    match stream.try_write(response) {
        Ok(written) => Ok(response[written..].to_vec()),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(response.to_vec()),
        Err(error) => Err(error),
    }
}

/// Writes the rest of a response within [`WRITE_TIMEOUT`].
async fn write(stream: &mut TcpStream, unsent: io::Result<Vec<u8>>) -> io::Result<()> {
    let unsent = unsent?;
    if unsent.is_empty() {
        return Ok(());
    }
    // Boxed: seldom needed, and every connection would have room for it.
    Box::pin(timeout(WRITE_TIMEOUT, stream.write_all(&unsent))).await?
}

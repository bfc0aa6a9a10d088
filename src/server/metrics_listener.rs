//! Metrics on an address of their own.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::middleware::map_response;
use axum::routing::get;
use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

use crate::http;
use crate::server::shutdown::{GRACE_PERIOD, Shutdown};
use crate::telemetry::metrics::Exposition;

/// Connections at once; further ones wait in the backlog of the system.
const MAX_CONNECTIONS: usize = 64;

/// How long a connection may go without a byte written to it: an idle one, one with a slow request, and one whose
/// response stays unread are closed then.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves /metrics alone, until the service drains.
pub(super) async fn serve(listener: TcpListener, metrics: Exposition, shutdown: Shutdown) {
    let router = Router::new()
        .route("/metrics", get(async move || metrics.render()))
        .fallback(http::not_found)
        .method_not_allowed_fallback(http::method_not_allowed)
        .layer(map_response(http::with_security_headers));
    let listener = BoundedListener {
        listener,
        permits: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
    };
    let draining = shutdown.draining_token().cancelled_owned();
    let serving = axum::serve(listener, router).with_graceful_shutdown(draining);
    let end_of_grace_period = async {
        shutdown.draining().await;
        sleep(GRACE_PERIOD).await;
    };
    tokio::select! {
        // Ends when every connection is closed, and with no error.
        _ = serving => {}
        // A slow scraper does not delay the shutdown: its connection ends with the process.
        () = end_of_grace_period => {}
    }
}

/// A listener with at most [`MAX_CONNECTIONS`] connections, each with an [`IDLE_TIMEOUT`]: `axum::serve` has neither.
struct BoundedListener {
    listener: TcpListener,
    permits: Arc<Semaphore>,
}

impl Listener for BoundedListener {
    type Io = BoundedConnection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let (stream, peer) = Listener::accept(&mut self.listener).await;
        let connection = BoundedConnection {
            stream,
            idle: Box::pin(sleep(IDLE_TIMEOUT)),
            _permit: permit.expect("the semaphore is never closed"),
        };
        (connection, peer)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that fails once it is idle for too long.
struct BoundedConnection {
    stream: TcpStream,
    idle: Pin<Box<Sleep>>,
    _permit: OwnedSemaphorePermit,
}

impl BoundedConnection {
    /// The outcome of an operation on the stream; an error where the operation is pending for too long.
    fn or_timeout<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_pending() && self.idle.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        outcome
    }
}

impl AsyncRead for BoundedConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.or_timeout(context, read)
    }
}

impl AsyncWrite for BoundedConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if written.is_ready() {
            self.idle.as_mut().reset(Instant::now() + IDLE_TIMEOUT);
        }
        self.or_timeout(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

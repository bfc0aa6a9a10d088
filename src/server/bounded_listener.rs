//! A listener for `axum::serve`, which by itself bounds neither the number of connections nor the time that they idle.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};

use crate::http::ClientAddress;
use crate::limits::{AtOnce, ClientShare};

/// A listener with at most so many connections at once, each with a timeout.
pub(super) struct BoundedListener {
    listener: TcpListener,
    permits: Arc<Semaphore>,
    by_address: AtOnce,
    idle_timeout: Duration,
}

impl BoundedListener {
    /// An address has a quarter of the connections; more connections are closed.
    ///
    /// A connection is closed when no byte was written to it for `idle_timeout`: an idle one, one with a slow request,
    /// and one whose client does not read the response.
    pub(super) fn new(
        listener: TcpListener,
        max_connections: usize,
        idle_timeout: Duration,
    ) -> Self {
        Self {
            listener,
            permits: Arc::new(Semaphore::new(max_connections)),
            by_address: AtOnce::new(max_connections, ["connections", "connections_of_address"]),
            idle_timeout,
        }
    }
}

impl Listener for BoundedListener {
    type Io = BoundedConnection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let (stream, peer, place) = loop {
            let (stream, peer) = Listener::accept(&mut self.listener).await;
            let address = ClientAddress::of(peer.ip());
            let mut place = self.by_address.of(None, Some(address.as_str()));
            if place.add(1).is_ok() {
                break (stream, peer, place);
            }
        };
        let connection = BoundedConnection {
            stream,
            idle: Box::pin(sleep(self.idle_timeout)),
            idle_timeout: self.idle_timeout,
            _permit: permit.expect("the semaphore is never closed"),
            _place: place,
        };
        (connection, peer)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection whose reads and writes fail once it is idle for too long.
pub(super) struct BoundedConnection {
    stream: TcpStream,
    idle: Pin<Box<Sleep>>,
    idle_timeout: Duration,
    _permit: OwnedSemaphorePermit,
    _place: ClientShare,
}

impl BoundedConnection {
    /// The outcome of an operation on the stream; an error if the operation is pending for too long.
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
            let deadline = Instant::now() + self.idle_timeout;
            self.idle.as_mut().reset(deadline);
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

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::timeout;

    use super::*;

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const IDLE_TIMEOUT: Duration = Duration::from_millis(300);
    const LONG: Duration = Duration::from_secs(20);

    /// Serves `body` on one connection at a time; returns the address.
    async fn serve(body: String, idle_timeout: Duration) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let handler = get(async move || body);
        let listener = BoundedListener::new(listener, 1, idle_timeout);
        tokio::spawn(async move { axum::serve(listener, handler).await });
        address
    }

    async fn connect(address: SocketAddr, request: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request).await.unwrap();
        stream
    }

    /// Reads until the server closes the connection.
    async fn read_to_end(mut stream: TcpStream) -> String {
        let mut received = Vec::new();
        let read = timeout(LONG, stream.read_to_end(&mut received)).await;
        // A reset is an end, too.
        let _ = read.expect("the connection is closed");
        String::from_utf8(received).unwrap()
    }

    #[tokio::test]
    async fn an_idle_connection_is_closed_after_its_response() {
        let address = serve("body".to_owned(), IDLE_TIMEOUT).await;
        let response = read_to_end(connect(address, REQUEST).await).await;
        assert!(response.starts_with("HTTP/1.1 200 OK"), "{response}");
        assert!(response.ends_with("body"), "{response}");
    }

    #[tokio::test]
    async fn a_connection_with_half_a_request_is_closed_though_bytes_keep_coming() {
        let address = serve(String::new(), IDLE_TIMEOUT).await;
        let mut stream = connect(address, b"GET / HTTP/1.1\r\nHost: ").await;
        let trickling = async {
            while stream.write_all(b"x").await.is_ok() {
                sleep(IDLE_TIMEOUT / 10).await;
            }
        };
        timeout(LONG, trickling).await.expect("it is closed");
    }

    #[tokio::test]
    async fn a_further_connection_waits_until_another_is_closed() {
        let address = serve("body".to_owned(), LONG).await;
        let mut first = connect(address, REQUEST).await;
        let mut byte = [0];
        first.read_exact(&mut byte).await.unwrap();
        let mut second = connect(address, REQUEST).await;
        let early = timeout(Duration::from_millis(100), second.read_exact(&mut byte)).await;
        assert!(early.is_err(), "two connections at once");
        drop(first);
        let late = timeout(LONG, second.read_exact(&mut byte)).await;
        late.expect("it is served").unwrap();
    }

    #[tokio::test]
    async fn a_connection_whose_client_does_not_read_is_closed() {
        let address = serve("x".repeat(64 << 20), IDLE_TIMEOUT).await;
        let _silent = connect(address, REQUEST).await;
        let mut second = connect(address, REQUEST).await;
        let mut byte = [0];
        let served = timeout(LONG, second.read_exact(&mut byte)).await;
        served.expect("it is served").unwrap();
    }
}

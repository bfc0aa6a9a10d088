//! A connection from its first byte to its end: first on the fast path, then with hyper.

use std::io::Cursor;
use std::net::SocketAddr;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, join};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::dispatch::{Api, Dispatcher};
use super::error_bodies::WithErrorBodies;
use super::fast_path::{FastPath, FastPathOutcome};
use super::paced::{Paced, ReadBudget};
use super::shared_stream::SharedStream;
use crate::config::Guards;
use crate::domain::Clock;
use crate::http::RequestIds;
use crate::redirect::Redirect;
use crate::server::shutdown::{GRACE_PERIOD, Shutdown};
use crate::telemetry::metrics::LIMIT_HITS;

/// Serves the connections of one worker.
pub(in crate::server) struct ConnectionHandler {
    fast_path: FastPath,
    dispatcher: Arc<Dispatcher>,
    ids: Arc<RequestIds>,
    guards: Guards,
    shutdown: Shutdown,
}

impl ConnectionHandler {
    /// Serves redirects on the runtime of the caller, and the API on `main`.
    pub(in crate::server) async fn new(
        redirect: Redirect,
        api: Api,
        main: Handle,
        ids: RequestIds,
        clock: Arc<dyn Clock>,
        guards: Guards,
        shutdown: Shutdown,
    ) -> Self {
        let ids = Arc::new(ids);
        Self {
            fast_path: FastPath::new(
                redirect.clone(),
                Arc::clone(&ids),
                api.proxies.clone(),
                api.pages.clone(),
                clock,
                &guards,
            )
            .await,
            dispatcher: Arc::new(Dispatcher::new(
                redirect,
                api,
                main,
                Arc::clone(&ids),
                shutdown.clone(),
            )),
            ids,
            guards,
            shutdown,
        }
    }

    /// Serves one connection until it is closed or, when the service drains, until its request is answered.
    pub(in crate::server) async fn serve(&self, stream: TcpStream) {
        let peer = stream.peer_addr().ok();
        let outcome = self.fast_path.serve(stream, &self.shutdown).await;
        if let FastPathOutcome::HandedOver(stream, received) = outcome {
            // Boxed: most connections stay on the fast path, and do not pay for the size of this future.
            Box::pin(self.serve_with_hyper(stream, received, peer)).await;
        }
    }

    async fn serve_with_hyper(
        &self,
        stream: TcpStream,
        received: Vec<u8>,
        peer: Option<SocketAddr>,
    ) {
        let shared = SharedStream::new(stream);
        let reader = AsyncReadExt::chain(Cursor::new(received), shared.clone());
        let budget = ReadBudget::new(self.guards.min_read_bytes_per_second);
        let stream = join(reader, Paced::new(shared.clone(), budget));
        let stream = WithErrorBodies::new(stream, Arc::clone(&self.ids));
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.guards.header_timeout)
            // A client that closes its sending side still waits for the response.
            .half_close(true)
            // The library's own bound of headers stays, which the settings name: 100.
            .max_buf_size(self.guards.max_header_bytes)
            .serve_connection(
                TokioIo::new(stream),
                self.dispatcher.service_for(peer, shared),
            );
        tokio::pin!(connection);
        let served = tokio::select! {
            served = &mut connection => served,
            () = self.shutdown.draining() => {
                if let Ok(served) = timeout(GRACE_PERIOD, connection.as_mut()).await {
                    served
                } else {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            }
        };
        if let Err(error) = served {
            if error.is_timeout() {
                metrics::counter!(LIMIT_HITS, "limit" => "header_time").increment(1);
            } else if error.is_parse_too_large() {
                metrics::counter!(LIMIT_HITS, "limit" => "header_size").increment(1);
            }
            tracing::debug!(%error, "a connection ended early");
        }
    }
}

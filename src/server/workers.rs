//! Workers: one thread each, with a runtime, connections and a recorder of its own.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use futures_util::FutureExt;
use futures_util::future::{Shared, select_all};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::app::{App, RedirectWorker};
use super::http1::dispatch::{Api, Dispatcher};
use super::http1::error_bodies::WithErrorBodies;
use super::http1::fast_path::{FastPath, Left};
use super::lifecycle::{LAST_CALL, ServeError, Shutdown};
use super::listener::Arrival;
use crate::config::Guards;
use crate::domain::Clock;
use crate::http::RequestIds;
use crate::telemetry::metrics::{CONNECTIONS, GaugeGuard, LIMIT_HITS};

/// Connections that may wait for a worker to take them.
const INBOX: usize = 1_024;

pub(super) struct Workers {
    workers: Vec<Worker>,
}

struct Worker {
    inbox: Sender<Arrival>,
    connections: TaskTracker,
    /// Completes when the thread has ended.
    ended: Shared<oneshot::Receiver<()>>,
    thread: JoinHandle<()>,
}

impl Workers {
    /// Starts `count` workers. They end when `drained`, after their recorders are done.
    pub(super) fn start(
        count: usize,
        app: &App,
        api: &Api,
        guards: &Guards,
        stop: &Shutdown,
        drained: &CancellationToken,
    ) -> io::Result<Self> {
        let start = |number| {
            let (inbox, arrivals) = mpsc::channel(INBOX);
            let (ending, ended) = oneshot::channel();
            let connections = TaskTracker::new();
            let work = Work {
                road: app.redirect_worker(),
                api: api.clone(),
                guards: *guards,
                main: Handle::current(),
                ids: RequestIds::new()?,
                clock: Arc::clone(&app.clock),
                arrivals,
                connections: connections.clone(),
                stop: stop.clone(),
                drained: drained.clone(),
            };
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let thread = thread::Builder::new()
                .name(format!("worker-{number}"))
                .spawn(move || {
                    // Dropped however the thread ends.
                    let _ending: oneshot::Sender<()> = ending;
                    runtime.block_on(work.run());
                })?;
            Ok(Worker {
                inbox,
                connections,
                ended: ended.shared(),
                thread,
            })
        };
        let workers = (0..count).map(start).collect::<io::Result<_>>()?;
        Ok(Self { workers })
    }

    pub(super) fn inboxes(&self) -> Vec<Sender<Arrival>> {
        self.workers
            .iter()
            .map(|worker| worker.inbox.clone())
            .collect()
    }

    /// Returns once every connection is closed; to be called after the stop was asked for.
    pub(super) async fn connections_closed(&self) {
        for worker in &self.workers {
            // The inbox closes when nobody can hand over a connection any more.
            worker.inbox.closed().await;
            worker.connections.close();
            worker.connections.wait().await;
        }
    }

    /// Returns when a worker ends.
    pub(super) async fn first_death(&self) {
        let endings = self.workers.iter().map(|worker| worker.ended.clone());
        let _ = select_all(endings).await;
    }

    /// Returns once every thread has ended.
    pub(super) async fn ended(self) -> Result<(), ServeError> {
        let mut outcome = Ok(());
        for worker in self.workers {
            // Either way the thread is at its end, so that joining does not block.
            let _ = worker.ended.await;
            if worker.thread.join().is_err() {
                outcome = Err(ServeError::Died("a worker panicked".into()));
            }
        }
        outcome
    }
}

/// What a worker works with.
struct Work {
    road: RedirectWorker,
    api: Api,
    guards: Guards,
    main: Handle,
    ids: RequestIds,
    clock: Arc<dyn Clock>,
    arrivals: Receiver<Arrival>,
    connections: TaskTracker,
    stop: Shutdown,
    drained: CancellationToken,
}

impl Work {
    async fn run(mut self) {
        let RedirectWorker { redirect, work } = self.road;
        let mut recording = work.spawn(self.drained.clone());
        let guards = self.guards;
        let ids = Arc::new(self.ids);
        let lanes = Arc::new(ConnectionHandler {
            express: FastPath::new(
                redirect.clone(),
                Arc::clone(&ids),
                self.clock,
                guards.header_timeout,
            )
            .await,
            entrance: Arc::new(Dispatcher::new(
                redirect,
                self.api,
                self.main,
                ids,
                self.stop.clone(),
            )),
            guards,
            stop: self.stop.clone(),
        });
        let serve = |arrival| Arc::clone(&lanes).serve(arrival);
        loop {
            let arrived = tokio::select! {
                arrived = self.arrivals.recv() => arrived,
                () = self.stop.asked() => break,
                // It panicked: without it no visitor would ever be answered.
                _ = &mut recording => return,
            };
            let Some(stream) = arrived else { break };
            self.connections.spawn(serve(stream));
        }
        self.arrivals.close();
        while let Some(stream) = self.arrivals.recv().await {
            self.connections.spawn(serve(stream));
        }
        drop(self.arrivals);
        // Its panic is in the log; the worker is at its end anyway.
        let _ = recording.await;
    }
}

/// What the connections of a worker share.
struct ConnectionHandler {
    express: FastPath,
    entrance: Arc<Dispatcher>,
    guards: Guards,
    stop: Shutdown,
}

impl ConnectionHandler {
    /// Serves one connection until it is closed or, when asked to stop, until its request is answered.
    async fn serve(self: Arc<Self>, arrival: Arrival) {
        // Both until the end of the connection.
        let (_place, _counted) = (arrival.place, GaugeGuard::new(metrics::gauge!(CONNECTIONS)));
        let stream = arrival.stream;
        let stream = stream
            .set_nonblocking(true)
            .and_then(|()| tokio::net::TcpStream::from_std(stream));
        let Ok(stream) = stream else {
            return;
        };
        let peer = stream.peer_addr().ok();
        if let Left::HandedOver(stream) = self.express.serve(stream, &self.stop).await {
            // Boxed: most connections never come here, and need not pay for the size of the future.
            Box::pin(self.serve_general(stream, peer)).await;
        }
    }

    async fn serve_general(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        peer: Option<SocketAddr>,
    ) {
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.guards.header_timeout)
            // Who has asked and sends no more still waits for the answer.
            .half_close(true)
            .max_buf_size(self.guards.max_header_bytes)
            .serve_connection(
                TokioIo::new(WithErrorBodies::new(stream, self.entrance.ids())),
                self.entrance.gate(peer),
            );
        tokio::pin!(connection);
        let served = tokio::select! {
            served = &mut connection => served,
            () = self.stop.asked() => {
                if let Ok(served) = timeout(LAST_CALL, connection.as_mut()).await {
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

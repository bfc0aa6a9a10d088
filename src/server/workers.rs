//! Workers: one thread each, with a runtime, connections and recorders of its own.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Shared, select_all};
use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::oneshot;
use tokio::time::interval;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::Guards;
use crate::domain::Clock;
use crate::http::RequestIds;
use crate::server::app::App;
use crate::server::connections::OpenConnection;
use crate::server::error::ServeError;
use crate::server::http1::connection::ConnectionHandler;
use crate::server::http1::dispatch::Api;
use crate::server::redirect_worker::RedirectWorker;
use crate::server::shutdown::Shutdown;
use crate::telemetry::exposition::cpu_of_worker;
use crate::telemetry::metrics::{CONNECTIONS, GaugeGuard};

/// Connections that may wait for a worker to take them.
const INBOX_CAPACITY: usize = 1_024;

/// How often a worker notes the CPU time of its thread.
const CPU_PAUSE: Duration = Duration::from_secs(1);

/// A connection on its way to a worker, which is counted until it is closed.
pub(super) struct AcceptedConnection {
    pub(super) stream: TcpStream,
    pub(super) open: OpenConnection,
}

/// All workers.
pub(super) struct Workers {
    workers: Vec<Worker>,
}

struct Worker {
    inbox: Sender<AcceptedConnection>,
    connections: TaskTracker,
    /// Completes when the thread has ended.
    ended: Shared<oneshot::Receiver<()>>,
    thread: JoinHandle<()>,
}

impl Workers {
    /// Starts `count` workers. After `drained` is cancelled their recorders deliver what they have, and they end.
    pub(super) fn start(
        count: usize,
        app: &App,
        api: &Api,
        guards: &Guards,
        shutdown: &Shutdown,
        drained: &CancellationToken,
    ) -> io::Result<Self> {
        let start = |number| {
            let (inbox, accepted) = mpsc::channel(INBOX_CAPACITY);
            let (ending, ended) = oneshot::channel();
            let connections = TaskTracker::new();
            let worker = WorkerThread {
                redirect_worker: app.redirect_worker(),
                api: api.clone(),
                guards: *guards,
                main: Handle::current(),
                ids: RequestIds::new()?,
                clock: Arc::clone(&app.clock),
                accepted,
                connections: connections.clone(),
                shutdown: shutdown.clone(),
                drained: drained.clone(),
            };
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let thread = thread::Builder::new()
                .name(format!("worker-{number}"))
                .spawn(move || {
                    // Dropped when the thread ends, also by a panic.
                    let _ending: oneshot::Sender<()> = ending;
                    runtime.block_on(worker.run());
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

    /// The channel to which the listener sends connections.
    pub(super) fn inboxes(&self) -> Vec<Sender<AcceptedConnection>> {
        self.workers
            .iter()
            .map(|worker| worker.inbox.clone())
            .collect()
    }

    /// Returns once every connection is closed. Has to be called after the service began to drain.
    pub(super) async fn connections_closed(&self) {
        for worker in &self.workers {
            // The inbox closes when the worker has taken the last connection.
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

/// All that a worker's thread works with.
struct WorkerThread {
    redirect_worker: RedirectWorker,
    api: Api,
    guards: Guards,
    main: Handle,
    ids: RequestIds,
    clock: Arc<dyn Clock>,
    accepted: Receiver<AcceptedConnection>,
    connections: TaskTracker,
    shutdown: Shutdown,
    drained: CancellationToken,
}

impl WorkerThread {
    async fn run(mut self) {
        let RedirectWorker { redirect, tasks } = self.redirect_worker;
        let mut delivering = tasks.spawn(&self.drained);
        let handler = ConnectionHandler::new(
            redirect,
            self.api,
            self.main,
            self.ids,
            self.clock,
            self.guards,
            self.shutdown.clone(),
        );
        let handler = Arc::new(handler.await);
        let serve = |accepted| serve(Arc::clone(&handler), accepted);
        let (cpu, mut ticks) = (cpu_of_worker(), interval(CPU_PAUSE));
        loop {
            let accepted = tokio::select! {
                accepted = self.accepted.recv() => accepted,
                _ = ticks.tick() => {
                    cpu.note();
                    continue;
                }
                () = self.shutdown.draining() => break,
                // It panicked: without it no click would ever be acknowledged.
                _ = &mut delivering => return,
            };
            let Some(accepted) = accepted else { break };
            self.connections.spawn(serve(accepted));
        }
        self.accepted.close();
        while let Some(accepted) = self.accepted.recv().await {
            self.connections.spawn(serve(accepted));
        }
        drop(self.accepted);
        // Its panic is in the log; the worker is at its end anyway.
        let _ = delivering.await;
    }
}

/// Serves one connection. Until its end it is counted.
async fn serve(handler: Arc<ConnectionHandler>, accepted: AcceptedConnection) {
    let AcceptedConnection { stream, open } = accepted;
    let (_open, _counted) = (open, GaugeGuard::new(metrics::gauge!(CONNECTIONS)));
    let stream = stream
        .set_nonblocking(true)
        .and_then(|()| tokio::net::TcpStream::from_std(stream));
    if let Ok(stream) = stream {
        handler.serve(stream).await;
    }
}

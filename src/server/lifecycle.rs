//! Signals, start and stop. The only place that spawns what lives as long as the service: a task that
//! dies stops the service with an error.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::app::{App, RedirectWorker};
use super::http1::dispatch::Api;
use super::workers::Workers;
use super::{jobs, listener, metrics_listener, startup};
use crate::accounts::{HasherError, SecretError};
use crate::api;
use crate::config::{BaseUrl, Config};
use crate::http::{Admission, RequestIds, TrustedProxies};
use crate::redis::InvalidRedisUrl;
use crate::telemetry::metrics::Exposition;

/// Exit code of a service that was told to stop twice.
const KILLED: i32 = 130;

/// How long a connection stays open, once the stop is asked for, to a request that is on its way: the answer
/// says that the connection closes, so that nobody asks on one that is closed just then. So long, at most,
/// connections are let in that the system took before.
pub(super) const LAST_CALL: Duration = Duration::from_millis(250);

/// Asks the service to stop; cheap to clone.
#[derive(Clone, Default)]
pub struct Shutdown {
    /// First nobody else is let in: whoever is told that a connection closes comes back at once, and not here.
    door: CancellationToken,
    /// Asked before every answer: an atomic, where the token takes a lock.
    is_asked: Arc<AtomicBool>,
    token: CancellationToken,
}

impl Shutdown {
    /// Stops on SIGTERM and SIGINT; a second one ends the process at once.
    ///
    /// # Errors
    /// When signals cannot be listened for.
    pub fn on_signals() -> io::Result<Self> {
        let stop = Self::default();
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let soft = stop.clone();
        tokio::spawn(async move {
            let mut next = async || {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
            };
            next().await;
            tracing::info!("stopping: finishing what is open; a second signal ends at once");
            soft.now();
            next().await;
            tracing::warn!("ended at once by a second signal");
            std::process::exit(KILLED);
        });
        Ok(stop)
    }

    /// Asks now: first whoever lets connections in, who then asks everybody.
    pub fn now(&self) {
        self.door.cancel();
    }

    /// Returns once nobody else is to be let in.
    pub(super) async fn door_closes(&self) {
        self.door.cancelled().await;
    }

    /// Asks everybody: the door is closed.
    pub(super) fn everybody(&self) {
        self.is_asked.store(true, Ordering::Release);
        self.token.cancel();
    }

    /// Cancelled once everybody is asked.
    pub(super) fn token(&self) -> CancellationToken {
        self.token.clone()
    }

    /// Whether it was asked.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::Acquire)
    }

    /// Returns once it was asked.
    pub async fn asked(&self) {
        self.token.cancelled().await;
    }
}

/// Why the service did not start, or did not end well.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An address cannot be listened on.
    #[error("{setting}: cannot listen on {address}: {error}; {mend}")]
    Bind {
        /// Which names it.
        setting: &'static str,
        /// Where.
        address: SocketAddr,
        /// Why.
        error: io::Error,
        /// What to do about it.
        mend: &'static str,
    },
    /// Input or output failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The listener's address makes no base address.
    #[error("BASE_URL: {0}")]
    BaseUrl(String),
    /// Postgres without a secret.
    #[error(
        "JWT_SECRET: is not set; with Postgres give at least 32 bytes, such as the output of `openssl rand -hex 32`"
    )]
    NoSecret,
    /// The secret beside the database cannot be used.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The setting names no Redis.
    #[error(transparent)]
    Redis(#[from] InvalidRedisUrl),
    /// A dependency is not there, or refuses.
    #[error(transparent)]
    Connect(#[from] startup::ConnectError),
    /// Passwords cannot be hashed.
    #[error(transparent)]
    Hasher(#[from] HasherError),
    /// A part of the service died: a defect.
    #[error("a part of the service died: {0}")]
    Died(String),
    /// Not everything was done in time.
    #[error("the stop took longer than SHUTDOWN_TIMEOUT_SECONDS allows: {0}")]
    Late(String),
}

/// A service that takes requests.
pub(super) struct Running {
    stop: Shutdown,
    workers: Workers,
    /// Ends the recorders: after the connections, before the last flush.
    drained: CancellationToken,
    tasks: JoinSet<()>,
    /// Look for a Redis that is away, to the very end: clicks that are in memory alone may need it.
    finders: JoinSet<()>,
    app: Arc<App>,
}

pub(super) fn start(
    app: App,
    config: &Config,
    base_url: &BaseUrl,
    public: TcpListener,
    metrics_listener: Option<TcpListener>,
    metrics: Exposition,
    stop: Shutdown,
) -> Result<Running, ServeError> {
    let drained = CancellationToken::new();
    let mut tasks = JoinSet::new();
    let RedirectWorker { redirect, work } = app.redirect_worker();
    let recording = work.spawn(drained.clone());
    tasks.spawn(async move { recording.await.expect("its panic is this task's, too") });

    let state = app.api_state(redirect, base_url, metrics.clone(), &stop);
    let proxies = TrustedProxies(config.trusted_proxies.clone().into());
    let admission = Admission::new(&config.guards);
    let api = api::router(
        state,
        proxies,
        base_url,
        &config.guards,
        &admission,
        metrics_listener.is_none(),
    );
    if let Some(listener) = metrics_listener {
        tasks.spawn(metrics_listener::serve(
            listener,
            metrics.clone(),
            stop.clone(),
        ));
    }
    let workers = Workers::start(
        config.workers,
        &app,
        &Api {
            router: api,
            admission,
        },
        &config.guards,
        &stop,
        &drained,
    )?;
    tasks.spawn(listener::accept(
        public,
        workers.inboxes(),
        config.guards.max_connections,
        RequestIds::new().map_err(io::Error::from)?,
        stop.clone(),
    ));
    let app = Arc::new(app);
    let finders = jobs::spawn(&mut tasks, &app, config.flush_interval, metrics, &stop);
    Ok(Running {
        stop,
        workers,
        drained,
        tasks,
        finders,
        app,
    })
}

impl Running {
    /// Serves until asked to stop or until a part of it dies, then stops within `patience`.
    pub(super) async fn until_stopped(mut self, patience: Duration) -> Result<(), ServeError> {
        let died = tokio::select! {
            // First: told to stop, tasks end by themselves.
            biased;
            () = self.stop.asked() => None,
            () = self.workers.first_death() => Some("a worker ended".to_owned()),
            ended = self.tasks.join_next() => Some(format!("{ended:?}")),
            Some(ended) = self.finders.join_next() => Some(format!("{ended:?}")),
        };
        let Some(died) = died else {
            return self.stopped(patience).await;
        };
        tracing::error!("a part of the service died: {died}; it is stopped");
        self.stop.now();
        self.stop.everybody();
        // Clicks may be in memory alone just now.
        if let Err(error) = self.stopped(patience).await {
            tracing::error!(%error, "and it did not end well");
        }
        Err(ServeError::Died(died))
    }

    /// Stops, having been asked to.
    async fn stopped(mut self, patience: Duration) -> Result<(), ServeError> {
        let deadline = Instant::now() + patience;
        // The other half of the time is for the clicks: a client that will not be hurried is cut off.
        if timeout(patience / 2, self.workers.connections_closed())
            .await
            .is_err()
        {
            tracing::warn!("connections that are still busy are cut off");
        }
        self.drained.cancel();
        let ended = async {
            let mut outcome = self.workers.ended().await;
            while let Some(ended) = self.tasks.join_next().await {
                if let Err(error) = ended {
                    outcome = Err(ServeError::Died(error.to_string()));
                }
            }
            outcome
        };
        let outcome = timeout_at(deadline, ended).await.unwrap_or_else(|_| {
            Err(ServeError::Late(match self.app.memory_only.clicks() {
                0 => "something did not end in time".to_owned(),
                clicks => format!("{clicks} clicks are only in memory, and given up"),
            }))
        });
        if let Err(ServeError::Late(_)) = outcome {
            return outcome;
        }
        jobs::last_flush(&self.app, deadline).await;
        jobs::close(&self.app, deadline).await;
        if outcome.is_ok() {
            tracing::info!("stopped");
        }
        outcome
    }
}

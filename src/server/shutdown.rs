//! The shutdown of the service: a signal requests it, the listener closes, then every other part drains.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Exit code after a second signal.
const KILLED: i32 = 130;

/// How long a request that is on its way may still come in. The listener accepts connections for that long after the
/// shutdown was requested, and an idle connection stays open for that long afterwards. The last response on a
/// connection says that it closes, so that no client sends a request on a connection that was just closed.
pub(super) const GRACE_PERIOD: Duration = Duration::from_millis(250);

/// The shutdown as all parts of the service share it; cheap to clone.
#[derive(Clone, Default)]
pub struct Shutdown {
    /// The first step closes the listener: a client that reads `connection: close` connects again at once, and must
    /// reach another instance.
    requested: CancellationToken,
    /// The second step ends connections and background jobs.
    draining: CancellationToken,
    /// The second step as an atomic: it is read before every response, and the token takes a lock.
    is_draining: Arc<AtomicBool>,
}

impl Shutdown {
    /// Shuts down on SIGTERM and SIGINT; a second signal ends the process at once.
    ///
    /// # Errors
    /// When the process cannot listen for signals.
    pub fn on_signals() -> io::Result<Self> {
        let shutdown = Self::default();
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let on_signal = shutdown.clone();
        tokio::spawn(async move {
            let mut next = async || {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
            };
            next().await;
            tracing::info!("stopping: finishing open requests; a second signal ends at once");
            on_signal.request();
            next().await;
            tracing::warn!("ended at once by a second signal");
            std::process::exit(KILLED);
        });
        Ok(shutdown)
    }

    /// Takes the first step: the listener stops accepting connections, and then takes the second step.
    pub fn request(&self) {
        self.requested.cancel();
    }

    /// Returns once the shutdown was requested.
    pub(super) async fn requested(&self) {
        self.requested.cancelled().await;
    }

    /// Takes the second step, once no more connections are accepted.
    pub(super) fn drain(&self) {
        self.is_draining.store(true, Ordering::Release);
        self.draining.cancel();
    }

    /// Whether the second step was taken.
    pub(super) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Acquire)
    }

    /// Returns once the second step was taken.
    pub(super) async fn draining(&self) {
        self.draining.cancelled().await;
    }

    /// A token that is cancelled with the second step.
    pub(super) fn draining_token(&self) -> CancellationToken {
        self.draining.clone()
    }
}

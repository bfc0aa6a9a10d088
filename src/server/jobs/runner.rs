//! Runs background jobs: each is a task that ends when the service drains, and is repeated until then.

use std::fmt::Display;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::server::shutdown::Shutdown;
use crate::telemetry::throttle::FailureLog;

/// Spawns jobs that end when the service drains.
pub(super) struct Background<'a> {
    pub(super) tasks: &'a mut JoinSet<()>,
    pub(super) shutdown: &'a Shutdown,
}

impl Background<'_> {
    pub(super) fn spawn(&mut self, job: impl Future<Output = ()> + Send + 'static) {
        // Boxed, so that a task is compiled once for all jobs.
        self.spawn_boxed(job.boxed());
    }

    fn spawn_boxed(&mut self, job: BoxFuture<'static, ()>) {
        let shutdown = self.shutdown.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = job => {},
                () = shutdown.draining() => {},
            }
        });
    }
}

/// Repeats `work` for ever, at least `pause` after its last start. The log says when `name` begins to fail and when it
/// works again.
pub(super) async fn every<Work, E>(
    pause: Duration,
    name: &'static str,
    mut work: impl FnMut() -> Work,
) where
    Work: Future<Output = Result<(), E>>,
    E: Display,
{
    let mut ticks = ticks(pause);
    let mut failures = FailureLog::new(name);
    loop {
        ticks.tick().await;
        failures.note(&work().await);
    }
}

/// A tick now and after each `pause`. Missed ticks are not made up for.
pub(super) fn ticks(pause: Duration) -> Interval {
    let mut ticks = interval(pause);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

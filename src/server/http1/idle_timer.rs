//! The deadlines of a connection that sends nothing, or only a part of a request.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::server::shutdown::{GRACE_PERIOD, Shutdown};
use crate::telemetry::metrics::LIMIT_HITS;

/// One timer for two deadlines: the one of a request, and the grace period of a shutdown. The timer is re-armed when
/// it fires, since re-arming it with each request would cost more.
pub(super) struct IdleTimer<'a, D> {
    shutdown: &'a Shutdown,
    /// Completes when the service begins to drain.
    draining: Pin<&'a mut D>,
    timer: Pin<&'a mut Sleep>,
    request_timeout: Duration,
    /// Whether the timer is re-armed when it fires, instead of ending the connection.
    rearms: bool,
    in_grace_period: bool,
    /// What the shutdown and the timer wake, since both were pending.
    waker: Option<Waker>,
}

impl<'a, D: Future<Output = ()>> IdleTimer<'a, D> {
    /// `draining` is that of the shutdown, and `timer` already runs for `request_timeout`.
    pub(super) fn new(
        shutdown: &'a Shutdown,
        draining: Pin<&'a mut D>,
        timer: Pin<&'a mut Sleep>,
        request_timeout: Duration,
    ) -> Self {
        Self {
            shutdown,
            draining,
            timer,
            request_timeout,
            rearms: false,
            in_grace_period: false,
            waker: None,
        }
    }

    /// Notes that a request was answered: the next one has a timeout of its own.
    pub(super) fn request_answered(&mut self) {
        self.rearms = true;
    }

    /// Waits for a part of a request; `None` if the connection must be closed before it comes. The connection is idle if no byte
    /// of the request has arrived.
    pub(super) async fn wait_for<T>(
        &mut self,
        part: impl Future<Output = T>,
        is_idle: bool,
    ) -> Option<T> {
        let mut part = pin!(part);
        poll_fn(|context| {
            if let Poll::Ready(part) = part.as_mut().poll(context) {
                return Poll::Ready(Some(part));
            }
            // Nearly every wait ends with a request: nothing else is asked, as it would wake this task.
            if self.will_wake(context.waker()) {
                return Poll::Pending;
            }
            self.poll_expired(context, is_idle).map(|()| None)
        })
        .await
    }

    /// Whether a deadline that is still ahead will wake this task.
    fn will_wake(&self, waker: &Waker) -> bool {
        let known = self.waker.as_ref();
        known.is_some_and(|known| known.will_wake(waker))
            && !self.shutdown.is_draining()
            && !self.timer.is_elapsed()
    }

    /// Ready when the connection must be closed.
    fn poll_expired(&mut self, context: &mut Context<'_>, is_idle: bool) -> Poll<()> {
        loop {
            if !self.in_grace_period && self.draining.as_mut().poll(context).is_ready() {
                self.in_grace_period = true;
                // A request that has come in part may come to its end.
                self.rearms = true;
                self.timer.as_mut().reset(Instant::now() + GRACE_PERIOD);
            }
            if self.timer.as_mut().poll(context).is_pending() {
                self.waker = Some(context.waker().clone());
                return Poll::Pending;
            }
            if self.in_grace_period && is_idle {
                return Poll::Ready(());
            }
            if !self.rearms {
                if !is_idle {
                    metrics::counter!(LIMIT_HITS, "limit" => "header_time").increment(1);
                }
                return Poll::Ready(());
            }
            self.rearms = false;
            self.timer
                .as_mut()
                .reset(Instant::now() + self.request_timeout);
        }
    }
}

//! The deadlines of a connection that sends nothing, or only a part of a request.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::server::shutdown::GRACE_PERIOD;
use crate::telemetry::metrics::LIMIT_HITS;

/// One timer for two deadlines: the one of a request, and the grace period of a shutdown. The timer is re-armed when
/// it fires, since re-arming it with each request would cost more.
pub(super) struct IdleTimer<'a, D> {
    /// Completes when the service begins to drain.
    draining: Pin<&'a mut D>,
    timer: Pin<&'a mut Sleep>,
    request_timeout: Duration,
    /// Whether the timer is re-armed when it fires, instead of ending the connection.
    rearms: bool,
    in_grace_period: bool,
}

impl<'a, D: Future<Output = ()>> IdleTimer<'a, D> {
    /// `timer` already runs for `request_timeout`.
    pub(super) fn new(
        draining: Pin<&'a mut D>,
        timer: Pin<&'a mut Sleep>,
        request_timeout: Duration,
    ) -> Self {
        Self {
            draining,
            timer,
            request_timeout,
            rearms: false,
            in_grace_period: false,
        }
    }

    /// Notes that a request was answered: the next one has a timeout of its own.
    pub(super) fn request_answered(&mut self) {
        self.rearms = true;
    }

    /// Returns when the connection must be closed. It is idle if no byte of the next request has arrived.
    pub(super) async fn expired(&mut self, is_idle: bool) {
        loop {
            tokio::select! {
                biased;
                () = &mut self.draining, if !self.in_grace_period => {
                    self.in_grace_period = true;
                    // A request that has come in part may come to its end.
                    self.rearms = true;
                    self.timer.as_mut().reset(Instant::now() + GRACE_PERIOD);
                }
                () = &mut self.timer => {
                    if self.in_grace_period && is_idle {
                        return;
                    }
                    if !self.rearms {
                        if !is_idle {
                            metrics::counter!(LIMIT_HITS, "limit" => "header_time").increment(1);
                        }
                        return;
                    }
                    self.rearms = false;
                    self.timer.as_mut().reset(Instant::now() + self.request_timeout);
                }
            }
        }
    }
}

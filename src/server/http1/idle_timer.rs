//! How long a connection is waited for while it sends nothing, or only a part of a request.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::server::lifecycle::LAST_CALL;
use crate::telemetry::metrics::LIMIT_HITS;

/// One timer for both deadlines: that of a request, and that of the last call once a stop was asked for. It is
/// re-armed when it fires, not with each request, which would cost more.
pub(in crate::server) struct IdleTimer<'a, A> {
    /// Over when a stop is asked for.
    asked: Pin<&'a mut A>,
    clock: Pin<&'a mut Sleep>,
    for_a_request: Duration,
    /// Whether the timer, once it has fired, is re-armed.
    again: bool,
    is_last_call: bool,
}

impl<'a, A: Future<Output = ()>> IdleTimer<'a, A> {
    /// `clock` runs for as long as a first request may take.
    pub(in crate::server) fn new(
        asked: Pin<&'a mut A>,
        clock: Pin<&'a mut Sleep>,
        for_a_request: Duration,
    ) -> Self {
        Self {
            asked,
            clock,
            for_a_request,
            again: false,
            is_last_call: false,
        }
    }

    /// A request was answered: the next one has its own time.
    pub(in crate::server) fn answered(&mut self) {
        self.again = true;
    }

    /// Comes back when the connection has to be closed. It is idle where nothing of a request has come.
    pub(in crate::server) async fn ends(&mut self, is_idle: bool) {
        loop {
            tokio::select! {
                biased;
                () = &mut self.asked, if !self.is_last_call => {
                    self.is_last_call = true;
                    // What has begun to come may come to its end.
                    self.again = true;
                    self.clock.as_mut().reset(Instant::now() + LAST_CALL);
                }
                () = &mut self.clock => {
                    if self.is_last_call && is_idle {
                        return;
                    }
                    if !self.again {
                        if !is_idle {
                            metrics::counter!(LIMIT_HITS, "limit" => "header_time").increment(1);
                        }
                        return;
                    }
                    self.again = false;
                    self.clock.as_mut().reset(Instant::now() + self.for_a_request);
                }
            }
        }
    }
}

//! How long a connection is waited for while it sends nothing, or only a part of a request.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::server::lifecycle::LAST_CALL;
use crate::telemetry::metrics::LIMIT_HITS;

/// One clock for two ends: that of a request, and once a stop was asked for that of the last call. It is wound up
/// when it has run down, not with every request, each of which would pay for it.
pub(super) struct Patience<'a, A> {
    /// Over when a stop is asked for.
    asked: Pin<&'a mut A>,
    clock: Pin<&'a mut Sleep>,
    for_a_request: Duration,
    /// Whether the clock, once it has run down, is wound up again.
    again: bool,
    is_last_call: bool,
}

impl<'a, A: Future<Output = ()>> Patience<'a, A> {
    /// `clock` runs for as long as a first request may take.
    pub(super) fn new(
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
    pub(super) fn answered(&mut self) {
        self.again = true;
    }

    /// Comes back when the connection has to be closed. It is idle where nothing of a request has come.
    pub(super) async fn ends(&mut self, is_idle: bool) {
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

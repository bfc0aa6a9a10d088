//! What the log says of failures that come again and again: little, and when they are over.

use std::fmt::Display;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Work that is done again and again: the log has when it begins to fail, a reminder each minute, and when it
/// works again.
pub struct FailureLog {
    /// As in "`what` fails".
    what: &'static str,
    failing: Option<Failing>,
}

struct Failing {
    since: Instant,
    told: Instant,
}

impl FailureLog {
    const REMINDER: Duration = Duration::from_mins(1);

    /// Work that did not fail yet.
    #[must_use]
    pub const fn new(what: &'static str) -> Self {
        Self {
            what,
            failing: None,
        }
    }

    /// Takes note of how it went once.
    pub fn went<E: Display>(&mut self, outcome: &Result<(), E>) {
        let (what, now) = (self.what, Instant::now());
        match (outcome, &mut self.failing) {
            (Ok(()), None) => {}
            (Ok(()), Some(failing)) => {
                let seconds = now.duration_since(failing.since).as_secs();
                tracing::info!(seconds, "{what} works again");
                self.failing = None;
            }
            (Err(error), None) => {
                tracing::warn!(%error, "{what} fails; trying again");
                let (since, told) = (now, now);
                self.failing = Some(Failing { since, told });
            }
            (Err(error), Some(failing)) => {
                if now.duration_since(failing.told) >= Self::REMINDER {
                    failing.told = now;
                    let seconds = now.duration_since(failing.since).as_secs();
                    tracing::warn!(%error, seconds, "{what} still fails; trying again");
                }
            }
        }
    }
}

/// Keeps what many requests would say each to once a second.
#[derive(Default)]
pub struct LogThrottle(Mutex<Option<Instant>>);

impl LogThrottle {
    /// Nothing was said yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Whether it is time to say it; then whoever asks has to.
    pub fn is_due(&self) -> bool {
        let now = Instant::now();
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = said.is_none_or(|said| now.duration_since(said) >= Duration::from_secs(1));
        if is_due {
            *said = Some(now);
        }
        is_due
    }
}

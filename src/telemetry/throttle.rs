//! Keeps the log short when failures repeat.

use std::fmt::Display;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Logs the failures of repeated work: the first one, a reminder each minute, and the recovery.
pub struct FailureLog {
    /// The work, as in "`work` fails".
    work: &'static str,
    failing: Option<Failing>,
}

struct Failing {
    since: Instant,
    logged: Instant,
}

impl FailureLog {
    const REMINDER: Duration = Duration::from_mins(1);

    /// For work that has not failed yet.
    #[must_use]
    pub const fn new(work: &'static str) -> Self {
        Self {
            work,
            failing: None,
        }
    }

    /// Notes the outcome of one run of the work.
    pub fn note<E: Display>(&mut self, outcome: &Result<(), E>) {
        let (work, now) = (self.work, Instant::now());
        match (outcome, &mut self.failing) {
            (Ok(()), None) => {}
            (Ok(()), Some(failing)) => {
                let seconds = now.duration_since(failing.since).as_secs();
                tracing::info!(seconds, "{work} works again");
                self.failing = None;
            }
            (Err(error), None) => {
                tracing::warn!(%error, "{work} fails; trying again");
                let (since, logged) = (now, now);
                self.failing = Some(Failing { since, logged });
            }
            (Err(error), Some(failing)) => {
                if now.duration_since(failing.logged) >= Self::REMINDER {
                    failing.logged = now;
                    let seconds = now.duration_since(failing.since).as_secs();
                    tracing::warn!(%error, seconds, "{work} still fails; trying again");
                }
            }
        }
    }
}

/// Lets a message that many requests would log through once a second.
#[derive(Default)]
pub struct LogThrottle(Mutex<Option<Instant>>);

impl LogThrottle {
    /// Nothing was logged yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Whether the caller has to log the message now.
    pub fn is_due(&self) -> bool {
        let now = Instant::now();
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| now.duration_since(last) >= Duration::from_secs(1));
        if is_due {
            *last = Some(now);
        }
        is_due
    }
}

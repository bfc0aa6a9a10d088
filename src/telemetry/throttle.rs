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
        self.note_error(outcome.as_ref().err().map(|error| error as &dyn Display));
    }

    fn note_error(&mut self, error: Option<&dyn Display>) {
        let (work, now) = (self.work, Instant::now());
        match (error, &mut self.failing) {
            (None, None) => {}
            (None, Some(failing)) => {
                let seconds = now.duration_since(failing.since).as_secs();
                tracing::info!(seconds, "{work} works again");
                self.failing = None;
            }
            (Some(error), None) => {
                tracing::warn!(%error, "{work} fails; trying again");
                let (since, logged) = (now, now);
                self.failing = Some(Failing { since, logged });
            }
            (Some(error), Some(failing)) => {
                if now.duration_since(failing.logged) >= Self::REMINDER {
                    failing.logged = now;
                    let seconds = now.duration_since(failing.since).as_secs();
                    tracing::warn!(%error, seconds, "{work} still fails; trying again");
                }
            }
        }
    }
}

/// Keeps the log short when something comes and goes: the first time is logged with its return, and those within a minute
/// after it are counted.
#[derive(Default)]
pub struct FlapLog(Mutex<Flaps>);

#[derive(Default)]
struct Flaps {
    /// When a line about it was logged last.
    logged: Option<Instant>,
    /// How often it went away without a line since.
    times: u32,
    /// Whether the last one has a line, so that its return gets one, too.
    is_logged: bool,
}

impl FlapLog {
    const PAUSE: Duration = Duration::from_mins(1);

    /// It went away: whether the caller must log this.
    pub fn away(&self) -> bool {
        self.away_at(Instant::now())
    }

    fn away_at(&self, now: Instant) -> bool {
        let mut flaps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = flaps
            .logged
            .is_none_or(|logged| now.duration_since(logged) >= Self::PAUSE);
        flaps.is_logged = is_new && flaps.times == 0;
        if flaps.is_logged {
            flaps.logged = Some(now);
        } else {
            flaps.times += 1;
        }
        flaps.is_logged
    }

    /// It is back: whether the caller must log this.
    pub fn back(&self) -> bool {
        let mut flaps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Before the first time it was away without a line.
        std::mem::take(&mut flaps.is_logged) || flaps.logged.is_none()
    }

    /// How often it went away without a line, if that must be logged now. If it is away at that time, its return will be
    /// logged.
    pub fn report(&self, is_up: bool) -> Option<u32> {
        self.report_at(Instant::now(), is_up)
    }

    fn report_at(&self, now: Instant, is_up: bool) -> Option<u32> {
        let mut flaps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = flaps
            .logged
            .is_some_and(|logged| now.duration_since(logged) >= Self::PAUSE);
        if !is_due || flaps.times == 0 {
            return None;
        }
        flaps.logged = Some(now);
        flaps.is_logged = !is_up;
        Some(std::mem::take(&mut flaps.times))
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

    /// Whether the caller must log the message now.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_and_goes_is_logged_once_and_then_counted() {
        let (flaps, start) = (FlapLog::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        assert!(flaps.back(), "the first return has nothing before it");
        assert!(flaps.away_at(start) && flaps.back());
        for second in 1..=40 {
            assert!(!flaps.away_at(after(second)) && !flaps.back(), "{second}");
        }
        assert_eq!(flaps.report_at(after(59), true), None);
        assert_eq!(flaps.report_at(after(60), true), Some(40));
        assert_eq!(flaps.report_at(after(130), true), None, "nothing since");
        assert!(flaps.away_at(after(130)) && flaps.back());
    }

    #[test]
    fn what_stays_away_after_it_came_and_went_is_logged_with_its_return() {
        let (flaps, start) = (FlapLog::default(), Instant::now());
        assert!(flaps.away_at(start) && flaps.back());
        assert!(!flaps.away_at(start + Duration::from_secs(5)));
        assert_eq!(
            flaps.report_at(start + Duration::from_mins(1), false),
            Some(1)
        );
        assert!(flaps.back());
    }
}

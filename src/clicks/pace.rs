//! Slows background writes down, so that redirects that wait for an acknowledgement are not delayed.
//!
//! A database on the machine of Redis delays its acknowledgements while it writes, and SQLite has one writer, for which the
//! batches of redirects wait. Each step is followed by a pause, which becomes longer while acknowledgements take more than they
//! usually take, and shorter again afterwards.

use std::ops::RangeInclusive;
use std::time::Duration;

use tokio::task::yield_now;
use tokio::time::sleep;

/// Acknowledgements that take up to so many times what they usually take are not delayed.
const CALM: f64 = 1.5;

/// Past so many times, they are delayed.
const DELAYED: f64 = 2.0;

/// By how much a pause becomes shorter or longer after a step.
const SHORTER: f64 = 0.9;
const LONGER: f64 = 1.5;

/// The shortest pause that becomes longer again.
const LEAST: f64 = 0.02;

/// The pauses of one piece of work.
pub struct Pace {
    /// The pause after a step, as a multiple of the step's duration, and its bounds.
    factor: f64,
    bounds: RangeInclusive<f64>,
    /// How long the work has taken so far, and after how long its pauses are the shortest, whatever they delay.
    took: Duration,
    patience: Option<Duration>,
}

impl Pace {
    /// With pauses within these bounds, as multiples of the duration of a step. It begins with the shortest.
    #[must_use]
    pub fn within(bounds: RangeInclusive<f64>) -> Self {
        Self {
            factor: *bounds.start(),
            bounds,
            took: Duration::ZERO,
            patience: None,
        }
    }

    /// The same for a backlog that has to be worked off: the longest pause shrinks to the shortest while the work takes so long.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self {
            patience: Some(patience),
            ..self
        }
    }

    /// The pause after a step, where acknowledgements take `delay` times what they usually take, if there are any (see
    /// [`crate::telemetry::acknowledgements::Acknowledgements::delay`]).
    pub fn pause_after(&mut self, step: Duration, delay: Option<f64>) -> Duration {
        let delay = delay.unwrap_or(0.0);
        let factor = if delay <= CALM {
            self.factor * SHORTER
        } else if delay > DELAYED {
            self.factor.max(LEAST) * LONGER
        } else {
            self.factor
        };
        // A pause of a smaller part of a step is none.
        let factor = if factor < LEAST { 0.0 } else { factor };
        self.factor = factor.clamp(*self.bounds.start(), self.longest());
        let pause = step.mul_f64(self.factor);
        self.took += step + pause;
        pause
    }

    /// Rests for that pause.
    pub async fn rest_after(&mut self, step: Duration, delay: Option<f64>) {
        let pause = self.pause_after(step, delay);
        if pause.is_zero() {
            // A timer would make a millisecond of it.
            yield_now().await;
        } else {
            sleep(pause).await;
        }
    }

    fn longest(&self) -> f64 {
        let (shortest, longest) = (*self.bounds.start(), *self.bounds.end());
        let Some(patience) = self.patience else {
            return longest;
        };
        let spent = self.took.as_secs_f64() / patience.as_secs_f64();
        shortest + (longest - shortest) * (1.0 - spent.min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(4);

    fn after(pace: &mut Pace, steps: usize, delay: Option<f64>) -> Duration {
        let pauses = (0..steps).map(|_| pace.pause_after(STEP, delay));
        pauses.last().expect("there are steps")
    }

    #[test]
    fn work_that_delays_no_acknowledgement_ends_up_with_the_shortest_pauses() {
        for (shortest, pause) in [(0.0, Duration::ZERO), (1.0, STEP)] {
            for delay in [Some(1.0), None] {
                let mut pace = Pace::within(shortest..=2.0);
                assert_eq!(pace.pause_after(STEP, delay), pause);
                assert!(after(&mut pace, 20, Some(3.0)) > pause);
                assert_eq!(after(&mut pace, 100, delay), pause);
            }
        }
    }

    #[test]
    fn work_that_delays_acknowledgements_gets_the_longest_pauses_within_some_steps() {
        let mut pace = Pace::within(0.0..=3.0);
        assert_eq!(after(&mut pace, 1_000, Some(1.0)), Duration::ZERO);
        assert!(pace.pause_after(STEP, Some(3.0)) > Duration::ZERO);
        assert_eq!(after(&mut pace, 15, Some(f64::INFINITY)), 3 * STEP);
    }

    #[test]
    fn a_small_delay_changes_nothing() {
        let mut pace = Pace::within(0.0..=3.0);
        let pause = after(&mut pace, 5, Some(3.0));
        assert_eq!(after(&mut pace, 20, Some(1.75)), pause);
    }

    #[test]
    fn a_backlog_is_worked_off_without_pauses_once_patience_is_over() {
        let mut pace = Pace::within(0.0..=3.0).with_patience(1_000 * STEP);
        let early = after(&mut pace, 20, Some(f64::INFINITY));
        assert!(early > 2 * STEP, "{early:?}");
        let late = after(&mut pace, 200, Some(f64::INFINITY));
        assert!(!late.is_zero() && late < early, "{late:?}");
        assert_eq!(after(&mut pace, 4_000, Some(f64::INFINITY)), Duration::ZERO);
    }
}

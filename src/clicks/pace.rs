//! Slows background writes down, so that redirects that wait for Redis are not delayed.
//!
//! A database on the machine of Redis delays its acknowledgements while it writes. Each step is followed by a pause, which
//! becomes longer while acknowledgements take more than they usually take, and shorter again afterwards.

use std::ops::RangeInclusive;
use std::time::Duration;

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
}

impl Pace {
    /// With pauses within these bounds, as multiples of the duration of a step. It begins with the shortest.
    #[must_use]
    pub fn within(bounds: RangeInclusive<f64>) -> Self {
        Self {
            factor: *bounds.start(),
            bounds,
        }
    }

    /// The pause after a step, where acknowledgements take `delay` times what they usually take, if there are any (see
    /// [`crate::shared_redis::RedisShard::delay`]).
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
        self.factor = factor.clamp(*self.bounds.start(), *self.bounds.end());
        step.mul_f64(self.factor)
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
}

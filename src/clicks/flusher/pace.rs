//! How fast a flush is written back: as fast as redirects allow that wait for the same Redis.
//!
//! A database on the machine of Redis delays its acknowledgements while it writes. Each step is followed by a pause, which
//! becomes shorter while acknowledgements take what they took before the flush, and longer once they take more.

use std::time::Duration;

/// A flush of more links is large: it is written back in larger steps with shorter pauses.
const LARGE: usize = 100_000;

/// Acknowledgements that take up to so many times what they took before the flush are not delayed.
const CALM: f64 = 1.5;

/// Past so many times, the flush delays them.
const DELAYED: f64 = 2.0;

/// By how much a pause becomes shorter or longer after a step.
const SHORTER: f64 = 0.9;
const LONGER: f64 = 1.5;

/// The weight of the newest step in the time that is compared.
const NEWEST: f64 = 0.25;

/// A pause of a smaller part of a step is none, and the shortest that is one again.
const LEAST: f64 = 0.02;

/// Steps and pauses of one flush.
pub(super) struct Pace {
    links: usize,
    /// The pause after a step, as a multiple of the step's duration.
    factor: f64,
    longest: f64,
    /// What an acknowledgement takes without this flush, as far as it is known, and what it takes now, over some steps, in seconds.
    undisturbed: Option<f64>,
    smoothed: Option<f64>,
}

impl Pace {
    /// For a flush of so many links; `undisturbed` is what an acknowledgement took before it. It begins with the longest pauses.
    pub(super) fn of(links: usize, undisturbed: Option<Duration>) -> Self {
        // `load/scale --only pending` measures them.
        let (links, longest) = if links <= LARGE {
            (250, 3.0)
        } else {
            (500, 1.0)
        };
        Self {
            links,
            factor: longest,
            longest,
            undisturbed: undisturbed.as_ref().map(Duration::as_secs_f64),
            smoothed: None,
        }
    }

    /// Links per transaction: bounds how long rows stay locked and a core is kept busy.
    pub(super) fn links(&self) -> usize {
        self.links
    }

    /// The pause after a step, where an acknowledgement took `acknowledged` since the step before, if there was one.
    pub(super) fn pause_after(
        &mut self,
        step: Duration,
        acknowledged: Option<Duration>,
    ) -> Duration {
        match acknowledged {
            // No redirect waits.
            None => self.shorten(),
            Some(now) => self.compare(now.as_secs_f64()),
        }
        if self.factor < LEAST {
            return Duration::ZERO;
        }
        step.mul_f64(self.factor)
    }

    fn compare(&mut self, now: f64) {
        // Few batches are acknowledged during one step, so that single ones say little.
        let now = self
            .smoothed
            .map_or(now, |before| before + (now - before) * NEWEST);
        self.smoothed = Some(now);
        let Some(undisturbed) = self.undisturbed else {
            self.undisturbed = Some(now);
            return;
        };
        self.undisturbed = Some(undisturbed.min(now));
        if now <= CALM * undisturbed {
            self.shorten();
        } else if now > DELAYED * undisturbed {
            self.factor = (self.factor.max(LEAST) * LONGER).min(self.longest);
        }
    }

    fn shorten(&mut self) {
        self.factor = (self.factor * SHORTER).max(LEAST * SHORTER);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(4);
    const CALM_TIME: Option<Duration> = Some(Duration::from_micros(500));

    fn after(pace: &mut Pace, steps: usize, acknowledged: Option<Duration>) -> Duration {
        let pauses = (0..steps).map(|_| pace.pause_after(STEP, acknowledged));
        pauses.last().expect("there are steps")
    }

    #[test]
    fn a_flush_that_delays_no_acknowledgement_ends_up_without_pauses() {
        for acknowledged in [CALM_TIME, None] {
            let mut pace = Pace::of(1_000_000, CALM_TIME);
            assert!(pace.pause_after(STEP, acknowledged) > STEP / 2);
            assert_eq!(after(&mut pace, 100, acknowledged), Duration::ZERO);
        }
    }

    #[test]
    fn a_flush_that_delays_acknowledgements_gets_its_pauses_back_within_some_steps() {
        for (links, longest) in [(1_000, 3 * STEP), (1_000_000, STEP)] {
            let mut pace = Pace::of(links, CALM_TIME);
            after(&mut pace, 1_000, CALM_TIME);
            let delayed = CALM_TIME.map(|time| 3 * time);
            assert_eq!(after(&mut pace, 25, delayed), longest);
        }
    }

    #[test]
    fn a_delay_in_between_changes_nothing() {
        let mut pace = Pace::of(1_000_000, CALM_TIME);
        after(&mut pace, 5, CALM_TIME);
        let between = CALM_TIME.map(|time| time * 7 / 4);
        let pause = after(&mut pace, 20, between);
        assert!(pause > Duration::ZERO);
        assert_eq!(after(&mut pace, 20, between), pause);
    }

    #[test]
    fn what_an_acknowledgement_takes_is_learned_where_none_was_seen_before() {
        let mut pace = Pace::of(1_000_000, None);
        assert_eq!(pace.pause_after(STEP, CALM_TIME), STEP);
        assert!(after(&mut pace, 10, CALM_TIME) < STEP / 2);
        assert_eq!(after(&mut pace, 25, CALM_TIME.map(|time| 3 * time)), STEP);
    }
}

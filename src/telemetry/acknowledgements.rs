//! How long acknowledgements take for which redirects wait, and whether that is longer than usual.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Means are taken over so long, and the least of so many is what an acknowledgement usually takes: that of five minutes.
const WINDOW: Duration = Duration::from_secs(1);
const WINDOWS: usize = 300;

/// The weight of the newest acknowledgement in what one takes now.
const NEWEST: f64 = 1.0 / 32.0;

/// The acknowledgements of one data set of Redis, or of a database.
pub struct Acknowledgements(Mutex<Times>);

/// Times are in seconds.
struct Times {
    newest: Option<Instant>,
    recent: f64,
    window_began: Instant,
    in_window: u32,
    sum_of_window: f64,
    means: VecDeque<f64>,
}

impl Acknowledgements {
    /// Without any so far.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self(Mutex::new(Times {
            newest: None,
            recent: 0.0,
            window_began: now,
            in_window: 0,
            sum_of_window: 0.0,
            means: VecDeque::new(),
        }))
    }

    /// Notes one that took so long.
    pub fn note(&self, took: Duration, now: Instant) {
        let (took, mut times) = (took.as_secs_f64(), self.times());
        let before = if times.newest.is_some() {
            times.recent
        } else {
            took
        };
        times.recent = before + (took - before) * NEWEST;
        times.newest = Some(now);
        times.in_window += 1;
        times.sum_of_window += took;
        if now.saturating_duration_since(times.window_began) >= WINDOW {
            let mean = times.sum_of_window / f64::from(times.in_window);
            times.means.truncate(WINDOWS - 1);
            times.means.push_front(mean);
            (times.window_began, times.in_window, times.sum_of_window) = (now, 0, 0.0);
        }
    }

    /// What an acknowledgement takes now, as a multiple of what it usually takes; infinite where that is not known yet. `None`
    /// where there was none within the last window.
    #[must_use]
    pub fn delay(&self, now: Instant) -> Option<f64> {
        let times = self.times();
        times
            .newest
            .filter(|newest| now.saturating_duration_since(*newest) < WINDOW)?;
        let usual = times.means.iter().copied().reduce(f64::min);
        Some(usual.map_or(f64::INFINITY, |usual| {
            times.recent / usual.max(f64::MIN_POSITIVE)
        }))
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// Notes one every millisecond; returns the moment of the last.
    fn note(times: &Acknowledgements, from: Instant, count: u32, took: Duration) -> Instant {
        for number in 1..=count {
            times.note(took, from + number * MILLISECOND);
        }
        from + count * MILLISECOND
    }

    #[test]
    fn a_delay_is_a_multiple_of_the_usual_time() {
        let start = Instant::now();
        let times = Acknowledgements::new(start);
        let now = note(&times, start, 1_500, MILLISECOND);
        let usual = times.delay(now).unwrap();
        assert!((0.99..1.01).contains(&usual), "{usual}");
        let now = note(&times, now, 200, 3 * MILLISECOND);
        let delayed = times.delay(now).unwrap();
        assert!((2.9..3.1).contains(&delayed), "{delayed}");
        let now = note(&times, now, 200, MILLISECOND);
        assert!(times.delay(now).unwrap() < 1.1);
    }

    #[test]
    fn one_acknowledgement_in_between_is_no_delay() {
        let start = Instant::now();
        let times = Acknowledgements::new(start);
        let now = note(&times, start, 1_500, MILLISECOND);
        times.note(10 * MILLISECOND, now);
        assert!(times.delay(now).unwrap() < 1.5);
    }

    #[test]
    fn what_is_usual_is_forgotten_after_some_minutes() {
        let start = Instant::now();
        let times = Acknowledgements::new(start);
        let mut now = note(&times, start, 1_500, MILLISECOND);
        for _ in 0..=WINDOWS {
            now += WINDOW;
            times.note(2 * MILLISECOND, now);
        }
        assert!(times.delay(now).unwrap() < 1.1);
    }

    #[test]
    fn without_acknowledgements_there_is_no_delay_and_without_a_usual_time_it_is_not_known() {
        let start = Instant::now();
        let times = Acknowledgements::new(start);
        assert_eq!(times.delay(start), None);
        let now = note(&times, start, 10, MILLISECOND);
        assert_eq!(times.delay(now), Some(f64::INFINITY));
        assert_eq!(times.delay(now + WINDOW), None);
    }
}

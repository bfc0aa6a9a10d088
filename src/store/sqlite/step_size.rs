//! How many rows a step writes: as many as the one writer takes half a millisecond for.

use std::time::Duration;

/// How long batches of clicks wait for a step.
const STEP: Duration = Duration::from_micros(500);

/// Bounds of the rows in a step. Each step has a cost of its own, so there is a least number.
const LEAST: f64 = 16.0;
const MOST: f64 = 2_000.0;

/// By how much a step may grow, and shrink, after another.
const GROWTH: f64 = 1.25;
const SHRINKING: f64 = 0.5;

/// Adapts to how long steps take.
pub(super) struct StepSize(f64);

impl StepSize {
    /// Begins small.
    pub(super) fn new() -> Self {
        Self(64.0)
    }

    /// Rows of the next step.
    pub(super) fn rows(&self) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is within bounds that are small"
        )]
        let rows = self.0 as usize;
        rows
    }

    /// Notes that a step of so many rows kept the writer for so long.
    pub(super) fn took(&mut self, rows: usize, time: Duration) {
        let fits = STEP.as_secs_f64() / time.as_secs_f64().max(1e-9);
        if fits >= 1.0 && rows < self.rows() {
            // A small rest says little about larger steps.
            return;
        }
        self.0 = (self.0 * fits.clamp(SHRINKING, GROWTH)).clamp(LEAST, MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps until their size is found, if a row takes so many microseconds; returns how long one takes then.
    fn settled(size: &mut StepSize, micros_of_row: u32) -> Duration {
        let took = |rows: usize| Duration::from_micros(u64::from(micros_of_row) * rows as u64);
        for _ in 0..40 {
            let rows = size.rows();
            size.took(rows, took(rows));
        }
        took(size.rows())
    }

    #[test]
    fn a_step_takes_half_a_millisecond_however_long_a_row_takes() {
        let mut size = StepSize::new();
        for micros_of_row in [2, 20, 1, 10] {
            let step = settled(&mut size, micros_of_row);
            assert!((STEP * 9 / 10..=STEP).contains(&step), "{step:?}");
        }
    }

    #[test]
    fn a_step_of_few_rows_does_not_make_the_next_ones_larger() {
        let mut size = StepSize::new();
        settled(&mut size, 5);
        let rows = size.rows();
        size.took(1, Duration::from_micros(20));
        assert_eq!(size.rows(), rows);
        size.took(rows / 2, 2 * STEP);
        assert!(size.rows() < rows);
    }

    #[test]
    fn one_slow_step_is_made_up_for_within_some_steps() {
        let mut size = StepSize::new();
        settled(&mut size, 5);
        let rows = size.rows();
        size.took(rows, 100 * STEP);
        assert_eq!(size.rows(), rows / 2);
        settled(&mut size, 5);
        assert!(size.rows() >= rows * 9 / 10);
    }
}

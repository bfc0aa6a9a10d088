//! How many operations the database works on at once: as many as it gets more done by.
//!
//! While operations wait, two limits are tried in turn, and the operations that finish under each are counted. A limit that is
//! a quarter higher has to bring at least [`WORTH`] of that quarter; otherwise the lower one stays. So the limit climbs while the
//! database has free processors (or disks that take more at once), and falls to where more operations only take longer
//! each. Counting what is finished needs no idea of how long an operation should take.

use std::time::Duration;

use tokio::time::Instant;

/// The lowest limit: one slow statement leaves room for another.
const MIN: u32 = 2;

/// A window lasts at least so long, and until each connection was used so often.
const WINDOW: Duration = Duration::from_millis(100);
const TURNS: u32 = 4;

/// A window ends after so long, whatever was finished.
const MAX_WINDOW: Duration = Duration::from_secs(2);

/// The limits of the windows of a trial, in an order that a steady change of the load favours neither by.
const ORDER: [Tried; 4] = [Tried::Present, Tried::Other, Tried::Other, Tried::Present];

/// The share of a rise of the limit by which throughput has to rise.
const WORTH: f64 = 0.6;

/// Time between trials; doubled with each that changes nothing.
const MIN_PAUSE: Duration = Duration::from_millis(500);
const MAX_PAUSE: Duration = Duration::from_secs(4);

/// So long after the last window in which operations always waited, the limit says nothing about the database any more.
const FORGOTTEN: Duration = Duration::from_secs(10);

/// Where no operation finishes for so long while others wait, those that run are stuck: others may run beside them.
pub(super) const STALL: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tried {
    Present,
    Other,
}

#[derive(Clone, Copy)]
enum Direction {
    Up,
    Down,
}

/// Two limits that are being compared.
struct Trial {
    other: u32,
    /// The window that runs, as an index of [`ORDER`].
    window: usize,
    /// The sums of their rates.
    present_rate: f64,
    other_rate: f64,
}

/// The limit, and what it follows from. Each call gets the present moment.
pub(super) struct AdaptiveLimit {
    max: u32,
    present: u32,
    direction: Direction,
    trial: Option<Trial>,
    pause: Duration,
    /// The window, or the pause between trials, that runs: during all of it operations waited.
    since: Instant,
    finished: u32,
    last_finished: Instant,
    last_used_up: Instant,
}

impl AdaptiveLimit {
    /// Begins with the highest limit.
    pub(super) fn new(max: u32, now: Instant) -> Self {
        Self {
            max,
            present: max,
            direction: Direction::Down,
            trial: None,
            pause: MIN_PAUSE,
            since: now,
            finished: 0,
            last_finished: now,
            last_used_up: now,
        }
    }

    /// From 2, or the highest limit where that is less, to the highest limit.
    pub(super) fn limit(&self) -> u32 {
        match &self.trial {
            Some(trial) if ORDER.get(trial.window) == Some(&Tried::Other) => trial.other,
            _ => self.present,
        }
    }

    /// An operation begins to wait where none waited before: the limit has not been used up until now.
    pub(super) fn was_not_used_up(&mut self, now: Instant) {
        self.trial = None;
        self.begin_window(now);
        // Operations that run begin to count as stuck when others wait for them.
        self.last_finished = now;
        if now.duration_since(self.last_used_up) >= FORGOTTEN {
            self.present = self.max;
            self.direction = Direction::Down;
            self.pause = MIN_PAUSE;
        }
    }

    /// An operation has ended while others wait.
    pub(super) fn finished(&mut self, now: Instant) {
        self.finished = self.finished.saturating_add(1);
        self.last_finished = now;
        let lasted = now.duration_since(self.since);
        if self.trial.is_none() {
            if lasted >= self.pause {
                self.last_used_up = now;
                self.begin_trial(now);
            }
            return;
        }
        let turns = TURNS.saturating_mul(self.limit());
        if lasted >= MAX_WINDOW || (lasted >= WINDOW && self.finished >= turns) {
            self.last_used_up = now;
            self.end_window(lasted, now);
        }
    }

    /// An operation has waited for [`STALL`].
    pub(super) fn has_waited(&mut self, now: Instant) {
        if now.duration_since(self.last_finished) >= STALL {
            self.present = self.limit().saturating_mul(2).clamp(self.min(), self.max);
            self.last_finished = now;
            self.last_used_up = now;
            self.settle(now);
            self.direction = Direction::Down;
        }
    }

    fn min(&self) -> u32 {
        MIN.min(self.max)
    }

    fn begin_window(&mut self, now: Instant) {
        self.since = now;
        self.finished = 0;
    }

    /// Ends a trial that changed something: the next one is soon.
    fn settle(&mut self, now: Instant) {
        self.trial = None;
        self.pause = MIN_PAUSE;
        self.begin_window(now);
    }

    fn begin_trial(&mut self, now: Instant) {
        self.begin_window(now);
        let mut other = self.neighbour();
        if other == self.present {
            self.direction = self.direction.turned();
            other = self.neighbour();
        }
        self.trial = (other != self.present).then_some(Trial {
            other,
            window: 0,
            present_rate: 0.0,
            other_rate: 0.0,
        });
    }

    /// The next limit in the direction, or the present one at its bound.
    fn neighbour(&self) -> u32 {
        let step = (self.present / 4).max(1);
        match self.direction {
            Direction::Up => self.present.saturating_add(step).min(self.max),
            Direction::Down => self.present.saturating_sub(step).max(self.min()),
        }
    }

    fn end_window(&mut self, lasted: Duration, now: Instant) {
        let rate = f64::from(self.finished) / lasted.as_secs_f64();
        self.begin_window(now);
        let Some(trial) = &mut self.trial else { return };
        match ORDER.get(trial.window) {
            Some(Tried::Other) => trial.other_rate += rate,
            _ => trial.present_rate += rate,
        }
        trial.window += 1;
        if trial.window < ORDER.len() {
            return;
        }
        let other = trial.other;
        let rise = f64::from(other) / f64::from(self.present);
        let gain = trial.other_rate / trial.present_rate;
        // Of the two limits, the higher one has to be worth it.
        let is_higher_worth_it = gain.ln() / rise.ln() > WORTH;
        if is_higher_worth_it == (other > self.present) {
            self.present = other;
            self.settle(now);
            // In the same direction, without a pause.
            self.begin_trial(now);
        } else {
            self.trial = None;
            self.direction = self.direction.turned();
            self.pause = (self.pause * 2).min(MAX_PAUSE);
        }
    }
}

impl Direction {
    fn turned(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server under a load that never lets the queue become empty.
    struct Server {
        limit: AdaptiveLimit,
        now: Instant,
        random: u64,
        /// Limits outside the bounds would be a defect.
        max: u32,
        seen: Vec<u32>,
    }

    impl Server {
        fn new(max: u32) -> Self {
            let now = Instant::now();
            Self {
                limit: AdaptiveLimit::new(max, now),
                now,
                random: 7,
                max,
                seen: Vec::new(),
            }
        }

        /// From 0 to 1, the same in each run.
        fn random(&mut self) -> f64 {
            // Constants of Knuth's MMIX.
            self.random = self
                .random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            f64::from(u32::try_from(self.random >> 32).unwrap()) / f64::from(u32::MAX)
        }

        /// Works for some seconds; the rate of an operation on each of so many at once is a function of their number.
        /// Intervals between ends are exponential, and the whole machine is up to 10 % faster or slower at times.
        fn work(&mut self, seconds: u64, total_rate: impl Fn(f64) -> f64) {
            let until = self.now + Duration::from_secs(seconds);
            let (mut pace, mut pace_until) = (1.0, self.now);
            self.seen.clear();
            while self.now < until {
                if self.now >= pace_until {
                    pace = 0.9 + 0.2 * self.random();
                    pace_until = self.now + Duration::from_millis(30);
                }
                let limit = self.limit.limit();
                assert!((MIN.min(self.max)..=self.max).contains(&limit), "{limit}");
                let rate = total_rate(f64::from(limit)) * pace;
                let pause = -(1.0 - self.random() * 0.999_999).ln() / rate;
                self.now += Duration::from_secs_f64(pause);
                self.limit.finished(self.now);
                self.seen.push(limit);
            }
        }

        /// The mean of the limit over the later half of the work.
        fn mean(&self) -> f64 {
            let later = &self.seen[self.seen.len() / 2..];
            let sum: u32 = later.iter().sum();
            f64::from(sum) / f64::from(u32::try_from(later.len()).unwrap())
        }
    }

    /// Operations of a millisecond each on so many processors; more at once than those cost each other 2 %.
    fn processors(count: f64) -> impl Fn(f64) -> f64 {
        move |at_once| 1_000.0 * at_once.min(count) / (1.0 + 0.02 * (at_once - count).max(0.0))
    }

    #[test]
    fn it_falls_to_what_the_server_has_processors_for() {
        for (count, most) in [(1.0, 3.0), (2.0, 3.5), (4.0, 6.5), (8.0, 12.0)] {
            let mut server = Server::new(20);
            server.work(60, processors(count));
            let mean = server.mean();
            assert!(mean >= count * 0.9 && mean <= most, "{count}: {mean}");
        }
    }

    #[test]
    fn it_stays_near_the_highest_where_more_at_once_get_more_done() {
        let mut server = Server::new(10);
        server.work(60, processors(64.0));
        assert!(server.mean() > 9.5, "{}", server.mean());
    }

    #[test]
    fn it_climbs_again_when_the_server_can_do_more() {
        let mut server = Server::new(32);
        server.work(30, processors(2.0));
        assert!(server.mean() < 4.0, "{}", server.mean());
        server.work(120, processors(16.0));
        assert!(server.mean() > 13.0, "{}", server.mean());
        server.work(30, processors(2.0));
        assert!(server.mean() < 4.0, "{}", server.mean());
    }

    #[test]
    fn slow_operations_are_compared_over_longer_windows() {
        // Of 200 ms each, on four processors.
        let mut server = Server::new(20);
        server.work(600, |at_once| processors(4.0)(at_once) / 200.0);
        let mean = server.mean();
        assert!((3.5..7.0).contains(&mean), "{mean}");
    }

    #[test]
    fn a_pool_of_one_or_two_connections_is_used_whole() {
        for max in [1, 2] {
            let mut server = Server::new(max);
            server.work(10, processors(1.0));
            assert_eq!(server.limit.limit(), max);
        }
    }

    #[test]
    fn operations_that_are_stuck_let_others_run_beside_them() {
        let mut server = Server::new(10);
        server.work(30, processors(1.0));
        assert!(server.limit.limit() <= 3);
        // Those that run wait for a lock.
        for _ in 0..3 {
            server.now += STALL;
            server.limit.has_waited(server.now);
        }
        assert_eq!(server.limit.limit(), 10);
        // They go on, and so does the search.
        server.work(30, processors(1.0));
        assert!(server.mean() < 3.5, "{}", server.mean());
    }

    #[test]
    fn a_queue_that_was_empty_for_long_gives_all_connections_back() {
        let mut server = Server::new(10);
        server.work(30, processors(1.0));
        let fallen = server.limit.present;
        assert!(fallen < 10);
        server.limit.was_not_used_up(server.now);
        assert_eq!(server.limit.limit(), fallen);
        server.limit.was_not_used_up(server.now + FORGOTTEN);
        assert_eq!(server.limit.limit(), 10);
    }
}

//! The times at which requests are due.

use std::time::{Duration, Instant};

/// The moments at which requests are due, in order.
pub(crate) struct Arrivals {
    rate: Option<f64>,
    next: Instant,
    end: Instant,
    left: u64,
    state: u64,
}

impl Arrivals {
    /// Requests from `begin` on for `span`, at most `limit` of them. With a `rate` they come as
    /// independent clients do: with exponentially distributed gaps, the same ones in every run. Without a rate one
    /// is always due.
    pub(crate) fn new(
        begin: Instant,
        span: Duration,
        rate: Option<f64>,
        limit: Option<u64>,
    ) -> Self {
        Self {
            rate,
            next: begin,
            end: begin + span,
            left: limit.unwrap_or(u64::MAX),
            state: 0x9E37_79B9_7F4A_7C15,
        }
    }

    /// The moment of a request that is due by `now`, if there is one more.
    pub(crate) fn due(&mut self, now: Instant) -> Option<Instant> {
        if self.is_over(now) || self.next > now {
            return None;
        }
        self.left -= 1;
        let Some(rate) = self.rate else {
            return Some(now);
        };
        let due = self.next;
        let gap = -self.uniform().ln() / rate;
        self.next += Duration::from_secs_f64(gap);
        Some(due)
    }

    /// The moment at which the next request is due.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// Whether there is a rate.
    pub(crate) fn has_rate(&self) -> bool {
        self.rate.is_some()
    }

    /// Whether no more requests will be due.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.left == 0 || self.next >= self.end || (self.rate.is_none() && now >= self.end)
    }

    /// A random number above 0 and at most 1 (xorshift).
    fn uniform(&mut self) -> f64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let bits = u32::try_from(self.state >> 32).unwrap_or(u32::MAX);
        (f64::from(bits) + 1.0) / (f64::from(u32::MAX) + 1.0)
    }
}

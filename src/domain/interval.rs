//! Quarters of an hour, by which clicks are summed.

use super::Timestamp;

/// Seconds of an interval.
const SECONDS: i64 = 900;

/// A quarter of an hour in UTC. Every zone in use is whole quarters off UTC, so days are right in each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Interval(i32);

impl Interval {
    /// The first interval of a click: databases keep 0 for a link without clicks.
    pub const FIRST: Self = Self(1);

    /// The last interval.
    pub const LAST: Self = Self(i32::MAX);

    /// The interval of a moment; moments before the second quarter of an hour of 1970 are in [`Interval::FIRST`].
    #[must_use]
    pub fn of(moment: Timestamp) -> Self {
        Self::from_number(moment.micros().div_euclid(SECONDS * 1_000_000))
    }

    /// The first interval that starts at a moment or later.
    #[must_use]
    pub fn not_before(moment: Timestamp) -> Self {
        let within = Self::of(moment);
        if within.starts_at() < moment {
            within.next()
        } else {
            within
        }
    }

    /// The one with this number, or the nearest that there is.
    #[must_use]
    pub fn from_number(number: i64) -> Self {
        let number = i32::try_from(number.min(i32::MAX.into())).unwrap_or_default();
        Self(number.max(Self::FIRST.0))
    }

    /// How many quarters of an hour after 1970-01-01T00:00:00Z it starts.
    #[must_use]
    pub fn number(self) -> i32 {
        self.0
    }

    /// Its first moment.
    #[must_use]
    pub fn starts_at(self) -> Timestamp {
        Timestamp::from_micros(i64::from(self.0) * SECONDS * 1_000_000).unwrap_or(Timestamp::MAX)
    }

    /// The first interval of its day (UTC).
    #[must_use]
    pub fn start_of_day(self) -> Self {
        Self::from_number((self.0 - self.0.rem_euclid(96)).into())
    }

    /// The one after it.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_interval_is_a_quarter_of_an_hour() {
        let interval = |text: &str| Interval::of(text.parse().unwrap());
        let noon = interval("2027-01-31T12:00:00Z");
        assert_eq!(noon, interval("2027-01-31T12:14:59.999999Z"));
        assert_eq!(noon.next(), interval("2027-01-31T12:15:00Z"));
        assert_eq!(noon.starts_at().to_string(), "2027-01-31T12:00:00Z");
    }

    proptest! {
        #[test]
        fn every_moment_has_an_interval(micros in -377_000_000_000_000_000_i64..253_000_000_000_000_000) {
            let interval = Interval::of(Timestamp::from_micros(micros).unwrap());
            prop_assert!(interval >= Interval::FIRST);
            if micros >= 900_000_000 {
                prop_assert!((0..900_000_000).contains(&(micros - interval.starts_at().micros())));
            }
            prop_assert_eq!(Interval::from_number(interval.number().into()), interval);
        }
    }
}

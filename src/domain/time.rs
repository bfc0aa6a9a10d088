//! Time of day: timestamps, and the clock that gives them.
//!
//! Durations and deadlines are measured with `Instant`, which never jumps. All other code asks a [`Clock`] that it is
//! given, so that a test can move it.

use std::fmt::{self, Debug, Display};
use std::str::FromStr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use jiff::SignedDuration;
use jiff::fmt::temporal::Pieces;
use serde::{Deserialize, Serialize};

/// A moment in microseconds, the precision that both databases keep; from the year -9999 to 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Timestamp(jiff::Timestamp);

/// Why a text is not a timestamp; its text is for the client, after the field's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTimestamp {
    /// Only its zone is missing.
    #[error("must have a zone, such as 2027-01-31T18:00:00+01:00")]
    NoZone,
    /// It is a timestamp of a year that is out of range here.
    #[error(
        "must be in the years 0 to 9999, up to 9999-12-30T22:00:00Z, such as 2027-01-31T18:00:00+01:00"
    )]
    OutOfRange,
    /// Its zone is not one of RFC 3339.
    #[error("must have a zone of at most 23:59, such as 2027-01-31T18:00:00+01:00")]
    Zone,
    /// It is not a timestamp.
    #[error("must be an RFC 3339 timestamp with a zone, such as 2027-01-31T18:00:00+01:00")]
    Malformed,
}

impl Timestamp {
    /// The last moment.
    pub const MAX: Self = Self(jiff::Timestamp::MAX);

    /// The moment this many microseconds after 1970-01-01T00:00:00Z; `None` outside the years -9999 to 9999.
    #[must_use]
    pub fn from_micros(micros: i64) -> Option<Self> {
        jiff::Timestamp::from_microsecond(micros).ok().map(Self)
    }

    /// Microseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn micros(self) -> i64 {
        self.0.as_microsecond()
    }

    /// Whole seconds since 1970-01-01T00:00:00Z; 0 before.
    #[must_use]
    pub fn unix_seconds(self) -> u64 {
        u64::try_from(self.0.as_second()).unwrap_or_default()
    }

    /// Nanoseconds past the whole second; 0 before 1970.
    #[must_use]
    pub fn subsec_nanos(self) -> u32 {
        u32::try_from(self.0.subsec_nanosecond()).unwrap_or_default()
    }

    /// The moment `duration` later, or the last moment.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        let duration = SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX);
        Self(
            self.0
                .saturating_add(duration)
                .unwrap_or(jiff::Timestamp::MAX),
        )
    }

    /// RFC 3339 in UTC with all six digits of the microsecond, so that texts of moments are as long as each other.
    #[must_use]
    pub fn with_micros(self) -> String {
        format!("{:.6}", self.0)
    }

    /// The day in UTC, as `2027-01-31`.
    #[must_use]
    pub fn date(self) -> String {
        self.0.strftime("%Y-%m-%d").to_string()
    }

    pub(super) fn as_jiff(self) -> jiff::Timestamp {
        self.0
    }

    /// Digits past the microsecond are dropped.
    pub(super) fn from_jiff(moment: jiff::Timestamp) -> Self {
        Self::from_micros(moment.as_microsecond()).unwrap_or(Self(moment))
    }

    /// The moment `duration` earlier, or the first moment.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        let duration = SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX);
        Self(
            self.0
                .saturating_sub(duration)
                .unwrap_or(jiff::Timestamp::MIN),
        )
    }
}

impl Display for Timestamp {
    /// RFC 3339 in UTC.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.0, formatter)
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    /// RFC 3339 with a zone. Digits past the microsecond are dropped. A zone's `+` may be a space: that is what a query makes of it
    /// that is not encoded.
    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        let decoded = text
            .rsplit_once(' ')
            .filter(|(_, zone)| zone.len() == "01:00".len())
            .map(|(moment, zone)| format!("{moment}+{zone}"));
        let written = decoded.as_deref().unwrap_or(text);
        let parsed: jiff::Timestamp = written.parse().map_err(|_| fault_of(text))?;
        if !has_zone_of_rfc(written) {
            return Err(InvalidTimestamp::Zone);
        }
        Self::from_micros(parsed.as_microsecond())
            .filter(|moment| moment.micros() >= YEAR_0)
            .ok_or(InvalidTimestamp::OutOfRange)
    }
}

impl TryFrom<String> for Timestamp {
    type Error = InvalidTimestamp;

    fn try_from(text: String) -> Result<Self, InvalidTimestamp> {
        text.parse()
    }
}

impl From<Timestamp> for String {
    fn from(moment: Timestamp) -> Self {
        moment.to_string()
    }
}

/// 0000-01-01T00:00:00Z, the first moment of RFC 3339.
const YEAR_0: i64 = -62_167_219_200_000_000;

/// Whether the zone of a timestamp is within a day, and of whole minutes: the library takes up to 25:59:59.
fn has_zone_of_rfc(text: &str) -> bool {
    let offset = Pieces::parse(text).ok();
    let offset = offset.and_then(|parts| parts.to_numeric_offset());
    let seconds = offset.map_or(0, jiff::tz::Offset::seconds);
    seconds.abs() < 24 * 60 * 60 && seconds % 60 == 0
}

/// Why a text cannot be read as a timestamp.
fn fault_of(text: &str) -> InvalidTimestamp {
    let digits = text.trim_start_matches(['+', '-']);
    let year = digits.split('-').next().unwrap_or_default();
    // The library takes no year of more than four digits.
    if year.len() > 4 && year.len() < digits.len() && year.bytes().all(|byte| byte.is_ascii_digit())
    {
        return InvalidTimestamp::OutOfRange;
    }
    match Pieces::parse(text) {
        Ok(parts) if parts.offset().is_none() => InvalidTimestamp::NoZone,
        Ok(parts) if parts.time().is_some() => InvalidTimestamp::OutOfRange,
        _ => InvalidTimestamp::Malformed,
    }
}

impl From<Timestamp> for SystemTime {
    fn from(timestamp: Timestamp) -> Self {
        timestamp.0.into()
    }
}

/// Gives the time of day.
pub trait Clock: Debug + Send + Sync {
    /// The moment it is now.
    fn now(&self) -> Timestamp;
}

/// The clock of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the machine's clock"
    )]
    fn now(&self) -> Timestamp {
        let now = jiff::Timestamp::now();
        Timestamp::from_micros(now.as_microsecond()).unwrap_or(Timestamp(now))
    }
}

/// A clock for tests: it stands still until it is moved.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that shows this moment.
    #[must_use]
    pub fn at(moment: Timestamp) -> Self {
        Self(AtomicI64::new(moment.micros()))
    }

    /// Moves the clock forward.
    pub fn advance(&self, duration: Duration) {
        let micros = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        self.0.fetch_add(micros, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::Relaxed)).unwrap_or(Timestamp::MAX)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_timestamp_is_read_with_any_zone_and_written_in_utc() {
        for (text, written) in [
            ("2027-01-31T18:00:00+01:00", "2027-01-31T17:00:00Z"),
            ("2027-01-31T18:00:00 05:30", "2027-01-31T12:30:00Z"),
            ("2027-01-31T18:00:00Z", "2027-01-31T18:00:00Z"),
            (
                "2027-01-31T18:00:00.1234567Z",
                "2027-01-31T18:00:00.123456Z",
            ),
        ] {
            let timestamp: Timestamp = text.parse().unwrap();
            assert_eq!(timestamp.to_string(), written);
        }
    }

    #[test]
    fn a_timestamp_without_a_zone_is_refused() {
        for text in ["2027-01-31T18:00:00", "2027-01-31", "2027-01-31 18:00"] {
            assert_eq!(
                text.parse::<Timestamp>(),
                Err(InvalidTimestamp::NoZone),
                "{text}"
            );
        }
        for text in ["tomorrow", ""] {
            assert_eq!(
                text.parse::<Timestamp>(),
                Err(InvalidTimestamp::Malformed),
                "{text}"
            );
        }
    }

    #[test]
    fn a_zone_of_a_day_or_more_is_refused() {
        for zone in ["+24:00", "-24:00", "+25:59", "-25:59", "+01:00:30"] {
            let text = format!("2090-01-31T18:00:00{zone}");
            let refused = text.parse::<Timestamp>();
            assert_eq!(refused, Err(InvalidTimestamp::Zone), "{text}");
        }
        for zone in ["+23:59", "-23:59", "-00:00", "Z", "z"] {
            let text = format!("2090-01-31T18:00:00{zone}");
            assert!(text.parse::<Timestamp>().is_ok(), "{text}");
        }
    }

    #[test]
    fn a_moment_may_be_written_with_all_its_digits() {
        for (text, written) in [
            ("2027-01-31T18:00:00Z", "2027-01-31T18:00:00.000000Z"),
            ("2027-01-31T18:00:00.12Z", "2027-01-31T18:00:00.120000Z"),
            ("2027-01-31T18:00:00.123456Z", "2027-01-31T18:00:00.123456Z"),
        ] {
            assert_eq!(text.parse::<Timestamp>().unwrap().with_micros(), written);
        }
    }

    #[test]
    fn a_year_for_which_there_are_no_moments_is_named() {
        for text in [
            "9999-12-31T00:00:00Z",
            "9999-12-31T23:59:59+01:00",
            "10000-01-01T00:00:00Z",
            "99999999-01-01T00:00:00Z",
            "+010000-01-01T00:00:00Z",
            "-000001-12-31T00:00:00Z",
            "0000-01-01T00:00:00+01:00",
        ] {
            let refused = text.parse::<Timestamp>();
            assert_eq!(refused, Err(InvalidTimestamp::OutOfRange), "{text}");
        }
        for text in [
            "0000-01-01T00:00:00Z",
            "9999-12-30T22:00:00Z",
            "9999-12-30T21:59:59.999999Z",
        ] {
            let parsed = text.parse::<Timestamp>();
            assert_eq!(parsed.map(|moment| moment.to_string()), Ok(text.to_owned()));
        }
        for text in ["12345", "20270131T", "99999-x", "-", "+"] {
            let refused = text.parse::<Timestamp>();
            assert_ne!(refused, Err(InvalidTimestamp::NoZone), "{text}");
        }
    }

    #[test]
    fn a_manual_clock_moves_only_when_it_is_advanced() {
        let clock = ManualClock::at("2027-01-31T18:00:00Z".parse().unwrap());
        clock.advance(Duration::from_mins(1));
        assert_eq!(clock.now().to_string(), "2027-01-31T18:01:00Z");
    }

    proptest! {
        #[test]
        fn a_timestamp_comes_back_from_its_text(micros in -62_135_596_800_000_000_i64..253_402_207_200_000_000) {
            let timestamp = Timestamp::from_micros(micros).unwrap();
            prop_assert_eq!(timestamp.micros(), micros);
            prop_assert_eq!(timestamp.to_string().parse(), Ok(timestamp));
        }

        #[test]
        fn any_text_is_a_timestamp_or_refused(text in "\\PC{0,40}") {
            if let Ok(timestamp) = text.parse::<Timestamp>() {
                prop_assert_eq!(timestamp.to_string().parse(), Ok(timestamp));
            }
        }
    }
}

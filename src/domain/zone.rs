//! Hours, days and months of a time zone, changes to and from summer time included.

use jiff::civil::Date;
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Span};

use super::Timestamp;

/// Seconds of an hour.
const HOUR: i64 = 3_600;

/// A time zone of the IANA database, which is in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone(TimeZone);

/// The length of a point of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Step {
    /// An hour of the zone's clock; if the clock is changed by half an hour, that hour has half an hour.
    Hour,
    /// From midnight to midnight: 23 or 25 hours if the clock is changed.
    #[default]
    Day,
    /// A month of the calendar.
    Month,
}

impl Step {
    /// All of them, the shortest first.
    pub const ALL: [Self; 3] = [Self::Hour, Self::Day, Self::Month];

    /// Its word in the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Month => "month",
        }
    }

    /// The one with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.as_str() == word)
    }

    /// How many points a series has of which no other range is wanted.
    pub(super) fn default_points(self) -> i32 {
        match self {
            Self::Hour => 24,
            Self::Day => 30,
            Self::Month => 12,
        }
    }
}

impl Zone {
    /// UTC.
    pub const UTC: Self = Self(TimeZone::UTC);

    /// The zone with this name, in any case; `None` if there is no such zone.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let zone = TimeZone::get(name).ok()?;
        (!zone.is_unknown()).then_some(Self(zone))
    }

    /// Its name, as `Europe/Berlin`.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// The date that it is at a moment.
    #[must_use]
    pub fn date_at(&self, moment: Timestamp) -> Date {
        self.0.to_datetime(moment.as_jiff()).date()
    }

    /// A moment by the zone's clock, as RFC 3339 with its offset. RFC 3339 has no seconds in offsets: if the zone's offset has
    /// seconds, as most had in early days, the moment is written with the nearest offset of whole minutes.
    #[must_use]
    pub fn written(&self, moment: Timestamp) -> String {
        let moment = moment.as_jiff();
        let seconds = self.0.to_offset(moment).seconds();
        let minutes = (seconds + 30).div_euclid(60);
        let zone = match Offset::from_seconds(minutes * 60) {
            Ok(offset) if seconds != minutes * 60 => offset.to_time_zone(),
            _ => self.0.clone(),
        };
        let zoned = moment.to_zoned(zone);
        zoned.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
    }

    /// The time of day that it is at a moment, as `14:07`.
    #[must_use]
    pub fn time_at(&self, moment: Timestamp) -> String {
        let time = self.0.to_datetime(moment.as_jiff());
        time.strftime("%H:%M").to_string()
    }

    /// The start of a step for a person, as `2026-11-25 14:00`, `2026-11-25` or `2026-11`.
    #[must_use]
    pub fn shown(&self, step: Step, start: Timestamp) -> String {
        let format = match step {
            Step::Hour => "%Y-%m-%d %H:%M",
            Step::Day => "%Y-%m-%d",
            Step::Month => "%Y-%m",
        };
        let time = self.0.to_datetime(start.as_jiff());
        time.strftime(format).to_string()
    }

    /// A moment for a person, as `2026-11-25 14:07`.
    #[must_use]
    pub fn shown_to_the_minute(&self, moment: Timestamp) -> String {
        self.shown(Step::Hour, moment)
    }

    /// The first moment of a date; if the zone's clock skipped the date, the first moment of the next.
    pub(super) fn start_of(&self, date: Date) -> Option<Timestamp> {
        let start = date.to_zoned(self.0.clone()).ok()?;
        Some(Timestamp::from_jiff(start.timestamp()))
    }

    /// The start of the step of a moment; `None` at the ends of time.
    pub(super) fn step_of(&self, step: Step, moment: Timestamp) -> Option<Timestamp> {
        let date = self.date_at(moment);
        let mut start = match step {
            Step::Month => self.start_of(date.first_of_month())?,
            Step::Hour | Step::Day => self.start_of(date)?,
        };
        // A day's hours are walked from its midnight. Where the clock goes back over midnight, a day starts before the moments
        // with the date before have ended.
        loop {
            let next = self.next(step, start)?;
            if next > moment {
                return Some(start);
            }
            start = next;
        }
    }

    /// The start of the step after the step that starts at `start`.
    pub(super) fn next(&self, step: Step, start: Timestamp) -> Option<Timestamp> {
        match step {
            Step::Hour => {
                let time = self.0.to_datetime(start.as_jiff());
                let into = i64::from(time.minute()) * 60 + i64::from(time.second());
                let left = SignedDuration::from_secs(HOUR - into);
                let next = start.as_jiff().checked_add(left).ok()?;
                let tomorrow = self.next(Step::Day, start)?;
                Some(Timestamp::from_jiff(next).min(tomorrow))
            }
            Step::Day => self.later(start, Span::new().days(1)),
            Step::Month => self.later(start, Span::new().months(1)),
        }
    }

    /// The first start of a date, some spans later, that is after `start`.
    fn later(&self, start: Timestamp, span: Span) -> Option<Timestamp> {
        let mut date = self.date_at(start);
        loop {
            date = date.checked_add(span).ok()?;
            let next = self.start_of(date)?;
            if next > start {
                return Some(next);
            }
        }
    }

    /// The start of the step this many steps before the step that starts at `start`.
    pub(super) fn steps_before(
        &self,
        step: Step,
        start: Timestamp,
        count: i32,
    ) -> Option<Timestamp> {
        let count = i64::from(count);
        let date = self.date_at(start);
        match step {
            Step::Hour => {
                let back = SignedDuration::from_hours(count);
                let before = start.as_jiff().checked_sub(back).ok()?;
                self.step_of(step, Timestamp::from_jiff(before))
            }
            Step::Day => self.start_of(date.checked_sub(Span::new().try_days(count).ok()?).ok()?),
            Step::Month => {
                let first = date.first_of_month();
                self.start_of(
                    first
                        .checked_sub(Span::new().try_months(count).ok()?)
                        .ok()?,
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(zone: &str, step: Step, from: &str, count: usize) -> Vec<String> {
        let zone = Zone::parse(zone).unwrap();
        let mut start = zone.step_of(step, from.parse().unwrap()).unwrap();
        let mut starts = Vec::new();
        for _ in 0..count {
            starts.push(zone.written(start));
            start = zone.next(step, start).unwrap();
        }
        starts
    }

    #[test]
    fn a_zone_is_known_by_its_name_in_the_database_of_the_program() {
        assert_eq!(
            Zone::parse("asia/kathmandu").unwrap().name(),
            "Asia/Kathmandu"
        );
        assert_eq!(Zone::parse("UTC").unwrap().name(), "UTC");
        for unknown in [
            "",
            "Mars/Olympus",
            "../../etc/passwd",
            "Etc/Unknown",
            "+01:00",
        ] {
            assert_eq!(Zone::parse(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn hours_go_on_while_the_clock_is_changed() {
        assert_eq!(
            starts("Europe/Berlin", Step::Hour, "2026-10-24T23:10:00Z", 4),
            [
                "2026-10-25T01:00:00+02:00",
                "2026-10-25T02:00:00+02:00",
                "2026-10-25T02:00:00+01:00",
                "2026-10-25T03:00:00+01:00"
            ]
        );
        assert_eq!(
            starts("Europe/Berlin", Step::Hour, "2026-03-29T00:10:00Z", 2),
            ["2026-03-29T01:00:00+01:00", "2026-03-29T03:00:00+02:00"]
        );
    }

    #[test]
    fn hours_of_a_zone_of_half_hours_begin_by_its_clock() {
        assert_eq!(
            starts("Asia/Kolkata", Step::Hour, "2026-11-25T10:00:00Z", 2),
            ["2026-11-25T15:00:00+05:30", "2026-11-25T16:00:00+05:30"]
        );
        assert_eq!(
            starts("Australia/Lord_Howe", Step::Hour, "2026-04-04T14:00:00Z", 4),
            [
                "2026-04-05T01:00:00+11:00",
                "2026-04-05T01:30:00+10:30",
                "2026-04-05T02:00:00+10:30",
                "2026-04-05T03:00:00+10:30"
            ]
        );
    }

    #[test]
    fn a_day_that_a_zone_skipped_is_no_day() {
        assert_eq!(
            starts("Pacific/Apia", Step::Day, "2011-12-29T12:00:00Z", 2),
            ["2011-12-29T00:00:00-10:00", "2011-12-31T00:00:00+14:00"]
        );
    }

    #[test]
    fn an_offset_with_seconds_is_written_in_whole_minutes_for_the_same_moment() {
        let zone = Zone::parse("Africa/Monrovia").unwrap();
        // 44 minutes and 30 seconds behind UTC, until 1972.
        for (moment, written) in [
            ("1970-01-02T00:44:30Z", "1970-01-02T00:00:30-00:44"),
            ("1972-01-07T00:44:30Z", "1972-01-07T00:44:30+00:00"),
        ] {
            let moment: Timestamp = moment.parse().unwrap();
            assert_eq!(zone.written(moment), written);
            assert_eq!(written.parse(), Ok(moment));
        }
    }

    #[test]
    fn a_day_without_midnight_begins_when_the_clock_shows_it() {
        assert_eq!(
            starts("America/Santiago", Step::Day, "2026-09-06T12:00:00Z", 2),
            ["2026-09-06T01:00:00-03:00", "2026-09-07T00:00:00-03:00"]
        );
    }
}

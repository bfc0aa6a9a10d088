//! The range of a series: which points it has, in which time zone.

use std::collections::BTreeMap;
use std::ops::Range;

use jiff::civil::Date;

use super::{Interval, InvalidTimestamp, Month, Step, Timestamp, Zone};

/// Points of a series at most: a hundred days of hours, six years of days.
const MAX_POINTS: usize = 2_500;

/// Years in which a range may lie.
const YEARS: std::ops::RangeInclusive<i16> = 1970..=9998;

/// Why a range is refused; its text is for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRange {
    /// No step.
    #[error("interval: must be hour, day or month")]
    Step,
    /// No time zone.
    #[error("tz: must be an IANA time zone, such as Europe/Berlin")]
    Zone,
    /// Neither a date nor a moment.
    #[error(
        "{0}: must be a date or an RFC 3339 timestamp with a zone, such as 2026-11-01 or 2026-11-01T00:00:00Z"
    )]
    Moment(&'static str),
    /// Beyond the calendar.
    #[error("{0}: must be in the years 1970 to 9998, such as 2026-11-01")]
    Year(&'static str),
    /// The range ends before it begins, or has no points.
    #[error(
        "from: must be before to, which is now unless given, such as from=2026-11-01&to=2026-11-25"
    )]
    Reversed,
    /// It has too many points.
    #[error(
        "from: must be at most {MAX_POINTS} {step}s before to; choose a shorter range{longer}, such as from=2026-11-01&to=2026-11-25",
        step = .0.as_str(), longer = or_longer(*.0)
    )]
    TooLong(Step),
}

/// The interval that a range of these could have instead.
fn or_longer(step: Step) -> &'static str {
    match step {
        Step::Hour => " or interval=day",
        Step::Day => " or interval=month",
        Step::Month => "",
    }
}

/// A range as a client asks for it.
#[derive(Clone, Copy, Debug, Default)]
pub struct RangeQuery<'a> {
    /// `hour`, `day` or `month`; a day unless given.
    pub interval: Option<&'a str>,
    /// The first date or moment.
    pub from: Option<&'a str>,
    /// The last date, or the moment before which the range ends.
    pub to: Option<&'a str>,
    /// An IANA name; UTC unless given.
    pub tz: Option<&'a str>,
}

/// Clicks of one point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All of them.
    pub clicks: u64,
    /// Clicks of known bots.
    pub bots: u64,
}

impl Tally {
    /// Clicks of people.
    #[must_use]
    pub fn people(self) -> u64 {
        self.clicks.saturating_sub(self.bots)
    }

    /// Adds another count.
    pub fn add(&mut self, other: Self) {
        self.clicks = self.clicks.saturating_add(other.clicks);
        self.bots = self.bots.saturating_add(other.bots);
    }
}

/// The points of a series: whole hours, days or months that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesRange {
    step: Step,
    zone: Zone,
    /// The start of each point; at least one.
    starts: Vec<Timestamp>,
    /// The end of the last point.
    end: Timestamp,
}

/// A date or a moment.
enum Bound {
    Date(Date),
    Moment(Timestamp),
}

impl SeriesRange {
    /// Points at most.
    pub const MAX_POINTS: usize = MAX_POINTS;

    /// The points that the range touches. Without `to` it ends with the point that it is now; without `from` it has 24 hours,
    /// 30 days or 12 months.
    ///
    /// # Errors
    /// [`InvalidRange`].
    pub fn parse(query: RangeQuery<'_>, now: Timestamp) -> Result<Self, InvalidRange> {
        let step = query.interval.map_or(Ok(Step::default()), |word| {
            Step::parse(word).ok_or(InvalidRange::Step)
        })?;
        let zone = query.tz.map_or(Ok(Zone::UTC), |name| {
            Zone::parse(name).ok_or(InvalidRange::Zone)
        })?;
        let bound = |name, raw: Option<&str>| raw.map(|raw| Bound::parse(name, raw, &zone));
        let from = bound("from", query.from).transpose()?;
        let end = match bound("to", query.to).transpose()? {
            None => next_of(&zone, step, now),
            Some(Bound::Date(date)) => date
                .tomorrow()
                .ok()
                .and_then(|date| end_of(&zone, step, zone.start_of(date)?)),
            Some(Bound::Moment(moment)) => end_of(&zone, step, moment),
        };
        let end = end.ok_or(InvalidRange::Year("to"))?;
        let from = match from {
            None => zone
                .step_of(step, end.before(std::time::Duration::from_micros(1)))
                .and_then(|last| zone.steps_before(step, last, step.default_points() - 1)),
            Some(Bound::Date(date)) => zone
                .start_of(date)
                .and_then(|start| zone.step_of(step, start)),
            Some(Bound::Moment(moment)) => zone.step_of(step, moment),
        };
        let from = from.ok_or(InvalidRange::Year("from"))?;
        Self::between(step, zone, from, end)
    }

    /// As many points up to the point that it is now.
    ///
    /// # Errors
    /// [`InvalidRange`] at the ends of time.
    pub fn last(
        step: Step,
        points: i32,
        zone: &Zone,
        now: Timestamp,
    ) -> Result<Self, InvalidRange> {
        let last = zone.step_of(step, now);
        let first = last.and_then(|last| zone.steps_before(step, last, points - 1));
        Self::since(step, zone, first.ok_or(InvalidRange::Year("from"))?, now)
    }

    /// The points from the point of a moment up to the point that it is now.
    ///
    /// # Errors
    /// [`InvalidRange`].
    pub fn since(
        step: Step,
        zone: &Zone,
        first: Timestamp,
        now: Timestamp,
    ) -> Result<Self, InvalidRange> {
        let from = zone.step_of(step, first.min(now));
        let end = next_of(zone, step, now).ok_or(InvalidRange::Year("to"))?;
        Self::between(
            step,
            zone.clone(),
            from.ok_or(InvalidRange::Year("from"))?,
            end,
        )
    }

    /// The days of a month; `None` at the ends of time.
    #[must_use]
    pub fn days_of(month: Month, zone: &Zone) -> Option<Self> {
        let from = zone.start_of(month.first_date())?;
        let end = zone.start_of(month.next().first_date())?;
        Self::between(Step::Day, zone.clone(), from, end).ok()
    }

    /// The last 30 days in UTC.
    #[must_use]
    pub fn default_at(now: Timestamp) -> Self {
        Self::parse(RangeQuery::default(), now).unwrap_or_else(|_| Self {
            step: Step::default(),
            zone: Zone::UTC,
            starts: vec![now],
            end: now,
        })
    }

    fn between(
        step: Step,
        zone: Zone,
        from: Timestamp,
        end: Timestamp,
    ) -> Result<Self, InvalidRange> {
        if from >= end {
            return Err(InvalidRange::Reversed);
        }
        let mut starts = vec![from];
        loop {
            let last = starts.last().copied().unwrap_or(from);
            match zone.next(step, last) {
                Some(next) if next < end => starts.push(next),
                _ => break,
            }
            if starts.len() > MAX_POINTS {
                return Err(InvalidRange::TooLong(step));
            }
        }
        Ok(Self {
            step,
            zone,
            starts,
            end,
        })
    }

    /// The same number of points just before this range; `None` at the beginning of time.
    #[must_use]
    pub fn previous(&self) -> Option<Self> {
        let points = i32::try_from(self.starts.len()).ok()?;
        let from = self.zone.steps_before(self.step, self.from(), points)?;
        Self::between(self.step, self.zone.clone(), from, self.from()).ok()
    }

    /// The start of each point.
    #[must_use]
    pub fn starts(&self) -> &[Timestamp] {
        &self.starts
    }

    /// The place of the point that a moment is in; `None` outside of the range.
    #[must_use]
    pub fn place_of(&self, moment: Timestamp) -> Option<usize> {
        let after = self.starts.partition_point(|start| *start <= moment);
        after.checked_sub(1).filter(|_| moment < self.end)
    }

    /// Up to when the previous range is compared with this range: if this range is still running, as much of the previous range as
    /// has passed of this one.
    #[must_use]
    pub fn compared_until(&self, now: Timestamp) -> Option<Timestamp> {
        let previous = self.previous()?;
        let running = self.place_of(now).and_then(|place| {
            let (start, before) = (self.starts.get(place)?, previous.starts.get(place)?);
            let passed = now.micros().saturating_sub(start.micros()).unsigned_abs();
            let next = previous.starts.get(place + 1).copied();
            let until = before.after(std::time::Duration::from_micros(passed));
            Some(until.min(next.unwrap_or(previous.end)))
        });
        Some(running.unwrap_or(previous.end))
    }

    /// The length of a point.
    #[must_use]
    pub fn step(&self) -> Step {
        self.step
    }

    /// The time zone.
    #[must_use]
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// The start of the first point.
    #[must_use]
    pub fn from(&self) -> Timestamp {
        self.starts.first().copied().unwrap_or(self.end)
    }

    /// The end of the last point.
    #[must_use]
    pub fn to(&self) -> Timestamp {
        self.end
    }

    /// The intervals that start in the range.
    #[must_use]
    pub fn intervals(&self) -> Range<Interval> {
        Interval::not_before(self.from())..Interval::not_before(self.end)
    }

    /// The sum of the intervals of each point, including empty points.
    #[must_use]
    pub fn sum(&self, intervals: &BTreeMap<Interval, Tally>) -> Vec<(Timestamp, Tally)> {
        let mut points: Vec<_> = self
            .starts
            .iter()
            .map(|start| (*start, Tally::default()))
            .collect();
        for (interval, tally) in intervals.range(self.intervals()) {
            let start = interval.starts_at();
            let after = points.partition_point(|(point, _)| *point <= start);
            if let Some((_, sum)) = after.checked_sub(1).and_then(|at| points.get_mut(at)) {
                sum.add(*tally);
            }
        }
        points
    }
}

impl Bound {
    fn parse(name: &'static str, raw: &str, zone: &Zone) -> Result<Self, InvalidRange> {
        // The library's own parser of dates would take a time behind one.
        let date = (raw.len() == "2026-11-01".len()).then(|| raw.parse::<Date>());
        let bound = match date {
            Some(Ok(date)) => Self::Date(date),
            _ => Self::Moment(raw.parse().map_err(|error| match error {
                InvalidTimestamp::OutOfRange => InvalidRange::Year(name),
                _ => InvalidRange::Moment(name),
            })?),
        };
        let year = match &bound {
            Self::Date(date) => date.year(),
            Self::Moment(moment) => zone.date_at(*moment).year(),
        };
        if YEARS.contains(&year) {
            Ok(bound)
        } else {
            Err(InvalidRange::Year(name))
        }
    }
}

/// The end of the step that a moment is in.
fn next_of(zone: &Zone, step: Step, moment: Timestamp) -> Option<Timestamp> {
    zone.next(step, zone.step_of(step, moment)?)
}

/// The first start of a step at a moment or later.
fn end_of(zone: &Zone, step: Step, moment: Timestamp) -> Option<Timestamp> {
    let start = zone.step_of(step, moment)?;
    if start == moment {
        return Some(start);
    }
    zone.next(step, start)
}

#[cfg(test)]
mod tests;

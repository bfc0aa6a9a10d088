//! Months of the calendar.

use std::fmt::{self, Display};

use jiff::civil::Date;

use super::{Timestamp, Zone};

/// Years in which a month may lie.
const YEARS: std::ops::RangeInclusive<i16> = 1970..=9998;

/// A month of the calendar; in which moments it begins and ends depends on the zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Month {
    year: i16,
    month: i8,
}

/// Why a text is not a month; its text is for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("month: must be a month of the years 1970 to 9998, such as 2026-10")]
pub struct InvalidMonth;

impl Month {
    /// Reads a month as `2026-10`.
    ///
    /// # Errors
    /// [`InvalidMonth`].
    pub fn parse(raw: &str) -> Result<Self, InvalidMonth> {
        let is_shaped = raw.len() == "2026-10".len()
            && raw.bytes().enumerate().all(|(at, byte)| match at {
                4 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
        let date = format!("{raw}-01").parse::<Date>();
        let date = date.ok().filter(|date| YEARS.contains(&date.year()));
        let date = date.filter(|_| is_shaped).ok_or(InvalidMonth)?;
        Ok(Self::of_date(date))
    }

    /// The month that it is at a moment.
    #[must_use]
    pub fn of(zone: &Zone, moment: Timestamp) -> Self {
        Self::of_date(zone.date_at(moment))
    }

    /// The month after it.
    #[must_use]
    pub fn next(self) -> Self {
        if self.month < 12 {
            let month = self.month + 1;
            return Self { month, ..self };
        }
        Self {
            year: self.year + 1,
            month: 1,
        }
    }

    /// Its first date.
    pub(super) fn first_date(self) -> Date {
        Date::constant(self.year, self.month, 1)
    }

    fn of_date(date: Date) -> Self {
        Self {
            year: date.year(),
            month: date.month(),
        }
    }
}

impl Display for Month {
    /// As it is read, so that texts of months are in the order of the months.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:04}-{:02}", self.year, self.month)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn month(raw: &str) -> Month {
        Month::parse(raw).unwrap()
    }

    #[test]
    fn a_year_has_twelve_months_that_follow_each_other() {
        assert_eq!(month("2026-11").next(), month("2026-12"));
        assert_eq!(month("2026-12").next(), month("2027-01"));
        assert!(month("2026-12") < month("2027-01"));
    }

    #[test]
    fn the_month_of_a_moment_is_that_of_the_zone() {
        let moment = "2026-10-31T23:30:00Z".parse().unwrap();
        let berlin = Zone::parse("Europe/Berlin").unwrap();
        assert_eq!(Month::of(&Zone::UTC, moment), month("2026-10"));
        assert_eq!(Month::of(&berlin, moment), month("2026-11"));
    }

    #[test]
    fn what_is_no_month_is_refused() {
        for raw in [
            "",
            "2026",
            "2026-1",
            "2026-00",
            "2026-13",
            "2026-10-01",
            "1969-12",
            "9999-01",
            "-026-10",
            "2026/10",
            "+2026-1",
            "２０２６-10",
        ] {
            assert_eq!(Month::parse(raw), Err(InvalidMonth), "{raw}");
        }
    }

    proptest! {
        #[test]
        fn a_month_comes_back_from_its_text(year in 1970_i16..=9998, of_year in 1_i8..=12) {
            let text = format!("{year:04}-{of_year:02}");
            prop_assert_eq!(month(&text).to_string(), text);
        }

        #[test]
        fn any_text_is_a_month_or_refused(text in "\\PC{0,12}") {
            if let Ok(month) = Month::parse(&text) {
                prop_assert_eq!(month.to_string(), text);
            }
        }
    }
}

//! What a page says of clicks over time: titles, dates, and the change from the period before.

use std::cmp::Ordering;
use std::time::Duration;

use super::clicks::{ALL, ClicksRequest};
use super::language::Language;
use crate::domain::{SeriesRange, Step, Timestamp};

/// The difference from the period before.
pub(super) struct Change {
    pub(super) text: String,
    pub(super) is_less: bool,
}

/// What the numbers are of.
pub(super) fn title(language: Language, asked: &ClicksRequest) -> String {
    let text = match asked.period {
        "24h" => language.text("clicks_title_24h"),
        "7d" => language.text("clicks_title_7d"),
        "30d" => language.text("clicks_title_30d"),
        "90d" => language.text("clicks_title_90d"),
        "12m" => language.text("clicks_title_12m"),
        ALL => language.text("clicks_title_all"),
        _ => {
            let (range, zone) = (&asked.range, asked.range.zone());
            let last = range.to().before(Duration::from_micros(1));
            let (from, to) = (language.date(range.from(), zone), language.date(last, zone));
            return language.with("clicks_title_custom", &[("from", &from), ("to", &to)]);
        }
    };
    text.to_owned()
}

pub(super) fn unfinished(step: Step) -> &'static str {
    match step {
        Step::Hour => "clicks_unfinished_hour",
        Step::Day => "clicks_unfinished_day",
        Step::Month => "clicks_unfinished_month",
    }
}

pub(super) fn described(step: Step) -> &'static str {
    match step {
        Step::Hour => "clicks_described_hour",
        Step::Day => "clicks_described_day",
        Step::Month => "clicks_described_month",
    }
}

/// A point below the chart.
pub(super) fn short(language: Language, range: &SeriesRange, start: Timestamp) -> String {
    let zone = range.zone();
    match range.step() {
        Step::Hour if range.starts().len() <= 24 => zone.time_at(start),
        Step::Hour | Step::Day => language.day(start, zone),
        Step::Month => language.month(start, zone),
    }
}

/// The difference of a number from the number before, in whole per cent.
pub(super) fn change(language: Language, before: u64, now: u64) -> Option<Change> {
    if before == 0 {
        return None;
    }
    let is_less = now < before;
    let percent = language.percent(now.abs_diff(before), before);
    let arrow = match now.cmp(&before) {
        Ordering::Less => "↓",
        Ordering::Equal => "=",
        Ordering::Greater => "↑",
    };
    Some(Change {
        text: format!("{arrow}\u{a0}{percent}"),
        is_less,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_said_in_whole_per_cent() {
        let said = |before, now| change(Language::ENGLISH, before, now).map(|change| change.text);
        assert_eq!(said(0, 5), None);
        for (before, now, text) in [
            (100, 112, "↑\u{a0}12%"),
            (100, 50, "↓\u{a0}50%"),
            (7, 7, "=\u{a0}0%"),
            (1_000, 13_891, "↑\u{a0}1,289%"),
        ] {
            assert_eq!(said(before, now).as_deref(), Some(text));
        }
    }
}

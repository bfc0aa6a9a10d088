//! The server's own chart: lines of SVG with ticks, and the lengths of the steps that the points stand for.

use std::fmt::Write;

use crate::domain::{Tally, Timestamp};

/// Points of the server's chart at most: of more points the largest of several neighbours is drawn, as a screen has no room for all.
const MAX_POINTS: usize = 300;

/// Height of the lines in their own units; a point is ten right of the one before.
const HEIGHT: u64 = 1_000;

/// Ticks above the lowest at most.
const MAX_TICKS: u128 = 4;

/// Labels below the chart at most: a phone has room for so many.
const MAX_LABELS: usize = 5;

/// The top of the lines and their height, in per cent of the chart.
const TOP: f64 = 8.0;
const PART: f64 = 80.0;

/// The lengths of points up to the end, with equal lengths grouped.
pub(super) fn lengths(points: &[(Timestamp, Tally)], end: Timestamp) -> Vec<(u64, usize)> {
    let starts = points.iter().map(|(at, _)| *at);
    let ends = starts.clone().skip(1).chain([end]);
    let mut lengths: Vec<(u64, usize)> = Vec::new();
    for (start, end) in starts.zip(ends) {
        let length = end.unix_seconds().saturating_sub(start.unix_seconds());
        match lengths.last_mut() {
            Some((same, points)) if *same == length => *points += 1,
            _ => lengths.push((length, 1)),
        }
    }
    lengths
}

/// A chart as paths of SVG.
pub(super) struct Drawing {
    /// Width of the lines in their own units.
    pub(super) width: usize,
    pub(super) height: u64,
    /// The area below the clicks, their line, and its last piece if that point is not over.
    pub(super) area: String,
    pub(super) now: String,
    pub(super) running: String,
    /// The line of the period before.
    pub(super) before: String,
    pub(super) ticks: Vec<Tick>,
    /// The points that have labels: their places among all of the points.
    pub(super) labels: Vec<Label>,
}

/// A line across the chart.
pub(super) struct Tick {
    pub(super) value: u64,
    /// Its place from the top, such as `48.0%`.
    pub(super) y: String,
}

/// A place below the chart.
pub(super) struct Label {
    pub(super) point: usize,
    /// Its place from the left, and where the text is of it.
    pub(super) x: String,
    pub(super) anchor: &'static str,
}

impl Drawing {
    /// `running` is the place of the point that is not over: later points are not drawn.
    pub(super) fn new(clicks: &[u64], before: &[u64], running: Option<usize>) -> Self {
        let neighbours = clicks.len().div_ceil(MAX_POINTS).max(1);
        let (points, before) = (merged(clicks, neighbours), merged(before, neighbours));
        let largest = points.iter().chain(&before).max().copied();
        let ticks = ticks(largest.unwrap_or_default());
        let top = ticks.last().copied().unwrap_or(1);
        let drawn = running.map_or(points.len(), |place| place / neighbours + 1);
        let drawn = points.get(..drawn).unwrap_or(&points);
        // The line of a point that is not over begins at the point before.
        let (over, last) = match running {
            None => (drawn, &drawn[..0]),
            Some(_) => (
                &drawn[..drawn.len().saturating_sub(1)],
                &drawn[drawn.len().saturating_sub(2)..],
            ),
        };
        let mut area = line(drawn, 0, top);
        if !area.is_empty() {
            let end = drawn
                .len()
                .saturating_sub(1)
                .max(usize::from(drawn.len() == 1))
                * 10;
            // Writing to a string does not fail.
            let _ = write!(area, "L{end} {HEIGHT}L0 {HEIGHT}z");
        }
        Self {
            width: points.len().saturating_sub(1).max(1) * 10,
            height: HEIGHT,
            area,
            now: line(over, 0, top),
            running: line(last, drawn.len() - last.len(), top),
            before: line(&before, 0, top),
            ticks: ticks
                .into_iter()
                .map(|value| Tick::of(value, top))
                .collect(),
            labels: labels(clicks.len()),
        }
    }
}

impl Tick {
    fn of(value: u64, top: u64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a place on a screen")]
        let part = value as f64 / top as f64;
        Self {
            value,
            y: format!("{:.1}%", TOP + PART * (1.0 - part)),
        }
    }
}

/// Each point, or the largest of as many neighbours.
fn merged(clicks: &[u64], neighbours: usize) -> Vec<u64> {
    let merged = clicks.chunks(neighbours);
    merged
        .filter_map(|points| points.iter().copied().max())
        .collect()
}

/// Whole numbers from 0 to the largest or a little more, equally far from each other: no number is there twice.
fn ticks(largest: u64) -> Vec<u64> {
    let largest = u128::from(largest.max(1));
    let steps = (0..20).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u128.pow(power)));
    let mut steps = steps.filter(|step| largest.div_ceil(*step) <= MAX_TICKS);
    let step = steps.next().unwrap_or(largest);
    let ticks = (0..=largest.div_ceil(step)).map(|tick| u64::try_from(tick * step));
    ticks.map(|tick| tick.unwrap_or(u64::MAX)).collect()
}

/// Some points from the first to the last, equally far from each other.
fn labels(points: usize) -> Vec<Label> {
    let apart = points.div_ceil(MAX_LABELS).max(1);
    let last = points.saturating_sub(1);
    let label = |point: usize| {
        #[expect(clippy::cast_precision_loss, reason = "a place on a screen")]
        let x = point as f64 * 100.0 / last.max(1) as f64;
        let anchor = match point {
            0 => "start",
            _ if point == last => "end",
            _ => "middle",
        };
        Label {
            point,
            x: format!("{x:.1}%"),
            anchor,
        }
    };
    (0..points).step_by(apart).map(label).collect()
}

/// A line through points, the first of which has this place. One point is a level line.
fn line(clicks: &[u64], place: usize, top: u64) -> String {
    let mut path = String::new();
    let y = |clicks: u64| {
        let height = u128::from(clicks) * u128::from(HEIGHT) / u128::from(top.max(1));
        u128::from(HEIGHT).saturating_sub(height)
    };
    for (index, clicks) in clicks.iter().enumerate() {
        let (command, x) = (if index == 0 { 'M' } else { 'L' }, (place + index) * 10);
        // Writing to a string does not fail.
        let _ = write!(path, "{command}{x} {}", y(*clicks));
    }
    if let [only] = clicks {
        let _ = write!(path, "L{} {}", (place + 1) * 10, y(*only));
    }
    path
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::domain::{RangeQuery, SeriesRange};

    #[test]
    fn the_lengths_of_points_give_their_starts_again() {
        let range =
            |query| SeriesRange::parse(query, "2026-11-25T00:00:00Z".parse().unwrap()).unwrap();
        // The day on which clocks go back has 25 hours.
        let range = range(RangeQuery {
            from: Some("2026-10-20"),
            to: Some("2026-11-02"),
            tz: Some("Europe/Berlin"),
            ..RangeQuery::default()
        });
        let points = range.sum(&std::collections::BTreeMap::new());
        let lengths = lengths(&points, range.to());
        assert_eq!(lengths, [(86_400, 5), (90_000, 1), (86_400, 8)]);
    }

    #[test]
    fn the_last_piece_of_a_running_period_is_a_line_of_its_own() {
        let drawing = Drawing::new(&[0, 10, 5, 0], &[5, 5, 5, 5], Some(2));
        assert_eq!(drawing.now, "M0 1000L10 0");
        assert_eq!(drawing.running, "M10 0L20 500");
        assert_eq!(drawing.area, "M0 1000L10 0L20 500L20 1000L0 1000z");
        assert_eq!(drawing.before, "M0 500L10 500L20 500L30 500");
        let over = Drawing::new(&[0, 10], &[], None);
        assert_eq!(
            (over.now.as_str(), over.running.as_str()),
            ("M0 1000L10 0", "")
        );
        let one = Drawing::new(&[3], &[], Some(0));
        assert_eq!((one.now.as_str(), one.running.as_str()), ("", "M0 0L10 0"));
    }

    proptest! {
        #[test]
        fn ticks_are_few_whole_numbers_that_never_repeat_and_reach_the_largest(largest: u64) {
            let ticks = ticks(largest);
            prop_assert!((2..=5).contains(&ticks.len()));
            prop_assert!(ticks.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert!(ticks.last() >= Some(&largest));
        }

        #[test]
        fn a_chart_has_few_points_and_labels(clicks in vec(0..u64::MAX, 1..2_500), running: bool) {
            let running = running.then(|| clicks.len() - 1);
            let drawing = Drawing::new(&clicks, &clicks, running);
            prop_assert!(drawing.before.matches(['M', 'L']).count() <= MAX_POINTS.max(2));
            prop_assert!((1..=MAX_LABELS).contains(&drawing.labels.len()));
            prop_assert!(drawing.labels.iter().all(|label| label.point < clicks.len()));
        }
    }
}

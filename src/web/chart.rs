//! The server's own chart: bars of SVG, and the lengths of the steps that they stand for.

use std::fmt::Write;

use crate::domain::{Tally, Timestamp};

/// Bars of the server's chart at most: of more points the largest of several neighbours is drawn, as a screen has no room for all.
const MAX_BARS: usize = 300;

/// Height of the chart in its own units; each point is ten wide.
const HEIGHT: u64 = 100;

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

/// What there is a bar for: each point, or the largest of as many neighbours as need be.
pub(super) fn merged(clicks: &[u64]) -> Vec<u64> {
    let neighbours = clicks.len().div_ceil(MAX_BARS).max(1);
    let merged = clicks.chunks(neighbours);
    merged
        .filter_map(|points| points.iter().copied().max())
        .collect()
}

/// Bars as one path of SVG: each begins `left` of its ten units, and is `width` wide.
pub(super) fn bars(clicks: &[u64], largest: u64, left: usize, width: usize) -> String {
    let mut path = String::new();
    for (index, clicks) in clicks.iter().enumerate().filter(|(_, clicks)| **clicks > 0) {
        let height = u128::from(*clicks) * u128::from(HEIGHT) / u128::from(largest.max(1));
        let top = u128::from(HEIGHT) - height.max(1);
        let x = index * 10 + left;
        // Writing to a string does not fail.
        let _ = write!(path, "M{x} {HEIGHT}V{top}h{width}V{HEIGHT}z");
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

    proptest! {
        #[test]
        fn merged_points_are_few_and_keep_the_largest(clicks in vec(0..u64::MAX, 0..2_500)) {
            let merged = merged(&clicks);
            prop_assert!(merged.len() <= MAX_BARS);
            prop_assert_eq!(merged.iter().max(), clicks.iter().max());
        }

        #[test]
        fn every_point_with_clicks_has_a_bar_within_the_chart(clicks in vec(0..u64::MAX, 0..50)) {
            let largest = clicks.iter().copied().max().unwrap_or_default();
            let path = bars(&clicks, largest, 1, 8);
            let tops: Vec<u64> = path
                .split('V')
                .skip(1)
                .step_by(2)
                .map(|top| top.split('h').next().unwrap().parse().unwrap())
                .collect();
            prop_assert_eq!(tops.len(), clicks.iter().filter(|clicks| **clicks > 0).count());
            prop_assert!(tops.iter().all(|top| *top < HEIGHT));
        }
    }
}

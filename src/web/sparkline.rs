//! How old a link is in few letters, and its clicks of the last days as a line.

use std::fmt::Write as _;

use super::language::Language;
use crate::domain::Timestamp;

/// Days of the line.
pub(super) const DAYS: u16 = 30;

/// The height of a drawing, in its own units. The line keeps off both edges.
const HEIGHT: u64 = 20;
const EDGE: u64 = 1;

/// The points of a line; empty without days.
pub(super) fn sparkline(days: &[u64]) -> String {
    let most = days.iter().copied().max().unwrap_or_default().max(1);
    let room = HEIGHT - 2 * EDGE;
    let mut points = String::with_capacity(6 * days.len());
    for (day, clicks) in days.iter().enumerate() {
        let height = u128::from(*clicks) * u128::from(room) / u128::from(most);
        // Few clicks beside many are seen, too.
        let height = u64::try_from(height)
            .unwrap_or(room)
            .max(u64::from(*clicks > 0));
        let separator = if day == 0 { "" } else { " " };
        let _ = write!(points, "{separator}{day},{}", HEIGHT - EDGE - height);
    }
    points
}

/// How long ago something was, in the largest unit of which it is one at least.
pub(super) fn age(language: Language, since: Timestamp, now: Timestamp) -> String {
    let seconds = now.unix_seconds().saturating_sub(since.unix_seconds());
    let n = |length: u64| language.number(seconds / length);
    match seconds {
        0..60 => language.text("list_age_now").to_owned(),
        60..3_600 => language.with("list_age_minutes", &[("n", &n(60))]),
        3_600..86_400 => language.with("list_age_hours", &[("n", &n(3_600))]),
        86_400..5_184_000 => language.with("list_age_days", &[("n", &n(86_400))]),
        5_184_000..63_072_000 => language.with("list_age_months", &[("n", &n(2_629_746))]),
        _ => language.with("list_age_years", &[("n", &n(31_556_952))]),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_line_has_a_point_for_each_day_within_the_drawing(days in vec(prop_oneof![Just(0), any::<u64>()], 0..40)) {
            let line = sparkline(&days);
            let points: Vec<(usize, u64)> = line.split_whitespace().map(|point| {
                let (x, y) = point.split_once(',').unwrap();
                (x.parse().unwrap(), y.parse().unwrap())
            }).collect();
            prop_assert_eq!(points.len(), days.len());
            for ((x, y), (day, clicks)) in points.iter().zip(days.iter().enumerate()) {
                prop_assert!(*x == day && (EDGE..HEIGHT).contains(y));
                prop_assert_eq!(*y == HEIGHT - EDGE, *clicks == 0);
            }
        }
    }

    #[test]
    fn the_day_with_most_clicks_is_at_the_top() {
        assert_eq!(sparkline(&[0, 5, 10]), "0,19 1,10 2,1");
    }

    #[test]
    fn an_age_is_in_the_largest_unit() {
        let since: Timestamp = "2026-01-31T18:00:00Z".parse().unwrap();
        let german = Language::tagged("de").unwrap();
        for (seconds, english, german_age) in [
            (0, "now", "jetzt"),
            (125, "2 min", "2 Min."),
            (7_300, "2 h", "2 Std."),
            (3 * 86_400, "3 d", "3 T."),
            (70 * 86_400, "2 mo", "2 Mon."),
            (800 * 86_400, "2 y", "2 J."),
        ] {
            let now = since.after(Duration::from_secs(seconds));
            assert_eq!(age(Language::ENGLISH, since, now), english);
            assert_eq!(age(german, since, now), german_age);
        }
        assert_eq!(age(Language::ENGLISH, Timestamp::MAX, since), "now");
    }
}

use proptest::option::of;
use proptest::prelude::*;

use super::*;

const NOW: &str = "2026-11-25T10:20:30Z";

fn range(query: RangeQuery<'_>) -> Result<SeriesRange, InvalidRange> {
    SeriesRange::parse(query, NOW.parse().unwrap())
}

fn ends(range: &SeriesRange) -> (String, String) {
    (
        range.zone().written(range.from()),
        range.zone().written(range.to()),
    )
}

#[test]
fn without_bounds_a_range_is_the_last_24_hours_30_days_or_12_months() {
    for (interval, from, to, points) in [
        (
            Some("hour"),
            "2026-11-24T11:00:00+00:00",
            "2026-11-25T11:00:00+00:00",
            24,
        ),
        (
            None,
            "2026-10-27T00:00:00+00:00",
            "2026-11-26T00:00:00+00:00",
            30,
        ),
        (
            Some("month"),
            "2025-12-01T00:00:00+00:00",
            "2026-12-01T00:00:00+00:00",
            12,
        ),
    ] {
        let range = range(RangeQuery {
            interval,
            ..RangeQuery::default()
        })
        .unwrap();
        assert_eq!(ends(&range), (from.to_owned(), to.to_owned()));
        assert_eq!(range.starts.len(), points);
    }
}

#[test]
fn a_date_is_the_whole_day_in_the_zone() {
    let query = RangeQuery {
        from: Some("2026-10-25"),
        to: Some("2026-10-25"),
        tz: Some("Europe/Berlin"),
        ..RangeQuery::default()
    };
    let autumn = range(query).unwrap();
    assert_eq!(
        ends(&autumn),
        (
            "2026-10-25T00:00:00+02:00".to_owned(),
            "2026-10-26T00:00:00+01:00".to_owned()
        )
    );
    let quarters =
        |range: &SeriesRange| range.intervals().end.number() - range.intervals().start.number();
    assert_eq!(quarters(&autumn), 25 * 4);
    let spring = RangeQuery {
        from: Some("2026-03-29"),
        to: Some("2026-03-29"),
        ..query
    };
    assert_eq!(quarters(&range(spring).unwrap()), 23 * 4);
    let hours = RangeQuery {
        interval: Some("hour"),
        ..query
    };
    assert_eq!(range(hours).unwrap().starts.len(), 25);
}

#[test]
fn a_range_that_can_have_no_series_is_refused_with_the_parameter_and_an_example() {
    let query = |interval, from, to, tz| RangeQuery {
        interval,
        from,
        to,
        tz,
    };
    for (query, error) in [
        (query(Some("week"), None, None, None), InvalidRange::Step),
        (query(None, None, None, Some("Mars")), InvalidRange::Zone),
        (
            query(None, Some("soon"), None, None),
            InvalidRange::Moment("from"),
        ),
        (
            query(None, None, Some("2026-11-01T10:00:00"), None),
            InvalidRange::Moment("to"),
        ),
        (
            query(None, Some("2026-02-30"), None, None),
            InvalidRange::Moment("from"),
        ),
        (
            query(None, Some("1969-12-31"), None, None),
            InvalidRange::Year("from"),
        ),
        (
            query(None, None, Some("9999-12-31"), None),
            InvalidRange::Year("to"),
        ),
        (
            query(None, None, Some("9999-12-31T00:00:00Z"), None),
            InvalidRange::Year("to"),
        ),
        (
            query(Some("hour"), Some("2020-01-01"), None, None),
            InvalidRange::TooLong(Step::Hour),
        ),
        (
            query(Some("month"), Some("1970-01-01"), Some("9998-12-31"), None),
            InvalidRange::TooLong(Step::Month),
        ),
        (
            query(None, Some("2026-11-25"), Some("2026-11-01"), None),
            InvalidRange::Reversed,
        ),
        (
            query(None, Some("2027-01-01"), None, None),
            InvalidRange::Reversed,
        ),
        (
            query(None, Some("1970-01-01"), None, None),
            InvalidRange::TooLong(Step::Day),
        ),
    ] {
        let refused = range(query).unwrap_err();
        assert_eq!(refused, error, "{query:?}");
        assert!(refused.to_string().contains(": must be "), "{refused}");
    }
}

#[test]
fn the_previous_range_has_as_many_points_and_ends_where_this_one_begins() {
    for interval in ["hour", "day", "month"] {
        let query = RangeQuery {
            interval: Some(interval),
            tz: Some("Asia/Kathmandu"),
            ..RangeQuery::default()
        };
        let range = range(query).unwrap();
        let previous = range.previous().unwrap();
        assert_eq!(previous.to(), range.from());
        assert_eq!(previous.starts.len(), range.starts.len());
    }
}

fn zones() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("UTC"),
        Just("Europe/Berlin"),
        Just("Asia/Kolkata"),
        Just("Asia/Kathmandu"),
        Just("Australia/Lord_Howe"),
        Just("America/Santiago"),
        Just("America/Havana"),
        Just("America/St_Johns"),
        Just("Pacific/Apia"),
        Just("Pacific/Chatham"),
        Just("Antarctica/Troll"),
        Just("Africa/Monrovia"),
        Just("Africa/Casablanca"),
    ]
}

proptest! {
    #[test]
    fn every_click_of_a_range_is_in_one_point(
        zone in zones(), step in 0..3_usize, at in 0..4_102_444_800_i64, length in 1..40_i64,
        clicks in proptest::collection::btree_map(-100..3_000_i64, 1..9_u64, 0..20),
    ) {
        let step = Step::ALL[step];
        let hours = match step { Step::Hour => 1, Step::Day => 24, Step::Month => 730 };
        let from = Timestamp::from_micros(at * 1_000_000).unwrap();
        let to = from.after(std::time::Duration::from_secs(u64::try_from(length * hours * 3_600).unwrap()));
        let (from, to) = (from.to_string(), to.to_string());
        let query = RangeQuery { interval: Some(step.as_str()), from: Some(&from), to: Some(&to), tz: Some(zone) };
        let range = range(query).unwrap();
        prop_assert!(range.starts.is_sorted_by(|one, other| one < other));
        prop_assert!(range.starts.len() >= usize::try_from(length).unwrap() / 2);
        prop_assert!(range.from() <= from.parse().unwrap() && range.to() >= to.parse().unwrap());
        let first = i64::from(range.intervals().start.number());
        let intervals: BTreeMap<_, _> = clicks
            .iter()
            .map(|(offset, clicks)| (Interval::from_number(first + offset), Tally { clicks: *clicks, bots: 0 }))
            .collect();
        let within: u64 = intervals.range(range.intervals()).map(|(_, tally)| tally.clicks).sum();
        let points = range.sum(&intervals);
        prop_assert_eq!(points.iter().map(|(_, tally)| tally.clicks).sum::<u64>(), within);
        let starts: Vec<_> = points.iter().map(|(start, _)| *start).collect();
        prop_assert_eq!(&starts, &range.starts);
        // Asked for again by what it says of itself, it is the same.
        let (from, to) = (range.from().to_string(), range.to().to_string());
        if range.from() >= Timestamp::from_micros(172_800_000_000).unwrap() {
            let again = SeriesRange::parse(RangeQuery { from: Some(&from), to: Some(&to), ..query }, NOW.parse().unwrap());
            prop_assert_eq!(again, Ok(range));
        }
    }

    #[test]
    fn any_query_has_a_range_or_is_refused_by_name(
        interval in of("hour|day|month|\\PC{0,5}"), tz in of("UTC|Asia/Kolkata|\\PC{0,9}"),
        from in of("(19|20|99)[0-9]{2}-[01][0-9]-[0-3][0-9](T00:00:00Z)?|\\PC{0,20}"),
        to in of("(19|20|99)[0-9]{2}-[01][0-9]-[0-3][0-9](T00:00:00Z)?|\\PC{0,20}"),
    ) {
        let query = RangeQuery {
            interval: interval.as_deref(), from: from.as_deref(), to: to.as_deref(), tz: tz.as_deref(),
        };
        match range(query) {
            Ok(range) => prop_assert!((1..=MAX_POINTS).contains(&range.starts.len())),
            Err(error) => {
                let text = error.to_string();
                prop_assert!(["interval: ", "tz: ", "from: ", "to: "].iter().any(|name| text.starts_with(name)));
            }
        }
    }
}

#[test]
fn a_range_that_is_running_is_compared_with_the_same_part_of_the_range_before() {
    for (query, now, until) in [
        (
            RangeQuery::default(),
            "2026-11-25T09:30:00Z",
            "2026-10-26T09:30:00Z",
        ),
        (
            RangeQuery {
                interval: Some("month"),
                tz: Some("Europe/Berlin"),
                ..RangeQuery::default()
            },
            "2026-11-25T09:30:00Z",
            "2025-11-25T09:30:00Z",
        ),
        // February has no such part: it is compared as a whole.
        (
            RangeQuery {
                interval: Some("month"),
                from: Some("2026-03-01"),
                ..RangeQuery::default()
            },
            "2026-03-31T12:00:00Z",
            "2026-03-01T00:00:00Z",
        ),
        (
            RangeQuery {
                from: Some("2026-11-01"),
                to: Some("2026-11-10"),
                ..RangeQuery::default()
            },
            "2026-11-25T09:30:00Z",
            "2026-11-01T00:00:00Z",
        ),
    ] {
        let now = now.parse().unwrap();
        let range = SeriesRange::parse(query, now).unwrap();
        let found = range.compared_until(now).unwrap();
        assert_eq!(found.to_string(), until, "{query:?}");
    }
}

//! Clicks over time, as a page shows them: numbers, a chart that the server draws, and the table behind it.

use std::time::Duration;

use serde::Serialize;
use url::form_urlencoded::Serializer;

use super::chart::{Drawing, lengths};
use super::clicks::{ALL, CUSTOM, ClicksPage, ClicksRequest, PERIODS, without};
use super::clicks_words::{Change, change, described, short, title, unfinished};
use super::language::Language;
use crate::domain::{Dimension, SeriesRange, Step, Tally, Timestamp};
use crate::links::{ComparedSeries, Series};

/// Lines of the table at most: the export has all of them.
const MAX_LINES: usize = 100;

/// Clicks over time, as a page shows them.
pub(super) struct ClicksView {
    /// The address to which the form of the range is sent.
    pub(super) path: String,
    /// What another range keeps: the tag and the filters, as parameters.
    pub(super) kept: Vec<(&'static str, String)>,
    pub(super) fault: Option<&'static str>,
    pub(super) form: RangeForm,
    pub(super) periods: Vec<Choice>,
    pub(super) is_custom: bool,
    /// All clicks, the clicks of people, and the clicks of known bots.
    pub(super) switch: Vec<Choice>,
    pub(super) title: String,
    pub(super) zone: String,
    pub(super) sum: String,
    /// The address at which the sum can be read again; empty if it does not change.
    pub(super) live: String,
    pub(super) people: String,
    /// Clicks that other services counted before the import; empty without such clicks.
    pub(super) imported: String,
    /// What the period before had; empty if that is not compared.
    pub(super) before: String,
    pub(super) change: Option<Change>,
    /// All clicks of the link, and the address at which they can be read again.
    pub(super) all_time: Option<(String, String)>,
    /// When the newest click was, if that is known.
    pub(super) last: Option<Last>,
    /// Whether filters leave days whose clicks are not known by hours.
    pub(super) has_whole_days_only: bool,
    /// What is not over yet; empty if all of the range is.
    pub(super) unfinished: &'static str,
    pub(super) drawing: Drawing,
    pub(super) ticks: Vec<String>,
    pub(super) labels: Vec<String>,
    /// What the chart shows, for people who do not see it.
    pub(super) described: String,
    pub(super) lines: Vec<Line>,
    pub(super) points: usize,
    /// The data of the chart as JSON, for the script that draws a better one.
    pub(super) data: String,
    /// The parameters of the range, for links to the export.
    pub(super) query: String,
}

/// The fields of the range.
pub(super) struct RangeForm {
    pub(super) interval: String,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) zone: String,
}

/// A link to the same page with another range or other clicks.
pub(super) struct Choice {
    pub(super) id: String,
    pub(super) name: &'static str,
    pub(super) path: String,
    pub(super) is_current: bool,
}

/// The quarter of an hour of the newest click.
pub(super) struct Last {
    pub(super) day: String,
    /// Its start and its end, such as `12:45–13:00`.
    pub(super) time: String,
    /// Its start, as RFC 3339.
    pub(super) written: String,
}

/// A line of the table.
pub(super) struct Line {
    pub(super) at: String,
    pub(super) shown: String,
    pub(super) clicks: String,
    pub(super) people: String,
    pub(super) previous: Option<String>,
}

/// What the script reads.
#[derive(Serialize)]
struct Data<'a> {
    zone: &'a str,
    step: &'static str,
    /// Seconds since 1970 at the start of the first point.
    start: u64,
    /// Lengths of points in seconds, each with the number of points that follow each other so.
    lengths: Vec<(u64, usize)>,
    clicks: &'a [u64],
    previous: &'a [u64],
    /// The place of the point that is not over.
    running: Option<usize>,
    /// What the legend says of the range, of its clicks, of the clicks of the point that is not over, and of the period before.
    words: [&'static str; 4],
}

impl ClicksView {
    pub(super) fn new(
        language: Language,
        place: &ClicksPage,
        asked: &ClicksRequest,
        clicks: &ComparedSeries,
        now: Timestamp,
    ) -> Self {
        let (range, zone) = (&asked.range, asked.range.zone());
        let series = &clicks.series;
        let sum = series.sum();
        // Nothing was before all of the time.
        let previous = clicks.previous.as_ref().filter(|_| asked.period != ALL);
        let before = previous.map(|previous| previous.sum().clicks);
        let running = range.place_of(now);
        let of_points = clicks_of(series);
        let is_compared = before.is_some_and(|before| before > 0);
        let of_before = previous.filter(|_| is_compared).map(clicks_of);
        let of_before = of_before.unwrap_or_default();
        let drawing = Drawing::new(&of_points, &of_before, running);
        let label = |point: usize| {
            let start = range.starts().get(point).copied();
            start.map_or_else(String::new, |start| short(language, range, start))
        };
        let unfinished = running.map_or("", |_| language.text(unfinished(range.step())));
        let data = Data {
            zone: zone.name(),
            step: range.step().as_str(),
            start: range.from().unix_seconds(),
            lengths: lengths(&series.points, range.to()),
            clicks: &of_points,
            previous: &of_before,
            running,
            words: [
                language.text("clicks_legend_time"),
                language.text("clicks_legend_now"),
                unfinished,
                language.text("clicks_legend_before"),
            ],
        };
        let before_text = match running {
            Some(_) => "clicks_before_part",
            None => "clicks_before",
        };
        let before = before.map(|before| {
            let values = [("n", &*language.number(before))];
            (
                language.with(before_text, &values),
                change(language, before, sum.clicks),
            )
        });
        let (before, change) = before.unwrap_or_default();
        let largest = of_points.iter().max().copied().unwrap_or_default();
        Self {
            path: place.path.clone(),
            kept: place.kept(&asked.filters),
            fault: asked.fault.as_ref().map(|fault| language.text(fault.text)),
            form: RangeForm::new(asked),
            periods: periods(language, place, asked),
            is_custom: asked.period == CUSTOM,
            switch: switch(language, place, asked),
            title: title(language, asked),
            zone: zone.name().to_owned(),
            sum: language.number(sum.clicks),
            live: String::new(),
            people: language.number(sum.people()),
            imported: String::new(),
            before,
            change,
            all_time: None,
            last: None,
            has_whole_days_only: false,
            unfinished,
            ticks: (drawing.ticks.iter())
                .map(|tick| language.number(tick.value))
                .collect(),
            labels: (drawing.labels.iter())
                .map(|place| label(place.point))
                .collect(),
            described: language.with(described(range.step()), &[("n", &language.number(largest))]),
            drawing,
            lines: lines(language, range, series, previous),
            points: series.points.len(),
            data: serde_json::to_string(&data).unwrap_or_default(),
            query: export(place, range),
        }
    }

    /// The same with the moment of the newest click, if the range has it.
    pub(super) fn with_last(
        mut self,
        language: Language,
        range: &SeriesRange,
        clicks: &ComparedSeries,
        now: Timestamp,
    ) -> Self {
        let last = clicks.last.filter(|_| range.place_of(now).is_some());
        self.last = last.map(|last| {
            let (at, zone) = (last.starts_at(), range.zone());
            let end = zone.time_at(last.next().starts_at());
            Last {
                day: language.date(at, zone),
                time: format!("{}–{end}", zone.time_at(at)),
                written: zone.written(at),
            }
        });
        self
    }
}

impl RangeForm {
    /// A form that is refused keeps what was entered.
    fn new(asked: &ClicksRequest) -> Self {
        let (range, zone) = (&asked.range, asked.range.zone());
        let entered = |name: &str| {
            let mut given = asked.given.iter().filter(|_| asked.fault.is_some());
            let found = given.find(|(given, _)| *given == name);
            found.map(|(_, value)| value.clone())
        };
        let last = range.to().before(Duration::from_micros(1));
        let day_of = |name, moment| {
            // A field for a date shows nothing else.
            let entered = entered(name).filter(|value| value.len() == "2026-11-01".len());
            entered.unwrap_or_else(|| zone.date_at(moment).to_string())
        };
        Self {
            interval: entered("interval").unwrap_or_else(|| range.step().as_str().to_owned()),
            from: day_of("from", range.from()),
            to: day_of("to", last),
            zone: entered("tz").unwrap_or_else(|| zone.name().to_owned()),
        }
    }
}

fn clicks_of(series: &Series) -> Vec<u64> {
    let clicks = series.points.iter().map(|(_, tally)| tally.clicks);
    clicks.collect()
}

/// Links to the usual periods.
fn periods(language: Language, place: &ClicksPage, asked: &ClicksRequest) -> Vec<Choice> {
    let zone = asked.given.iter().find(|(name, _)| *name == "tz");
    let names = [
        language.text("clicks_24h"),
        language.text("clicks_7d"),
        language.text("clicks_30d"),
        language.text("clicks_90d"),
        language.text("clicks_12m"),
        language.text("clicks_all"),
    ];
    let words = PERIODS.iter().map(|(word, ..)| *word).chain([ALL]);
    let choice = |(word, name): (&str, &'static str)| {
        let mut range = vec![("period", word.to_owned())];
        range.extend(zone.cloned());
        Choice {
            id: format!("period-{word}"),
            name,
            path: place.address(&range, &asked.filters),
            is_current: asked.period == word,
        }
    };
    words.zip(names).map(choice).collect()
}

/// Links to all clicks, to the clicks of people, and to the clicks of known bots.
fn switch(language: Language, place: &ClicksPage, asked: &ClicksRequest) -> Vec<Choice> {
    let filtered = asked.filters.iter().find(|(by, _)| *by == Dimension::Bot);
    let filtered = filtered.map_or("", |(_, value)| value.as_deref().unwrap_or_default());
    let choices = [
        ("", language.text("clicks_of_all")),
        ("false", language.text("clicks_of_people")),
        ("true", language.text("clicks_of_bots")),
    ];
    let choice = |(value, name): (&'static str, &'static str)| {
        let mut filters = without(&asked.filters, Dimension::Bot);
        if !value.is_empty() {
            filters.push((Dimension::Bot, Some(value.to_owned())));
        }
        Choice {
            id: format!("bots-{value}"),
            name,
            path: place.address(&asked.given, &filters),
            is_current: filtered == value,
        }
    };
    choices.map(choice).into()
}

/// The newest points.
fn lines(
    language: Language,
    range: &SeriesRange,
    series: &Series,
    previous: Option<&Series>,
) -> Vec<Line> {
    let zone = range.zone();
    let skipped = series.points.len().saturating_sub(MAX_LINES);
    let lines = series.points.iter().enumerate().skip(skipped).rev();
    let line = |(index, (at, tally)): (usize, &(Timestamp, Tally))| Line {
        at: zone.written(*at),
        shown: match range.step() {
            Step::Hour => language.moment(*at, zone),
            Step::Day => language.date(*at, zone),
            Step::Month => language.month(*at, zone),
        },
        clicks: language.number(tally.clicks),
        people: language.number(tally.people()),
        previous: previous
            .and_then(|previous| previous.points.get(index))
            .map(|(_, tally)| language.number(tally.clicks)),
    };
    lines.map(line).collect()
}

/// The parameters of the range for its export.
fn export(place: &ClicksPage, range: &SeriesRange) -> String {
    let mut query = Serializer::new(String::new());
    let range = [
        ("interval", range.step().as_str().to_owned()),
        ("from", range.from().to_string()),
        ("to", range.to().to_string()),
        ("tz", range.zone().name().to_owned()),
    ];
    query.extend_pairs(range).extend_pairs(&place.narrowed);
    query.finish()
}

//! Who followed links, on a page: tables with bars, each value of which narrows all of them.

use url::form_urlencoded::Serializer;

use super::clicks::{ClicksPage, ClicksRequest};
use super::page::{Site, grouped};
use crate::domain::{Dimension, Filter};
use crate::links::WantedBreakdown;
use crate::store::{Breakdown, ClickSum};

/// Rows of each table; all others together are one more.
const ROWS: u32 = 8;

/// Width of a bar in its own units.
const WIDTH: u64 = 1_000;

/// Who followed links, as a page shows it.
pub(super) struct BreakdownsView {
    /// Whether anything is kept of visitors.
    pub(super) are_on: bool,
    /// The filters, each with the address without it.
    pub(super) chips: Vec<Chip>,
    /// The address without any filter.
    pub(super) clear: String,
    /// Whether nothing passes the filters.
    pub(super) is_empty: bool,
    pub(super) clicks: String,
    pub(super) people: String,
    pub(super) tables: Vec<Table>,
}

/// A filter.
pub(super) struct Chip {
    pub(super) title: &'static str,
    pub(super) value: Value,
    pub(super) path: String,
}

/// Clicks by one dimension.
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) rows: Vec<BreakdownRow>,
}

/// A line of a table.
pub(super) struct BreakdownRow {
    pub(super) value: Value,
    /// The address that adds or removes this filter; empty in the row of all other values together.
    pub(super) path: String,
    pub(super) is_filter: bool,
    pub(super) clicks: String,
    pub(super) people: String,
    /// Widths of the bar's two parts: people, and known bots.
    pub(super) width: u64,
    pub(super) rest: u64,
}

/// A value in a person's words.
pub(super) struct Value {
    pub(super) text: String,
    /// Whether it is the code of a country, whose name the page's script knows.
    pub(super) is_country: bool,
    /// Whether it stands for no value.
    pub(super) is_word: bool,
}

impl Value {
    fn of(dimension: Dimension, value: Option<&str>) -> Self {
        let word = |text: &str| Self {
            text: text.to_owned(),
            is_country: false,
            is_word: true,
        };
        match (dimension, value) {
            (Dimension::Rule, None) => word("no rule"),
            (_, None) => word("unknown"),
            (Dimension::Referrer, Some(Dimension::IMPORTED)) => word("counted before the import"),
            (Dimension::Bot, Some("true")) => word("known bots"),
            (Dimension::Bot, Some("false")) => word("people"),
            (_, Some(value)) => Self {
                text: value.to_owned(),
                is_country: dimension == Dimension::Country,
                is_word: false,
            },
        }
    }
}

/// What is asked of the service.
pub(super) fn wanted(asked: &ClicksRequest) -> WantedBreakdown {
    WantedBreakdown {
        range: asked.range.clone(),
        filters: asked.filters.clone(),
        limit: ROWS,
    }
}

/// Clicks that other services counted before the import, if such clicks are among those shown; otherwise empty.
pub(super) fn imported(found: &[Breakdown]) -> String {
    let rows = found.first().map(|by_referrer| &by_referrer.rows);
    let mut rows = rows.into_iter().flatten();
    let imported = rows.find(|(value, _)| value.as_deref() == Some(Dimension::IMPORTED));
    imported.map_or_else(String::new, |(_, sum)| grouped(sum.clicks))
}

impl BreakdownsView {
    /// `found` is in the order of [`Dimension::OF_VISITORS`].
    pub(super) fn new(
        place: &ClicksPage,
        asked: &ClicksRequest,
        found: Vec<Breakdown>,
        site: &Site,
    ) -> Self {
        let filters = &asked.filters;
        let path = |filters: &[Filter]| address(place, asked, filters);
        let without = |dimension: Dimension| {
            let others = filters.iter().filter(|(other, _)| *other != dimension);
            others.cloned().collect::<Vec<_>>()
        };
        let chip = |(dimension, value): &Filter| Chip {
            title: title(*dimension),
            value: Value::of(*dimension, value.as_deref()),
            path: path(&without(*dimension)),
        };
        let total = found.first().map(|found| found.total).unwrap_or_default();
        let table = |(dimension, found): (Dimension, Breakdown)| {
            let of_rows = found.rows.iter().map(|(_, sum)| sum.clicks);
            let largest = of_rows.chain([found.other.clicks]).max();
            let largest = largest.unwrap_or_default();
            let mut rows = Vec::with_capacity(found.rows.len() + 1);
            for (value, sum) in found.rows {
                let shown = Value::of(dimension, value.as_deref());
                let filter = (dimension, value);
                let is_filter = filters.contains(&filter);
                let mut narrowed = without(dimension);
                if !is_filter {
                    narrowed.push(filter);
                }
                rows.push(BreakdownRow {
                    path: path(&narrowed),
                    is_filter,
                    ..BreakdownRow::new(shown, sum, largest)
                });
            }
            if found.other.clicks > 0 {
                let other = Value {
                    is_word: true,
                    ..Value::of(Dimension::Referrer, Some(Dimension::OTHER))
                };
                rows.push(BreakdownRow::new(other, found.other, largest));
            }
            Table {
                name: dimension.as_str(),
                title: title(dimension),
                rows,
            }
        };
        Self {
            are_on: site.keeps_classes(),
            chips: filters.iter().map(chip).collect(),
            clear: path(&[]),
            is_empty: total.clicks == 0,
            clicks: grouped(total.clicks),
            people: grouped(total.people),
            tables: Dimension::OF_VISITORS
                .into_iter()
                .zip(found)
                .map(table)
                .collect(),
        }
    }
}

impl BreakdownRow {
    /// A row without an address.
    fn new(value: Value, sum: ClickSum, largest: u64) -> Self {
        let (width, rest) = parts(sum, largest);
        Self {
            value,
            path: String::new(),
            is_filter: false,
            clicks: grouped(sum.clicks),
            people: grouped(sum.people),
            width,
            rest,
        }
    }
}

/// Widths of a bar's two parts. One with clicks is seen, however few they are.
fn parts(sum: ClickSum, largest: u64) -> (u64, u64) {
    let scaled = |clicks: u64| {
        let width = u128::from(clicks) * u128::from(WIDTH) / u128::from(largest.max(1));
        u64::try_from(width).unwrap_or(WIDTH).min(WIDTH)
    };
    let whole = scaled(sum.clicks).max(if sum.clicks > 0 { WIDTH / 200 } else { 0 });
    let people = if sum.people >= sum.clicks {
        whole
    } else {
        scaled(sum.people)
    };
    (people, whole.saturating_sub(people))
}

/// The page's address with other filters.
fn address(place: &ClicksPage, asked: &ClicksRequest, filters: &[Filter]) -> String {
    let mut query = Serializer::new(String::new());
    query.extend_pairs(asked.given.iter().map(|(name, value)| (*name, value)));
    query.extend_pairs(place.kept(filters));
    match query.finish() {
        query if query.is_empty() => place.path.clone(),
        query => format!("{}?{query}", place.path),
    }
}

/// A dimension in a person's words.
fn title(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Referrer => "Referrer",
        Dimension::Country => "Country",
        Dimension::Browser => "Browser",
        Dimension::Os => "System",
        Dimension::Device => "Device",
        Dimension::Rule => "Rule",
        Dimension::Code => "Code",
        Dimension::Bot => "Bots",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_bar_is_seen_and_within_its_width(largest: u64, clicks: u64, people: u64) {
            let clicks = clicks.min(largest);
            let (width, rest) = parts(ClickSum { clicks, people: people.min(clicks) }, largest);
            prop_assert!(width + rest <= WIDTH);
            prop_assert_eq!(width + rest > 0, clicks > 0);
        }
    }
}

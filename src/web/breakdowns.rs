//! Who followed links, on a page: cards with bars, each value of which narrows the page.

use super::clicks::{ClicksPage, ClicksRequest, without};
use super::countries;
use super::language::Language;
use super::page::Site;
use crate::domain::{Dimension, Filter};
use crate::links::WantedBreakdown;
use crate::store::{Breakdown, ClickSum};

/// Rows of each table; all others together are one more.
const ROWS: u32 = 8;

/// Width of a bar in its own units.
const WIDTH: u64 = 1_000;

/// The cards, each with its tables.
const CARDS: [&[Dimension]; 4] = [
    &[Dimension::Referrer],
    &[Dimension::Country],
    &[Dimension::Device, Dimension::Browser, Dimension::Os],
    &[Dimension::Rule],
];

/// Who followed links, as a page shows it.
pub(super) struct BreakdownsView {
    /// Whether anything is kept of visitors.
    pub(super) are_on: bool,
    /// The filters, each with the address without it. That of bots is a switch of its own.
    pub(super) chips: Vec<Chip>,
    /// The address without any filter.
    pub(super) clear: String,
    /// Whether nothing passes the filters.
    pub(super) is_empty: bool,
    pub(super) cards: Vec<Card>,
}

/// A filter.
pub(super) struct Chip {
    pub(super) title: &'static str,
    pub(super) value: Value,
    pub(super) path: String,
}

/// Tables one of which is shown.
pub(super) struct Card {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) tables: Vec<Table>,
}

/// Clicks by one dimension.
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) is_shown: bool,
    pub(super) rows: Vec<BreakdownRow>,
}

/// A line of a table.
pub(super) struct BreakdownRow {
    pub(super) value: Value,
    /// The address that adds or removes this filter; empty in the row of all other values together.
    pub(super) path: String,
    pub(super) is_filter: bool,
    pub(super) clicks: String,
    /// The part of all clicks, in per cent.
    pub(super) share: String,
    /// Widths of the bar's two parts: people, and known bots.
    pub(super) width: u64,
    pub(super) rest: u64,
}

/// A value in a person's words.
pub(super) struct Value {
    pub(super) text: String,
    /// Of a country.
    pub(super) flag: String,
    /// Whether it stands for no value.
    pub(super) is_word: bool,
}

impl Value {
    fn of(language: Language, dimension: Dimension, value: Option<&str>) -> Self {
        let shown = |text: &str, is_word: bool| Self {
            text: text.to_owned(),
            flag: String::new(),
            is_word,
        };
        match (dimension, value) {
            (Dimension::Referrer, None) => shown(language.text("visitors_direct"), true),
            (Dimension::Rule, None) => shown(language.text("visitors_no_rule"), true),
            (_, None) => shown(language.text("visitors_unknown"), true),
            (Dimension::Referrer, Some(Dimension::IMPORTED)) => {
                shown(language.text("visitors_imported"), true)
            }
            (Dimension::Country, Some(code)) => Self {
                text: countries::name(language, code).to_owned(),
                flag: countries::flag(code),
                is_word: false,
            },
            (Dimension::Device, Some(device)) => shown(device_name(language, device), false),
            (_, Some(value)) => shown(value, false),
        }
    }
}

/// A kind of device in a person's words.
fn device_name(language: Language, device: &str) -> &str {
    match device {
        "desktop" => language.text("visitors_desktop"),
        "phone" => language.text("visitors_phone"),
        "tablet" => language.text("visitors_tablet"),
        "tv" => language.text("visitors_tv"),
        "console" => language.text("visitors_console"),
        other => other,
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
pub(super) fn imported(language: Language, found: &[Breakdown]) -> String {
    let rows = found.first().map(|by_referrer| &by_referrer.rows);
    let mut rows = rows.into_iter().flatten();
    let imported = rows.find(|(value, _)| value.as_deref() == Some(Dimension::IMPORTED));
    imported.map_or_else(String::new, |(_, sum)| {
        language.with("clicks_imported", &[("n", &language.number(sum.clicks))])
    })
}

impl BreakdownsView {
    /// `found` is in the order of [`Dimension::OF_VISITORS`].
    pub(super) fn new(
        language: Language,
        place: &ClicksPage,
        asked: &ClicksRequest,
        found: Vec<Breakdown>,
        site: &Site,
    ) -> Self {
        let filters = &asked.filters;
        let path = |filters: &[Filter]| place.address(&asked.given, filters);
        let chip = |(dimension, value): &Filter| Chip {
            title: title(language, *dimension),
            value: Value::of(language, *dimension, value.as_deref()),
            path: path(&without(filters, *dimension)),
        };
        let chips = filters.iter().filter(|(by, _)| *by != Dimension::Bot);
        let total = found.first().map(|found| found.total).unwrap_or_default();
        let mut found: Vec<_> = Dimension::OF_VISITORS.into_iter().zip(found).collect();
        let mut table = |dimension: Dimension| {
            let at = found.iter().position(|(by, _)| *by == dimension)?;
            let (_, found) = found.swap_remove(at);
            // A link without rules has nothing to say of them.
            let is_known = found.rows.iter().any(|(value, _)| value.is_some());
            (dimension != Dimension::Rule || is_known)
                .then(|| Table::of(language, dimension, found, filters, path))
        };
        let card = |dimensions: &&'static [Dimension]| {
            let first = *dimensions.first()?;
            let mut tables: Vec<_> = dimensions.iter().filter_map(|by| table(*by)).collect();
            let shown = tables
                .iter()
                .position(|table| table.rows.iter().any(|row| row.is_filter));
            tables.get_mut(shown.unwrap_or_default())?.is_shown = true;
            Some(Card {
                name: first.as_str(),
                title: title(language, first),
                tables,
            })
        };
        Self {
            are_on: site.keeps_classes(),
            chips: chips.map(chip).collect(),
            clear: path(&[]),
            is_empty: total.clicks == 0,
            cards: CARDS.iter().filter_map(card).collect(),
        }
    }
}

impl Table {
    fn of(
        language: Language,
        dimension: Dimension,
        found: Breakdown,
        filters: &[Filter],
        path: impl Fn(&[Filter]) -> String,
    ) -> Self {
        let of_rows = found.rows.iter().map(|(_, sum)| sum.clicks);
        let largest = of_rows.chain([found.other.clicks]).max();
        let largest = largest.unwrap_or_default();
        let row = |value, sum: ClickSum| {
            let (width, rest) = parts(sum, largest);
            BreakdownRow {
                value,
                path: String::new(),
                is_filter: false,
                clicks: language.number(sum.clicks),
                share: language.percent(sum.clicks, found.total.clicks),
                width,
                rest,
            }
        };
        let mut rows = Vec::with_capacity(found.rows.len() + 1);
        for (value, sum) in found.rows {
            let shown = Value::of(language, dimension, value.as_deref());
            let filter = (dimension, value);
            let is_filter = filters.contains(&filter);
            let mut narrowed = without(filters, dimension);
            if !is_filter {
                narrowed.push(filter);
            }
            rows.push(BreakdownRow {
                path: path(&narrowed),
                is_filter,
                ..row(shown, sum)
            });
        }
        if found.other.clicks > 0 {
            let other = Value {
                text: language.text("visitors_other").to_owned(),
                flag: String::new(),
                is_word: true,
            };
            rows.push(row(other, found.other));
        }
        Self {
            name: dimension.as_str(),
            title: title(language, dimension),
            is_shown: false,
            rows,
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

/// A dimension in a person's words.
fn title(language: Language, dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Referrer => language.text("visitors_referrers"),
        Dimension::Country => language.text("visitors_countries"),
        Dimension::Browser => language.text("visitors_browsers"),
        Dimension::Os => language.text("visitors_systems"),
        Dimension::Device => language.text("visitors_devices"),
        Dimension::Rule => language.text("visitors_rules"),
        Dimension::Code => language.text("link_codes"),
        Dimension::Bot => language.text("clicks_of_bots"),
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

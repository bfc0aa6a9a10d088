//! The languages of the pages, and the texts of the pages in them.
//!
//! Each language has a folder in `languages/`, with one file for each area of the pages. A line is `name = text`. A text may
//! have places for values, such as `{n}`; a text that depends on a number is two: `NAME_one` and `NAME_other`.

mod refusals;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::http::HeaderMap;
use axum::http::header::ACCEPT_LANGUAGE;

use super::cookies::cookie;
use crate::domain::{Timestamp, Zone};
use crate::http::ranked;

/// The cookie with the tag of the language that the account of this browser chose.
pub(super) const COOKIE: &str = "shunt_language";

/// A language that the pages have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Language(usize);

/// The files of a language.
macro_rules! folder {
    ($tag:literal, $name:literal) => {
        (
            $tag,
            $name,
            [
                include_str!(concat!("languages/", $tag, "/account.txt")),
                include_str!(concat!("languages/", $tag, "/administration.txt")),
                include_str!(concat!("languages/", $tag, "/factors.txt")),
                include_str!(concat!("languages/", $tag, "/faults.txt")),
                include_str!(concat!("languages/", $tag, "/frame.txt")),
                include_str!(concat!("languages/", $tag, "/groups.txt")),
                include_str!(concat!("languages/", $tag, "/hooks.txt")),
                include_str!(concat!("languages/", $tag, "/import.txt")),
                include_str!(concat!("languages/", $tag, "/invitations.txt")),
                include_str!(concat!("languages/", $tag, "/link.txt")),
                include_str!(concat!("languages/", $tag, "/list.txt")),
                include_str!(concat!("languages/", $tag, "/mail.txt")),
                include_str!(concat!("languages/", $tag, "/oidc.txt")),
                include_str!(concat!("languages/", $tag, "/passkeys.txt")),
                include_str!(concat!("languages/", $tag, "/rules.txt")),
                include_str!(concat!("languages/", $tag, "/statements.txt")),
                include_str!(concat!("languages/", $tag, "/tools.txt")),
                include_str!(concat!("languages/", $tag, "/visitors.txt")),
            ],
        )
    };
}

/// The tag of each language, its own name, and its texts. English comes first: people whose languages are unknown get it.
const FOLDERS: [(&str, &str, [&str; 18]); 7] = [
    folder!("en", "English"),
    folder!("de", "Deutsch"),
    folder!("fr", "Français"),
    folder!("es", "Español"),
    folder!("pt", "Português"),
    folder!("zh", "中文"),
    folder!("ja", "日本語"),
];

type Texts = BTreeMap<&'static str, &'static str>;

static TEXTS: LazyLock<[Texts; 7]> = LazyLock::new(|| {
    FOLDERS.map(|(_, _, files)| {
        let lines = files.into_iter().flat_map(str::lines);
        lines.filter_map(|line| line.split_once(" = ")).collect()
    })
});

impl Language {
    /// What people get whose languages the pages do not have.
    pub(super) const ENGLISH: Self = Self(0);

    /// The tag and the own name of each language.
    pub(super) fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
        FOLDERS.iter().map(|(tag, name, _)| (*tag, *name))
    }

    /// The language with this tag.
    pub(super) fn tagged(tag: &str) -> Option<Self> {
        let mut folders = FOLDERS.iter();
        let place = folders.position(|(known, ..)| known.eq_ignore_ascii_case(tag));
        place.map(Self)
    }

    /// The language that a person likes best, by the `Accept-Language` header.
    pub(super) fn of(accepted: &str) -> Self {
        let mut best = (Self::ENGLISH, 0);
        for (tag, weight) in ranked(accepted) {
            let known = Self::tagged(tag.split('-').next().unwrap_or_default());
            if let Some(found) = known.filter(|_| weight > best.1) {
                best = (found, weight);
            }
        }
        best.0
    }

    /// The language of a request with these headers: as its account chose, whether it is signed in or not, or as its browser does.
    pub(super) fn of_headers(headers: &HeaderMap) -> Self {
        let chosen = cookie(headers, COOKIE).and_then(|tag| Self::tagged(&tag));
        let accepted = || {
            let accepted = headers.get(ACCEPT_LANGUAGE);
            let accepted = accepted.and_then(|accepted| accepted.to_str().ok());
            Self::of(accepted.unwrap_or_default())
        };
        chosen.unwrap_or_else(accepted)
    }

    /// Its tag, for `lang`.
    pub(super) fn tag(self) -> &'static str {
        FOLDERS[self.0].0
    }

    /// A number, with what the language has between thousands.
    pub(super) fn number(self, number: u64) -> String {
        let separator = match self.tag() {
            "de" | "es" | "pt" => '.',
            "fr" => '\u{202f}',
            _ => ',',
        };
        let digits = number.to_string();
        let mut grouped = String::with_capacity(digits.len() + digits.len());
        for (place, digit) in digits.chars().enumerate() {
            if place > 0 && (digits.len() - place).is_multiple_of(3) {
                grouped.push(separator);
            }
            grouped.push(digit);
        }
        grouped
    }

    /// A text. A name that no file has is a defect, which a test finds.
    pub(super) fn text(self, name: &str) -> &'static str {
        TEXTS[self.0].get(name).copied().unwrap_or_default()
    }

    /// A text with these values in the places with their names.
    pub(super) fn with(self, name: &str, values: &[(&str, &str)]) -> String {
        filled(self.text(name), values)
    }

    /// A text about this many things: `NAME_one` or `NAME_other`, with the number in the place `{n}`.
    pub(super) fn count(self, name: &str, n: u64) -> String {
        let is_one = match self.tag() {
            "fr" | "pt" => n < 2,
            _ => n == 1,
        };
        let end = if is_one { "one" } else { "other" };
        self.with(&format!("{name}_{end}"), &[("n", &self.number(n))])
    }

    /// A day in a zone.
    pub(super) fn date(self, moment: Timestamp, zone: &Zone) -> String {
        self.day_with("date", moment, zone)
    }

    /// A day in a zone, in the form of a text.
    fn day_with(self, name: &str, moment: Timestamp, zone: &Zone) -> String {
        let date = zone.date_at(moment);
        let mut months = self.text("months").split(' ');
        let month = months.nth(usize::from(date.month().unsigned_abs()) - 1);
        let (year, day) = (date.year().to_string(), date.day().to_string());
        let values = [
            ("year", &*year),
            ("month", month.unwrap_or_default()),
            ("day", &day),
        ];
        self.with(name, &values)
    }

    /// A month of a zone, with its year.
    pub(super) fn month(self, moment: Timestamp, zone: &Zone) -> String {
        self.day_with("date_of_month", moment, zone)
    }

    /// A day in a zone, without its year.
    pub(super) fn day(self, moment: Timestamp, zone: &Zone) -> String {
        self.day_with("date_of_day", moment, zone)
    }

    /// A part of a whole in per cent, rounded.
    pub(super) fn percent(self, part: u64, whole: u64) -> String {
        let whole = u128::from(whole.max(1));
        let percent = (u128::from(part) * 200 + whole) / (2 * whole);
        let percent = self.number(u64::try_from(percent).unwrap_or(u64::MAX));
        self.with("percent", &[("n", &percent)])
    }

    /// A moment to the minute in UTC.
    pub(super) fn minute(self, moment: Timestamp) -> String {
        format!("{} UTC", self.moment(moment, &Zone::UTC))
    }

    /// A moment to the minute in a zone, without the zone's name.
    pub(super) fn moment(self, moment: Timestamp, zone: &Zone) -> String {
        let time = zone.time_at(moment);
        self.with(
            "moment",
            &[("date", &self.date(moment, zone)), ("time", &time)],
        )
    }
}

/// A text with values in its places. A value is not looked at for places again.
fn filled(text: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let Some((name, after)) = after.split_once('}') else {
            rest = after;
            break;
        };
        let mut values = values.iter();
        filled.push_str(
            values
                .find(|(known, _)| *known == name)
                .map_or("", |(_, value)| value),
        );
        rest = after;
    }
    filled.push_str(rest);
    filled
}

#[cfg(test)]
mod tests;

//! Rules in plain words.

use super::conditions::{Conditions, Language, OneOf, QueryPairs};
use super::rule::{Leads, Rule, SplitTarget};
use crate::domain::Timestamp;

impl Rule {
    /// What it says: "On a phone, in Germany or Austria, from 2027-05-01: https://…".
    #[must_use]
    pub fn sentence(&self) -> String {
        format!("{}: {}", self.whom(), self.leads.sentence())
    }

    /// Whom it is for.
    #[must_use]
    pub fn whom(&self) -> String {
        let asked = self.when.clone().unwrap_or_default();
        asked.sentence()
    }
}

impl Leads {
    /// Where it leads.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::To(target) => target.as_str().to_owned(),
            Self::Split(split) => {
                let whole: f64 = split.weights().map(f64::from).sum();
                let part = |target: &SplitTarget| {
                    let percent = f64::from(target.weight) / whole * 100.0;
                    let percent = format!("{percent:.1}");
                    let percent = percent.strip_suffix(".0").unwrap_or(&percent);
                    format!("{percent} % to {}", target.target.as_str())
                };
                let parts: Vec<_> = split.targets.iter().map(part).collect();
                let parts = parts.join(", ");
                if split.is_sticky() {
                    format!("{parts}, the same all day for each visitor")
                } else {
                    parts
                }
            }
        }
    }
}

impl Conditions {
    /// Whom it is for, as the beginning of a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let quoted = |text: &str| format!("\u{201c}{text}\u{201d}");
        let parts = [
            joined(self.device.as_ref(), "on ", |device| match *device {
                "tv" => "a TV".to_owned(),
                "console" => "a game console".to_owned(),
                device => format!("a {device}"),
            }),
            joined(self.os.as_ref(), "with ", |os| (*os).to_owned()),
            joined(self.browser.as_ref(), "in ", |browser| {
                (*browser).to_owned()
            }),
            joined(self.bot.as_ref(), "for ", |is_bot| {
                if *is_bot { "known bots" } else { "people" }.to_owned()
            }),
            joined(self.country.as_ref(), "in ", |letters| country(*letters)),
            joined(self.language.as_ref(), "reading ", language),
            joined(self.query.as_ref(), "with ", |QueryPairs(pairs)| {
                let pair = |(name, value): &(Box<str>, Option<Box<str>>)| match value {
                    Some(value) => quoted(&format!("{name}={value}")),
                    None => format!("any {}", quoted(name)),
                };
                let pairs: Vec<_> = pairs.iter().map(pair).collect();
                format!("{} in the query", pairs.join(" and "))
            }),
            joined(self.address.as_ref(), "from the network ", |network| {
                network.to_string()
            }),
            self.after.map(|at| format!("from {}", moment(at))),
            self.before.map(|at| format!("until {}", moment(at))),
        ];
        let said: Vec<_> = parts.into_iter().flatten().collect();
        let said = said.join(", ");
        let mut letters = said.chars();
        match letters.next() {
            None => "For everybody".to_owned(),
            Some(first) => first.to_uppercase().chain(letters).collect(),
        }
    }
}

/// Values with commas and "or" between them.
fn joined<T>(asked: Option<&OneOf<T>>, before: &str, say: impl Fn(&T) -> String) -> Option<String> {
    let (last, others) = asked?.values.split_last()?;
    let last = say(last);
    let others: Vec<_> = others.iter().map(say).collect();
    Some(if others.is_empty() {
        format!("{before}{last}")
    } else {
        format!("{before}{} or {last}", others.join(", "))
    })
}

/// Countries that are asked for most, by their names; the others by their letters.
fn country(letters: [u8; 2]) -> String {
    let name = match &letters {
        b"AT" => "Austria",
        b"AU" => "Australia",
        b"BE" => "Belgium",
        b"BR" => "Brazil",
        b"CA" => "Canada",
        b"CH" => "Switzerland",
        b"CN" => "China",
        b"CZ" => "Czechia",
        b"DE" => "Germany",
        b"DK" => "Denmark",
        b"ES" => "Spain",
        b"FI" => "Finland",
        b"FR" => "France",
        b"GB" => "the United Kingdom",
        b"IE" => "Ireland",
        b"IN" => "India",
        b"IT" => "Italy",
        b"JP" => "Japan",
        b"KR" => "South Korea",
        b"LU" => "Luxembourg",
        b"MX" => "Mexico",
        b"NL" => "the Netherlands",
        b"NO" => "Norway",
        b"PL" => "Poland",
        b"PT" => "Portugal",
        b"SE" => "Sweden",
        b"UA" => "Ukraine",
        b"US" => "the United States",
        _ => return String::from_utf8_lossy(&letters).into(),
    };
    name.to_owned()
}

fn language(language: &Language) -> String {
    let name = match language.as_str().to_ascii_lowercase().as_str() {
        "*" => "any language",
        "de" => "German",
        "en" => "English",
        "es" => "Spanish",
        "fr" => "French",
        "it" => "Italian",
        "ja" => "Japanese",
        "nl" => "Dutch",
        "pl" => "Polish",
        "pt" => "Portuguese",
        "uk" => "Ukrainian",
        "zh" => "Chinese",
        _ => language.as_str(),
    };
    name.to_owned()
}

/// A moment in UTC, without what is zero.
fn moment(at: Timestamp) -> String {
    let written = at.to_string();
    let written = written.trim_end_matches('Z');
    match written.split_once('T') {
        Some((date, "00:00:00")) => date.to_owned(),
        Some((date, time)) => format!("{date} {} UTC", time.strip_suffix(":00").unwrap_or(time)),
        None => written.to_owned(),
    }
}

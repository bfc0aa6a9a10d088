//! What rules say, in the language of their owner.

use super::countries;
use super::language::Language;
use crate::domain::rules::{Conditions, Leads, OneOf, QueryPair, Rule};
use crate::domain::{Timestamp, Zone};

/// Whom a rule is for.
pub(super) fn whom(language: Language, rule: &Rule) -> String {
    let Some(when) = &rule.when else {
        return language.text("rule_everybody").to_owned();
    };
    let words = Words { language };
    let said: Vec<_> = words.all(when).into_iter().flatten().collect();
    let said = said.join(", ");
    let mut letters = said.chars();
    match letters.next() {
        None => language.text("rule_everybody").to_owned(),
        Some(first) => first.to_uppercase().chain(letters).collect(),
    }
}

/// Where a rule leads.
pub(super) fn leads(language: Language, leads: &Leads) -> String {
    let split = match leads {
        Leads::To(target) => return target.as_str().to_owned(),
        Leads::Split(split) => split,
    };
    let whole = split.weights().map(u64::from).sum();
    let part = |target: &crate::domain::rules::SplitTarget| {
        let share = language.percent(target.weight.into(), whole);
        let values = [("share", &*share), ("target", target.target.as_str())];
        language.with("rule_share", &values)
    };
    let parts: Vec<_> = split.targets.iter().map(part).collect();
    let parts = parts.join(", ");
    if split.is_sticky() {
        language.with("rule_sticky", &[("targets", &parts)])
    } else {
        parts
    }
}

/// The name of the text for a kind of device.
pub(super) fn device(kind: &str) -> &'static str {
    match kind {
        "desktop" => "rules_desktop",
        "phone" => "rules_phone",
        "tablet" => "rules_tablet",
        "tv" => "rules_tv",
        "console" => "rules_console",
        _ => "rules_unknown",
    }
}

struct Words {
    language: Language,
}

impl Words {
    /// Each condition in a few words.
    fn all(&self, when: &Conditions) -> [Option<String>; 10] {
        let named = |value: &&'static str| (*value).to_owned();
        [
            self.one_of("rule_on", when.device.as_ref(), |device| {
                let name = match *device {
                    "desktop" => "rule_desktop",
                    "phone" => "rule_phone",
                    "tablet" => "rule_tablet",
                    "tv" => "rule_tv",
                    _ => "rule_console",
                };
                self.language.text(name).to_owned()
            }),
            self.one_of("rule_with", when.os.as_ref(), named),
            self.one_of("rule_browser", when.browser.as_ref(), named),
            self.one_of("rule_for", when.bot.as_ref(), |is_bot| {
                let name = if *is_bot { "rule_bots" } else { "rule_people" };
                self.language.text(name).to_owned()
            }),
            self.one_of("rule_in", when.country.as_ref(), |letters| {
                let letters = String::from_utf8_lossy(letters);
                countries::name(self.language, &letters).to_owned()
            }),
            self.one_of("rule_reading", when.language.as_ref(), |range| {
                self.named_language(range.as_str())
            }),
            self.one_of("rule_query", when.query.as_ref(), |pairs| {
                let pairs: Vec<_> = pairs.0.iter().map(|pair| self.pair(pair)).collect();
                self.joined("rule_and", &pairs)
            }),
            self.one_of("rule_network", when.address.as_ref(), ToString::to_string),
            when.after.map(|at| self.moment("rule_after", at)),
            when.before.map(|at| self.moment("rule_before", at)),
        ]
    }

    /// Values of which one is enough.
    fn one_of<T>(
        &self,
        name: &str,
        asked: Option<&OneOf<T>>,
        say: impl Fn(&T) -> String,
    ) -> Option<String> {
        let values: Vec<_> = asked?.values.iter().map(say).collect();
        let values = self.joined("rule_or", &values);
        Some(self.language.with(name, &[("values", &values)]))
    }

    /// Values with commas between them, and a word before the last.
    fn joined(&self, word: &str, values: &[String]) -> String {
        match values {
            [] => String::new(),
            [only] => only.clone(),
            [others @ .., last] => {
                let others = others.join(", ");
                let values = [("others", &*others), ("last", last)];
                self.language.with(word, &values)
            }
        }
    }

    fn pair(&self, (name, value): &QueryPair) -> String {
        if let Some(value) = value {
            return format!("\u{201c}{name}={value}\u{201d}");
        }
        let name = format!("\u{201c}{name}\u{201d}");
        self.language.with("rule_any", &[("name", &name)])
    }

    /// The name of a language that is asked for often; the others by their tags.
    fn named_language(&self, range: &str) -> String {
        let name = match &*range.to_ascii_lowercase() {
            "*" => "rule_reads_any",
            "de" => "rule_reads_de",
            "en" => "rule_reads_en",
            "es" => "rule_reads_es",
            "fr" => "rule_reads_fr",
            "it" => "rule_reads_it",
            "ja" => "rule_reads_ja",
            "nl" => "rule_reads_nl",
            "pl" => "rule_reads_pl",
            "pt" => "rule_reads_pt",
            "uk" => "rule_reads_uk",
            "zh" => "rule_reads_zh",
            _ => return range.to_owned(),
        };
        self.language.text(name).to_owned()
    }

    /// A moment in UTC, without what is zero.
    fn moment(&self, name: &str, at: Timestamp) -> String {
        let moment = match &*Zone::UTC.time_at(at) {
            "00:00" => self.language.date(at, &Zone::UTC),
            _ => self.language.minute(at),
        };
        self.language.with(name, &[("moment", &moment)])
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::{OwnHost, Rules};

    #[test]
    fn a_rule_is_a_sentence_in_each_language() {
        let list = json!([{
            "when": {"device": ["phone", "tablet"], "country": ["DE", "AT"], "bot": false,
                "query": {"a": "b", "c": null}, "after": "2027-05-01T12:30:00Z"},
            "split": [{"target_url": "https://example.org/a", "weight": 70}, {"target_url": "https://example.org/b", "weight": 30}],
            "sticky": true,
        }, {"target_url": "https://example.org/c"}]);
        let rules = Rules::parse(&list, &OwnHost::unknown()).unwrap().unwrap();
        let said = |tag, place: usize| {
            let (language, rule) = (Language::tagged(tag).unwrap(), &rules.as_slice()[place]);
            format!("{}: {}", whom(language, rule), leads(language, &rule.leads))
        };
        let german = said("de", 0);
        for part in [
            "Auf einem Telefon oder einem Tablet, für Menschen, in Deutschland oder Österreich",
            "mit \u{201c}a=b\u{201d} und beliebigem \u{201c}c\u{201d} in der Abfrage",
            "ab 1. Mai 2027, 12:30 UTC: ",
            "zu https://example.org/a",
            "für jeden Besucher den ganzen Tag dasselbe",
        ] {
            assert!(german.contains(part), "{german}");
        }
        assert_eq!(said("en", 1), "For everybody: https://example.org/c");
        for (tag, _) in Language::all() {
            assert!(!said(tag, 0).contains('{'), "{tag}");
        }
    }
}

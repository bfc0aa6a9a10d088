//! What the API says of a refusal, in the language of a person.

use std::sync::LazyLock;

use super::Language;

/// The API's sentences by the names of their texts: one `name = sentence` per line, with places such as `{n}` for values.
const SENTENCES: &str = include_str!("../languages/api.txt");

/// Places that only a number fits into.
const NUMBERS: [&str; 3] = ["n", "least", "most"];

/// The place of another sentence.
const FAULT: &str = "fault";

/// A sentence of the API: a name, and what stands between its places.
struct Sentence {
    name: String,
    first: &'static str,
    /// The name of each place, and what follows it.
    places: Vec<(&'static str, &'static str)>,
}

static ALL: LazyLock<Vec<Sentence>> = LazyLock::new(|| {
    let lines = SENTENCES.lines().filter_map(|line| line.split_once(" = "));
    lines
        .map(|(name, text)| Sentence::parse(name, text))
        .collect()
});

impl Sentence {
    fn parse(name: &str, text: &'static str) -> Self {
        let mut parts = text.split('{');
        let first = parts.next().unwrap_or_default();
        Self {
            name: format!("fault_{name}"),
            first,
            places: parts.filter_map(|part| part.split_once('}')).collect(),
        }
    }

    /// The values in the places; `None` if the text is another sentence.
    fn values<'a>(&self, text: &'a str) -> Option<Vec<(&'static str, &'a str)>> {
        let mut rest = text.strip_prefix(self.first)?;
        let mut values = Vec::new();
        let last = self.places.len().checked_sub(1);
        for (place, (name, after)) in self.places.iter().enumerate() {
            let end = if Some(place) == last {
                rest.len().checked_sub(after.len())
            } else {
                rest.find(after)
            }?;
            let (value, found) = rest.split_at_checked(end)?;
            rest = found.strip_prefix(after)?;
            // A number is nothing else.
            let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
            if NUMBERS.contains(name) && !is_number {
                return None;
            }
            values.push((*name, value));
        }
        rest.is_empty().then_some(values)
    }
}

impl Language {
    /// What the API says of a refusal, maybe after the name of a field, as a sentence for people.
    pub(in super::super) fn fault(self, said: &str) -> String {
        if let Some((text, link)) = of_one_link(said) {
            let text = self.fault(text);
            return self.with("fault_of_link", &[("text", &text), ("link", link)]);
        }
        if let Some((line, why)) = of_line(said) {
            return self.fault_of_line(line, why);
        }
        let (field, why) = said.split_once(": ").unwrap_or(("", said));
        let known = self.known_fault(why).or_else(|| self.known_fault(said));
        // What is no sentence of the API is a text for people already.
        let Some(text) = known else {
            return said.to_owned();
        };
        match rule_of(field) {
            None => text,
            Some(rule) => {
                let rule = self.number(rule);
                let values = [("n", &*rule), ("text", &text)];
                self.with("fault_rule", &values)
            }
        }
    }

    fn known_fault(self, why: &str) -> Option<String> {
        ALL.iter().find_map(|sentence| {
            let values = sentence.values(why)?;
            let shown = values.into_iter().map(|(name, value)| {
                let number = value.parse().ok().filter(|_| NUMBERS.contains(&name));
                let shown = match number {
                    Some(number) => self.number(number),
                    None if name == FAULT => self.fault(value),
                    None => value.to_owned(),
                };
                (name, shown)
            });
            let shown: Vec<_> = shown.collect();
            let values: Vec<_> = shown
                .iter()
                .map(|(name, value)| (*name, value.as_str()))
                .collect();
            Some(self.with(&sentence.name, &values))
        })
    }

    /// The fault of a line of a file, which may be of another format.
    fn fault_of_line(self, line: u64, why: &str) -> String {
        let format = why
            .strip_suffix("?)")
            .and_then(|why| why.rsplit_once(" (is this an export of "));
        let (why, format) = format.map_or((why, None), |(why, format)| (why, Some(format)));
        let text = match why.split_once(": ").filter(|(column, _)| *column != "row") {
            Some((column, _)) if self.known_fault(why).is_none() => {
                format!("{column}: {}", self.fault(why))
            }
            _ => self.fault(why),
        };
        let line = self.number(line);
        let values = [
            ("n", line.as_str()),
            ("text", &text),
            ("format", format.unwrap_or_default()),
        ];
        let name = if format.is_some() {
            "fault_line_format"
        } else {
            "fault_line"
        };
        self.with(name, &values)
    }
}

/// The number of a line of a table, and what is said of it.
fn of_line(said: &str) -> Option<(u64, &str)> {
    let (line, why) = said.strip_prefix("table: line ")?.split_once(": ")?;
    Some((line.parse().ok()?, why))
}

/// What is said of one of several links, and its code.
fn of_one_link(said: &str) -> Option<(&str, &str)> {
    let rest = said.strip_suffix("; no link was changed)")?;
    rest.rsplit_once(" (link ")
}

/// The number of the rule, from 1, that a field such as `rules[0].when` belongs to.
fn rule_of(field: &str) -> Option<u64> {
    let (place, _) = field.strip_prefix("rules[")?.split_once(']')?;
    Some(place.parse::<u64>().ok()?.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::TEXTS;
    use super::*;

    #[test]
    fn every_sentence_of_the_api_has_a_text() {
        for sentence in ALL.iter() {
            assert!(TEXTS[0].contains_key(&*sentence.name), "{}", sentence.name);
        }
        let faults = TEXTS[0].keys().filter(|name| name.starts_with("fault_"));
        assert_eq!(faults.count(), ALL.len() + 4, "a text has no sentence");
    }

    #[test]
    fn a_person_reads_why_a_field_is_refused() {
        let german = Language::tagged("de").unwrap();
        for (said, shown) in [
            ("must be at most 20", "Höchstens 20 sind möglich."),
            (
                "custom_code: is taken",
                "Dieser Code ist vergeben. Wählen Sie einen anderen.",
            ),
            (
                "aliases: spring is given twice",
                "spring kommt zweimal vor.",
            ),
            (
                "max_clicks: must be a whole number from 1 to 9",
                "Geben Sie eine ganze Zahl von 1 bis 9 ein.",
            ),
            (
                "rules[1].when.country: must be the two letters of a country, such as DE",
                "Regel 2: Geben Sie die zwei Buchstaben eines Landes ein, zum Beispiel DE.",
            ),
            ("Incorrect password", "Das Passwort ist falsch."),
            (
                "max_clicks: must be a whole number from 1 to 9007199254740991",
                "Geben Sie eine ganze Zahl von 1 bis 9.007.199.254.740.991 ein.",
            ),
            (
                "table: line 3: row: has 3 cells, but the header line has only 2",
                "Zeile 3: Diese Zeile hat 3 Zellen, die erste Zeile nennt aber nur 2 Spalten.",
            ),
            (
                "table: line 1: is not valid JSON at column 2: expected value (is this an export of Kutt?)",
                "Zeile 1: In Spalte 2 ist das kein gültiges JSON (expected value). Ist das ein Export von Kutt?",
            ),
            ("Die Suche ist zu lang.", "Die Suche ist zu lang."),
        ] {
            assert_eq!(german.fault(said), shown, "{said}");
        }
    }

    /// Sentences as the values of this crate say them: if one changes, its line in `api.txt` changes, too.
    #[test]
    fn the_sentences_are_those_of_the_api() {
        use crate::domain::{Password, TargetUrl, Timestamp};
        let known = |said: String| {
            let shown = Language::ENGLISH.fault(&said);
            assert_ne!(shown, said);
        };
        for raw in [
            "",
            "example.org",
            "https://a:b@example.org/",
            &format!("https://example.org/{}", "a".repeat(3000)),
        ] {
            known(
                TargetUrl::parse(raw, &crate::domain::OwnHost::unknown())
                    .unwrap_err()
                    .to_string(),
            );
        }
        for raw in ["tomorrow", "2027-01-31T18:00:00"] {
            known(raw.parse::<Timestamp>().unwrap_err().to_string());
        }
        known(
            Password::parse("short".to_owned())
                .err()
                .unwrap()
                .to_string(),
        );
    }

    proptest! {
        #[test]
        fn any_text_is_shown(said in "\\PC{0,80}|[a-z]{1,9}: must be at most [{}a-z]{0,9}") {
            prop_assert_eq!(Language::ENGLISH.fault(&said).is_empty(), said.is_empty());
        }
    }
}

//! One entry of a file, whatever its form: values by their names.

use std::borrow::Cow;
use std::collections::HashMap;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;
use shunt::domain::Timestamp;

/// Values by their names. `Long URL`, `long_url` and `longUrl` are one name: `longurl`.
#[derive(Debug, Default)]
pub(super) struct Record(HashMap<String, Value>);

/// A name without the characters and cases in which programs differ.
pub(super) fn plain_name(name: &str) -> String {
    let kept = name
        .chars()
        .filter(|character| !matches!(character, ' ' | '_' | '-'));
    kept.flat_map(char::to_lowercase).collect()
}

impl Record {
    /// Cells by the plain names of their columns.
    pub(super) fn of_cells<'a>(cells: impl Iterator<Item = (&'a String, &'a str)>) -> Self {
        let cells = cells.map(|(name, cell)| (name.clone(), Value::from(cell)));
        Self(cells.collect())
    }

    /// The members of a JSON object.
    pub(super) fn of_json(value: Value) -> Result<Self, String> {
        match value {
            Value::Object(members) => {
                let members = members.into_iter();
                Ok(Self(
                    members
                        .map(|(name, value)| (plain_name(&name), value))
                        .collect(),
                ))
            }
            _ => Err("is no JSON object".into()),
        }
    }

    /// The value with the first of these names that is there and not empty.
    fn value(&self, names: &[&str]) -> Option<&Value> {
        let mut values = names.iter().filter_map(|name| self.0.get(*name));
        values.find(|value| !value.is_null() && value.as_str() != Some(""))
    }

    /// A text; a number counts as its digits.
    pub(super) fn text(&self, names: &[&str]) -> Result<Option<Cow<'_, str>>, String> {
        match self.value(names) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(Cow::Borrowed(text))),
            Some(Value::Number(number)) => Ok(Some(Cow::Owned(number.to_string()))),
            Some(_) => Err(format!("{} is no text", name_of(names))),
        }
    }

    /// A whole number, as JSON or as text.
    pub(super) fn number(&self, names: &[&str]) -> Result<Option<u64>, String> {
        let Some(value) = self.value(names) else {
            return Ok(None);
        };
        let number = match value {
            Value::String(text) => text.trim().parse().ok(),
            value => value.as_u64(),
        };
        let refused = || format!("{}: {} is no whole number", name_of(names), shown(value));
        number.map(Some).ok_or_else(refused)
    }

    /// Yes or no, as JSON, and as databases write it.
    pub(super) fn flag(&self, names: &[&str]) -> Result<Option<bool>, String> {
        let Some(value) = self.value(names) else {
            return Ok(None);
        };
        let flag = match value {
            Value::Bool(flag) => Some(*flag),
            Value::Number(number) => match number.as_u64() {
                Some(0) => Some(false),
                Some(1) => Some(true),
                _ => None,
            },
            Value::String(text) => match text.trim().to_lowercase().as_str() {
                "true" | "t" | "1" | "yes" => Some(true),
                "false" | "f" | "0" | "no" => Some(false),
                _ => None,
            },
            _ => None,
        };
        let refused = || {
            format!(
                "{}: {} is neither true nor false",
                name_of(names),
                shown(value)
            )
        };
        flag.map(Some).ok_or_else(refused)
    }

    /// A moment: RFC 3339, or as databases write it, which is UTC where it has no zone.
    pub(super) fn time(&self, names: &[&str]) -> Result<Option<Timestamp>, String> {
        let Some(value) = self.value(names) else {
            return Ok(None);
        };
        let time = value.as_str().and_then(|text| {
            let zoned = text.parse().ok();
            zoned.or_else(|| in_utc(text.parse().ok()?))
        });
        let refused = || format!("{}: {} is no time", name_of(names), shown(value));
        time.map(Some).ok_or_else(refused)
    }

    /// Words: an array, or a text with one of these separators between. White space around a word is dropped.
    pub(super) fn words(&self, names: &[&str], separators: &[char]) -> Result<Vec<String>, String> {
        let refused = || format!("{} are no list of words", name_of(names));
        let words: Vec<&str> = match self.value(names) {
            None => Vec::new(),
            Some(Value::String(text)) => text.split(separators).collect(),
            Some(Value::Array(values)) => {
                let words = values
                    .iter()
                    .map(|value| value.as_str().ok_or_else(refused));
                words.collect::<Result<_, _>>()?
            }
            Some(_) => return Err(refused()),
        };
        let words = words
            .into_iter()
            .map(str::trim)
            .filter(|word| !word.is_empty());
        Ok(words.map(str::to_owned).collect())
    }

    /// A JSON object within; empty where there is none.
    pub(super) fn nested(&self, name: &str) -> Self {
        let value = self.0.get(name).cloned();
        value
            .and_then(|value| Self::of_json(value).ok())
            .unwrap_or_default()
    }
}

fn in_utc(time: DateTime) -> Option<Timestamp> {
    let moment = TimeZone::UTC.to_timestamp(time).ok()?;
    Timestamp::from_micros(moment.as_microsecond())
}

/// The first of several names stands for them all.
fn name_of(names: &[&str]) -> String {
    names.first().copied().unwrap_or_default().to_owned()
}

/// A value in a sentence, shortened.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    let start: String = text.chars().take(40).collect();
    let more = if start.len() < text.len() { "…" } else { "" };
    format!("`{start}{more}`")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(value: Value) -> Record {
        Record::of_json(value).unwrap()
    }

    #[test]
    fn names_are_found_however_they_are_written() {
        for name in ["Long URL", "long_url", "longUrl", "LONG-URL"] {
            assert_eq!(plain_name(name), "longurl");
        }
    }

    #[test]
    fn values_are_read_as_json_and_as_text() {
        let record = record(json!({
            "n": 5, "m": "5", "t": true, "f": "f", "w": ["a", " b "], "v": "a| b|",
            "z": "2027-01-31T18:00:00+01:00", "d": "2027-01-31 17:00:00", "none": null, "empty": "",
        }));
        assert_eq!(record.number(&["n"]), Ok(Some(5)));
        assert_eq!(record.number(&["m"]), Ok(Some(5)));
        assert_eq!(record.flag(&["t"]), Ok(Some(true)));
        assert_eq!(record.flag(&["f"]), Ok(Some(false)));
        assert_eq!(record.words(&["w"], &['|']), record.words(&["v"], &['|']));
        assert_eq!(record.time(&["z"]), record.time(&["d"]));
        assert_eq!(record.text(&["none", "empty", "m"]), Ok(Some("5".into())));
        for name in ["none", "empty", "absent"] {
            assert_eq!(record.number(&[name]), Ok(None), "{name}");
            assert_eq!(record.time(&[name]), Ok(None), "{name}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let record = record(
            json!({ "clicks": "many", "banned": 7, "end": "soon", "tags": 1, "long": "x".repeat(99) }),
        );
        assert_eq!(
            record.number(&["clicks"]).unwrap_err(),
            "clicks: `many` is no whole number"
        );
        assert_eq!(
            record.flag(&["banned"]).unwrap_err(),
            "banned: `7` is neither true nor false"
        );
        assert_eq!(record.time(&["end"]).unwrap_err(), "end: `soon` is no time");
        assert_eq!(
            record.words(&["tags"], &[',']).unwrap_err(),
            "tags are no list of words"
        );
        assert!(record.number(&["long"]).unwrap_err().len() < 80);
    }
}

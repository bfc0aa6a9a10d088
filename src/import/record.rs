//! One entry of a file, whatever its form: values by their names.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::domain::{InvalidTimestamp, Timestamp};

/// Largest number of clicks: up to here JSON numbers are exact everywhere.
const MAX_NUMBER: u64 = (1 << 53) - 1;

/// Values by their names. `Long URL`, `long_url` and `longUrl` are the same name.
#[derive(Debug, Default)]
pub(super) struct Record(Vec<(Arc<Column>, Cell)>);

/// The name of a value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Column {
    /// As the file has it.
    pub(super) name: String,
    plain: String,
}

/// No name is plain in this way.
const LEFT_OUT: &str = "\0";

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    /// As JSON has it; a table has texts only.
    Value(Value),
    /// A cell of a table that is no text, and what is wrong with it.
    Unreadable(Vec<u8>, &'static str),
}

impl Cell {
    pub(super) fn of_text(text: &str) -> Self {
        Self::Value(text.into())
    }

    /// The bytes of a cell in which it is kept.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        match self {
            Self::Value(Value::String(text)) => text.into_bytes(),
            Self::Value(value) => value.to_string().into_bytes(),
            Self::Unreadable(bytes, _) => bytes,
        }
    }
}

impl Column {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            plain: plain_name(name),
        }
    }

    /// The same, as the field with this name; without one the column is left out.
    pub(super) fn matched(&self, field: Option<&str>) -> Self {
        Self {
            name: self.name.clone(),
            plain: field.map_or_else(|| LEFT_OUT.to_owned(), plain_name),
        }
    }

    /// Whether nothing is read from it.
    pub(super) fn is_left_out(&self) -> bool {
        self.plain == LEFT_OUT
    }

    /// Whether a name means this column.
    pub(super) fn is(&self, name: &str) -> bool {
        plain(name).eq(self.plain.chars())
    }
}

/// A name without the characters and cases in which programs differ.
pub(super) fn plain_name(name: &str) -> String {
    plain(name).collect()
}

fn plain(name: &str) -> impl Iterator<Item = char> {
    let kept = name
        .chars()
        .filter(|character| !matches!(character, ' ' | '_' | '-'));
    kept.flat_map(char::to_lowercase)
}

impl Record {
    pub(super) fn of(cells: impl Iterator<Item = (Arc<Column>, Cell)>) -> Self {
        Self(cells.collect())
    }

    /// The members of a JSON object.
    pub(super) fn of_json(value: Value) -> Result<Self, &'static str> {
        let Value::Object(members) = value else {
            return Err("is not a JSON object");
        };
        let member =
            |(name, value): (String, Value)| (Arc::new(Column::new(&name)), Cell::Value(value));
        Ok(Self(members.into_iter().map(member).collect()))
    }

    /// The first of these names whose value is there and not empty.
    pub(super) fn find(&self, names: &[&str]) -> Option<(&str, &Cell)> {
        names.iter().find_map(|name| {
            let mut cells = self.0.iter().filter(|(column, _)| column.is(name));
            cells.find_map(|(column, cell)| match cell {
                Cell::Value(Value::Null) => None,
                Cell::Value(Value::String(text)) if text.is_empty() => None,
                cell => Some((column.name.as_str(), cell)),
            })
        })
    }

    /// The column with one of these names, as the file names it.
    pub(super) fn column(&self, names: &[&str]) -> Option<&str> {
        let mut columns = self.0.iter().map(|(column, _)| column);
        let found = columns.find(|column| names.iter().any(|name| column.is(name)));
        found.map(|column| column.name.as_str())
    }

    fn value(&self, names: &[&str]) -> Result<Option<(&str, &Value)>, String> {
        match self.find(names) {
            None => Ok(None),
            Some((name, Cell::Value(value))) => Ok(Some((name, value))),
            Some((name, Cell::Unreadable(bytes, why))) => Err(format!(
                "{name}: {} {why}",
                shown(&String::from_utf8_lossy(bytes))
            )),
        }
    }

    /// A text; a number counts as its digits.
    pub(super) fn text(&self, names: &[&str]) -> Result<Option<Cow<'_, str>>, String> {
        match self.value(names)? {
            None => Ok(None),
            Some((_, Value::String(text))) => Ok(Some(Cow::Borrowed(text))),
            Some((_, Value::Number(number))) => Ok(Some(Cow::Owned(number.to_string()))),
            Some((name, _)) => Err(format!("{name}: must be a string or a number")),
        }
    }

    /// A whole number of at least this size, as JSON or as text.
    pub(super) fn number(&self, names: &[&str], least: u64) -> Result<Option<u64>, String> {
        let Some((name, value)) = self.value(names)? else {
            return Ok(None);
        };
        let number: Option<u64> = match value {
            Value::String(text) => text.trim().parse().ok(),
            value => value.as_u64(),
        };
        let number = number.filter(|number| (least..=MAX_NUMBER).contains(number));
        let refused = || format!("{name}: must be a whole number from {least} to {MAX_NUMBER}");
        number.map(Some).ok_or_else(refused)
    }

    /// Yes or no, as JSON, and as spreadsheets and databases write it.
    pub(super) fn flag(&self, names: &[&str]) -> Result<Option<bool>, String> {
        let Some((name, value)) = self.value(names)? else {
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
        flag.map(Some)
            .ok_or_else(|| format!("{name}: must be true or false"))
    }

    /// A moment: RFC 3339, or as databases write it, which is UTC if it has no zone and that is allowed.
    pub(super) fn time(
        &self,
        names: &[&str],
        needs_zone: bool,
    ) -> Result<Option<Timestamp>, String> {
        let Some((name, value)) = self.value(names)? else {
            return Ok(None);
        };
        let text = value.as_str().unwrap_or_default();
        let time = match text.parse() {
            Err(InvalidTimestamp::NoZone | InvalidTimestamp::Malformed) if !needs_zone => {
                let local = text.parse().ok().and_then(in_utc);
                local.ok_or(InvalidTimestamp::Malformed)
            }
            time => time,
        };
        time.map(Some).map_err(|why| format!("{name}: {why}"))
    }

    /// Words: an array, or a text with one of these separators between: the first that it has. White space around a word is
    /// dropped.
    pub(super) fn words(&self, names: &[&str], separators: &[char]) -> Result<Vec<String>, String> {
        let Some((name, value)) = self.value(names)? else {
            return Ok(Vec::new());
        };
        let refused = || format!("{name}: must be a string or an array of strings");
        let words: Vec<&str> = match value {
            Value::String(text) => {
                let found = separators
                    .iter()
                    .find(|separator| text.contains(**separator));
                found.map_or_else(
                    || vec![text.as_str()],
                    |separator| text.split(*separator).collect(),
                )
            }
            Value::Array(values) => {
                // Some services have objects with a name.
                let words = values.iter().map(|value| {
                    let name = value.as_str().or_else(|| value["name"].as_str());
                    name.ok_or_else(refused)
                });
                words.collect::<Result<_, _>>()?
            }
            _ => return Err(refused()),
        };
        let words = words
            .into_iter()
            .map(str::trim)
            .filter(|word| !word.is_empty());
        Ok(words.map(str::to_owned).collect())
    }

    /// A JSON object within; empty if there is none.
    pub(super) fn nested(&self, name: &str) -> Self {
        match self.find(&[name]) {
            Some((_, Cell::Value(value))) => Self::of_json(value.clone()).unwrap_or_default(),
            _ => Self::default(),
        }
    }
}

fn in_utc(time: DateTime) -> Option<Timestamp> {
    let moment = TimeZone::UTC.to_timestamp(time).ok()?;
    Timestamp::from_micros(moment.as_microsecond())
}

/// A value in a sentence, shortened.
fn shown(text: &str) -> String {
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
            assert!(Column::new(name).is("long_url"));
        }
    }

    #[test]
    fn values_are_read_as_json_and_as_text() {
        let record = record(json!({
            "n": 5, "m": "5", "t": true, "f": "f", "w": ["a", " b, c "], "v": "a| b, c|",
            "z": "2027-01-31T18:00:00+01:00", "d": "2027-01-31 17:00:00", "none": null, "empty": "",
        }));
        assert_eq!(record.number(&["n"], 0), Ok(Some(5)));
        assert_eq!(record.number(&["m"], 0), Ok(Some(5)));
        assert_eq!(record.flag(&["t"]), Ok(Some(true)));
        assert_eq!(record.flag(&["f"]), Ok(Some(false)));
        assert_eq!(
            record.words(&["w"], &['|', ',']),
            record.words(&["v"], &['|', ','])
        );
        assert_eq!(record.time(&["z"], true), record.time(&["d"], false));
        assert_eq!(record.text(&["none", "empty", "m"]), Ok(Some("5".into())));
        for name in ["none", "empty", "absent"] {
            assert_eq!(record.number(&[name], 0), Ok(None), "{name}");
            assert_eq!(record.time(&[name], true), Ok(None), "{name}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_as_the_file_names_it() {
        let record = record(
            json!({ "Visit Count": "many", "banned": 7, "end": "soon", "day": "2027-01-31 17:00", "tags": 1, "most": -5 }),
        );
        let whole = "must be a whole number from 0 to 9007199254740991";
        assert_eq!(
            record.number(&["visit_count"], 0).unwrap_err(),
            format!("Visit Count: {whole}")
        );
        assert_eq!(
            record.number(&["most"], 0).unwrap_err(),
            format!("most: {whole}")
        );
        assert_eq!(
            record.flag(&["banned"]).unwrap_err(),
            "banned: must be true or false"
        );
        let malformed =
            "must be an RFC 3339 timestamp with a zone, such as 2027-01-31T18:00:00+01:00";
        assert_eq!(
            record.time(&["end"], false).unwrap_err(),
            format!("end: {malformed}")
        );
        assert!(
            record
                .time(&["day"], true)
                .unwrap_err()
                .starts_with("day: must ")
        );
        assert_eq!(
            record.words(&["tags"], &[',']).unwrap_err(),
            "tags: must be a string or an array of strings"
        );
    }
}

//! Entries of JSON: an array, an object in which such an array stands, or one object after the other (NDJSON).

use std::io::Read;
use std::rc::Rc;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::entry::{Entry, TakesEntries, unreadable};
use super::meter::{Meter, Metered, is_too_long};
use super::record::{Record, plain_name};
use crate::cli::client::Failure;

/// Members of an object in which the array of links stands, as the APIs of other services have it.
const WRAPPERS: [&str; 4] = ["data", "links", "shorturls", "urls"];

/// Reads all entries. In memory is one of them at a time.
pub(super) fn read(
    input: Metered<impl Read>,
    meter: &Rc<Meter>,
    taker: &mut dyn TakesEntries,
) -> Result<(), Failure> {
    let mut json = serde_json::Deserializer::from_reader(input);
    let mut handing = Handing {
        taker,
        meter,
        ended: None,
    };
    loop {
        meter.new_entry(0);
        // Nothing but white space is left.
        if json.end().is_ok() {
            return Ok(());
        }
        let document = Document {
            handing: &mut handing,
            is_wrapped: false,
        };
        if let Err(error) = document.deserialize(&mut json) {
            return Err(handing.ended.take().unwrap_or_else(|| fault(error, meter)));
        }
    }
}

fn fault(error: serde_json::Error, meter: &Meter) -> Failure {
    if error.is_io() {
        let error = std::io::Error::from(error);
        let line = meter.line();
        if is_too_long(&error) {
            return unreadable(line, error);
        }
        return unreadable(line, format_args!("cannot be read: {error}"));
    }
    let (line, column) = (error.line() as u64, error.column());
    if error.to_string().starts_with("recursion limit") {
        return unreadable(line, "is nested too deeply");
    }
    let text = error.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    unreadable(
        line,
        format_args!("is no JSON from column {column} on: {text}"),
    )
}

/// Hands entries on, and keeps the failure of the taker: serde's errors are texts.
struct Handing<'a> {
    taker: &'a mut dyn TakesEntries,
    meter: &'a Meter,
    ended: Option<Failure>,
}

impl Handing<'_> {
    fn hand<E: Error>(&mut self, line: u64, value: Value) -> Result<(), E> {
        let (record, fault) = match Record::of_json(value) {
            Ok(record) => (record, None),
            Err(fault) => (Record::default(), Some(fault)),
        };
        let taken = self.taker.take(Entry {
            line,
            record,
            fault,
        });
        taken.map_err(|failure| {
            self.ended = Some(failure);
            E::custom("the import has ended")
        })
    }
}

/// A value that holds entries, or is one.
struct Document<'a, 'b> {
    handing: &'a mut Handing<'b>,
    /// It is the member of an object: then it is no entry itself.
    is_wrapped: bool,
}

impl<'de> DeserializeSeed<'de> for Document<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Document<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an array or an object")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        loop {
            self.handing.meter.new_entry(0);
            let element = Element(self.handing.meter);
            let Some((line, value)) = entries.next_element_seed(element)? else {
                return Ok(());
            };
            self.handing.hand(line, value)?;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let line = self.handing.meter.line();
        let mut own = Map::new();
        let mut is_wrapper = self.is_wrapped;
        while let Some(name) = members.next_key::<String>()? {
            if WRAPPERS.contains(&plain_name(&name).as_str()) {
                is_wrapper = true;
                members.next_value_seed(Document {
                    handing: self.handing,
                    is_wrapped: true,
                })?;
                self.handing.meter.new_entry(0);
            } else if is_wrapper {
                members.next_value::<IgnoredAny>()?;
            } else {
                own.insert(name, members.next_value()?);
            }
        }
        if is_wrapper {
            return Ok(());
        }
        self.handing.hand(line, Value::Object(own))
    }

    // `null` may stand in the place of an empty list.
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        if self.is_wrapped {
            return Ok(());
        }
        let line = self.handing.meter.line();
        self.handing.hand(line, Value::Null)
    }
}

/// An element of the array, and the line in which it begins.
struct Element<'a>(&'a Meter);

impl<'de> DeserializeSeed<'de> for Element<'_> {
    type Value = (u64, Value);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(u64, Value), D::Error> {
        let line = self.0.line();
        Ok((line, Value::deserialize(deserializer)?))
    }
}

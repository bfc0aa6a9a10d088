//! Entries of JSON: an array, an object in which such an array stands, or one object after the other (NDJSON).

use std::io::Read;
use std::rc::Rc;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::{Map, Value};

use super::entry::{Entry, Unreadable};
use super::format::Format;
use super::meter::{Meter, Metered};
use super::pages::{OtherPages, Pages};
use super::quotes::is_too_long;
use super::reading::TakesLinks;
use super::record::{Record, plain_name};
use crate::domain::{io_reason, json_reason};

/// Members of an object in which the links stand, as the APIs of other services have them.
const WRAPPERS: [&str; 4] = ["data", "links", "shorturls", "urls"];

/// Reads all links. In memory is one of them at a time.
pub(super) fn read(
    input: impl Read,
    format: &'static Format,
    taker: &mut dyn TakesLinks,
) -> Result<Option<OtherPages>, Unreadable> {
    let (input, meter) = Metered::new(input);
    let mut json = serde_json::Deserializer::from_reader(input);
    let mut handing = Handing {
        format,
        taker,
        meter: &meter,
        pages: Pages::default(),
        ended: None,
    };
    loop {
        meter.new_entry();
        // Nothing but white space is left.
        if json.end().is_ok() {
            return Ok(handing.pages.others());
        }
        let document = Document {
            handing: &mut handing,
            wrapper: None,
        };
        if let Err(error) = document.deserialize(&mut json) {
            return match handing.ended {
                Some(Ended::ByTaker) => Ok(None),
                Some(Ended::ByShape(line, why)) => {
                    Err(Unreadable::of_another_format(line, why, format.expected()))
                }
                None => Err(fault(error, &meter)),
            };
        }
    }
}

fn fault(error: serde_json::Error, meter: &Rc<Meter>) -> Unreadable {
    let (line, column, category) = (error.line() as u64, error.column(), error.classify());
    if category == Category::Io {
        let error = std::io::Error::from(error);
        let why = if is_too_long(&error) {
            error.to_string()
        } else {
            format!("cannot be read: {}", io_reason(&error))
        };
        return Unreadable::new(meter.line(), why);
    }
    let text = error.to_string();
    if text.starts_with("recursion limit") {
        return Unreadable::new(line, "is nested too deeply".into());
    }
    if category == Category::Data {
        let why = format!("must be an array or an object at column {column}");
        return Unreadable::new(line, why);
    }
    let fault = text.split(" at line ").next().unwrap_or_default();
    let reason = json_reason(fault);
    Unreadable::new(
        line,
        format!("is not valid JSON at column {column}: {reason}"),
    )
}

/// Hands links on, and keeps why that has ended: serde's errors are texts.
struct Handing<'a> {
    format: &'static Format,
    taker: &'a mut dyn TakesLinks,
    meter: &'a Meter,
    pages: Pages,
    ended: Option<Ended>,
}

/// Why the reading has ended early.
enum Ended {
    ByTaker,
    ByShape(u64, String),
}

impl Handing<'_> {
    fn hand<E: Error>(&mut self, line: u64, value: Value) -> Result<(), E> {
        let (record, fault) = match Record::of_json(value) {
            Ok(record) => (record, None),
            Err(fault) => (Record::default(), Some(fault.to_owned())),
        };
        self.hand_record(line, record, fault)
    }

    fn hand_record<E: Error>(
        &mut self,
        line: u64,
        record: Record,
        fault: Option<String>,
    ) -> Result<(), E> {
        self.pages.count_link();
        let entry = Entry {
            line,
            record,
            extra: Vec::new(),
            fault,
        };
        if self.taker.take(self.format.read(entry)).is_break() {
            self.ended = Some(Ended::ByTaker);
            return Err(E::custom("the import has ended"));
        }
        Ok(())
    }

    fn other_shape<E: Error>(&mut self, line: u64, why: String) -> E {
        self.ended = Some(Ended::ByShape(line, why));
        E::custom("the file has another shape")
    }
}

/// A value that holds entries, or is one.
struct Document<'a, 'b> {
    handing: &'a mut Handing<'b>,
    /// The member of an object that it is: then it is no entry itself.
    wrapper: Option<String>,
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
            self.handing.meter.new_entry();
            let element = Element(self.handing.meter);
            let Some((line, value)) = entries.next_element_seed(element)? else {
                return Ok(());
            };
            self.handing.hand(line, value)?;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let Self { handing, wrapper } = self;
        let line = handing.meter.line();
        let mut own = Map::new();
        let mut has_links = false;
        while let Some(name) = members.next_key::<String>()? {
            if WRAPPERS.contains(&plain_name(&name).as_str()) {
                has_links = true;
                members.next_value_seed(Document {
                    handing,
                    wrapper: Some(name),
                })?;
                handing.meter.new_entry();
                continue;
            }
            let begin = handing.meter.line();
            let value: Value = members.next_value()?;
            // Some services name each link: `link_1`, `link_2`.
            let record = value.is_object().then(|| Record::of_json(value.clone()));
            match record {
                Some(Ok(record)) if handing.format.has_target(&record) => {
                    has_links = true;
                    handing.hand_record(begin, record, None)?;
                    handing.meter.new_entry();
                }
                _ if !has_links || Pages::has_place_in(&name) => drop(own.insert(name, value)),
                _ => {}
            }
        }
        handing.pages.note(&own);
        match wrapper {
            _ if has_links => Ok(()),
            Some(_) if own.is_empty() => Ok(()),
            Some(name) => Err(handing.other_shape(line, format!("has no links in `{name}`"))),
            None => handing.hand(line, Value::Object(own)),
        }
    }

    // `null` may stand in the place of an empty list.
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        if self.wrapper.is_some() {
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

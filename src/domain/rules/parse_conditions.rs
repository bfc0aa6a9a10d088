//! Reads the conditions of a rule from JSON.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::Value;

use super::conditions::{Conditions, Language, OneOf, QueryPairs};
use super::parse::{Fields, text};
use crate::domain::Timestamp;
use crate::domain::agent_words::{BROWSERS, DEVICES, SYSTEMS};

/// Values of a condition at most: there are not as many countries.
const MOST_VALUES: usize = 250;

/// Parameters of a query at most, and the characters of their names and values.
const MOST_PARAMETERS: usize = 10;
const MAX_NAME: usize = 100;
const MAX_VALUE: usize = 200;

/// Bits of an address of IPv6 that are known of a visitor.
const KNOWN_BITS: u8 = 64;

impl Conditions {
    pub(super) fn parse(path: &str, value: &Value) -> Result<Self, String> {
        let known = [
            "device", "os", "browser", "bot", "country", "language", "query", "address", "after",
            "before",
        ];
        let fields = Fields::of(path, value, &known)?;
        let conditions = Self {
            device: one_of(&fields, "device", |path, value| {
                let expected = "must be desktop, phone, tablet, tv or console";
                word(path, value, &DEVICES, expected)
            })?,
            os: one_of(&fields, "os", |path, value| {
                let expected = "must be a system that a row of by=os has, such as Android";
                word(path, value, &SYSTEMS, expected)
            })?,
            browser: one_of(&fields, "browser", |path, value| {
                let expected = "must be a browser that a row of by=browser has, such as Firefox";
                word(path, value, &BROWSERS, expected)
            })?,
            bot: one_of(&fields, "bot", bot)?,
            country: one_of(&fields, "country", country)?,
            language: one_of(&fields, "language", |path, value| {
                let language = Language::parse(text(path, value)?);
                language.map_err(|why| format!("{path}: {why}"))
            })?,
            query: one_of(&fields, "query", query)?,
            address: one_of(&fields, "address", network)?,
            after: moment(&fields, "after")?,
            before: moment(&fields, "before")?,
        };
        let times = conditions.after.zip(conditions.before);
        if times.is_some_and(|(after, before)| after >= before) {
            return Err(format!("{path}.after: must be earlier than before"));
        }
        Ok(conditions)
    }
}

/// A value, or a list of values.
fn one_of<T>(
    fields: &Fields<'_>,
    name: &str,
    parse: impl Fn(&str, &Value) -> Result<T, String>,
) -> Result<Option<OneOf<T>>, String> {
    let Some((path, value)) = fields.get_or_null(name) else {
        return Ok(None);
    };
    let Value::Array(list) = value else {
        let values = Box::new([parse(&path, value)?]);
        return Ok(Some(OneOf {
            values,
            is_list: false,
        }));
    };
    if !(1..=MOST_VALUES).contains(&list.len()) {
        return Err(format!("{path}: must have 1 to {MOST_VALUES} values"));
    }
    let values = list.iter().enumerate();
    let values = values.map(|(place, value)| parse(&format!("{path}[{place}]"), value));
    Ok(Some(OneOf {
        values: values.collect::<Result<_, _>>()?,
        is_list: true,
    }))
}

fn word(
    path: &str,
    value: &Value,
    words: &[&'static str],
    expected: &str,
) -> Result<&'static str, String> {
    let given = value.as_str();
    let known = given.and_then(|given| words.iter().find(|word| **word == given));
    known.copied().ok_or_else(|| format!("{path}: {expected}"))
}

fn bot(path: &str, value: &Value) -> Result<bool, String> {
    match value {
        Value::Bool(is_bot) => Ok(*is_bot),
        Value::String(word) if word == "true" => Ok(true),
        Value::String(word) if word == "false" => Ok(false),
        _ => Err(format!("{path}: must be true or false")),
    }
}

fn country(path: &str, value: &Value) -> Result<[u8; 2], String> {
    let letters = value.as_str().map(str::to_ascii_uppercase);
    let letters = letters.and_then(|letters| <[u8; 2]>::try_from(letters.as_bytes()).ok());
    let letters = letters.filter(|letters| letters.iter().all(u8::is_ascii_uppercase));
    letters.ok_or_else(|| format!("{path}: must be the two letters of a country, such as DE"))
}

fn network(path: &str, value: &Value) -> Result<IpNet, String> {
    let raw = text(path, value)?;
    let address = || raw.parse::<IpAddr>().map(IpNet::from);
    let network = raw.parse::<IpNet>().ok().or_else(|| address().ok());
    let network = network.ok_or_else(|| {
        format!("{path}: must be an address or a network, such as 203.0.113.0/24 or 2001:db8::/32")
    })?;
    if matches!(network, IpNet::V6(_)) && network.prefix_len() > KNOWN_BITS {
        return Err(format!(
            "{path}: must be a network of at most /{KNOWN_BITS} in IPv6: visitors there change the rest of their address"
        ));
    }
    Ok(network.trunc())
}

fn query(path: &str, value: &Value) -> Result<QueryPairs, String> {
    let object = value.as_object().filter(|object| !object.is_empty());
    let object = object.ok_or_else(|| {
        format!(
            "{path}: must be an object with names and values, such as {{\"utm_source\": \"flyer\"}}"
        )
    })?;
    if object.len() > MOST_PARAMETERS {
        return Err(format!("{path}: must have at most {MOST_PARAMETERS} names"));
    }
    let pair = |(name, value): (&String, &Value)| {
        if !(1..=MAX_NAME).contains(&name.chars().count()) {
            return Err(format!(
                "{path}: must have names of 1 to {MAX_NAME} characters"
            ));
        }
        let shown: String = name.chars().flat_map(char::escape_debug).collect();
        let value = match value {
            Value::Null => None,
            Value::String(value) if value.chars().count() <= MAX_VALUE => {
                Some(value.as_str().into())
            }
            _ => {
                return Err(format!(
                    "{path}.{shown}: must be null, or a string of at most {MAX_VALUE} characters"
                ));
            }
        };
        Ok((name.as_str().into(), value))
    };
    let pairs = object.iter().map(pair);
    Ok(QueryPairs(pairs.collect::<Result<_, _>>()?))
}

fn moment(fields: &Fields<'_>, name: &str) -> Result<Option<Timestamp>, String> {
    let Some((path, value)) = fields.get_or_null(name) else {
        return Ok(None);
    };
    let moment = text(&path, value)?.parse();
    moment.map(Some).map_err(|why| format!("{path}: {why}"))
}

//! The parameters of a request, from its query and from its body: a form, `multipart/form-data`, or an object of JSON. Of a name
//! that is given twice the last value counts, and the body goes before the query.

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use crate::http::{is_multipart, parts};

/// More parameters than any call has.
const MAX_PARAMETERS: usize = 100;

/// Texts by their names. A parameter that is null or missing is not there.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Those of a query, or of a form.
    ///
    /// # Errors
    /// A sentence, here as below.
    pub(super) fn of_form(raw: &str) -> Result<Self, String> {
        let mut read = Self::default();
        for pair in raw.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decoded(name).ok_or("a name must be UTF-8, percent-encoded")?;
            let value = decoded(value).ok_or("a value must be UTF-8, percent-encoded")?;
            read.add(name, value)?;
        }
        Ok(read)
    }

    /// Those of a body, by its `Content-Type`; a body without one is JSON if it looks so, and a form otherwise.
    pub(super) fn of_body(content_type: Option<&str>, body: &[u8]) -> Result<Self, String> {
        let content_type = content_type.unwrap_or_default();
        let kind = content_type.split(';').next().unwrap_or_default().trim();
        if body.trim_ascii().is_empty() {
            return Ok(Self::default());
        }
        if is_multipart(content_type) {
            return Self::of_parts(content_type, body);
        }
        let is_json = kind.eq_ignore_ascii_case("application/json") || kind.ends_with("+json");
        if is_json || body.trim_ascii_start().starts_with(b"{") {
            return Self::of_json(body);
        }
        let text = std::str::from_utf8(body).map_err(|_| "the body must be UTF-8")?;
        Self::of_form(text)
    }

    fn of_json(body: &[u8]) -> Result<Self, String> {
        let object: Map<String, Value> =
            serde_json::from_slice(body).map_err(|_| "the body must be an object of JSON")?;
        let mut read = Self::default();
        for (name, value) in object {
            match value {
                Value::Null => {}
                Value::String(text) => read.add(name, text)?,
                Value::Bool(_) | Value::Number(_) => read.add(name, value.to_string())?,
                Value::Array(_) | Value::Object(_) => {
                    return Err(
                        "each value in the body must be a text, a number, true or false".into(),
                    );
                }
            }
        }
        Ok(read)
    }

    fn of_parts(content_type: &str, body: &[u8]) -> Result<Self, String> {
        let mut read = Self::default();
        let text = std::str::from_utf8(body).map_err(|_| "the body must be UTF-8")?;
        for (name, value) in parts(content_type, text.as_bytes())? {
            // A part of a text is one: the signs around it are ASCII.
            read.add(name, String::from_utf8_lossy(value).into_owned())?;
        }
        Ok(read)
    }

    fn add(&mut self, name: String, value: String) -> Result<(), String> {
        if self.0.len() >= MAX_PARAMETERS {
            return Err(format!("there must be at most {MAX_PARAMETERS} parameters"));
        }
        self.0.push((name, value));
        Ok(())
    }

    /// These, and others that go before them.
    pub(super) fn under(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// The last value of this name.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut given = self.0.iter().rev();
        let found = given.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// All values of a list: `name[]`, `name[0]` or `name`, once for each.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let is_of_list = move |known: &str| {
            let rest = known.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('[') && rest.ends_with(']'))
        };
        let given = self
            .0
            .iter()
            .filter(move |(known, value)| is_of_list(known) && !value.is_empty());
        given.map(|(_, value)| value.as_str())
    }

    /// The same, unless it is empty.
    pub(super) fn filled(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }
}

fn decoded(raw: &str) -> Option<String> {
    let spaced = raw.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8().ok()?;
    Some(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_last_value_counts_and_the_body_goes_before_the_query() {
        let query = Parameters::of_form("a=1&a=2&b=x+y%26&c").unwrap();
        let body = Parameters::of_body(
            Some("application/json; charset=utf-8"),
            b"{\"c\": 5, \"b\": null}",
        )
        .unwrap();
        let all = query.under(body);
        assert_eq!(all.get("a"), Some("2"));
        assert_eq!(all.get("b"), Some("x y&"));
        assert_eq!(all.filled("c"), Some("5"));
        assert_eq!(all.get("d"), None);
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        assert!(Parameters::of_form("a=%ff").is_err());
        assert!(Parameters::of_form(&"a&".repeat(101)).is_err());
        for (kind, body) in [
            ("application/json", "[]"),
            ("application/json", "{\"a\": [1]}"),
            ("application/json", "{"),
            ("multipart/form-data", "x"),
            ("multipart/form-data; boundary=b", "--b\r\nno head--b--"),
        ] {
            let read = Parameters::of_body(Some(kind), body.as_bytes());
            assert!(read.is_err(), "{kind} {body}");
        }
        assert_eq!(
            Parameters::of_body(Some("application/json"), b" "),
            Ok(Parameters::default())
        );
    }

    proptest! {
        #[test]
        fn a_parameter_is_read_in_every_form(pairs in vec(("[a-z]{1,5}", "[ -~é]{0,20}"), 0..5)) {
            let pairs: Vec<(String, String)> = pairs;
            let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(&pairs).finish();
            let expected = Parameters(pairs.clone());
            prop_assert_eq!(Parameters::of_form(&form).unwrap(), Parameters(pairs.clone()));
            let mut parts = String::new();
            for (name, value) in &pairs {
                let _ = write!(parts, "--Bound\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
            }
            parts += "--Bound--\r\n";
            let kind = Some("multipart/form-data; boundary=Bound");
            prop_assert_eq!(Parameters::of_body(kind, parts.as_bytes()).unwrap(), Parameters(pairs.clone()));
            let object: Map<_, _> = pairs.into_iter().map(|(name, value)| (name, value.into())).collect();
            let json = Value::Object(object).to_string();
            let read = Parameters::of_body(Some("application/json"), json.as_bytes()).unwrap();
            for (name, _) in &expected.0 {
                prop_assert_eq!(read.get(name), expected.get(name));
            }
        }

        #[test]
        fn no_body_causes_a_panic(
            kind in prop_oneof![Just("application/json"), Just("multipart/form-data; boundary=b"), Just("")],
            body in prop_oneof!["\\PC{0,60}", "(--b|\r\n|name=|\"|Content-Disposition: form-data; |--){0,12}"],
        ) {
            let _ = Parameters::of_body(Some(kind), body.as_bytes());
        }
    }
}

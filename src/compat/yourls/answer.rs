//! An answer, and the four forms in which it is sent.

use std::fmt::Write;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::compat::parameters::Parameters;
use crate::http::ApiError;

/// Longest name of a callback.
const MAX_CALLBACK: usize = 100;

/// Fields with their values, in their order.
#[derive(Debug, Default)]
pub(super) struct Group(Vec<(String, Node)>);

#[derive(Debug)]
enum Node {
    Text(String),
    Number(u64),
    Group(Group),
}

impl Group {
    pub(super) fn text(mut self, name: &str, text: impl Into<String>) -> Self {
        self.0.push((name.to_owned(), Node::Text(text.into())));
        self
    }

    pub(super) fn number(mut self, name: &str, number: u64) -> Self {
        self.0.push((name.to_owned(), Node::Number(number)));
        self
    }

    pub(super) fn group(mut self, name: &str, group: Self) -> Self {
        self.0.push((name.to_owned(), Node::Group(group)));
        self
    }
}

impl Serialize for Group {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, node) in &self.0 {
            match node {
                Node::Text(text) => map.serialize_entry(name, text)?,
                Node::Number(number) => map.serialize_entry(name, number)?,
                Node::Group(group) => map.serialize_entry(name, group)?,
            }
        }
        map.end()
    }
}

/// An answer in no form yet.
#[derive(Debug)]
pub(super) struct Answer {
    status: StatusCode,
    retry_after: Option<HeaderValue>,
    pub(super) fields: Group,
    /// What the form of one line has.
    simple: String,
}

impl Answer {
    pub(super) fn new(status: StatusCode, simple: impl Into<String>, fields: Group) -> Self {
        Self {
            status,
            retry_after: None,
            fields,
            simple: simple.into(),
        }
    }

    /// A refusal that says why.
    pub(super) fn refused(status: StatusCode, why: &str) -> Self {
        let fields = Group::default()
            .text("message", why)
            .text("errorCode", status.as_str());
        Self::new(status, why, fields)
    }

    /// A failure of a service.
    pub(super) fn of_error(error: &ApiError) -> Self {
        Self::refused(status_of(error), error.detail()).after(error)
    }

    /// With the pause that an error asks for.
    pub(super) fn after(self, error: &ApiError) -> Self {
        Self {
            retry_after: error.retry_after_header().cloned(),
            ..self
        }
    }
}

/// The status of an error as the protocol knows it: what is wrong with a parameter is 400, and what is wrong with a key 403.
pub(super) fn status_of(error: &ApiError) -> StatusCode {
    match error.status() {
        StatusCode::UNPROCESSABLE_ENTITY | StatusCode::CONFLICT => StatusCode::BAD_REQUEST,
        StatusCode::UNAUTHORIZED => StatusCode::FORBIDDEN,
        status => status,
    }
}

/// The form of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Form {
    Xml,
    Json,
    /// With the name of the function, perhaps empty.
    Jsonp(String),
    /// One line, which some answers leave empty.
    Simple,
}

impl Form {
    /// The form that is asked for. A form that is not known is one line, as there.
    pub(super) fn of(parameters: &Parameters) -> Result<Self, Answer> {
        let callback = parameters.get("callback").or(parameters.get("jsonp"));
        let callback = callback.unwrap_or_default();
        if !callback.is_empty() && !is_path_of_names(callback) {
            let fields = Group::default()
                .text("errorCode", "400")
                .text("error", "Invalid callback parameter");
            let status = StatusCode::BAD_REQUEST;
            return Err(Answer::new(status, "Invalid callback parameter", fields));
        }
        Ok(match parameters.get("format").unwrap_or("xml") {
            "xml" => Self::Xml,
            "json" => Self::Json,
            "jsonp" => Self::Jsonp(callback.to_owned()),
            _ => Self::Simple,
        })
    }

    /// The answer in this form.
    pub(super) fn response(&self, answer: &Answer) -> Response {
        let json = || {
            let json = serde_json::to_string(&answer.fields).unwrap_or_default();
            // Older engines end a line of a script at these two.
            json.replace('\u{2028}', "\\u2028")
                .replace('\u{2029}', "\\u2029")
        };
        let (kind, text) = match self {
            Self::Xml => ("application/xml; charset=UTF-8", xml(&answer.fields)),
            Self::Json => ("application/json; charset=UTF-8", json()),
            Self::Jsonp(callback) => {
                let text = format!("{callback}({})", json());
                ("application/javascript; charset=UTF-8", text)
            }
            Self::Simple => ("text/plain; charset=UTF-8", answer.simple.clone()),
        };
        let kind = [(CONTENT_TYPE, HeaderValue::from_static(kind))];
        let mut response = (answer.status, kind, Body::from(text)).into_response();
        if let Some(pause) = &answer.retry_after {
            response.headers_mut().insert(RETRY_AFTER, pause.clone());
        }
        response
    }
}

/// Whether a text is a name of JavaScript, or several with points between: a script could be anything else.
fn is_path_of_names(raw: &str) -> bool {
    let is_name = |name: &str| {
        let begins = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$');
        let is_part = |byte: u8| begins(&byte) || byte.is_ascii_digit();
        name.as_bytes().first().is_some_and(begins) && name.bytes().all(is_part)
    };
    raw.len() <= MAX_CALLBACK && raw.split('.').all(is_name)
}

fn xml(fields: &Group) -> String {
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    element(&mut text, "root", fields);
    text.push('\n');
    text
}

fn element(text: &mut String, name: &str, group: &Group) {
    // Writing to a string does not fail.
    let _ = write!(text, "<{name}>");
    for (name, node) in &group.0 {
        let _ = match node {
            Node::Text(value) if value.is_empty() => write!(text, "<{name}/>"),
            Node::Text(value) => write!(text, "<{name}>{}</{name}>", escaped(value)),
            Node::Number(number) => write!(text, "<{name}>{number}</{name}>"),
            Node::Group(group) => {
                element(text, name, group);
                Ok(())
            }
        };
    }
    let _ = write!(text, "</{name}>");
}

/// A text of XML 1.0: what it cannot have at all is replaced.
fn escaped(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    for character in raw.chars() {
        match character {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            '\t' | '\n' => text.push(character),
            '\r' => text.push_str("&#13;"),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => text.push('\u{fffd}'),
            _ => text.push(character),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_callback_is_a_path_of_names() {
        for callback in ["f", "jQuery_17", "a.b.c", "$", "_.x1"] {
            assert!(is_path_of_names(callback), "{callback}");
        }
        let long = "a".repeat(101);
        for callback in [
            "",
            ".",
            "a.",
            ".a",
            "1a",
            "a.1",
            "a b",
            "a(",
            "alert(1)//",
            "é",
            "a[0]",
            &long,
        ] {
            assert!(!is_path_of_names(callback), "{callback}");
        }
    }

    #[test]
    fn each_form_has_the_same_fields() {
        let fields = Group::default()
            .text("url", "https://a.example/?b=1&c=<2>")
            .text("ip", "")
            .group("stats", Group::default().number("total", 3));
        let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<root><url>https://a.example/?b=1&amp;c=&lt;2&gt;</url><ip/><stats><total>3</total></stats></root>\n";
        assert_eq!(xml(&fields), expected);
        let json = serde_json::to_string(&fields).unwrap();
        assert_eq!(
            json,
            r#"{"url":"https://a.example/?b=1&c=<2>","ip":"","stats":{"total":3}}"#
        );
    }

    proptest! {
        #[test]
        fn a_text_in_xml_has_no_markup_and_no_character_that_xml_has_not(raw in any::<String>()) {
            let text = escaped(&raw);
            let refused = ['<', '>', '"', '\u{fffe}', '\u{ffff}'];
            prop_assert!(!text.contains(refused));
            prop_assert!(text.chars().all(|char| char >= ' ' || char == '\t' || char == '\n'));
            let entities = ["&amp;", "&lt;", "&gt;", "&quot;", "&#13;"];
            for (at, _) in text.match_indices('&') {
                prop_assert!(entities.iter().any(|entity| text[at..].starts_with(entity)));
            }
        }

        #[test]
        fn no_callback_can_do_more_than_be_called(raw in "\\PC{0,30}") {
            if is_path_of_names(&raw) {
                prop_assert!(raw.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_$.".contains(&byte)));
            }
        }
    }
}

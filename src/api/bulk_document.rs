//! The body of a call that creates many links: JSON, JSON by the line, or CSV.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::domain::rules::MAX_JSON;
use crate::domain::{LinkRequest, OwnHost};
use crate::http::paths::is_reserved;
use crate::http::{ApiError, parse_object};
use crate::import::{Encoding, ReadLink, Source, Table, Unreadable};
use crate::limits::MAX_BULK;
use crate::wire::BulkObject;

/// Links of one call at most.
const MAX_LINKS: usize = MAX_BULK as usize;

/// Bytes of one link: all of its fields but the rules take less than 64 KiB with every character escaped. Its text is parsed as a whole, and values
/// take more memory than their text.
const MAX_OBJECT: usize = 64 * 1024 + 2 * MAX_JSON;

/// The refusal of a body that is no array and is not said to be anything else: perhaps a table, by a client that names no
/// kind or its own.
pub(super) const WRONG_KIND: &str = "Content-Type: must be text/csv for a table with a header line, or application/json for an array of objects";

/// The links of a body, of which each is parsed when its turn comes.
pub(super) struct Document<'a> {
    links: Links<'a>,
    len: usize,
}

enum Links<'a> {
    /// Objects of JSON, the last one first.
    Json(Vec<&'a str>),
    Csv(Box<Table<&'a [u8]>>),
}

impl<'a> Document<'a> {
    /// The document in a body with this `Content-Type`; an array is taken with any.
    ///
    /// # Errors
    /// Where it is broken, or has too many links.
    pub(super) fn of(content_type: &str, body: &'a [u8]) -> Result<Self, ApiError> {
        let kind = content_type.split(';').next().unwrap_or_default().trim();
        let is = |known: &str| kind.eq_ignore_ascii_case(known);
        let (links, len) = if is("text/csv") || is("text/tab-separated-values") {
            let encoding = Encoding::of(&mut &*body)
                .map_err(|error| ApiError::internal(&error.to_string()))?;
            let table = || Table::of(body, encoding, Source::Csv.format()).map_err(broken_table);
            let len = count(table()?)?;
            (Links::Csv(Box::new(table()?)), len)
        } else {
            let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
            let mut objects = if is("application/x-ndjson") || is("application/ndjson") {
                lines(body)?
            } else if is("application/json") || begins_as_array(body) {
                array(body)?
            } else {
                return Err(ApiError::invalid(WRONG_KIND));
            };
            objects.reverse();
            let len = objects.len();
            (Links::Json(objects), len)
        };
        if len > MAX_LINKS {
            return Err(ApiError::invalid(format!(
                "body: must have at most {MAX_LINKS} links; send the others in another call"
            )));
        }
        Ok(Self { links, len })
    }

    /// How many links it has in all.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The next links; none at the end.
    pub(super) fn read_next(
        &mut self,
        count: usize,
        own_host: &OwnHost,
    ) -> Vec<Result<LinkRequest, ApiError>> {
        let mut next = || match &mut self.links {
            Links::Json(objects) => objects.pop().map(|object| parse(object, own_host)),
            Links::Csv(table) => match table.next_link() {
                Ok(link) => link.map(|link| request(&link, own_host)),
                Err(broken) => Some(Err(broken_table(broken))),
            },
        };
        std::iter::from_fn(&mut next).take(count).collect()
    }
}

fn parse(object: &str, own_host: &OwnHost) -> Result<LinkRequest, ApiError> {
    if object.len() > MAX_OBJECT {
        return Err(ApiError::invalid(format!(
            "body: each link must have at most {MAX_OBJECT} bytes of JSON"
        )));
    }
    let object = parse_object::<BulkObject>(object.as_bytes());
    let request = object.and_then(|object| object.0.request(own_host, is_reserved));
    request.map_err(ApiError::invalid)
}

fn request(link: &ReadLink, own_host: &OwnHost) -> Result<LinkRequest, ApiError> {
    let request = link.request(own_host, is_reserved);
    request.map_err(ApiError::invalid)
}

/// How many rows follow the header, at most one more than may be.
fn count(mut table: Table<&[u8]>) -> Result<usize, ApiError> {
    let mut count = 0;
    while count <= MAX_LINKS && table.next_link().map_err(broken_table)?.is_some() {
        count += 1;
    }
    Ok(count)
}

fn broken_table(broken: Unreadable) -> ApiError {
    ApiError::invalid(if broken.is_of_header() {
        broken.why
    } else {
        broken.to_string()
    })
}

fn begins_as_array(body: &[u8]) -> bool {
    body.trim_ascii_start().first() == Some(&b'[')
}

/// The parts of an array, which may be of any kind.
fn array(body: &[u8]) -> Result<Vec<&str>, ApiError> {
    const NO_ARRAY: &str = "body: must be a JSON array of objects";
    if !begins_as_array(body) {
        return Err(ApiError::invalid(NO_ARRAY));
    }
    let parts: FirstParts<'_> = serde_json::from_slice(body).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        ApiError::invalid(format!(
            "{NO_ARRAY}, but is malformed at line {line}, column {column}"
        ))
    })?;
    Ok(parts.0)
}

/// The parts of an array, as many as a call may have and one more: a body has room for millions of small ones.
struct FirstParts<'a>(Vec<&'a str>);

impl<'a> Deserialize<'a> for FirstParts<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct Parts;

        impl<'a> Visitor<'a> for Parts {
            type Value = FirstParts<'a>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'a>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
                let mut first = Vec::new();
                while first.len() <= MAX_LINKS {
                    match parts.next_element::<&RawValue>()? {
                        Some(part) => first.push(part.get()),
                        None => return Ok(FirstParts(first)),
                    }
                }
                // A body that is broken further on is refused as such.
                while parts.next_element::<IgnoredAny>()?.is_some() {}
                Ok(FirstParts(first))
            }
        }

        deserializer.deserialize_seq(Parts)
    }
}

/// The lines that are not empty.
fn lines(body: &[u8]) -> Result<Vec<&str>, ApiError> {
    let text = std::str::from_utf8(body).map_err(|_| ApiError::invalid("body: must be UTF-8"))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    Ok(lines.take(MAX_LINKS + 1).collect())
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::config::BaseUrl;

    const KINDS: [&str; 6] = [
        "application/json",
        "application/x-ndjson",
        "text/csv",
        "text/csv; charset=utf-8",
        "text/plain",
        "",
    ];

    /// The refusal of each link of a document, or of the document.
    fn refusals(kind: &str, body: &[u8]) -> Result<Vec<Option<String>>, String> {
        let base = BaseUrl::parse("https://sho.rt").unwrap();
        let detail = |error: ApiError| error.detail().to_owned();
        let mut document = Document::of(kind, body).map_err(detail)?;
        let links = document.read_next(MAX_LINKS, base.own_host());
        assert_eq!(links.len(), document.len(), "each link has its place");
        Ok(links
            .into_iter()
            .map(|link| link.err().map(detail))
            .collect())
    }

    /// A refusal names a field first, which may be a column of any name.
    fn is_sentence(refusal: &str) -> bool {
        refusal.contains(": ") && refusal.len() < 2_000
    }

    fn any_document() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            vec(any::<u8>(), 0..100),
            "[\\[\\]{}\",:=' \\n\\\\a-z0-9é\\x00]{0,100}".prop_map(String::into_bytes),
            "(target_url|title|short_code|tags)(,[a-z_]{0,9}){0,3}\\r?\\n[-a-z0-9:/.,;\"'=\\n]{0,80}"
                .prop_map(String::into_bytes),
            "\\[?(\\{\"(target_url|title|tags|clicks)\":(\"[a-z:/.]{0,20}\"|null|-?[0-9]{1,20}|\\[\\]|\\{)\\}[,\\n]?){0,4}\\]?"
                .prop_map(String::into_bytes),
        ]
    }

    proptest! {
        #[test]
        fn any_bytes_are_links_or_are_refused_in_a_sentence(
            kind in proptest::sample::select(KINDS.to_vec()),
            body in any_document(),
        ) {
            match refusals(kind, &body) {
                Ok(links) => {
                    for refusal in links.into_iter().flatten() {
                        prop_assert!(is_sentence(&refusal), "{}", refusal);
                    }
                }
                Err(refusal) => prop_assert!(is_sentence(&refusal), "{}", refusal),
            }
        }

        #[test]
        fn a_link_is_refused_in_its_own_place_alone(is_good in vec(any::<bool>(), 0..9)) {
            let target = |is_good: &bool| if *is_good { "https://example.org/" } else { "nowhere" };
            let objects = is_good.iter().map(|good| json!({ "target_url": target(good) }));
            let objects: Vec<_> = objects.collect();
            let lines: Vec<_> = objects.iter().map(ToString::to_string).collect();
            let cells: Vec<_> = is_good.iter().map(target).collect();
            for (kind, body) in [
                ("application/json", json!(objects).to_string()),
                ("application/x-ndjson", format!("\n{}\r\n\n", lines.join("\r\n\n"))),
                ("text/csv", format!("target_url\n{}\n", cells.join("\n"))),
            ] {
                let links = refusals(kind, body.as_bytes()).unwrap();
                let accepted: Vec<_> = links.iter().map(Option::is_none).collect();
                prop_assert_eq!(&accepted, &is_good, "{}", kind);
            }
        }
    }

    #[test]
    fn a_document_that_is_nested_deeply_is_refused() {
        let deep = "[".repeat(1_000_000);
        for body in [
            deep.clone(),
            format!("[{{\"target_url\":{deep}"),
            format!("[{deep}"),
        ] {
            let refusal = refusals("application/json", body.as_bytes()).unwrap_err();
            assert!(
                refusal.starts_with("body: must be a JSON array of objects"),
                "{refusal}"
            );
        }
        let line = format!("{{\"target_url\":{deep}");
        let refused = refusals("application/x-ndjson", line.as_bytes()).unwrap();
        assert!(refused[0].is_some());
    }
}

//! Entity tags, and the conditions of requests that name them (RFC 9110, 13.1).

use axum::http::header::{HeaderName, IF_MATCH, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue};

use crate::domain::Timestamp;
use crate::links::{CountedLink, Expected, Revision};

/// Between the revision of a link and the rest of its tag.
const AFTER_REVISION: char = '-';

/// The tags of a condition.
#[derive(Debug, PartialEq, Eq)]
enum Tags {
    /// `*`: those of any state.
    Any,
    /// These; none where the header is no list of tags.
    Listed(Vec<Tag>),
}

#[derive(Debug, PartialEq, Eq)]
struct Tag {
    is_weak: bool,
    opaque: Vec<u8>,
}

impl Tags {
    /// `None` where the request lacks the header.
    fn of(headers: &HeaderMap, name: &HeaderName) -> Option<Self> {
        let values = headers.get_all(name).iter().map(HeaderValue::as_bytes);
        let values: Vec<_> = values.collect();
        (!values.is_empty()).then(|| Self::parse(&values.join(&b',')))
    }

    fn parse(list: &[u8]) -> Self {
        if list.trim_ascii() == b"*" {
            return Self::Any;
        }
        let mut tags = Vec::new();
        for part in parts(list) {
            match Tag::parse(part.trim_ascii()) {
                Some(tag) => tags.push(tag),
                // A list may have empty places.
                None if part.trim_ascii().is_empty() => {}
                None => return Self::Listed(Vec::new()),
            }
        }
        Self::Listed(tags)
    }
}

/// The parts between commas; a tag may have commas in its quotation marks.
fn parts(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut is_quoted = false;
    list.split(move |byte| {
        is_quoted ^= *byte == b'"';
        *byte == b',' && !is_quoted
    })
}

impl Tag {
    fn parse(raw: &[u8]) -> Option<Self> {
        let weak = raw.strip_prefix(b"W/");
        let quoted = weak.unwrap_or(raw).strip_prefix(b"\"")?;
        let opaque = quoted.strip_suffix(b"\"")?;
        let is_opaque = |byte: &u8| !byte.is_ascii_control() && !matches!(byte, b'"' | b' ');
        opaque.iter().all(is_opaque).then(|| Self {
            is_weak: weak.is_some(),
            opaque: opaque.to_vec(),
        })
    }
}

/// Whether the client has the response with this tag already, by `If-None-Match`: weak tags count.
pub(super) fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let is_it = |known: &Tag| tag.trim_matches('"').as_bytes() == known.opaque;
    match Tags::of(headers, &IF_NONE_MATCH) {
        None => false,
        Some(Tags::Any) => true,
        Some(Tags::Listed(tags)) => tags.iter().any(is_it),
    }
}

/// The revisions in `If-Match`: weak tags never match.
pub(super) fn expected(headers: &HeaderMap) -> Expected {
    let revision = |tag: Tag| {
        let opaque = String::from_utf8(tag.opaque).ok()?;
        let revision = opaque.split(AFTER_REVISION).next().map(str::to_owned);
        revision.filter(|_| !tag.is_weak)
    };
    match Tags::of(headers, &IF_MATCH) {
        None | Some(Tags::Any) => Expected::Any,
        Some(Tags::Listed(tags)) => {
            Expected::OneOf(tags.into_iter().filter_map(revision).collect())
        }
    }
}

/// The tag of a link: its revision, which `If-Match` is about, and what else a response shows of it.
pub(super) fn tag_of(shown: &CountedLink, now: Timestamp) -> String {
    let CountedLink { link, clicks, .. } = shown;
    let (revision, status) = (Revision::of(link), shown.status(now).as_str());
    let changed = link.updated_at.micros();
    format!("\"{revision}{AFTER_REVISION}{changed}-{clicks}-{status}\"")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn headers(name: &HeaderName, values: &[&str]) -> HeaderMap {
        let values = values.iter();
        values
            .map(|value| (name.clone(), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn a_client_has_the_response_whose_tag_it_sends() {
        let known = |values: &[&str]| is_known(&headers(&IF_NONE_MATCH, values), "\"ab\"");
        for values in [
            &["\"ab\""][..],
            &["W/\"ab\""],
            &["\"x\", \"ab\""],
            &["\"x,*\",,\"ab\" "],
            &["\"x\"", "\"ab\""],
            &["*"],
        ] {
            assert!(known(values), "{values:?}");
        }
        for values in [
            &["\"a\""][..],
            &["ab"],
            &[""],
            &["\"AB\""],
            &["\"x,*,y\""],
            &["\"x,\"ab\",y\""],
            &["w/\"ab\""],
            &["\"ab\", no tag"],
            &[],
        ] {
            assert!(!known(values), "{values:?}");
        }
    }

    #[test]
    fn a_link_is_expected_in_one_of_the_strong_tags() {
        let of = |values: &[&str]| expected(&headers(&IF_MATCH, values));
        let listed = |revisions: &[&str]| {
            Expected::OneOf(revisions.iter().map(ToString::to_string).collect())
        };
        assert_eq!(of(&[]), Expected::Any);
        assert_eq!(of(&["*"]), Expected::Any);
        assert_eq!(
            of(&["\"ab-5-active\", W/\"cd\"", "\"ef\""]),
            listed(&["ab", "ef"])
        );
        for none in ["", "W/\"ab\"", "ab", "\"ab\" \"cd\"", "\"a,*,b"] {
            assert_eq!(of(&[none]), listed(&[]), "{none}");
        }
    }

    fn any_tag() -> impl Strategy<Value = (bool, String)> {
        (any::<bool>(), "[!#-~]{0,6}")
    }

    proptest! {
        #[test]
        fn a_list_of_tags_is_read_as_it_was_written(
            tags in proptest::collection::vec(any_tag(), 1..5),
            between in "[ \t]{0,2},[ ,\t]{0,3}",
        ) {
            let written = tags.iter().map(|(is_weak, opaque)| {
                format!("{}\"{opaque}\"", if *is_weak { "W/" } else { "" })
            });
            let list = written.collect::<Vec<_>>().join(&between);
            let read = tags.into_iter().map(|(is_weak, opaque)| Tag { is_weak, opaque: opaque.into() });
            prop_assert_eq!(Tags::parse(list.as_bytes()), Tags::Listed(read.collect()));
        }

        #[test]
        fn any_bytes_are_a_list_of_tags_or_none(list: Vec<u8>) {
            if let Tags::Listed(tags) = Tags::parse(&list) {
                prop_assert!(tags.iter().all(|tag| !tag.opaque.contains(&b'"')));
            }
        }
    }
}

//! A visitor's query, added to that of a link's target.

use std::borrow::Cow;
use std::collections::HashSet;

use form_urlencoded::parse;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::Location;
use super::target::MAX_LOCATION;

/// Characters that end a query or that a header may not carry.
const NOT_IN_QUERY: &AsciiSet = &CONTROLS.add(b' ').add(b'#').add(b'"').add(b'<').add(b'>');

impl Location {
    /// The same location with a visitor's query added. Where both have a parameter, the visitor's value counts. `None` where
    /// there is nothing to add, or the result would be longer than proxies take.
    #[must_use]
    pub fn with_query(&self, query: &str) -> Option<Self> {
        let added = utf8_percent_encode(query.trim_matches('&'), NOT_IN_QUERY).to_string();
        if added.is_empty() {
            return None;
        }
        let (location, fragment) = match self.as_str().split_once('#') {
            Some((location, fragment)) => (location, Some(fragment)),
            None => (self.as_str(), None),
        };
        let (path, own) = location.split_once('?').unwrap_or((location, ""));
        let given: HashSet<Cow<'_, str>> = parse(added.as_bytes()).map(|(name, _)| name).collect();
        let is_kept = |pair: &&str| {
            let name = parse(pair.as_bytes()).next();
            name.is_some_and(|(name, _)| !given.contains(&name))
        };
        let pairs = own.split('&').filter(is_kept).chain([added.as_str()]);
        let mut merged = format!("{path}?{}", pairs.collect::<Vec<_>>().join("&"));
        if let Some(fragment) = fragment {
            merged.push('#');
            merged.push_str(fragment);
        }
        (merged.len() <= MAX_LOCATION).then(|| Self::parse(&merged))?
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn merged(target: &str, query: &str) -> Option<String> {
        let location = Location::parse(target).unwrap();
        location
            .with_query(query)
            .map(|location| location.as_str().to_owned())
    }

    #[test]
    fn the_visitors_parameters_are_added_and_replace_those_of_the_same_name() {
        for (target, query, expected) in [
            ("https://a.example", "x=1", "https://a.example?x=1"),
            (
                "https://a.example/p?y=2",
                "x=1",
                "https://a.example/p?y=2&x=1",
            ),
            (
                "https://a.example/p?x=2&y=3&x=4",
                "x=1",
                "https://a.example/p?y=3&x=1",
            ),
            (
                "https://a.example/p?x=2#part",
                "x=1",
                "https://a.example/p?x=1#part",
            ),
            (
                "https://a.example/?a%20b=2",
                "a+b=1",
                "https://a.example/?a+b=1",
            ),
            (
                "https://a.example/?",
                "x=1&x=2",
                "https://a.example/?x=1&x=2",
            ),
            (
                "https://a.example/?x=1",
                "q=é #",
                "https://a.example/?x=1&q=%C3%A9%20%23",
            ),
        ] {
            assert_eq!(merged(target, query).as_deref(), Some(expected));
        }
    }

    #[test]
    fn an_empty_query_and_one_that_is_too_long_change_nothing() {
        assert_eq!(merged("https://a.example/?x=1", ""), None);
        assert_eq!(merged("https://a.example/?x=1", "&&"), None);
        assert_eq!(
            merged("https://a.example/", &"x".repeat(MAX_LOCATION)),
            None
        );
    }

    proptest! {
        #[test]
        fn any_query_gives_a_location_with_the_visitors_parameters(query in ".{0,60}", own in "[a-z=&%+]{0,20}") {
            let location = Location::parse(&format!("https://a.example/?{own}")).unwrap();
            if let Some(merged) = location.with_query(&query) {
                let found = merged.as_str().split_once('?').unwrap().1;
                let found: Vec<_> = parse(found.as_bytes()).collect();
                let given = utf8_percent_encode(&query, NOT_IN_QUERY).to_string();
                let given: Vec<_> = parse(given.as_bytes()).collect();
                prop_assert!(found.ends_with(&given), "{found:?} {given:?}");
            }
        }
    }
}

//! The parameters by which a site's statistics tell campaigns apart (UTM), added to a target before its link is made.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, utf8_percent_encode};

use super::target::MAX_LENGTH;

/// Longest value, in characters.
const MAX_CHARS: usize = 200;

/// What is encoded in a value: all but the unreserved characters of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Parameters with their values; empty values are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Campaign(Vec<(&'static str, Box<str>)>);

/// Why a value is refused; its text is for the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCampaign {
    /// Over 200 characters.
    #[error("{0}: must be at most {MAX_CHARS} characters long")]
    Long(&'static str),
    /// A control character.
    #[error("{0}: must not contain control characters")]
    Control(&'static str),
    /// The target with the parameters is longer than targets may be.
    #[error("target_url: must be at most {MAX_LENGTH} bytes long with its campaign parameters")]
    NoRoom,
}

impl Campaign {
    /// The names of all parameters, in their order.
    pub const NAMES: [&str; 5] = [
        "utm_source",
        "utm_medium",
        "utm_campaign",
        "utm_term",
        "utm_content",
    ];

    /// The parameters by the texts that are given for their names. White space around a text is dropped.
    ///
    /// # Errors
    /// [`InvalidCampaign`] names the first parameter whose text breaks a rule.
    pub fn parse<'a>(text: impl Fn(&'static str) -> &'a str) -> Result<Self, InvalidCampaign> {
        let mut values = Vec::new();
        for name in Self::NAMES {
            let value = text(name).trim();
            if value.chars().any(char::is_control) {
                return Err(InvalidCampaign::Control(name));
            }
            if value.chars().count() > MAX_CHARS {
                return Err(InvalidCampaign::Long(name));
            }
            if !value.is_empty() {
                values.push((name, value.into()));
            }
        }
        Ok(Self(values))
    }

    /// A target with these parameters at the end of its query, in place of parameters of the same names. The others stay as they are,
    /// and so does the fragment. Nothing is checked of a target without parameters.
    ///
    /// # Errors
    /// [`InvalidCampaign::NoRoom`].
    pub fn added_to<'a>(&self, target: &'a str) -> Result<Cow<'a, str>, InvalidCampaign> {
        if self.0.is_empty() {
            return Ok(target.into());
        }
        let (location, fragment) = match target.find('#') {
            Some(at) => target.split_at(at),
            None => (target, ""),
        };
        let (path, query) = location.split_once('?').unwrap_or((location, ""));
        let is_kept = |pair: &&str| !pair.is_empty() && !self.has(pair);
        let kept = query.split('&').filter(is_kept).map(Cow::Borrowed);
        let added = self.0.iter().map(|(name, value)| {
            Cow::Owned(format!("{name}={}", utf8_percent_encode(value, ENCODED)))
        });
        let query: Vec<_> = kept.chain(added).collect();
        let with = format!("{path}?{}{fragment}", query.join("&"));
        if with.len() > MAX_LENGTH {
            return Err(InvalidCampaign::NoRoom);
        }
        Ok(with.into())
    }

    /// Whether a pair of a query has one of these names.
    fn has(&self, pair: &str) -> bool {
        let name = pair.split('=').next().unwrap_or_default();
        let name: Cow<'_, [u8]> = percent_decode(name.as_bytes()).into();
        self.0.iter().any(|(known, _)| known.as_bytes() == &*name)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use url::Url;

    use super::*;

    fn campaign(values: &[(&str, &str)]) -> Campaign {
        let text = |name: &str| {
            let value = values.iter().find(|(known, _)| *known == name);
            value.map_or("", |(_, text)| *text)
        };
        Campaign::parse(text).unwrap()
    }

    #[test]
    fn parameters_are_added_to_a_query_and_replace_their_own_names() {
        let spring = campaign(&[("utm_campaign", "spring sale"), ("utm_source", " a&b=é ")]);
        let added = "utm_source=a%26b%3D%C3%A9&utm_campaign=spring%20sale";
        for (target, expected) in [
            ("https://a.example", format!("https://a.example?{added}")),
            ("https://a.example/?", format!("https://a.example/?{added}")),
            (
                "https://a.example/p?x=%C3%A9&y#a?b",
                format!("https://a.example/p?x=%C3%A9&y&{added}#a?b"),
            ),
            (
                "https://a.example/?utm_source=old&utm%5Fsource=older&utm_medium=mail&&utm_campaign",
                format!("https://a.example/?utm_medium=mail&{added}"),
            ),
            (
                "https://a.example/?UTM_source=x#",
                format!("https://a.example/?UTM_source=x&{added}#"),
            ),
        ] {
            assert_eq!(spring.added_to(target).unwrap(), expected);
        }
        let long = format!("https://a.example/{}", "x".repeat(2_000));
        assert_eq!(spring.added_to(&long), Err(InvalidCampaign::NoRoom));
        assert_eq!(campaign(&[]).added_to(&long).unwrap(), long);
    }

    #[test]
    fn a_value_that_is_too_long_or_has_control_characters_is_refused_by_its_name() {
        let long = "é".repeat(201);
        for (text, refused) in [
            (long.as_str(), InvalidCampaign::Long("utm_medium")),
            ("a\nb", InvalidCampaign::Control("utm_medium")),
        ] {
            let text = |name| if name == "utm_medium" { text } else { "x" };
            assert_eq!(Campaign::parse(text), Err(refused));
        }
        assert!(Campaign::parse(|_| &long[2..]).is_ok());
    }

    proptest! {
        #[test]
        fn a_target_has_the_parameters_once_and_the_rest_of_it_as_before(
            path in "(/[a-z%é]{0,5})?(\\?([ab]=?[a-z+%é]{0,3}&?|utm_source=[a-z]{0,3}&){0,4})?(#[a-z?&=#é]{0,5})?",
            source in "\\PC{0,20}",
            term in "[a-z &=#?%+é]{0,9}",
        ) {
            let target = format!("https://a.example{path}");
            let campaign = campaign(&[("utm_source", &source), ("utm_term", &term)]);
            let with = campaign.added_to(&target).unwrap();
            let (before, after) = (Url::parse(&target).unwrap(), Url::parse(&with).unwrap());
            prop_assert_eq!(before.fragment(), after.fragment());
            prop_assert_eq!(before.path(), after.path());
            let is_given = |name: &str| campaign.0.iter().any(|(known, _)| *known == name);
            let others = |url: &Url| {
                let pairs = url.query_pairs().into_owned();
                pairs.filter(|(name, _)| !is_given(name)).collect::<Vec<_>>()
            };
            prop_assert_eq!(others(&before), others(&after));
            let given: Vec<_> = after.query_pairs().into_owned().filter(|(name, _)| is_given(name)).collect();
            let expected: Vec<_> = campaign.0.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect();
            prop_assert_eq!(given, expected);
            prop_assert_eq!(campaign.added_to(&with).unwrap(), &*with);
        }
    }
}

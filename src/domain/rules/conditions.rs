//! What a rule asks of a visitor.

use ipnet::IpNet;

use super::visitor::KnownVisitor;
use crate::domain::Timestamp;

/// What a visitor must have: all of it. Without any condition it always holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// Kinds of devices.
    pub device: Option<OneOf<&'static str>>,
    /// Families of systems.
    pub os: Option<OneOf<&'static str>>,
    /// Families of browsers.
    pub browser: Option<OneOf<&'static str>>,
    /// Whether it is a known bot.
    pub bot: Option<OneOf<bool>>,
    /// Countries, in capitals.
    pub country: Option<OneOf<[u8; 2]>>,
    /// Languages that it reads.
    pub language: Option<OneOf<Language>>,
    /// Parameters of its query.
    pub query: Option<OneOf<QueryPairs>>,
    /// Networks that its address is in.
    pub address: Option<OneOf<IpNet>>,
    /// The moment from which it holds.
    pub after: Option<Timestamp>,
    /// The moment from which it does not hold any more.
    pub before: Option<Timestamp>,
}

/// Values of which one must be met, as they were given: one alone, or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneOf<T> {
    /// At least one.
    pub values: Box<[T]>,
    /// Whether they were given as a list.
    pub is_list: bool,
}

impl<T> OneOf<T> {
    fn any(&self, holds: impl FnMut(&T) -> bool) -> bool {
        self.values.iter().any(holds)
    }
}

/// Whether the condition is not asked for, or one of its values is met.
fn none_or_any<T>(asked: Option<&OneOf<T>>, holds: impl FnMut(&T) -> bool) -> bool {
    asked.is_none_or(|one_of| one_of.any(holds))
}

/// A basic range of languages (RFC 4647): `es` is met by `es-MX`, and `*` by any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Language(Box<str>);

impl Language {
    /// # Errors
    /// What it must be.
    pub(super) fn parse(raw: &str) -> Result<Self, &'static str> {
        let is_part = |part: &str, at: usize| {
            let is_right = |byte: u8| byte.is_ascii_alphabetic() || at > 0 && byte.is_ascii_digit();
            (1..=8).contains(&part.len()) && part.bytes().all(is_right)
        };
        let mut parts = raw.split('-').enumerate();
        let is_range = raw == "*" || raw.len() <= 64 && parts.all(|(at, part)| is_part(part, at));
        let language = || Self(raw.into());
        is_range
            .then(language)
            .ok_or("must be a language, such as es or pt-BR")
    }

    /// The range as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a visitor's language is in the range.
    fn has(&self, language: &str) -> bool {
        let range = self.0.as_bytes();
        let language = language.as_bytes();
        *range == *b"*"
            || language.get(..range.len()).is_some_and(|start| {
                start.eq_ignore_ascii_case(range)
                    && matches!(language.get(range.len()), None | Some(b'-'))
            })
    }
}

/// Parameters that a query must have, all of them; of each its value, or `None` for any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryPairs(pub Box<[QueryPair]>);

/// A name, and its value, if not any value will do.
pub type QueryPair = (Box<str>, Option<Box<str>>);

impl QueryPairs {
    fn are_in(&self, visitor: &KnownVisitor<'_>) -> bool {
        let query = visitor.query();
        self.0.iter().all(|(name, value)| {
            query.iter().any(|(known, given)| {
                *known == **name && value.as_ref().is_none_or(|value| *given == **value)
            })
        })
    }
}

impl Conditions {
    /// How many of its values are looked for among the values of a visitor.
    pub(super) fn searched(&self) -> usize {
        let languages = self
            .language
            .as_ref()
            .map_or(0, |one_of| one_of.values.len());
        let queries = self.query.iter().flat_map(|one_of| one_of.values.iter());
        languages + queries.map(|pairs| pairs.0.len()).sum::<usize>()
    }

    /// Whether a visitor meets all of them. What says least of a visitor is asked first: the rest is not found out then.
    #[must_use]
    pub fn hold(&self, visitor: &KnownVisitor<'_>) -> bool {
        self.after.is_none_or(|after| after <= visitor.now())
            && self.before.is_none_or(|before| visitor.now() < before)
            && none_or_any(self.query.as_ref(), |pairs| pairs.are_in(visitor))
            && none_or_any(self.language.as_ref(), |range| {
                let mut languages = visitor.languages().iter();
                languages.any(|language| range.has(language))
            })
            && none_or_any(self.address.as_ref(), |network| {
                let address = visitor.address();
                address.is_some_and(|address| network.contains(&address))
            })
            && none_or_any(self.device.as_ref(), |device| {
                visitor.agent().device == Some(*device)
            })
            && none_or_any(self.os.as_ref(), |os| visitor.agent().os == Some(*os))
            && none_or_any(self.browser.as_ref(), |browser| {
                visitor.agent().browser == Some(*browser)
            })
            && none_or_any(self.bot.as_ref(), |bot| {
                visitor.agent().is_bot == Some(*bot)
            })
            && none_or_any(self.country.as_ref(), |country| {
                visitor.country() == Some(*country)
            })
    }
}

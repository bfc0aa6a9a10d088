//! What is known of a visitor.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::net::IpAddr;

use url::form_urlencoded;

use crate::domain::Timestamp;

/// Languages of a visitor that are read, and parameters of its query: browsers send fewer.
const MOST_LANGUAGES: usize = 32;
const MOST_PARAMETERS: usize = 64;

/// What an agent says; `None` where that is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentFacts {
    /// The kind of device.
    pub device: Option<&'static str>,
    /// The family of the system.
    pub os: Option<&'static str>,
    /// The family of the browser.
    pub browser: Option<&'static str>,
    /// Whether it is a known bot.
    pub is_bot: Option<bool>,
}

/// Finds out what a visitor's request says; each question may take a while.
pub trait VisitorSource {
    /// What its agent says.
    fn agent(&self) -> AgentFacts;
    /// The country of its address.
    fn country(&self) -> Option<[u8; 2]>;
    /// The value of `Accept-Language`.
    fn accept_language(&self) -> &[u8];
    /// Its query.
    fn query(&self) -> &str;
    /// Its address; of an address of IPv6 at least the first 64 bits.
    fn address(&self) -> Option<IpAddr>;
    /// The moment of its visit.
    fn now(&self) -> Timestamp;
}

/// A visitor of whom each thing is found out once, when a rule asks for it.
pub struct KnownVisitor<'a> {
    source: &'a dyn VisitorSource,
    agent: OnceCell<AgentFacts>,
    country: OnceCell<Option<[u8; 2]>>,
    languages: OnceCell<Vec<&'a str>>,
    query: OnceCell<Vec<(Cow<'a, str>, Cow<'a, str>)>>,
    address: OnceCell<Option<IpAddr>>,
    now: OnceCell<Timestamp>,
}

impl<'a> KnownVisitor<'a> {
    /// A visitor of whom nothing is known yet.
    #[must_use]
    pub fn new(source: &'a dyn VisitorSource) -> Self {
        Self {
            source,
            agent: OnceCell::new(),
            country: OnceCell::new(),
            languages: OnceCell::new(),
            query: OnceCell::new(),
            address: OnceCell::new(),
            now: OnceCell::new(),
        }
    }

    pub(super) fn agent(&self) -> AgentFacts {
        *self.agent.get_or_init(|| self.source.agent())
    }

    pub(super) fn country(&self) -> Option<[u8; 2]> {
        *self.country.get_or_init(|| self.source.country())
    }

    /// The languages that it reads.
    pub(super) fn languages(&self) -> &[&'a str] {
        self.languages
            .get_or_init(|| languages(self.source.accept_language()))
    }

    pub(super) fn query(&self) -> &[(Cow<'a, str>, Cow<'a, str>)] {
        self.query.get_or_init(|| {
            let pairs = form_urlencoded::parse(self.source.query().as_bytes());
            pairs.take(MOST_PARAMETERS).collect()
        })
    }

    pub(super) fn address(&self) -> Option<IpAddr> {
        *self.address.get_or_init(|| self.source.address())
    }

    pub(super) fn now(&self) -> Timestamp {
        *self.now.get_or_init(|| self.source.now())
    }
}

/// The languages that a visitor wants with a weight of at least a half.
fn languages(accepted: &[u8]) -> Vec<&str> {
    let accepted = str::from_utf8(accepted).unwrap_or_default();
    let parts = accepted.split(',').take(MOST_LANGUAGES);
    let wanted = parts.filter_map(|part| {
        let (language, parameters) = part.split_once(';').unwrap_or((part, ""));
        let language = language.trim();
        let mut parameters = parameters.split(';').map(str::trim);
        let weight = parameters.find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            name.trim().eq_ignore_ascii_case("q").then(|| value.trim())
        });
        // An invalid weight says nothing.
        let is_wanted = weight.is_none_or(|weight| weight.parse().is_ok_and(|q: f32| q >= 0.5));
        (is_wanted && !language.is_empty()).then_some(language)
    });
    wanted.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_of_half_the_weight_are_wanted_and_others_are_not() {
        let header = b"de-AT, es;q=0.5,fr;q=0.49;x=1, *;q=0, it;q=high, ja; Q = 1.0,,";
        assert_eq!(languages(header), ["de-AT", "es", "ja"]);
        assert!(languages(b"\xff, de").is_empty());
        assert!(languages(b"").is_empty());
    }
}

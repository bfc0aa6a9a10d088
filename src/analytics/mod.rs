//! What is kept of a visitor: the class of a click, and nothing else.
//!
//! | file | what it does |
//! | --- | --- |
//! | `agents` | families of browsers and systems, devices, known bots |
//! | `referrer` | the registrable host of the page that has the link |
//! | `countries` | countries of addresses, by the operator's file |
//! | `filter` | values by which clicks may be filtered |
//! | `memo` | keeps answers in bounded tables |
//!
//! A [`Classifier`] is of one worker. Of an agent or a referrer that it met before, it finds the class by their bytes and
//! allocates nothing. The bytes themselves are in its tables alone, and leave them neither for a log nor for a store.

use std::sync::{Arc, Mutex, PoisonError};

use metrics::{Counter, counter};

use crate::domain::ClickClass;
use crate::telemetry::metrics::{CLASSES_MADE, CLASSES_UNKNOWN};

mod agents;
mod countries;
mod filter;
mod memo;
mod referrer;

use agents::{Agent, UserAgents};
pub use countries::{Countries, CountriesError};
pub use filter::{InvalidFilter, filter};
use memo::{Limit, Memo};

/// Room of the tables of one worker, each of which has two such halves.
const AGENTS: Limit = Limit {
    entries: 4_096,
    bytes: 1 << 20,
};
const REFERRERS: Limit = Limit {
    entries: 4_096,
    bytes: 1 << 20,
};
const CLASSES: Limit = Limit {
    entries: 8_192,
    bytes: 1 << 20,
};

/// What a visitor's request says of it.
#[derive(Clone, Copy)]
pub struct Visitor<'a> {
    /// Finds out the address; only where it is needed.
    pub address: AddressOf<'a>,
    /// The value of `User-Agent`.
    pub agent: Option<&'a [u8]>,
    /// The value of `Referer`.
    pub referrer: Option<&'a [u8]>,
    /// The query of its request, which a link may add to its target's.
    pub query: Option<&'a str>,
    /// Whether a browser only loads ahead what a person may visit later.
    pub is_speculative: bool,
    /// Whether it asks not to be analysed: `Sec-GPC: 1` or `DNT: 1`.
    pub opts_out: bool,
}

/// The address of a client, which is found out only where it is needed.
pub type AddressOf<'a> = &'a (dyn Fn() -> String + Sync);

/// What all workers share: parsers and countries. Cheap to clone.
#[derive(Clone)]
pub struct Analytics {
    agents: UserAgents,
    countries: Countries,
}

/// Finds the classes of clicks for one worker; cheap to clone.
#[derive(Clone)]
pub struct Classifier(Option<Arc<OfWorker>>);

struct OfWorker {
    analytics: Analytics,
    unknown: Arc<ClickClass>,
    memos: Mutex<Memos>,
    made: Counter,
    out_of_bounds: Counter,
    opted_out: Counter,
}

struct Memos {
    agents: Memo<Box<[u8]>, Agent>,
    referrers: Memo<Box<[u8]>, Option<Arc<str>>>,
    classes: Memo<ClassKey, Arc<ClickClass>>,
}

type ClassKey = (Agent, Option<Arc<str>>, Option<[u8; 2]>);

impl Analytics {
    /// Compiles the patterns of user agents: takes about 50 ms.
    #[must_use]
    pub fn new(countries: Countries) -> Self {
        Self {
            agents: UserAgents::new(),
            countries,
        }
    }
}

impl Classifier {
    /// One that notes no classes.
    #[must_use]
    pub fn off() -> Self {
        Self(None)
    }

    /// For one worker.
    #[must_use]
    pub fn new(analytics: &Analytics) -> Self {
        let unknown = |reason| counter!(CLASSES_UNKNOWN, "reason" => reason);
        Self(Some(Arc::new(OfWorker {
            analytics: analytics.clone(),
            unknown: Arc::new(ClickClass::unknown()),
            memos: Mutex::new(Memos {
                agents: Memo::new(AGENTS),
                referrers: Memo::new(REFERRERS),
                classes: Memo::new(CLASSES),
            }),
            made: counter!(CLASSES_MADE),
            out_of_bounds: unknown("bound"),
            opted_out: unknown("opt_out"),
        })))
    }

    /// The class of a click; `None` where none are noted.
    #[must_use]
    pub fn class_of(&self, visitor: &Visitor<'_>) -> Option<Arc<ClickClass>> {
        self.0.as_ref().map(|worker| worker.class_of(visitor))
    }
}

impl OfWorker {
    fn class_of(&self, visitor: &Visitor<'_>) -> Arc<ClickClass> {
        if visitor.opts_out {
            self.opted_out.increment(1);
            return Arc::clone(&self.unknown);
        }
        let agent = visitor.agent.unwrap_or_default();
        let referrer = visitor.referrer.unwrap_or_default();
        let country = if self.analytics.countries.are_known() {
            self.analytics.countries.of(&(visitor.address)())
        } else {
            None
        };
        let mut memos = self.memos.lock().unwrap_or_else(PoisonError::into_inner);
        self.class(&mut memos, agent, referrer, country)
            .unwrap_or_else(|| {
                self.out_of_bounds.increment(1);
                Arc::clone(&self.unknown)
            })
    }

    /// `None` where a header is too long, or is no text.
    fn class(
        &self,
        memos: &mut Memos,
        agent: &[u8],
        referrer: &[u8],
        country: Option<[u8; 2]>,
    ) -> Option<Arc<ClickClass>> {
        if agent.len() > agents::MAX_BYTES || referrer.len() > referrer::MAX_BYTES {
            return None;
        }
        let (agent_text, referrer_text) =
            (str::from_utf8(agent).ok()?, str::from_utf8(referrer).ok()?);
        let agent = memos.agents.get_or_insert(
            agent,
            agent.len(),
            |bytes| bytes.into(),
            || self.analytics.agents.of(agent_text),
        );
        let referrer = memos.referrers.get_or_insert(
            referrer,
            referrer.len(),
            |bytes| bytes.into(),
            || referrer::host_of(referrer_text).map(Arc::from),
        );
        let bytes = referrer.as_ref().map_or(0, |host| host.len());
        let key = (agent, referrer, country);
        let class = memos.classes.get_or_insert(&key, bytes, Clone::clone, || {
            self.made.increment(1);
            Arc::new(class(&key))
        });
        Some(class)
    }
}

fn class((agent, referrer, country): &ClassKey) -> ClickClass {
    let country = country.as_ref().and_then(|code| str::from_utf8(code).ok());
    let bot = if agent.is_bot { "true" } else { "false" };
    ClickClass::of([
        referrer.as_deref(),
        country,
        agent.browser,
        agent.os,
        agent.device,
        Some(bot),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Dimension;

    const FIREFOX: &[u8] =
        b"Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";

    fn classifier() -> Classifier {
        Classifier::new(&Analytics::new(Countries::default()))
    }

    fn visitor<'a>(agent: &'a [u8], referrer: &'a [u8]) -> Visitor<'a> {
        Visitor {
            address: &|| "192.0.2.1".to_owned(),
            agent: Some(agent),
            referrer: Some(referrer),
            query: None,
            is_speculative: false,
            opts_out: false,
        }
    }

    #[test]
    fn visitors_with_the_same_headers_share_one_class() {
        let classifier = classifier();
        let visitor = visitor(FIREFOX, b"https://www.example.com/path?query");
        let class = classifier.class_of(&visitor).unwrap();
        let values = Dimension::ALL.map(|dimension| class.value(dimension));
        let expected = ["example.com", "", "Firefox", "Linux", "desktop", "false"];
        assert_eq!(values.map(Option::unwrap_or_default), expected);
        assert!(Arc::ptr_eq(&class, &classifier.class_of(&visitor).unwrap()));
    }

    #[test]
    fn nothing_is_known_of_a_visitor_that_opts_out_or_whose_headers_are_out_of_bounds() {
        let classifier = classifier();
        let opts_out = Visitor {
            opts_out: true,
            ..visitor(FIREFOX, b"")
        };
        let (long_agent, long_referrer) = ([b'a'; 2_049], [b'a'; 1_025]);
        for visitor in [
            opts_out,
            visitor(&long_agent, b""),
            visitor(FIREFOX, &long_referrer),
            visitor(b"caf\xe9", b""),
        ] {
            assert_eq!(
                *classifier.class_of(&visitor).unwrap(),
                ClickClass::unknown()
            );
        }
    }

    #[test]
    fn no_classes_are_noted_where_that_is_switched_off() {
        assert_eq!(Classifier::off().class_of(&visitor(FIREFOX, b"")), None);
    }
}

//! What is kept of a visitor: the class of a click, and nothing else.
//!
//! | file | what it does |
//! | --- | --- |
//! | `agents` | families of browsers and systems, devices |
//! | `bots` | words of known bots |
//! | `referrer` | the registrable host of the page that has the link |
//! | `countries` | countries of addresses, by the operator's file |
//! | `filter` | values by which clicks may be filtered |
//! | `memo` | keeps answers in bounded tables |
//! | `budget` | bounds the work for headers that are new |
//!
//! A [`Classifier`] belongs to a worker. For an agent or a referrer that it met before, it finds the class by the bytes and
//! allocates nothing. The bytes themselves are only in its tables, and never reach a log or a store.
//!
//! New ones are worked out on the redirect's own thread, as that takes a browser's agent 4 us, and handing it to another thread
//! takes longer. Agents that somebody makes up may take a hundred times that, so each worker has a budget for new headers, of
//! which one address gets a quarter. Past it a header is not known, unless its plain words say that it is a bot's, and it
//! takes no room in the tables: a stranger cannot push out what others send.

use std::sync::{Arc, Mutex, PoisonError};

use metrics::{Counter, counter};

use crate::domain::{ClickClass, public_suffix};
use crate::telemetry::metrics::{CLASSES_COMPUTED, CLASSES_UNKNOWN};

mod agents;
mod bots;
mod budget;
mod countries;
mod filter;
mod memo;
mod referrer;

use agents::{Agent, UserAgents};
pub use budget::AddressOf;
use budget::Budget;
pub use countries::{Countries, CountriesError};
pub use filter::{InvalidFilter, filter};
use memo::{Limit, Memo};

/// The size of the tables of a worker, each of which has two such halves.
const AGENTS: Limit = Limit {
    entries: 4_096,
    bytes: 4_096 * agents::MAX_BYTES,
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
    /// Finds out the address; only when it is needed.
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
    over_budget: Counter,
    opted_out: Counter,
}

struct Memos {
    budget: Budget,
    agents: Memo<Box<[u8]>, Agent>,
    referrers: Memo<Box<[u8]>, Option<Arc<str>>>,
    classes: Memo<ClassKey, Arc<ClickClass>>,
}

type ClassKey = (Agent, Option<Arc<str>>, Option<[u8; 2]>);

impl Analytics {
    /// Compiles the patterns of user agents: takes about 50 ms.
    #[must_use]
    pub fn new(countries: Countries) -> Self {
        public_suffix::prepare();
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
                budget: Budget::new(),
                agents: Memo::new(AGENTS),
                referrers: Memo::new(REFERRERS),
                classes: Memo::new(CLASSES),
            }),
            made: counter!(CLASSES_COMPUTED),
            out_of_bounds: unknown("bound"),
            over_budget: unknown("budget"),
            opted_out: unknown("opt_out"),
        })))
    }

    /// The class of a click; `None` if classes are not kept.
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
        self.class(&mut memos, agent, referrer, country, visitor.address)
            .unwrap_or_else(|| {
                self.out_of_bounds.increment(1);
                Arc::clone(&self.unknown)
            })
    }

    /// `None` if a header is too long, or is not text.
    fn class(
        &self,
        memos: &mut Memos,
        agent: &[u8],
        referrer: &[u8],
        country: Option<[u8; 2]>,
        address: AddressOf<'_>,
    ) -> Option<Arc<ClickClass>> {
        if referrer.len() > referrer::MAX_BYTES {
            return None;
        }
        let (agent, referrer) = (agents::cut(agent)?, str::from_utf8(referrer).ok()?);
        let agent = self.agent(memos, agent, address);
        let referrer = self.referrer(memos, referrer::origin(referrer), address);
        let bytes = referrer.as_ref().map_or(0, |host| host.len());
        let key = (agent, referrer, country);
        if let Some(class) = memos.classes.get(&key, bytes) {
            return Some(class);
        }
        self.made.increment(1);
        let class = Arc::new(class(&key));
        memos.classes.insert(key, bytes, Arc::clone(&class));
        Some(class)
    }

    fn agent(&self, memos: &mut Memos, agent: &str, address: AddressOf<'_>) -> Agent {
        let (key, parsers) = (agent.as_bytes(), &self.analytics.agents);
        if let Some(known) = memos.agents.get(key, key.len()) {
            return known;
        }
        if let Some(found) = memos.budget.spend(address, || parsers.of(agent)) {
            memos.agents.insert(key.into(), key.len(), found);
            return found;
        }
        self.over_budget.increment(1);
        parsers.at_a_glance(agent)
    }

    fn referrer(
        &self,
        memos: &mut Memos,
        origin: &str,
        address: AddressOf<'_>,
    ) -> Option<Arc<str>> {
        let key = origin.as_bytes();
        if let Some(known) = memos.referrers.get(key, key.len()) {
            return known;
        }
        let host = || referrer::host_of(origin).map(Arc::from);
        let Some(found) = memos.budget.spend(address, host) else {
            self.over_budget.increment(1);
            return None;
        };
        memos.referrers.insert(key.into(), key.len(), found.clone());
        found
    }
}

fn class((agent, referrer, country): &ClassKey) -> ClickClass {
    let country = country.as_ref().and_then(|code| str::from_utf8(code).ok());
    let bot = agent.is_bot.map(|is| if is { "true" } else { "false" });
    ClickClass::of([
        referrer.as_deref(),
        country,
        agent.browser,
        agent.os,
        agent.device,
        bot,
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
    fn of_a_long_agent_the_beginning_is_read_and_no_character_is_cut_in_two() {
        let classifier = classifier();
        let class = |agent: &[u8]| classifier.class_of(&visitor(agent, b"")).unwrap();
        let long = [b"-", FIREFOX, "\u{e9}".repeat(900).as_bytes()].concat();
        assert!(str::from_utf8(&long[..512]).is_err());
        assert_eq!(class(&long).value(Dimension::Browser), Some("Firefox"));
        let hidden = ["a ".repeat(256).as_bytes(), b"Googlebot"].concat();
        assert_eq!(class(&hidden).value(Dimension::Bot), Some("false"));
    }

    /// Agents that no browser sends, each of which takes longer to read than a hundred real agents.
    fn made_up(number: usize) -> String {
        format!("{number} {}", "bot".repeat(168))
    }

    fn class_at(classifier: &Classifier, address: &str, agent: &str) -> Arc<ClickClass> {
        let visitor = Visitor {
            address: &|| address.to_owned(),
            ..visitor(agent.as_bytes(), b"https://example.com/")
        };
        classifier.class_of(&visitor).unwrap()
    }

    #[test]
    fn one_who_makes_up_agents_makes_none_of_others_unknown() {
        let classifier = classifier();
        let known = str::from_utf8(FIREFOX).unwrap();
        let before = class_at(&classifier, "192.0.2.1", known);
        let is_browser = |class: &ClickClass| class.value(Dimension::Browser) == Some("Firefox");
        assert!(is_browser(&before));
        for number in 0..20_000 {
            class_at(&classifier, "192.0.2.2", &made_up(number));
        }
        // What was known is known, of whomever; what is new is read for everybody else.
        assert!(is_browser(&class_at(&classifier, "192.0.2.2", known)));
        assert!(Arc::ptr_eq(
            &before,
            &class_at(&classifier, "192.0.2.1", known)
        ));
        let new = format!("{known} new");
        assert!(is_browser(&class_at(&classifier, "192.0.2.1", &new)));
        let kept = classifier.0.as_ref().unwrap().memos.lock().unwrap();
        assert!(kept.agents.len() < 2_000, "{}", kept.agents.len());
    }

    #[test]
    fn past_the_budget_only_bots_by_their_plain_words_are_known() {
        let classifier = classifier();
        let agent = |number: usize, rest: &str| format!("{number} {rest}");
        for number in 0..20_000 {
            class_at(&classifier, "192.0.2.2", &made_up(number));
        }
        let mut values = Vec::new();
        for number in 0..100 {
            for rest in [
                "Googlebot/2.1",
                "Android 4.2.2; Googlebot/2.1",
                "Firefox/145.0",
            ] {
                // The budget of the next second.
                class_at(&classifier, "192.0.2.2", &made_up(20_000 + number));
                let class = class_at(&classifier, "192.0.2.2", &agent(number, rest));
                values.push((rest, class.value(Dimension::Bot).map(str::to_owned)));
            }
        }
        let of = |word| {
            values
                .iter()
                .filter(move |(rest, _)| rest.starts_with(word))
        };
        let is = |value: &'static str| {
            move |found: &&(&str, Option<String>)| found.1.as_deref() == Some(value)
        };
        assert_eq!(of("Googlebot").filter(is("true")).count(), 100);
        assert_eq!(of("Android").filter(is("false")).count(), 0);
        assert_eq!(of("Firefox").filter(is("true")).count(), 0);
    }

    #[test]
    fn no_classes_are_noted_where_that_is_switched_off() {
        assert_eq!(Classifier::off().class_of(&visitor(FIREFOX, b"")), None);
    }
}

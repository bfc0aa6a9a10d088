//! What is kept of a visitor: the class of a click, and nothing else.
//!
//! | file | what it does |
//! | --- | --- |
//! | `agents` | families of browsers and systems, devices |
//! | `bots` | words of known bots |
//! | `referrer` | the registrable host of the page that has the link |
//! | `countries` | countries of addresses, by the operator's file |
//! | `filter` | values by which clicks may be filtered |
//! | `last_class` | keeps the class of a connection's last click |
//! | `memo` | keeps answers in bounded tables |
//! | `budget` | bounds the work for headers that are new |
//! | `daily_key` | the key by which a visitor is known again on the same day |
//!
//! A [`Classifier`] belongs to a worker. For an agent or a referrer that it met before, it finds the class by the bytes and
//! allocates nothing; for the same headers as in the last request of a connection it only compares them. The bytes themselves are
//! only in its tables and at the connection, and never reach a log or a store.
//!
//! New ones are worked out on the redirect's own thread, as that takes a browser's agent 4 us, and handing it to another thread
//! takes longer. Agents that somebody makes up may take a hundred times that, so each worker has a budget for new headers, of
//! which one address gets a quarter. Past it a header is not known, unless its plain words say that it is a bot's, and it
//! takes no room in the tables: a stranger cannot push out what others send.

use std::sync::{Arc, Mutex, PoisonError};

use metrics::{Counter, counter};

use crate::domain::rules::AgentFacts;
use crate::domain::{ClickClass, PasswordMark, public_suffix};
use crate::telemetry::metrics::{CLASSES_COMPUTED, CLASSES_UNKNOWN};

mod agents;
mod bots;
mod budget;
mod countries;
mod daily_key;
mod filter;
mod last_class;
mod memo;
mod referrer;

use agents::{Agent, UserAgents};
pub use budget::AddressOf;
use budget::Budget;
pub use countries::{Countries, CountriesError};
pub use daily_key::DailyKeys;
pub use filter::{InvalidFilter, filter};
pub use last_class::LastClass;
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
    /// The value of `Accept-Language`.
    pub languages: Option<&'a [u8]>,
    /// The query of its request, which a link may add to its target's.
    pub query: Option<&'a str>,
    /// Whether a browser only loads ahead what a person may visit later.
    pub is_speculative: bool,
    /// Whether it asks not to be analysed: `Sec-GPC: 1` or `DNT: 1`.
    pub opts_out: bool,
    /// The password that it has given, if it is the link's.
    pub unlocked: Option<PasswordMark>,
    /// The connection of its request, if its last class may be used again.
    pub connection: Option<VisitorConnection<'a>>,
}

/// The connection of a request.
#[derive(Clone, Copy)]
pub struct VisitorConnection<'a> {
    /// The class of its last click.
    pub last_class: &'a LastClass,
    /// The only line of `X-Forwarded-For`, or nothing: with the connection's other end, what the address is read from.
    pub forwarded_for: &'a [u8],
}

/// What all workers share: parsers and countries. Cheap to clone.
#[derive(Clone)]
pub struct Analytics {
    agents: UserAgents,
    countries: Countries,
    /// Whether classes of clicks are kept.
    are_kept: bool,
}

/// Finds the classes of clicks for one worker, and what rules ask of visitors; cheap to clone.
#[derive(Clone)]
pub struct Classifier(Arc<OfWorker>);

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
        let analytics = Self {
            are_kept: true,
            ..Self::off(countries)
        };
        analytics.agents.prepare();
        analytics
    }

    /// Where no classes are kept: the patterns are compiled once a rule asks for an agent.
    #[must_use]
    pub fn off(countries: Countries) -> Self {
        Self {
            agents: UserAgents::new(),
            countries,
            are_kept: false,
        }
    }
}

impl Classifier {
    /// For one worker.
    #[must_use]
    pub fn new(analytics: &Analytics) -> Self {
        let unknown = |reason| counter!(CLASSES_UNKNOWN, "reason" => reason);
        Self(Arc::new(OfWorker {
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
        }))
    }

    /// The class of a click; `None` if classes are not kept.
    #[must_use]
    pub fn class_of(&self, visitor: &Visitor<'_>) -> Option<Arc<ClickClass>> {
        let are_kept = self.0.analytics.are_kept;
        are_kept.then(|| self.0.class_of(visitor))
    }

    /// What a visitor's agent says, for rules of links.
    #[must_use]
    pub fn agent_of(&self, visitor: &Visitor<'_>) -> AgentFacts {
        let mut memos = (self.0.memos.lock()).unwrap_or_else(PoisonError::into_inner);
        let agent = visitor.agent.unwrap_or_default();
        let found = self.0.agent(&mut memos, agent, visitor.address);
        let Some(Ok(agent) | Err(agent)) = found else {
            return AgentFacts::default();
        };
        AgentFacts {
            device: agent.device,
            os: agent.os,
            browser: agent.browser,
            is_bot: agent.is_bot,
        }
    }

    /// The country of a visitor's address, if countries are known.
    #[must_use]
    pub fn country_of(&self, visitor: &Visitor<'_>) -> Option<[u8; 2]> {
        let countries = &self.0.analytics.countries;
        countries.version()?;
        countries.of(&(visitor.address)())
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
        let countries = self.analytics.countries.version();
        let last = visitor.connection.map(|connection| {
            let address = countries.map_or(&[][..], |_| connection.forwarded_for);
            (connection.last_class, [agent, referrer, address])
        });
        if let Some(class) = last.and_then(|(last, headers)| last.get(headers, countries)) {
            return class;
        }
        let country = countries.and_then(|_| self.analytics.countries.of(&(visitor.address)()));
        let mut memos = self.memos.lock().unwrap_or_else(PoisonError::into_inner);
        let found = self.class(&mut memos, agent, referrer, country, visitor.address);
        let Some((class, is_final)) = found else {
            self.out_of_bounds.increment(1);
            return Arc::clone(&self.unknown);
        };
        if let Some((last, headers)) = last.filter(|_| is_final) {
            last.keep(headers, countries, &class);
        }
        class
    }

    /// The class, and whether the budget sufficed for it. `None` if a header is too long, or is not text.
    fn class(
        &self,
        memos: &mut Memos,
        agent: &[u8],
        referrer: &[u8],
        country: Option<[u8; 2]>,
        address: AddressOf<'_>,
    ) -> Option<(Arc<ClickClass>, bool)> {
        if referrer.len() > referrer::MAX_BYTES || !is_text(referrer) {
            return None;
        }
        let agent = self.agent(memos, agent, address)?;
        let referrer = self.referrer(memos, referrer::origin(referrer), address);
        let is_final = agent.is_ok() && referrer.is_ok();
        let (Ok(agent) | Err(agent)) = agent;
        let referrer = referrer.unwrap_or_default();
        let bytes = referrer.as_ref().map_or(0, |host| host.len());
        let key = (agent, referrer, country);
        if let Some(class) = memos.classes.get(&key, bytes) {
            return Some((class, is_final));
        }
        self.made.increment(1);
        let class = Arc::new(class(&key));
        memos.classes.insert(key, bytes, Arc::clone(&class));
        Some((class, is_final))
    }

    /// An error, past the budget, is what its plain words say. `None` if the header is too long, or is not text.
    fn agent(
        &self,
        memos: &mut Memos,
        agent: &[u8],
        address: AddressOf<'_>,
    ) -> Option<Result<Agent, Agent>> {
        // As it was sent: what is known is text, and need not be read as such again.
        if agent.len() <= agents::MAX_BYTES
            && let Some(known) = memos.agents.get(agent, agent.len())
        {
            return Some(Ok(known));
        }
        let agent = agents::cut(agent)?;
        let (key, parsers) = (agent.as_bytes(), &self.analytics.agents);
        if let Some(known) = memos.agents.get(key, key.len()) {
            return Some(Ok(known));
        }
        if let Some(found) = memos.budget.spend(address, || parsers.of(agent)) {
            memos.agents.insert(key.into(), key.len(), found);
            return Some(Ok(found));
        }
        self.over_budget.increment(1);
        Some(Err(parsers.at_a_glance(agent)))
    }

    /// The host of a referrer that is text; an error past the budget.
    fn referrer(
        &self,
        memos: &mut Memos,
        origin: &[u8],
        address: AddressOf<'_>,
    ) -> Result<Option<Arc<str>>, OverBudget> {
        if let Some(known) = memos.referrers.get(origin, origin.len()) {
            return Ok(known);
        }
        let host = || {
            let origin = str::from_utf8(origin).ok()?;
            referrer::host_of(origin).map(Arc::from)
        };
        let Some(found) = memos.budget.spend(address, host) else {
            self.over_budget.increment(1);
            return Err(OverBudget);
        };
        memos
            .referrers
            .insert(origin.into(), origin.len(), found.clone());
        Ok(found)
    }
}

/// Nothing is left of the budget for a header that is new.
struct OverBudget;

fn is_text(value: &[u8]) -> bool {
    value.is_ascii() || str::from_utf8(value).is_ok()
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
        None,
        None,
        bot,
    ])
}

#[cfg(test)]
mod tests;

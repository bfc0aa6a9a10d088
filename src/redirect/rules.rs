//! Which rule of a link a visitor meets, and where it leads.
//!
//! What a rule asks of a visitor is found out when it asks, and links without rules ask nothing. Each worker gives its own turns in
//! splits; a turn whose click is not counted is given back.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;

use crate::analytics::{Classifier, DailyKeys, Visitor};
use crate::cache::{CachedLeads, CachedLink, CachedRules};
use crate::domain::rules::{AgentFacts, KnownVisitor, Turns, VisitorSource};
use crate::domain::{ClickClass, Clock, Dimension, LinkId, Location, Timestamp};

/// Splits whose turns a worker knows: twice as many at most.
const SPLITS: usize = 8_192;

/// Decides for one worker; cheap to clone.
#[derive(Clone)]
pub struct RuleChoice {
    /// The keys by which a visitor is known again on the same day.
    pub keys: DailyKeys,
    turns: Arc<Mutex<KnownTurns>>,
}

type SplitKey = (LinkId, u64);

/// The turns of the splits that were visited last: once the young half is full it becomes the old half.
#[derive(Default)]
struct KnownTurns {
    young: HashMap<SplitKey, Turns, RandomState>,
    old: HashMap<SplitKey, Turns, RandomState>,
}

impl KnownTurns {
    fn of(&mut self, key: SplitKey) -> &mut Turns {
        if self.young.len() >= SPLITS && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        let old = &mut self.old;
        let turns = self.young.entry(key);
        turns.or_insert_with(|| old.remove(&key).unwrap_or_default())
    }
}

/// Where a visitor is sent.
#[derive(Clone, Default)]
pub(super) enum Led {
    /// To the link's target, as usual.
    #[default]
    ToTarget,
    /// To the target of the rule that decided.
    ByRule(LedByRule),
    /// To a target of the link's pool.
    ByPool(Arc<Location>),
}

#[derive(Clone)]
pub(super) struct LedByRule {
    rules: Arc<CachedRules>,
    rule: u8,
    target: u8,
    /// Whether it took a turn in a split.
    has_turn: bool,
}

impl Led {
    /// Where the visitor of a link is sent.
    pub(super) fn location<'a>(&'a self, link: &'a CachedLink) -> &'a Location {
        let location = match self {
            Self::ToTarget => None,
            Self::ByRule(by) => by.rules.location(by.rule.into(), by.target.into()),
            Self::ByPool(location) => Some(&**location),
        };
        location.unwrap_or(&link.location)
    }

    /// Whether nothing leads elsewhere than to the link's target.
    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::ToTarget)
    }

    fn by_rule(&self) -> Option<&LedByRule> {
        match self {
            Self::ByRule(by) => Some(by),
            Self::ToTarget | Self::ByPool(_) => None,
        }
    }

    /// The class of the click with the rule.
    pub(super) fn class(&self, class: Arc<ClickClass>) -> Arc<ClickClass> {
        let Some(by) = self.by_rule() else {
            return class;
        };
        let label = by.rules.label(by.rule.into(), by.target.into());
        Arc::new(class.with(Dimension::Rule, label))
    }

    /// Whether these rules of a link, or none, led here.
    fn is_by(&self, rules: &Arc<CachedRules>) -> bool {
        let by_rule = self.by_rule();
        by_rule.is_some_and(|by| Arc::ptr_eq(&by.rules, rules) || by.rules == *rules)
    }
}

/// Whether a turn in a split is taken, or only looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Taken,
    Seen,
}

impl RuleChoice {
    /// For one worker.
    #[must_use]
    pub fn new(keys: DailyKeys) -> Self {
        Self {
            keys,
            turns: Arc::default(),
        }
    }

    fn turns(&self) -> MutexGuard<'_, KnownTurns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a link leads a visitor.
    pub(super) fn led(
        &self,
        link: &CachedLink,
        visitor: &Visitor<'_>,
        classifier: &Classifier,
        clock: &dyn Clock,
        turn: Turn,
    ) -> Led {
        let Some(rules) = link.rules() else {
            return Led::default();
        };
        let source = Request {
            visitor,
            classifier,
            clock,
        };
        let known = KnownVisitor::new(&source);
        let Some((rule, leads)) = rules.first_met(&known) else {
            return Led::default();
        };
        let (target, has_turn) = match leads.weights() {
            None => (0, false),
            Some(weights) if leads.is_sticky() => {
                (self.sticky(link.id, leads, weights, visitor), false)
            }
            Some(weights) => {
                let mut known = self.turns();
                let turns = known.of((link.id, leads.fingerprint()));
                match turn {
                    Turn::Taken => (turns.take(weights), true),
                    Turn::Seen => (turns.clone().take(weights), false),
                }
            }
        };
        let small = |number: usize| u8::try_from(number).unwrap_or_default();
        Led::ByRule(LedByRule {
            rules: Arc::clone(rules),
            rule: small(rule),
            target: small(target),
            has_turn,
        })
    }

    /// The same of a link that may have changed since: what it led to stays, if its rules are the same.
    pub(super) fn led_still(
        &self,
        led: Led,
        link: &CachedLink,
        visitor: &Visitor<'_>,
        classifier: &Classifier,
        clock: &dyn Clock,
    ) -> Led {
        match link.rules() {
            None => Led::default(),
            Some(rules) if led.is_by(rules) => led,
            Some(_) => self.led(link, visitor, classifier, clock, Turn::Taken),
        }
    }

    /// Gives a turn back whose click was not counted.
    pub(super) fn give_back(&self, link: LinkId, led: &Led) {
        let Some(by) = led.by_rule().filter(|by| by.has_turn) else {
            return;
        };
        let leads = by.rules.leads(by.rule.into());
        if let Some((leads, weights)) = leads.and_then(|leads| Some((leads, leads.weights()?))) {
            let mut known = self.turns();
            let turns = known.of((link, leads.fingerprint()));
            turns.give_back(by.target.into(), weights);
        }
    }

    /// The target that a visitor meets all day.
    fn sticky(
        &self,
        link: LinkId,
        leads: &CachedLeads,
        weights: &[u16],
        visitor: &Visitor<'_>,
    ) -> usize {
        let address = (visitor.address)();
        let hash = self.keys.hash(&[
            b"split",
            &link.number().to_be_bytes(),
            &leads.fingerprint().to_be_bytes(),
            address.as_bytes(),
            visitor.agent.unwrap_or_default(),
        ]);
        let whole: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
        // Evenly from 0 up to the whole.
        let drawn = (u128::from(hash) * u128::from(whole)) >> 64;
        let mut up_to = 0;
        let place = weights.iter().position(|weight| {
            up_to += u128::from(*weight);
            drawn < up_to
        });
        place.unwrap_or_default()
    }
}

/// A visitor's request, of which more is found out when a rule asks for it.
struct Request<'a> {
    visitor: &'a Visitor<'a>,
    classifier: &'a Classifier,
    clock: &'a dyn Clock,
}

impl VisitorSource for Request<'_> {
    fn agent(&self) -> AgentFacts {
        self.classifier.agent_of(self.visitor)
    }

    fn country(&self) -> Option<[u8; 2]> {
        self.classifier.country_of(self.visitor)
    }

    fn accept_language(&self) -> &[u8] {
        self.visitor.languages.unwrap_or_default()
    }

    fn query(&self) -> &str {
        self.visitor.query.unwrap_or_default()
    }

    fn address(&self) -> Option<IpAddr> {
        let address = (self.visitor.address)();
        let address = address.strip_suffix("/64").unwrap_or(&address);
        address.parse().ok()
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

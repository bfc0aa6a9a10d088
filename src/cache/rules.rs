//! The rules of a cached link, ready to decide.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::domain::rules::{KnownVisitor, Leads};
use crate::domain::{Location, Rules, TargetUrl};

/// The rules of a link, with the locations of all their targets.
#[derive(Debug)]
pub struct CachedRules {
    rules: Rules,
    leads: Box<[CachedLeads]>,
}

/// Where a rule leads: to the only target, or to one of several.
#[derive(Debug)]
pub struct CachedLeads {
    targets: Box<[CachedTarget]>,
    /// The weights of the targets of a split.
    weights: Box<[u16]>,
    /// Whether a visitor meets the same target all day.
    is_sticky: bool,
    /// Tells this split from other splits.
    fingerprint: u64,
}

#[derive(Debug)]
struct CachedTarget {
    location: Location,
    label: Box<str>,
}

impl CachedRules {
    pub(super) fn new(rules: &Rules) -> Self {
        let leads = rules.as_slice().iter().enumerate().map(|(place, rule)| {
            let targets = rule.targets().zip(rule.labels(place));
            let target = |(target, label): (&TargetUrl, String)| CachedTarget {
                location: target.location(),
                label: label.into(),
            };
            let (weights, is_sticky) = match &rule.leads {
                Leads::To(_) => (Box::default(), false),
                Leads::Split(split) => (split.weights().collect(), split.is_sticky()),
            };
            let mut hasher = DefaultHasher::new();
            (place, format!("{rule:?}")).hash(&mut hasher);
            CachedLeads {
                targets: targets.map(target).collect(),
                weights,
                is_sticky,
                fingerprint: hasher.finish(),
            }
        });
        Self {
            rules: rules.clone(),
            leads: leads.collect(),
        }
    }

    pub(super) fn parse(json: &str) -> Option<Arc<Self>> {
        let rules = Rules::from_stored(json)?;
        Some(Arc::new(Self::new(&rules)))
    }

    pub(super) fn as_json(&self) -> &str {
        self.rules.as_json()
    }

    /// How many rules there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.leads.len()
    }

    /// Never: a link without rules has none of this.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.leads.is_empty()
    }

    /// The place of the first rule whose conditions a visitor meets, and where it leads.
    #[must_use]
    pub fn first_met(&self, visitor: &KnownVisitor<'_>) -> Option<(usize, &CachedLeads)> {
        let place = self.rules.first_met(visitor)?;
        Some((place, self.leads.get(place)?))
    }

    /// Where the target at a place of a rule leads.
    #[must_use]
    pub fn location(&self, rule: usize, target: usize) -> Option<&Location> {
        let target = self.leads.get(rule)?.targets.get(target)?;
        Some(&target.location)
    }

    /// What breakdowns call it.
    #[must_use]
    pub fn label(&self, rule: usize, target: usize) -> Option<&str> {
        let target = self.leads.get(rule)?.targets.get(target)?;
        Some(&target.label)
    }

    /// Where a rule leads.
    #[must_use]
    pub fn leads(&self, rule: usize) -> Option<&CachedLeads> {
        self.leads.get(rule)
    }

    /// About as many bytes as it takes.
    pub(super) fn bytes(&self) -> usize {
        let targets: usize = self.leads.iter().map(|leads| leads.targets.len()).sum();
        // The text, the rules and the locations have each target once; the shortest conditions take 8 times their text.
        8 * self.as_json().len() + 256 * self.leads.len() + 96 * targets
    }
}

impl CachedLeads {
    /// The weights of the targets of a split; `None` if there is one target.
    #[must_use]
    pub fn weights(&self) -> Option<&[u16]> {
        (!self.weights.is_empty()).then_some(&self.weights)
    }

    /// Whether a visitor meets the same target all day.
    #[must_use]
    pub fn is_sticky(&self) -> bool {
        self.is_sticky
    }

    /// Tells this split from other splits.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }
}

impl PartialEq for CachedRules {
    fn eq(&self, other: &Self) -> bool {
        self.rules == other.rules
    }
}

impl Eq for CachedRules {}

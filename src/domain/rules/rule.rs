//! Rules, in their order.

use std::fmt::{self, Debug, Display, Formatter};
use std::sync::Arc;

use super::conditions::Conditions;
use super::visitor::KnownVisitor;
use crate::domain::TargetUrl;

/// The rules of a link, in order: the first whose conditions all hold decides. There is at least one. Cheap to clone.
#[derive(Clone)]
pub struct Rules(Arc<Listed>);

struct Listed {
    rules: Box<[Rule]>,
    json: Box<str>,
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// What its owner calls it; no other rule of the link has the name.
    pub name: Option<RuleName>,
    /// What a visitor must have; without it the rule always holds.
    pub when: Option<Conditions>,
    /// Where such a visitor is sent.
    pub leads: Leads,
}

/// Where a rule leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leads {
    /// To one target.
    To(TargetUrl),
    /// To one of several targets, by their weights.
    Split(Split),
}

/// Several targets that share the visitors of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// 2 to 10 targets.
    pub targets: Box<[SplitTarget]>,
    /// Whether a visitor meets the same target all day, if that is said.
    pub sticky: Option<bool>,
}

/// A target of a split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitTarget {
    /// What its owner calls it; no other target of the split has the name.
    pub name: Option<RuleName>,
    /// Where it leads.
    pub target: TargetUrl,
    /// Its share is its weight among the weights of all.
    pub weight: u16,
}

/// The name of a rule or of a target: 1 to 30 characters without `/`, and not a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleName(Box<str>);

impl RuleName {
    pub(super) const MAX_CHARS: usize = 30;

    /// # Errors
    /// What a name must be.
    pub(super) fn parse(raw: &str) -> Result<Self, &'static str> {
        if raw.is_empty() || raw.chars().count() > Self::MAX_CHARS {
            return Err("must be 1 to 30 characters long");
        }
        if raw.chars().any(|char| char.is_control() || char == '/') || raw.trim() != raw {
            return Err("must not contain control characters or /, or begin or end with a space");
        }
        if raw.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err("must not be a number: rules without a name go by their number");
        }
        Ok(Self(raw.into()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A name, or else the number of a place from 1 up.
fn name_or_number(name: Option<&RuleName>, place: usize) -> String {
    name.map_or_else(|| (place + 1).to_string(), |name| name.0.to_string())
}

impl Split {
    /// Whether a visitor meets the same target all day.
    #[must_use]
    pub fn is_sticky(&self) -> bool {
        self.sticky == Some(true)
    }

    /// The weights, in order.
    pub fn weights(&self) -> impl Iterator<Item = u16> {
        self.targets.iter().map(|target| target.weight)
    }
}

impl Rule {
    /// Its name, or else its number.
    #[must_use]
    pub fn label(&self, place: usize) -> String {
        name_or_number(self.name.as_ref(), place)
    }

    /// What breakdowns call clicks that it leads to each of its targets: its name or number, and of a split the target's, too.
    #[must_use]
    pub fn labels(&self, place: usize) -> Vec<String> {
        let own = self.label(place);
        match &self.leads {
            Leads::To(_) => vec![own],
            Leads::Split(split) => {
                let targets = split.targets.iter().enumerate();
                let label = |(at, target): (usize, &SplitTarget)| {
                    format!("{own}/{}", name_or_number(target.name.as_ref(), at))
                };
                targets.map(label).collect()
            }
        }
    }

    /// All its targets, with the weight of each; 1 of a rule with one target.
    pub fn targets(&self) -> impl Iterator<Item = &TargetUrl> {
        let (one, several) = match &self.leads {
            Leads::To(target) => (Some(target), &[][..]),
            Leads::Split(split) => (None, &*split.targets),
        };
        one.into_iter()
            .chain(several.iter().map(|several| &several.target))
    }
}

impl Rules {
    pub(super) fn new(rules: Vec<Rule>, json: String) -> Self {
        Self(Arc::new(Listed {
            rules: rules.into(),
            json: json.into(),
        }))
    }

    /// The rules, in order.
    #[must_use]
    pub fn as_slice(&self) -> &[Rule] {
        &self.0.rules
    }

    /// The rules as JSON: the same text for equal rules.
    #[must_use]
    pub fn as_json(&self) -> &str {
        &self.0.json
    }

    /// All targets of all rules.
    pub fn targets(&self) -> impl Iterator<Item = &TargetUrl> {
        self.as_slice().iter().flat_map(Rule::targets)
    }

    /// The place of the first rule that asks for a visitor's country.
    #[must_use]
    pub fn first_with_country(&self) -> Option<usize> {
        let mut rules = self.as_slice().iter();
        let asks = |rule: &Rule| {
            rule.when
                .as_ref()
                .is_some_and(|when| when.country.is_some())
        };
        rules.position(asks)
    }

    /// The place of the first rule whose conditions a visitor meets. Twenty rules that are not met took 0.6 us with a condition each,
    /// and 1.6 us with nine conditions each (`deciding_by_twenty_rules_costs`, 2026-11-28, one core of an Intel Xeon).
    #[must_use]
    pub fn first_met(&self, visitor: &KnownVisitor<'_>) -> Option<usize> {
        let mut rules = self.as_slice().iter();
        rules.position(|rule| rule.when.as_ref().is_none_or(|when| when.hold(visitor)))
    }
}

impl PartialEq for Rules {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.json == other.0.json
    }
}

impl Eq for Rules {}

impl Display for Rules {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_json())
    }
}

impl Debug for Rules {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "Rules({self})")
    }
}

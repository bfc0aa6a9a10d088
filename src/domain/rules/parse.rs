//! Reads rules from JSON.

use serde_json::{Map, Value};

use super::conditions::Conditions;
use super::rule::{Leads, Rule, RuleName, Rules, Split, SplitTarget};
use super::turns::Turns;
use crate::domain::{OwnHost, TargetUrl};

/// Bytes of all rules of a link as JSON: twenty of the longest targets take two thirds of them.
pub const MAX_JSON: usize = 64 * 1024;

/// Rules of a link at most.
const MOST: usize = 20;

/// Languages and parameters of queries in all rules of a link: each may be compared with each of a visitor's.
const MOST_SEARCHED: usize = 500;

/// The largest weight.
const MAX_WEIGHT: u16 = 1_000;

/// What is read from the database and from caches was checked before, and so are its targets.
#[derive(Clone, Copy)]
pub(super) enum Targets<'a> {
    Checked(&'a OwnHost),
    Stored,
}

/// An object of which all fields must be known. `null` is as good as nothing.
pub(super) struct Fields<'a> {
    pub(super) path: &'a str,
    object: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    pub(super) fn of(path: &'a str, value: &'a Value, known: &[&str]) -> Result<Self, String> {
        let object = value
            .as_object()
            .ok_or_else(|| format!("{path}: must be an object"))?;
        match object.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(Self { path, object }),
            Some(name) => {
                let name: String = name.chars().take(50).flat_map(char::escape_debug).collect();
                let known = known.join(", ");
                Err(format!(
                    "{path}.{name}: is not known here; known are {known}"
                ))
            }
        }
    }

    /// The value of a field, with its path.
    pub(super) fn get(&self, name: &str) -> Option<(String, &'a Value)> {
        let value = self.object.get(name).filter(|value| !value.is_null())?;
        Some((format!("{}.{name}", self.path), value))
    }

    /// The same of a field that means something else if it is `null`, and so must not be.
    pub(super) fn get_or_null(&self, name: &str) -> Option<(String, &'a Value)> {
        let value = self.object.get(name)?;
        Some((format!("{}.{name}", self.path), value))
    }

    fn name(&self) -> Result<Option<RuleName>, String> {
        let Some((path, value)) = self.get("name") else {
            return Ok(None);
        };
        let raw = text(&path, value)?;
        let name = RuleName::parse(raw).map_err(|why| format!("{path}: {why}"))?;
        Ok(Some(name))
    }
}

pub(super) fn text<'a>(path: &str, value: &'a Value) -> Result<&'a str, String> {
    let text = value.as_str();
    text.ok_or_else(|| format!("{path}: must be a string"))
}

impl Rules {
    /// The rules in a list; `None` if it is empty.
    ///
    /// # Errors
    /// A sentence that begins with the path of the first field that breaks a rule.
    pub fn parse(list: &Value, own_host: &OwnHost) -> Result<Option<Self>, String> {
        read(list, Targets::Checked(own_host))
    }

    /// The same of a list that is written as a text.
    ///
    /// # Errors
    /// As [`Rules::parse`].
    pub fn parse_text(list: &str, own_host: &OwnHost) -> Result<Option<Self>, String> {
        if list.trim().is_empty() {
            return Ok(None);
        }
        let list: Value =
            serde_json::from_str(list).map_err(|error| format!("rules: must be JSON: {error}"))?;
        Self::parse(&list, own_host)
    }

    /// Rules from the database or a cache: they were checked before they were stored. `None` if they are not rules.
    #[must_use]
    pub fn from_stored(json: &str) -> Option<Self> {
        let list = serde_json::from_str(json).ok()?;
        read(&list, Targets::Stored).ok()?
    }
}

fn read(list: &Value, targets: Targets<'_>) -> Result<Option<Rules>, String> {
    let list = list.as_array().ok_or("rules: must be a list")?;
    if list.len() > MOST {
        return Err(format!("rules: must be at most {MOST}"));
    }
    let rules = list.iter().enumerate();
    let rules = rules.map(|(place, value)| rule(&format!("rules[{place}]"), value, targets));
    let rules: Vec<Rule> = rules.collect::<Result<_, _>>()?;
    let names = rules.iter().map(|rule| rule.name.as_ref());
    if let Some(place) = repeated(names) {
        return Err(format!(
            "rules[{place}].name: must not be the name of another rule"
        ));
    }
    if rules.is_empty() {
        return Ok(None);
    }
    let values: usize = rules
        .iter()
        .filter_map(|rule| rule.when.as_ref())
        .map(Conditions::searched)
        .sum();
    if values > MOST_SEARCHED {
        return Err(format!(
            "rules: must have at most {MOST_SEARCHED} languages and parameters of queries, all together"
        ));
    }
    let json = Rules::written(&rules);
    if json.len() > MAX_JSON {
        return Err(format!(
            "rules: must take at most {MAX_JSON} bytes as JSON, all together"
        ));
    }
    Ok(Some(Rules::new(rules, json)))
}

/// The place of the first name that is there already.
fn repeated<'a>(names: impl Iterator<Item = Option<&'a RuleName>>) -> Option<usize> {
    let mut known = Vec::new();
    for (place, name) in names.enumerate() {
        let Some(name) = name else { continue };
        if known.contains(&name) {
            return Some(place);
        }
        known.push(name);
    }
    None
}

fn rule(path: &str, value: &Value, targets: Targets<'_>) -> Result<Rule, String> {
    let fields = Fields::of(
        path,
        value,
        &["name", "when", "target_url", "split", "sticky"],
    )?;
    let when = fields.get("when");
    let when = when.map(|(path, value)| Conditions::parse(&path, value));
    let leads = match (fields.get("target_url"), fields.get("split")) {
        (Some(given), None) => match fields.get("sticky") {
            None => Leads::To(target(given, targets)?),
            Some((path, _)) => return Err(format!("{path}: must be beside a split")),
        },
        (None, Some(given)) => Leads::Split(split(given, fields.get("sticky"), targets)?),
        (None, None) => return Err(format!("{path}: must have a target_url or a split")),
        (Some(_), Some((path, _))) => {
            return Err(format!("{path}: must be left out beside a target_url"));
        }
    };
    Ok(Rule {
        name: fields.name()?,
        when: when.transpose()?,
        leads,
    })
}

fn target((path, value): (String, &Value), targets: Targets<'_>) -> Result<TargetUrl, String> {
    let raw = text(&path, value)?;
    match targets {
        Targets::Checked(own_host) => {
            let target = TargetUrl::parse(raw, own_host);
            target.map_err(|why| format!("{path}: {why}"))
        }
        Targets::Stored => Ok(TargetUrl::from_stored(raw)),
    }
}

fn split(
    (path, value): (String, &Value),
    sticky: Option<(String, &Value)>,
    targets: Targets<'_>,
) -> Result<Split, String> {
    let list = value
        .as_array()
        .ok_or_else(|| format!("{path}: must be a list"))?;
    if !(2..=Turns::MOST).contains(&list.len()) {
        let most = Turns::MOST;
        return Err(format!("{path}: must have 2 to {most} targets"));
    }
    let of_split = list.iter().enumerate();
    let of_split =
        of_split.map(|(place, value)| split_target(&format!("{path}[{place}]"), value, targets));
    let of_split: Box<[SplitTarget]> = of_split.collect::<Result<_, _>>()?;
    if let Some(place) = repeated(of_split.iter().map(|target| target.name.as_ref())) {
        return Err(format!(
            "{path}[{place}].name: must not be the name of another target of the split"
        ));
    }
    let sticky = sticky.map(|(path, value)| {
        let flag = value.as_bool();
        flag.ok_or_else(|| format!("{path}: must be true or false"))
    });
    Ok(Split {
        targets: of_split,
        sticky: sticky.transpose()?,
    })
}

fn split_target(path: &str, value: &Value, targets: Targets<'_>) -> Result<SplitTarget, String> {
    let fields = Fields::of(path, value, &["name", "target_url", "weight"])?;
    let given = fields.get("target_url");
    let given = given.ok_or_else(|| format!("{path}.target_url: is required"))?;
    let weight = fields.get("weight");
    let weight = weight.and_then(|(_, value)| value.as_u64());
    let weight = weight.and_then(|weight| u16::try_from(weight).ok());
    let weight = weight.filter(|weight| (1..=MAX_WEIGHT).contains(weight));
    let weight = weight
        .ok_or_else(|| format!("{path}.weight: must be a whole number from 1 to {MAX_WEIGHT}"))?;
    Ok(SplitTarget {
        name: fields.name()?,
        target: target(given, targets)?,
        weight,
    })
}

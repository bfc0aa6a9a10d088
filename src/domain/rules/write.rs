//! Writes rules as JSON, in the form in which they are read.

use serde_json::{Map, Value, json};

use super::conditions::{Conditions, Language, OneOf, QueryPairs};
use super::rule::{Leads, Rule, RuleName, Rules, SplitTarget};

impl Rules {
    /// The JSON of these rules.
    pub(super) fn written(rules: &[Rule]) -> String {
        let rules: Value = rules.iter().map(rule).collect();
        rules.to_string()
    }
}

impl Rule {
    /// The rule as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        rule(self)
    }
}

fn rule(rule: &Rule) -> Value {
    let mut written = Map::new();
    let mut put = |name: &str, value: Value| written.insert(name.to_owned(), value);
    if let Some(name) = &rule.name {
        put("name", name.as_str().into());
    }
    if let Some(asked) = &rule.when {
        put("when", when(asked));
    }
    match &rule.leads {
        Leads::To(target) => {
            put("target_url", target.as_str().into());
        }
        Leads::Split(split) => {
            put("split", split.targets.iter().map(split_target).collect());
            if let Some(sticky) = split.sticky {
                put("sticky", sticky.into());
            }
        }
    }
    Value::Object(written)
}

fn split_target(target: &SplitTarget) -> Value {
    let mut written = json!({"target_url": target.target.as_str(), "weight": target.weight});
    if let Some(name) = target.name.as_ref().map(RuleName::as_str) {
        written["name"] = name.into();
    }
    written
}

fn when(when: &Conditions) -> Value {
    let word = |word: &&str| Value::from(*word);
    let country = |letters: &[u8; 2]| String::from_utf8_lossy(letters).into();
    let language = |language: &Language| language.as_str().into();
    let query = |QueryPairs(pairs): &QueryPairs| {
        let pairs = pairs.iter();
        let pairs = pairs.map(|(name, value)| (name.to_string(), value.as_deref().into()));
        Value::Object(pairs.collect())
    };
    let conditions = [
        ("device", one_of(when.device.as_ref(), word)),
        ("os", one_of(when.os.as_ref(), word)),
        ("browser", one_of(when.browser.as_ref(), word)),
        ("bot", one_of(when.bot.as_ref(), |bot| (*bot).into())),
        ("country", one_of(when.country.as_ref(), country)),
        ("language", one_of(when.language.as_ref(), language)),
        ("query", one_of(when.query.as_ref(), query)),
        (
            "address",
            one_of(when.address.as_ref(), |network| network.to_string().into()),
        ),
        ("after", when.after.map(|at| at.to_string().into())),
        ("before", when.before.map(|at| at.to_string().into())),
    ];
    let given = conditions.into_iter();
    let given = given.filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(given.collect())
}

fn one_of<T>(asked: Option<&OneOf<T>>, write: impl Fn(&T) -> Value) -> Option<Value> {
    let asked = asked?;
    Some(match &*asked.values {
        [only] if !asked.is_list => write(only),
        values => values.iter().map(write).collect(),
    })
}

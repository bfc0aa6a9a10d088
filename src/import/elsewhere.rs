//! Targets that another service has for some visitors of a link, as rules here.

use serde_json::{Value, json};

use super::reading::Reading;
use super::record::Cell;
use crate::domain::FieldEdit;
use crate::wire::RulesJson;

/// Where some visitors of a link are sent instead.
#[derive(Default)]
pub(super) struct Elsewhere(Vec<Value>);

impl Elsewhere {
    /// Visitors whom these conditions fit are sent where this column says, if it says anything.
    pub(super) fn to(mut self, link: &mut Reading<'_>, name: &str, when: &Value) -> Self {
        match link.record.text(&[name]) {
            Ok(target) => self = self.at(target.as_deref(), when),
            Err(why) => link.refuse(why),
        }
        self
    }

    /// The same with a target that was read, if there is a target.
    pub(super) fn at(mut self, target: Option<&str>, when: &Value) -> Self {
        if let Some(target) = target {
            self.0.push(json!({"when": when, "target_url": target}));
        }
        self
    }

    /// Visitors from countries are sent where an object of targets by country says.
    pub(super) fn by_country(mut self, link: &mut Reading<'_>, name: &str) -> Self {
        let countries = match link.record.find(&[name]) {
            Some((_, Cell::Value(Value::String(text)))) => serde_json::from_str(text).ok(),
            Some((_, Cell::Value(value))) => Some(value.clone()),
            _ => None,
        };
        let mut by_target: Vec<(Value, Vec<Value>)> = Vec::new();
        for (country, target) in countries.iter().filter_map(Value::as_object).flatten() {
            match by_target.iter_mut().find(|(known, _)| known == target) {
                Some((_, countries)) => countries.push(country.as_str().into()),
                None => by_target.push((target.clone(), vec![country.as_str().into()])),
            }
        }
        for (target, countries) in by_target {
            let when = json!({"country": countries});
            self.0.push(json!({"when": when, "target_url": target}));
        }
        self
    }

    /// All other visitors are split among these targets by these shares.
    pub(super) fn split(mut self, targets: &[(Value, u64)]) -> Self {
        if targets.len() > 1 {
            let targets = targets.iter().filter(|(_, weight)| *weight > 0);
            let targets: Vec<_> = targets
                .map(|(target, weight)| json!({"target_url": target, "weight": weight}))
                .collect();
            self.0.push(json!({"split": targets}));
        }
        self
    }

    /// The rules of the link.
    pub(super) fn set(self, link: &mut Reading<'_>) {
        let rules = (!self.0.is_empty()).then(|| RulesJson(self.0.into()));
        link.link.fields.rules = FieldEdit::set_if(rules);
    }
}

/// Visitors with an iPhone or an iPad.
pub(super) fn on_ios() -> Value {
    json!({"os": "iOS"})
}

/// Visitors with Android.
pub(super) fn on_android() -> Value {
    json!({"os": "Android"})
}

//! The rules of a link as documents have them: JSON, which is checked later, with the paths of its fields.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::Rules;

/// Rules that are not checked yet; an empty list without them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RulesJson(pub Value);

impl Default for RulesJson {
    fn default() -> Self {
        Self(Value::Array(Vec::new()))
    }
}

impl RulesJson {
    /// The rules of a link.
    #[must_use]
    pub fn of(rules: Option<&Rules>) -> Self {
        let written = rules.and_then(|rules| serde_json::from_str(rules.as_json()).ok());
        written.map_or_else(Self::default, Self)
    }

    /// Whether there is no rule.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.as_array().is_some_and(Vec::is_empty)
    }
}

impl FromStr for RulesJson {
    type Err = String;

    fn from_str(raw: &str) -> Result<Self, String> {
        let read = serde_json::from_str(raw);
        read.map(Self)
            .map_err(|error| format!("must be a list of rules as JSON: {error}"))
    }
}

impl Display for RulesJson {
    /// As a table has it: empty without rules.
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return Ok(());
        }
        self.0.fmt(formatter)
    }
}

//! A rule of a link as a form has it: texts that people type, which become the JSON that the API takes.

use serde_json::{Map, Value, json};

use super::form::{Form, moment};
use crate::domain::agent_words::DEVICES;
use crate::domain::rules::Rule;
use crate::http::ApiError;

/// Conditions that are words with commas between.
const LISTS: [&str; 5] = ["os", "browser", "country", "language", "address"];

/// The texts of a rule.
#[derive(Clone, Debug, Default)]
pub(super) struct RuleForm {
    pub(super) name: String,
    pub(super) devices: Vec<String>,
    pub(super) os: String,
    pub(super) browser: String,
    pub(super) bot: String,
    pub(super) country: String,
    pub(super) language: String,
    pub(super) address: String,
    /// A parameter a line; a line `or` begins others of which one must be met.
    pub(super) query: String,
    pub(super) after: String,
    pub(super) before: String,
    /// One target; or several, a line each, as `weight URL name`.
    pub(super) targets: String,
    pub(super) is_sticky: bool,
}

impl RuleForm {
    /// A rule as it is.
    pub(super) fn of(rule: &Rule) -> Self {
        let json = rule.to_json();
        let when = &json["when"];
        let words = |name: &str| listed(&when[name]).join(", ");
        // Browsers take no zone.
        let at = |name: &str| {
            let at = when[name].as_str().unwrap_or_default();
            at.get(..16).unwrap_or_default().to_owned()
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let targets = match json["split"].as_array() {
            None => text(&json["target_url"]),
            Some(split) => {
                let line = |target: &Value| {
                    let url = text(&target["target_url"]).replace(' ', "%20");
                    let line = format!("{} {url} {}", target["weight"], text(&target["name"]));
                    line.trim_end().to_owned()
                };
                split.iter().map(line).collect::<Vec<_>>().join("\n")
            }
        };
        Self {
            name: text(&json["name"]),
            devices: listed(&when["device"]),
            os: words("os"),
            browser: words("browser"),
            bot: words("bot"),
            country: words("country"),
            language: words("language"),
            address: words("address"),
            query: query_text(&when["query"]),
            after: at("after"),
            before: at("before"),
            targets,
            is_sticky: json["sticky"] == true,
        }
    }

    /// What was sent.
    pub(super) fn sent(form: &Form) -> Self {
        let text = |name| form.get(name).trim().to_owned();
        Self {
            name: text("name"),
            devices: form.all("device").map(str::to_owned).collect(),
            os: text("os"),
            browser: text("browser"),
            bot: text("bot"),
            country: text("country"),
            language: text("language"),
            address: text("address"),
            query: text("query"),
            after: text("after"),
            before: text("before"),
            targets: text("targets"),
            is_sticky: form.has("sticky"),
        }
    }

    /// All kinds of devices, and whether each is ticked.
    pub(super) fn all_devices(&self) -> Vec<(&'static str, bool)> {
        let is_ticked = |device: &&str| self.devices.iter().any(|ticked| ticked == device);
        let devices = DEVICES.iter();
        devices.map(|device| (*device, is_ticked(device))).collect()
    }

    /// The rule in JSON.
    ///
    /// # Errors
    /// 422 for an invalid moment.
    pub(super) fn json(&self) -> Result<Value, ApiError> {
        let mut when = Map::new();
        if !self.devices.is_empty() {
            when.insert("device".to_owned(), one_or_list(self.devices.clone()));
        }
        let lists = [
            &self.os,
            &self.browser,
            &self.country,
            &self.language,
            &self.address,
        ];
        for (name, text) in LISTS.into_iter().zip(lists) {
            let words = text.split(',').map(str::trim);
            let words: Vec<_> = words
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect();
            if !words.is_empty() {
                when.insert(name.to_owned(), one_or_list(words));
            }
        }
        if !self.bot.is_empty() {
            when.insert("bot".to_owned(), self.bot.as_str().into());
        }
        if let Some(query) = query(&self.query) {
            when.insert("query".to_owned(), query);
        }
        for (name, text) in [("after", &self.after), ("before", &self.before)] {
            if let Some(at) = moment(name, text)? {
                when.insert(name.to_owned(), at.to_string().into());
            }
        }
        let mut rule = json!({});
        if !when.is_empty() {
            rule["when"] = Value::Object(when);
        }
        if !self.name.is_empty() {
            rule["name"] = self.name.as_str().into();
        }
        let lines = self.targets.lines().map(str::trim);
        let lines: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
        match &lines[..] {
            [] => rule["target_url"] = "".into(),
            [target] => rule["target_url"] = (*target).into(),
            lines => rule["split"] = lines.iter().map(|line| split_target(line)).collect(),
        }
        if self.is_sticky {
            rule["sticky"] = true.into();
        }
        Ok(rule)
    }
}

/// `weight URL name`; without a weight it is 1.
fn split_target(line: &str) -> Value {
    let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let (weight, line) = match first.parse::<u64>() {
        Ok(weight) => (weight, rest.trim_start()),
        Err(_) => (1, line),
    };
    let (url, name) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let mut target = json!({"target_url": url, "weight": weight});
    if !name.trim().is_empty() {
        target["name"] = name.trim().into();
    }
    target
}

fn one_or_list(words: Vec<String>) -> Value {
    match <[String; 1]>::try_from(words) {
        Ok([only]) => only.into(),
        Err(words) => words.into(),
    }
}

/// The values of a condition as texts.
fn listed(value: &Value) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    match value {
        Value::Null => Vec::new(),
        Value::Array(values) => values.iter().map(text).collect(),
        value => vec![text(value)],
    }
}

/// Parameters, one a line.
fn query(text: &str) -> Option<Value> {
    let mut all = vec![Map::new()];
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line.eq_ignore_ascii_case("or") {
            all.push(Map::new());
            continue;
        }
        let (name, value) = match line.split_once('=') {
            Some((name, value)) => (name, value.into()),
            None => (line, Value::Null),
        };
        if let Some(pairs) = all.last_mut() {
            pairs.insert(name.to_owned(), value);
        }
    }
    all.retain(|pairs| !pairs.is_empty());
    let mut all = all.into_iter().map(Value::Object);
    match (all.next(), all.next()) {
        (Some(first), Some(second)) => Some([first, second].into_iter().chain(all).collect()),
        (only, _) => only,
    }
}

fn query_text(query: &Value) -> String {
    let lines = |pairs: &Value| {
        let pairs = pairs.as_object().into_iter().flatten();
        let line = |(name, value): (&String, &Value)| match value.as_str() {
            Some(value) => format!("{name}={value}"),
            None => name.clone(),
        };
        pairs.map(line).collect::<Vec<_>>().join("\n")
    };
    match query {
        Value::Array(all) => all.iter().map(lines).collect::<Vec<_>>().join("\nor\n"),
        query => lines(query),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{OwnHost, Rules};

    #[test]
    fn a_rule_in_a_form_stays_the_same_rule() {
        for rule in [
            json!({"target_url": "https://example.org/a b"}),
            json!({
                "name": "spring",
                "when": {
                    "device": ["phone", "tablet"], "os": "iOS", "browser": ["Firefox", "Safari"], "bot": false,
                    "country": ["DE", "AT"], "language": "es", "address": "203.0.113.0/24",
                    "query": [{"a": "b=c", "d": null}, {"e": ""}],
                    "after": "2027-05-01T12:30:00Z", "before": "2027-06-01T00:00:00Z",
                },
                "split": [
                    {"target_url": "https://example.org/a", "weight": 70, "name": "first of both"},
                    {"target_url": "https://example.org/b", "weight": 30},
                ],
                "sticky": true,
            }),
        ] {
            let list = json!([rule]);
            let rules = Rules::parse(&list, &OwnHost::unknown()).unwrap().unwrap();
            let form = RuleForm::of(&rules.as_slice()[0]);
            let again = json!([form.json().unwrap()]);
            let again = Rules::parse(&again, &OwnHost::unknown()).unwrap();
            assert_eq!(again, Some(rules));
        }
    }

    #[test]
    fn an_empty_form_has_no_target() {
        let json = RuleForm::default().json().unwrap();
        assert_eq!(json, json!({"target_url": ""}));
    }
}

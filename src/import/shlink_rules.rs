//! Shlink's redirect rules, as rules here. A rule that cannot be said here refuses its link: it would lead elsewhere.
//!
//! <https://api-spec.shlink.io/>, `GET /rest/v3/short-urls/{shortCode}/redirect-rules`

use serde_json::{Map, Value, json};

use crate::wire::RulesJson;

/// The rules of an entry, which come by their `priority`.
///
/// # Errors
/// A sentence that says what has no place here.
pub fn rules(list: &Value) -> Result<RulesJson, String> {
    let list = list.get("redirectRules").unwrap_or(list);
    let list = list
        .as_array()
        .ok_or("redirectRules: must be a list of rules")?;
    let mut list: Vec<_> = list.iter().collect();
    list.sort_by_key(|rule| rule["priority"].as_i64().unwrap_or(i64::MAX));
    let rules = list.into_iter().map(rule);
    Ok(RulesJson(rules.collect::<Result<_, _>>()?))
}

fn rule(rule: &Value) -> Result<Value, String> {
    let mut when = Map::new();
    for condition in rule["conditions"].as_array().into_iter().flatten() {
        add(&mut when, condition)?;
    }
    let mut read = json!({"target_url": rule["longUrl"]});
    if !when.is_empty() {
        read["when"] = Value::Object(when);
    }
    Ok(read)
}

fn add(when: &mut Map<String, Value>, condition: &Value) -> Result<(), String> {
    let text = |name: &str| condition[name].as_str().unwrap_or_default();
    let (key, value) = (text("matchKey"), text("matchValue"));
    let (name, asked): (&str, Value) = match text("type") {
        "device" => device(value)?,
        "language" => ("language", value.into()),
        "query-param" => return parameter(when, key, value.into()),
        "any-value-query-param" => return parameter(when, key, Value::Null),
        "valueless-query-param" => return parameter(when, key, "".into()),
        "ip-address" => ("address", network(value).into()),
        "geolocation-country-code" => ("country", value.into()),
        "before-date" => ("before", value.into()),
        "after-date" => ("after", value.into()),
        other => {
            return Err(format!(
                "redirectRules: a condition of the type {other:?} has no place here; change the rule there, or leave the link out"
            ));
        }
    };
    if when.get(name).is_some_and(|known| *known != asked) {
        return Err(format!(
            "redirectRules: a rule asks for two values of {name} at once, which has no place here; change the rule there, or leave the link out"
        ));
    }
    when.insert(name.to_owned(), asked);
    Ok(())
}

fn device(word: &str) -> Result<(&'static str, Value), String> {
    Ok(match word {
        "android" => ("os", "Android".into()),
        "ios" => ("os", "iOS".into()),
        "windows" => ("os", "Windows".into()),
        "macos" => ("os", "macOS".into()),
        "linux" => ("os", "Linux".into()),
        "chromeos" => ("os", "ChromeOS".into()),
        "mobile" => ("device", json!(["phone", "tablet"])),
        "desktop" => ("device", "desktop".into()),
        other => {
            return Err(format!(
                "redirectRules: the device {other:?} is not known here"
            ));
        }
    })
}

/// All parameters of a rule are in one object.
fn parameter(when: &mut Map<String, Value>, name: &str, value: Value) -> Result<(), String> {
    let query = when.entry("query").or_insert_with(|| json!({}));
    if query.get(name).is_some_and(|known| *known != value) {
        return Err(format!(
            "redirectRules: a rule asks for two values of the parameter {name:?} at once, which has no place here"
        ));
    }
    query[name] = value;
    Ok(())
}

/// An address, a network, or an address with `*` for its last parts.
fn network(value: &str) -> String {
    let parts: Vec<_> = value.split('.').collect();
    let fixed = parts.iter().take_while(|part| **part != "*").count();
    let is_pattern =
        parts.len() == 4 && fixed < 4 && parts[fixed..].iter().all(|part| *part == "*");
    if !is_pattern {
        return value.to_owned();
    }
    let known = parts[..fixed].iter().copied();
    let address: Vec<_> = known.chain(std::iter::repeat_n("0", 4 - fixed)).collect();
    format!("{}/{}", address.join("."), 8 * fixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_condition_has_its_place() {
        let condition = |kind: &str, key: Value, value: &str| json!({"type": kind, "matchKey": key, "matchValue": value});
        let list = json!([
            {"longUrl": "https://example.org/second", "priority": 2, "conditions": [
                condition("device", Value::Null, "mobile"), condition("ip-address", Value::Null, "203.0.*.*"),
                condition("geolocation-country-code", Value::Null, "DE"),
            ]},
            {"longUrl": "https://example.org/first", "priority": 1, "conditions": [
                condition("device", Value::Null, "ios"), condition("language", Value::Null, "es-MX"),
                condition("query-param", json!("a"), "b"), condition("any-value-query-param", json!("c"), ""),
                condition("after-date", Value::Null, "2027-01-01T00:00:00+01:00"),
            ]},
            {"longUrl": "https://example.org/third", "priority": 3, "conditions": []},
        ]);
        let expected = json!([
            {"target_url": "https://example.org/first", "when": {
                "os": "iOS", "language": "es-MX", "query": {"a": "b", "c": null}, "after": "2027-01-01T00:00:00+01:00",
            }},
            {"target_url": "https://example.org/second", "when": {
                "device": ["phone", "tablet"], "address": "203.0.0.0/16", "country": "DE",
            }},
            {"target_url": "https://example.org/third"},
        ]);
        assert_eq!(rules(&list).unwrap().0, expected);
        assert_eq!(rules(&json!({"redirectRules": list})).unwrap().0, expected);
    }

    #[test]
    fn what_cannot_be_said_here_is_refused() {
        for conditions in [
            json!([{"type": "geolocation-city-name", "matchValue": "Berlin"}]),
            json!([{"type": "language", "matchValue": "de"}, {"type": "language", "matchValue": "fr"}]),
            json!([{"type": "device", "matchValue": "toaster"}]),
            json!([{"type": "query-param", "matchKey": "a", "matchValue": "1"}, {"type": "query-param", "matchKey": "a", "matchValue": "2"}]),
        ] {
            let refusal =
                rules(&json!([{"longUrl": "https://example.org/", "conditions": conditions}]))
                    .unwrap_err();
            assert!(refusal.starts_with("redirectRules: "), "{refusal}");
        }
        assert!(rules(&json!("x")).is_err());
    }
}

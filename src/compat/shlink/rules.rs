//! Rules in the protocol's words. Those that it cannot say are refused, and are changed on the page of the link.

use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::Response;
use serde_json::{Map, Value, json};

use super::answer::answered;
use super::asked::{body, caller, code};
use super::problem::Problem;
use super::short_urls::found;
use crate::accounts::Access;
use crate::compat::caller::Asking;
use crate::compat::services::Services;
use crate::domain::{FieldEdit, Link};
use crate::http::ApiError;
use crate::import::rules_of_shlink;
use crate::links::Expected;
use crate::wire::{LinkFields, RulesJson};

pub(super) async fn show(
    State(services): State<Services>,
    Path(id): Path<String>,
    asking: Asking,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let shown = async {
        let caller = caller(&services, &asking, &headers, Access::Read).await?;
        told(&found(&services, &caller, &id, uri.query()).await?.link)
    };
    answered(shown.await)
}

pub(super) async fn set(
    State(services): State<Services>,
    Path(id): Path<String>,
    asking: Asking,
    (headers, uri): (HeaderMap, Uri),
    request: Request,
) -> Response {
    let set = async {
        let caller = caller(&services, &asking, &headers, Access::Change).await?;
        let code = code(&services, &id, uri.query())?;
        let body = body(request).await?;
        let list = body.get("redirectRules");
        let list =
            list.ok_or_else(|| Problem::invalid("redirectRules", "redirectRules: is required"))?;
        let rules = rules_of_shlink(list).map_err(|why| Problem::of_sentence(&why))?;
        let fields = LinkFields {
            rules: FieldEdit::Set(rules),
            ..LinkFields::default()
        };
        let links = &services.links;
        let edit = fields.edit(&links.own_host, links.is_reserved);
        let edit = edit.map_err(|why| Problem::of_sentence(&why))?;
        let edited = links.edit(
            caller.principal,
            &code,
            &edit,
            &Expected::Any,
            &caller.address,
        );
        let edited = edited.await.map_err(ApiError::from)?;
        told(&edited.ok_or_else(|| Problem::not_found(&id))?.link)
    };
    answered(set.await)
}

fn told(link: &Link) -> Result<Value, Problem> {
    let RulesJson(list) = RulesJson::of(link.properties.rules.as_ref());
    let rules = list.as_array().map(Vec::as_slice).unwrap_or_default();
    let said: Option<Vec<_>> = rules
        .iter()
        .zip(1..)
        .map(|(rule, at)| said(rule, at))
        .collect();
    let said = said.ok_or_else(|| {
        let detail = "This link has a rule that this API has no words for; see its page, or GET /urls/{short_code}";
        Problem::plain(StatusCode::NOT_IMPLEMENTED, detail)
    })?;
    Ok(json!({
        "defaultLongUrl": link.properties.target.as_str(),
        "redirectRules": said,
    }))
}

/// A rule in the protocol's words, if it has any for it.
fn said(rule: &Value, priority: u32) -> Option<Value> {
    let target = rule.get("target_url")?;
    let mut conditions = Vec::new();
    let none = Map::new();
    for (name, value) in rule.get("when").and_then(Value::as_object).unwrap_or(&none) {
        let mut add = |kind: &str, key: Value, value: Value| {
            conditions.push(json!({"type": kind, "matchKey": key, "matchValue": value}));
        };
        match name.as_str() {
            "device" => add("device", Value::Null, device(value)?.into()),
            "os" => add("device", Value::Null, system(value.as_str()?)?.into()),
            "language" => add("language", Value::Null, value.as_str()?.into()),
            "address" => add("ip-address", Value::Null, value.as_str()?.into()),
            "country" => add(
                "geolocation-country-code",
                Value::Null,
                value.as_str()?.into(),
            ),
            "before" => add("before-date", Value::Null, value.as_str()?.into()),
            "after" => add("after-date", Value::Null, value.as_str()?.into()),
            "query" => {
                for (name, value) in value.as_object()? {
                    match value.as_str() {
                        None => add("any-value-query-param", name.as_str().into(), Value::Null),
                        Some("") => add("valueless-query-param", name.as_str().into(), Value::Null),
                        Some(value) => add("query-param", name.as_str().into(), value.into()),
                    }
                }
            }
            _ => return None,
        }
    }
    Some(json!({"longUrl": target, "priority": priority, "conditions": conditions}))
}

fn device(value: &Value) -> Option<&'static str> {
    if *value == json!(["phone", "tablet"]) {
        return Some("mobile");
    }
    (value == "desktop").then_some("desktop")
}

fn system(word: &str) -> Option<&'static str> {
    Some(match word {
        "Android" => "android",
        "iOS" => "ios",
        "Windows" => "windows",
        "macOS" => "macos",
        "Linux" => "linux",
        "ChromeOS" => "chromeos",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    fn any_condition() -> impl Strategy<Value = Value> {
        let condition = |kind: &str, key: Value, value: Value| json!({"type": kind, "matchKey": key, "matchValue": value});
        let devices = [
            "android", "ios", "windows", "macos", "linux", "chromeos", "mobile", "desktop",
        ];
        prop_oneof![
            select(devices.to_vec()).prop_map(move |word| condition(
                "device",
                Value::Null,
                word.into()
            )),
            "[a-z]{2}".prop_map(move |word| condition("language", Value::Null, word.into())),
            ("[a-z]{1,5}", "[a-z]{1,5}").prop_map(move |(key, value)| condition(
                "query-param",
                key.into(),
                value.into()
            )),
            "[a-z]{1,5}".prop_map(move |key| condition(
                "any-value-query-param",
                key.into(),
                Value::Null
            )),
            "[a-z]{1,5}".prop_map(move |key| condition(
                "valueless-query-param",
                key.into(),
                Value::Null
            )),
            Just(condition(
                "ip-address",
                Value::Null,
                "203.0.113.0/24".into()
            )),
            Just(condition(
                "before-date",
                Value::Null,
                "2027-01-01T00:00:00Z".into()
            )),
        ]
    }

    proptest! {
        #[test]
        fn a_rule_that_is_taken_over_can_be_said_again(conditions in vec(any_condition(), 0..5)) {
            let rule = json!({"longUrl": "https://example.org/", "conditions": conditions});
            if let Ok(RulesJson(ours)) = rules_of_shlink(&json!([rule])) {
                let again = said(&ours[0], 1).unwrap();
                prop_assert_eq!(rules_of_shlink(&json!([again])).unwrap(), RulesJson(ours));
            }
        }
    }

    #[test]
    fn what_it_has_no_words_for_is_not_said() {
        for rule in [
            json!({"target_url": "https://a.example/", "when": {"browser": "Firefox"}}),
            json!({"target_url": "https://a.example/", "when": {"country": ["DE", "AT"]}}),
            json!({"split": []}),
        ] {
            assert_eq!(said(&rule, 1), None, "{rule}");
        }
    }
}

//! Properties of rules: what is written is read again, and nothing makes them panic.

use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::tests::{Anybody, SOMEBODY, is_met, parse, rules};
use super::*;
use crate::domain::Timestamp;
use crate::domain::agent_words::{BROWSERS, DEVICES, SYSTEMS};

fn one_or_list<T: Into<Value> + Clone + std::fmt::Debug + 'static>(
    value: impl Strategy<Value = T> + Clone + 'static,
) -> impl Strategy<Value = Value> {
    prop_oneof![
        value.clone().prop_map(Into::into),
        vec(value, 1..3)
            .prop_map(|values| Value::Array(values.into_iter().map(Into::into).collect())),
    ]
}

fn any_conditions() -> impl Strategy<Value = Value> {
    let query = btree_map("[a-zé=&]{1,5}", of("[a-z é]{0,5}"), 1..3).prop_map(|pairs| json!(pairs));
    let moment = |from: i64| {
        (from..from + 1_000_000).prop_map(|seconds| {
            Value::from(
                Timestamp::from_micros(seconds * 1_000_000)
                    .unwrap()
                    .to_string(),
            )
        })
    };
    let agents = (
        of(one_or_list(select(DEVICES.to_vec()))),
        of(one_or_list(select(SYSTEMS.to_vec()))),
        of(one_or_list(select(BROWSERS.to_vec()))),
        of(one_or_list(any::<bool>())),
    );
    let others = (
        of(one_or_list("[A-Z]{2}")),
        of(one_or_list("[a-z]{2}(-[A-Z]{2})?")),
        of(one_or_list(query)),
        of(one_or_list(select(vec![
            "203.0.113.0/24",
            "198.51.100.7/32",
            "2001:db8::/32",
        ]))),
        of(moment(0)),
        of(moment(1_000_000)),
    );
    (agents, others).prop_map(|(agents, others)| {
        let (device, os, browser, bot) = agents;
        let (country, language, query, address, after, before) = others;
        let given = [
            ("device", device),
            ("os", os),
            ("browser", browser),
            ("bot", bot),
            ("country", country),
            ("language", language),
            ("query", query),
            ("address", address),
            ("after", after),
            ("before", before),
        ];
        let given = given.into_iter();
        let given = given.filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Value::Object(given.collect())
    })
}

fn any_rule() -> impl Strategy<Value = Value> {
    let target = || "https://example\\.org/[a-z\"é]{0,5}";
    let of_split = (target(), 1..=1_000_u16)
        .prop_map(|(target, weight)| json!({"target_url": target, "weight": weight}));
    let split = (vec(of_split, 2..=10), any::<bool>());
    (any_conditions(), target(), of(split)).prop_map(|(when, target, split)| {
        let mut rule = match split {
            None => json!({"target_url": target}),
            Some((split, is_sticky)) => json!({"split": split, "sticky": is_sticky}),
        };
        rule["when"] = when;
        rule
    })
}

/// Any JSON, often with the names of fields.
fn any_json() -> impl Strategy<Value = Value> {
    let names = select(vec![
        "name",
        "when",
        "target_url",
        "split",
        "sticky",
        "weight",
        "device",
        "query",
        "after",
        "address",
        "x",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        select(vec![
            "https://example.org/",
            "phone",
            "2027-01-01T00:00:00Z",
            "::/0"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 8, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            btree_map(names.clone().prop_map(str::to_owned), inner, 0..5)
                .prop_map(|object| json!(object)),
        ]
    })
}

proptest! {
    #[test]
    fn rules_are_written_as_they_were_given_and_read_again(list in vec(any_rule(), 1..5)) {
        let list = Value::from(list);
        let rules = rules(&list);
        let written: Value = serde_json::from_str(rules.as_json()).unwrap();
        prop_assert_eq!(&written, &list);
        prop_assert_eq!(Rules::from_stored(rules.as_json()), Some(rules.clone()));
        for rule in rules.as_slice() {
            prop_assert!(rule.sentence().contains(": "));
        }
    }

    #[test]
    fn any_json_is_rules_or_refused_with_a_path(list in any_json()) {
        for list in [list.clone(), json!([list])] {
            match parse(&list) {
                Ok(Some(rules)) => {
                    prop_assert_eq!(Rules::from_stored(rules.as_json()), Some(rules));
                }
                Ok(None) => prop_assert_eq!(list, json!([])),
                Err(refusal) => {
                    prop_assert!(refusal.starts_with("rules"), "{}", refusal);
                    prop_assert!(refusal.contains(": ") && refusal.len() < 1_000, "{}", refusal);
                }
            }
        }
    }

    #[test]
    fn any_visitor_can_be_decided(languages in ".{0,60}", query in ".{0,60}", conditions in any_conditions()) {
        let visitor = Anybody {
            languages: languages.leak(),
            query: query.leak(),
            ..SOMEBODY
        };
        let met = is_met(&conditions, &visitor);
        prop_assert_eq!(met, is_met(&conditions, &visitor));
    }
}

/// `cargo test --release --lib deciding_by_twenty_rules -- --ignored --nocapture` prints it: of rules with a condition each that
/// does not hold, and of rules with nine conditions of which only the last to be looked at does not hold.
#[test]
#[ignore = "a measurement, which cannot fail"]
fn deciding_by_twenty_rules_costs() {
    let rule = |when: &Value| json!({"when": when, "target_url": "https://example.org/"});
    let with_a_condition = |number: usize| {
        let when = json!({
            "language": ["fr", "it"], "query": {"utm_source": number.to_string()}, "address": "198.51.100.0/24",
            "device": ["tablet", "tv"], "browser": "Chrome", "country": ["DE", "CH"],
        });
        let mut all = when.as_object().unwrap().iter();
        let (name, value) = all.nth(number % 6).unwrap();
        rule(&json!({name: value}))
    };
    let with_nine_conditions = |number: usize| {
        rule(&json!({
            "device": ["tv", "phone"], "os": ["iOS", "Android"], "browser": ["Chrome", "Firefox"], "bot": false,
            "country": ["DE", "AT"], "language": ["fr", "es"], "query": {"a": "b c", "utm_source": "flyer"},
            "after": "2027-05-01T14:00:00+02:00", "address": [format!("198.51.{number}.0/24"), "2001:db8::/32"],
        }))
    };
    for (kind, rules) in [
        (
            "a condition",
            rules(&(0..20).map(with_a_condition).collect()),
        ),
        (
            "nine conditions",
            rules(&(0..20).map(with_nine_conditions).collect()),
        ),
    ] {
        println!(
            "deciding by twenty rules with {kind} each costs {} ns",
            nanoseconds_of(&rules)
        );
    }
}

fn nanoseconds_of(rules: &Rules) -> u128 {
    const VISITS: u32 = 1_000_000;
    let started = std::time::Instant::now();
    for _ in 0..VISITS {
        let visitor = KnownVisitor::new(std::hint::black_box(&SOMEBODY));
        assert_eq!(std::hint::black_box(rules).first_met(&visitor), None);
    }
    (started.elapsed() / VISITS).as_nanos()
}

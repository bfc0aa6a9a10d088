//! What rules accept, refuse, say, and decide.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::*;
use crate::domain::agent_words::{BROWSERS, DEVICES, SYSTEMS};
use crate::domain::{OwnHost, Timestamp};

pub(super) fn parse(list: &Value) -> Result<Option<Rules>, String> {
    Rules::parse(list, &OwnHost::unknown())
}

pub(super) fn rules(list: &Value) -> Rules {
    parse(list).unwrap().unwrap()
}

fn refusal(list: &Value) -> String {
    parse(list).unwrap_err()
}

/// A rule with these conditions.
fn when(conditions: &Value) -> Value {
    json!([{"when": conditions, "target_url": "https://example.org/rule"}])
}

pub(super) struct Anybody {
    pub(super) agent: AgentFacts,
    pub(super) country: Option<[u8; 2]>,
    pub(super) languages: &'static str,
    pub(super) query: &'static str,
    pub(super) address: &'static str,
    pub(super) now: &'static str,
}

pub(super) const SOMEBODY: Anybody = Anybody {
    agent: AgentFacts {
        device: Some("phone"),
        os: Some("Android"),
        browser: Some("Firefox"),
        is_bot: Some(false),
    },
    country: Some(*b"AT"),
    languages: "es-MX,en;q=0.4",
    query: "a=b+c&utm_source=flyer&a=%C3%A4",
    address: "203.0.113.9",
    now: "2027-05-01T12:00:00Z",
};

impl VisitorSource for Anybody {
    fn agent(&self) -> AgentFacts {
        self.agent
    }
    fn country(&self) -> Option<[u8; 2]> {
        self.country
    }
    fn accept_language(&self) -> &[u8] {
        self.languages.as_bytes()
    }
    fn query(&self) -> &str {
        self.query
    }
    fn address(&self) -> Option<IpAddr> {
        self.address.parse().ok()
    }
    fn now(&self) -> Timestamp {
        self.now.parse().unwrap()
    }
}

pub(super) fn is_met(conditions: &Value, by: &Anybody) -> bool {
    let visitor = KnownVisitor::new(by);
    rules(&when(conditions)).first_met(&visitor).is_some()
}

#[test]
fn all_conditions_must_hold_and_of_a_list_one_value() {
    for (conditions, expected) in [
        (json!({}), true),
        (json!({"device": "phone"}), true),
        (json!({"device": ["tv", "phone"]}), true),
        (json!({"device": "tablet"}), false),
        (json!({"os": "Android", "browser": "Firefox"}), true),
        (json!({"os": "Android", "browser": "Chrome"}), false),
        (json!({"bot": false}), true),
        (json!({"bot": "true"}), false),
        (json!({"country": ["DE", "at"]}), true),
        (json!({"country": "DE"}), false),
        (json!({"language": "es"}), true),
        (json!({"language": "ES-mx"}), true),
        (json!({"language": "es-MX-x"}), false),
        (json!({"language": "e"}), false),
        (json!({"language": "en"}), false),
        (json!({"language": "*"}), true),
        (json!({"query": {"utm_source": "flyer"}}), true),
        (json!({"query": {"utm_source": null}}), true),
        (json!({"query": {"a": "ä"}}), true),
        (json!({"query": {"a": "b c", "utm_source": "flyer"}}), true),
        (json!({"query": {"a": "b c", "utm_source": "other"}}), false),
        (json!({"query": [{"x": null}, {"a": "b c"}]}), true),
        (json!({"query": {"A": null}}), false),
        (json!({"address": "203.0.113.0/24"}), true),
        (json!({"address": ["2001:db8::/32", "203.0.113.9"]}), true),
        (json!({"address": "203.0.114.0/24"}), false),
        (json!({"after": "2027-05-01T14:00:00+02:00"}), true),
        (json!({"after": "2027-05-01T12:00:01Z"}), false),
        (json!({"before": "2027-05-01T12:00:00Z"}), false),
        (json!({"before": "2027-05-01T12:00:01Z"}), true),
    ] {
        assert_eq!(is_met(&conditions, &SOMEBODY), expected, "{conditions}");
    }
}

#[test]
fn what_is_not_known_of_a_visitor_meets_no_condition() {
    let nobody = Anybody {
        agent: AgentFacts::default(),
        country: None,
        languages: "",
        query: "",
        address: "unknown",
        now: SOMEBODY.now,
    };
    for conditions in [
        json!({"device": &DEVICES[..]}),
        json!({"os": &SYSTEMS[..]}),
        json!({"browser": &BROWSERS[..]}),
        json!({"bot": [true, false]}),
        json!({"country": "DE"}),
        json!({"language": "*"}),
        json!({"query": {"a": null}}),
        json!({"address": ["0.0.0.0/0", "::/0"]}),
    ] {
        assert!(!is_met(&conditions, &nobody), "{conditions}");
    }
}

#[test]
fn a_visitor_of_ipv6_is_found_by_its_network() {
    let visitor = Anybody {
        address: "2001:db8:1:2::",
        ..SOMEBODY
    };
    assert!(is_met(&json!({"address": "2001:db8:1:2::/64"}), &visitor));
    assert!(!is_met(&json!({"address": "2001:db8:1:3::/64"}), &visitor));
}

#[test]
#[expect(clippy::too_many_lines, reason = "each refusal is a line")]
fn each_refusal_names_the_field_first() {
    let target = "https://example.org/";
    let split = |targets: Value| json!([{"split": targets}]);
    let of_split = |more: Value| {
        let mut target = json!({"target_url": target, "weight": 1});
        for (name, value) in more.as_object().unwrap() {
            target[name] = value.clone();
        }
        split(json!([{"target_url": "https://example.net/", "weight": 1, "name": "a"}, target]))
    };
    let one = json!({"target_url": target});
    for (list, expected) in [
        (json!({}), "rules: must be a list"),
        (json!(vec![one.clone(); 21]), "rules: must be at most 20"),
        (json!([[]]), "rules[0]: must be an object"),
        (
            json!([one, {}]),
            "rules[1]: must have a target_url or a split",
        ),
        (
            json!([{"target_url": target, "rules": []}]),
            "rules[0].rules: is not known here; known are name, when, target_url, split, sticky",
        ),
        (
            json!([{"target_url": "nowhere"}]),
            "rules[0].target_url: must be an absolute http:// or https:// URL with a host",
        ),
        (
            json!([{"target_url": 7}]),
            "rules[0].target_url: must be a string",
        ),
        (
            json!([{"target_url": target, "sticky": true}]),
            "rules[0].sticky: must be beside a split",
        ),
        (
            json!([{"target_url": target, "split": []}]),
            "rules[0].split: must be left out beside a target_url",
        ),
        (
            json!([{"target_url": target, "name": "7"}]),
            "rules[0].name: must not be a number: rules without a name go by their number",
        ),
        (
            json!([{"target_url": target, "name": "a/b"}]),
            "rules[0].name: must not contain control characters or /, or begin or end with a space",
        ),
        (
            json!([{"target_url": target, "name": "a".repeat(31)}]),
            "rules[0].name: must be 1 to 30 characters long",
        ),
        (
            json!([{"target_url": target, "name": "a"}, {"target_url": target, "name": "a"}]),
            "rules[1].name: must not be the name of another rule",
        ),
        (
            split(json!([])),
            "rules[0].split: must have 2 to 10 targets",
        ),
        (
            split(json!(vec![json!({}); 11])),
            "rules[0].split: must have 2 to 10 targets",
        ),
        (
            of_split(json!({"weight": 0})),
            "rules[0].split[1].weight: must be a whole number from 1 to 1000",
        ),
        (
            of_split(json!({"weight": 1_001})),
            "rules[0].split[1].weight: must be a whole number from 1 to 1000",
        ),
        (
            of_split(json!({"weight": null})),
            "rules[0].split[1].weight: must be a whole number from 1 to 1000",
        ),
        (
            of_split(json!({"target_url": null})),
            "rules[0].split[1].target_url: is required",
        ),
        (
            of_split(json!({"when": {}})),
            "rules[0].split[1].when: is not known here; known are name, target_url, weight",
        ),
        (
            of_split(json!({"name": "a"})),
            "rules[0].split[1].name: must not be the name of another target of the split",
        ),
        (when(&json!([])), "rules[0].when: must be an object"),
        (
            when(&json!({"colour": "red"})),
            "rules[0].when.colour: is not known here; known are device, os, browser, bot, country, language, query, address, after, before",
        ),
        (
            when(&json!({"device": "fridge"})),
            "rules[0].when.device: must be desktop, phone, tablet, tv or console",
        ),
        (
            when(&json!({"device": null})),
            "rules[0].when.device: must be desktop, phone, tablet, tv or console",
        ),
        (
            when(&json!({"device": ["phone", "fridge"]})),
            "rules[0].when.device[1]: must be desktop, phone, tablet, tv or console",
        ),
        (
            when(&json!({"device": []})),
            "rules[0].when.device: must have 1 to 250 values",
        ),
        (
            when(&json!({"device": [["phone"]]})),
            "rules[0].when.device[0]: must be desktop, phone, tablet, tv or console",
        ),
        (
            when(&json!({"os": "CP/M"})),
            "rules[0].when.os: must be a system that a row of by=os has, such as Android",
        ),
        (
            when(&json!({"browser": "firefox"})),
            "rules[0].when.browser: must be a browser that a row of by=browser has, such as Firefox",
        ),
        (
            when(&json!({"bot": 1})),
            "rules[0].when.bot: must be true or false",
        ),
        (
            when(&json!({"country": "Germany"})),
            "rules[0].when.country: must be the two letters of a country, such as DE",
        ),
        (
            when(&json!({"language": "es_MX"})),
            "rules[0].when.language: must be a language, such as es or pt-BR",
        ),
        (
            when(&json!({"query": {}})),
            "rules[0].when.query: must be an object with names and values, such as {\"utm_source\": \"flyer\"}",
        ),
        (
            when(&json!({"query": {"a": 1}})),
            "rules[0].when.query.a: must be null, or a string of at most 200 characters",
        ),
        (
            when(&json!({"query": {"a": "x".repeat(201)}})),
            "rules[0].when.query.a: must be null, or a string of at most 200 characters",
        ),
        (
            when(&json!({"address": "203.0.113.0/33"})),
            "rules[0].when.address: must be an address or a network, such as 203.0.113.0/24 or 2001:db8::/32",
        ),
        (
            when(&json!({"address": "2001:db8::1"})),
            "rules[0].when.address: must be a network of at most /64 in IPv6: visitors there change the rest of their address",
        ),
        (
            when(&json!({"after": "2027-05-01T12:00:00"})),
            "rules[0].when.after: must have a zone, such as 2027-01-31T18:00:00+01:00",
        ),
        (
            when(&json!({"after": "2027-05-01T12:00:00Z", "before": "2027-05-01T14:00:00+02:00"})),
            "rules[0].when.after: must be earlier than before",
        ),
    ] {
        assert_eq!(refusal(&list), expected, "{list}");
    }
}

#[test]
fn twenty_of_the_longest_targets_have_room_and_all_rules_together_are_bounded() {
    let target = format!("https://example.org/{}", "a".repeat(2_028));
    assert_eq!(target.len(), 2_048);
    let of_one = json!({"target_url": target});
    rules(&json!(vec![of_one; 20]));
    let half = json!({"target_url": target, "weight": 1});
    let split = json!({"split": [half, half]});
    let refused = refusal(&json!(vec![split; 20]));
    assert_eq!(
        refused,
        "rules: must take at most 65536 bytes as JSON, all together"
    );
}

#[test]
fn no_rules_are_as_good_as_an_empty_list() {
    assert_eq!(parse(&json!([])), Ok(None));
    assert_eq!(Rules::parse_text(" ", &OwnHost::unknown()), Ok(None));
    assert!(Rules::parse_text("[", &OwnHost::unknown()).is_err());
    assert_eq!(Rules::from_stored("[{}]"), None);
}

#[test]
fn rules_are_said_in_plain_words() {
    let said = |rule: Value| rules(&json!([rule])).as_slice()[0].sentence();
    let conditions = json!({
        "device": "phone", "country": ["DE", "AT"], "after": "2027-05-01T00:00:00Z",
    });
    let rule = json!({"when": conditions, "target_url": "https://example.org/app"});
    assert_eq!(
        said(rule),
        "On a phone, in Germany or Austria, from 2027-05-01: https://example.org/app"
    );
    let half = |path: &str, weight: u16| json!({"target_url": format!("https://example.org/{path}"), "weight": weight});
    let split = json!({"split": [half("a", 1), half("b", 2)], "sticky": true});
    assert_eq!(
        said(split),
        "For everybody: 33.3 % to https://example.org/a, 66.7 % to https://example.org/b, the same all day for each visitor"
    );
    let conditions = json!({
        "bot": true, "language": ["es", "pt-BR", "xx"], "query": {"ref": "a", "x": null}, "address": "10.0.0.0/8",
        "before": "2027-05-01T12:30:00Z",
    });
    let rule = json!({"when": conditions, "target_url": "https://example.org/"});
    assert_eq!(
        said(rule),
        "For known bots, reading Spanish, pt-BR or xx, with \u{201c}ref=a\u{201d} and any \u{201c}x\u{201d} in the query, \
         from the network 10.0.0.0/8, until 2027-05-01 12:30 UTC: https://example.org/"
    );
}

#[test]
fn a_breakdown_has_names_or_numbers_of_rules_and_targets() {
    let target = |name: Option<&str>| json!({"name": name, "target_url": "https://example.org/", "weight": 1});
    let list = json!([
        {"target_url": "https://example.org/"},
        {"name": "spring", "split": [target(None), target(Some("blue"))]},
    ]);
    let rules = rules(&list);
    let labels = rules.as_slice().iter().enumerate();
    let labels: Vec<_> = labels
        .flat_map(|(place, rule)| rule.labels(place))
        .collect();
    assert_eq!(labels, ["1", "spring/1", "spring/blue"]);
}

//! Links for tests that need every field of a link, whichever fields there are, or a link with a certain behaviour.

use serde_json::{Value, json};

/// The fields that an owner may set besides target and code, in the order of documents, each with a value that is not its default.
pub(crate) fn fields() -> Vec<(&'static str, Value)> {
    vec![
        ("expires_at", json!("2999-01-01T00:00:00.123457Z")),
        ("max_clicks", json!(1_000)),
        ("title", json!("Spring säle")),
        ("tags", json!(["print", "north"])),
        ("forward_query", json!(true)),
        ("starts_at", json!("2020-01-01T00:00:00.123457Z")),
        ("fallback_url", json!("https://example.org/later")),
        ("note", json!("Räume, \"vormerken\"\nim Mai")),
        ("noindex", json!(true)),
        (
            "rules",
            json!([{"name": "app", "target_url": "https://example.org/app, \"beta\"", "when": {"device": ["phone", "tablet"]}}]),
        ),
        ("aliases", json!(["another-code", "One-More"])),
    ]
}

/// The same as arguments of `shunt shorten`, and the arguments of `shunt edit` that take them away.
pub(crate) const ARGUMENTS: [&str; 20] = [
    "--expiry",
    "30d",
    "--max-clicks",
    "9",
    "--title",
    "Sale",
    "--tag",
    "print",
    "--forward-query",
    "--start",
    "2020-01-01T00:00:00Z",
    "--fallback",
    "https://example.org/later",
    "--note",
    "Printed",
    "--noindex",
    "--alias",
    "another-code",
    "--rules",
    concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/suite/support/rules.json"
    ),
];
pub(crate) const NO_ARGUMENTS: [&str; 11] = [
    "--no-expiry",
    "--no-max-clicks",
    "--no-title",
    "--no-tags",
    "--no-forward-query",
    "--no-start",
    "--no-fallback",
    "--no-note",
    "--no-noindex",
    "--no-aliases",
    "--no-rules",
];

/// A new link with all of these fields.
pub(crate) fn with_every_field(target: &str, code: &str) -> Value {
    let mut link = json!({"target_url": target, "custom_code": code});
    for (field, value) in fields() {
        link[field] = value;
    }
    link
}

/// A new link that adds a visitor's query to its target.
pub(crate) fn forwarding(target: &str) -> Value {
    json!({"target_url": target, "forward_query": true})
}

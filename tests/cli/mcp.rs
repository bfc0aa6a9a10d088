//! `shunt mcp`, as a client of the Model Context Protocol uses it.

use serde_json::{Value, json};

use crate::cli::support::{Person, Service};

const TARGET: &str = "https://example.org/a";

/// The answers to messages.
fn answers(person: &Person, messages: &[Value]) -> Vec<Value> {
    let lines: Vec<_> = messages.iter().map(Value::to_string).collect();
    let input = lines.join("\n");
    let out = person.runs_with_input(&["mcp"], &input).succeeds();
    out.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn call(id: u32, tool: &str, arguments: &Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

#[test]
fn links_are_made_found_shown_changed_and_counted_by_tools() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let link = json!({ "target_url": TARGET, "custom_code": "spring", "tags": ["print"], "title": "Spring" });
    let changed = json!({ "link": "spring", "title": null, "target_url": "https://example.org/b" });
    let by = json!({ "link": "spring", "by": "country" });
    let done = answers(
        &ada,
        &[
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            call(1, "create_link", &link),
            call(
                2,
                "find_links",
                &json!({ "q": "spring", "tag": "print", "limit": 5 }),
            ),
            call(
                3,
                "show_link",
                &json!({ "link": format!("{}/spring", service.base) }),
            ),
            call(4, "change_link", &changed),
            call(
                5,
                "link_statistics",
                &json!({ "link": "spring", "interval": "day" }),
            ),
            call(6, "link_statistics", &by),
        ],
    );
    assert_eq!(done.len(), 7, "a notification has no answer: {done:?}");
    let result = |id: usize| &done[id]["result"]["structuredContent"];
    assert_eq!(result(1)["short_code"], "spring", "{:?}", done[1]);
    assert_eq!(result(2)["links"][0]["title"], "Spring", "{:?}", done[2]);
    assert_eq!(result(3)["target_url"], TARGET, "{:?}", done[3]);
    assert_eq!(
        result(4)["target_url"],
        "https://example.org/b",
        "{:?}",
        done[4]
    );
    assert_eq!(result(4)["title"], Value::Null);
    assert_eq!(
        (&result(5)["clicks"], &result(5)["series"]["clicks"]),
        (&json!(0), &json!(0)),
        "{:?}",
        done[5]
    );
    assert!(result(6)["breakdown"]["rows"].is_array(), "{:?}", done[6]);
    let text = done[1]["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(&serde_json::from_str::<Value>(text).unwrap(), result(1));
}

#[test]
fn what_the_service_refuses_is_said_to_the_program() {
    let service = Service::start();
    let ada = Person::registered(&service, "ada@example.org");
    let done = answers(
        &ada,
        &[
            call(1, "create_link", &json!({ "target_url": "nowhere" })),
            call(
                2,
                "create_link",
                &json!({ "target_url": TARGET, "titel": "x" }),
            ),
            call(3, "show_link", &json!({ "link": "missing" })),
            call(4, "show_link", &json!({})),
            call(5, "find_links", &json!({ "status": "asleep" })),
            call(6, "delete_link", &json!({ "link": "missing" })),
        ],
    );
    for (answer, words) in done.iter().zip([
        "target_url: ",
        "did you mean title",
        "404",
        "link: must be",
        "status: must be",
    ]) {
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(words), "{text}");
    }
    assert_eq!(done[5]["error"]["code"], -32602);
}

#[test]
fn it_does_not_start_without_a_login() {
    let service = Service::start();
    let ada = Person::of(&service);
    ada.runs(&["mcp"]).fails(3, "not logged in");
}

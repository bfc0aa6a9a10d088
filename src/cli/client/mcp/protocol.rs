//! Messages of the protocol: revision 2026-07-28, in which each request stands by itself, and the earlier revisions with their handshake.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::tools;

/// The revision without a handshake.
const MODERN: &str = "2026-07-28";

/// Revisions with a handshake, the newest first.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Where a request of the modern revision says its revision.
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Where a result of it names the server.
const SERVER: &str = "io.modelcontextprotocol/serverInfo";

/// What a program may know before it uses the tools.
const INSTRUCTIONS: &str = "Short links of one account. A link is named by its short code or its short URL. Times are RFC 3339 \
     with a zone, such as 2027-01-31T18:00:00+01:00.";

/// The tools change only with the program; an hour.
const TTL_MS: u64 = 3_600_000;

/// A request, or a notification if it has no id.
#[derive(Deserialize)]
struct Message {
    jsonrpc: String,
    id: Option<Value>,
    method: String,
    #[serde(default)]
    params: Map<String, Value>,
}

/// An error of the protocol: its code, a sentence, perhaps more.
struct Fault(i64, String, Option<Value>);

/// The answer to a message; `None` for a message that gets none. `call` calls a tool: the error is a sentence for the program.
pub(super) fn answer(
    line: &[u8],
    call: impl Fn(&str, Map<String, Value>) -> Result<Value, String>,
) -> Option<Value> {
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        return Some(refusal(
            None,
            Fault(-32700, "The message is not JSON".into(), None),
        ));
    };
    let id = value
        .get("id")
        .filter(|id| id.is_string() || id.is_number())
        .cloned();
    let message = match serde_json::from_value::<Message>(value) {
        Ok(message) if message.jsonrpc == "2.0" && message.id.is_none() => return None,
        Ok(message) if message.jsonrpc == "2.0" && id.is_some() => message,
        _ => {
            let why = "The message is not a request of JSON-RPC 2.0".into();
            return Some(refusal(id, Fault(-32600, why, None)));
        }
    };
    Some(match result(&message, call) {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(fault) => refusal(id, fault),
    })
}

fn refusal(id: Option<Value>, Fault(code, message, data): Fault) -> Value {
    let mut error = json!({ "code": code, "message": message });
    if let Some(data) = data {
        error["data"] = data;
    }
    let mut response = json!({ "jsonrpc": "2.0", "error": error });
    if let Some(id) = id {
        response["id"] = id;
    }
    response
}

fn result(
    message: &Message,
    call: impl Fn(&str, Map<String, Value>) -> Result<Value, String>,
) -> Result<Value, Fault> {
    let version = message
        .params
        .get("_meta")
        .and_then(|meta| meta.get(VERSION));
    let is_modern = match version {
        None => false,
        Some(version) if version == MODERN => true,
        Some(version) => {
            let data = json!({ "supported": [MODERN], "requested": version });
            return Err(Fault(
                -32022,
                "Unsupported protocol version".into(),
                Some(data),
            ));
        }
    };
    let mut result = match message.method.as_str() {
        "initialize" => initialized(&message.params),
        "ping" => json!({}),
        "server/discover" => json!({
            "supportedVersions": [MODERN], "capabilities": { "tools": {} }, "instructions": INSTRUCTIONS,
        }),
        "tools/list" => json!({ "tools": tools::all() }),
        "tools/call" => called(&message.params, call)?,
        other => return Err(Fault(-32601, format!("Method not found: {other}"), None)),
    };
    if is_modern || message.method == "server/discover" {
        result["resultType"] = "complete".into();
        result["_meta"] = json!({ SERVER: server() });
        if message.method != "tools/call" {
            result["ttlMs"] = TTL_MS.into();
            result["cacheScope"] = "public".into();
        }
    }
    Ok(result)
}

fn server() -> Value {
    json!({ "name": "shunt", "title": "shunt", "version": env!("CARGO_PKG_VERSION") })
}

/// The handshake of earlier revisions.
fn initialized(params: &Map<String, Value>) -> Value {
    let asked = params.get("protocolVersion").and_then(Value::as_str);
    let known = LEGACY.into_iter().find(|known| asked == Some(*known));
    json!({
        "protocolVersion": known.unwrap_or(LEGACY[0]), "capabilities": { "tools": {} },
        "serverInfo": server(), "instructions": INSTRUCTIONS,
    })
}

/// The result of a tool; a refusal of the service is a result, too, from which the program learns.
fn called(
    params: &Map<String, Value>,
    call: impl Fn(&str, Map<String, Value>) -> Result<Value, String>,
) -> Result<Value, Fault> {
    let invalid = |why: String| Fault(-32602, why, None);
    let name = params.get("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| invalid("name: must be the name of a tool".into()))?;
    if !tools::has(name) {
        return Err(invalid(format!("Unknown tool: {name}")));
    }
    let arguments = match params.get("arguments") {
        None => Map::new(),
        Some(Value::Object(arguments)) => arguments.clone(),
        Some(_) => return Err(invalid("arguments: must be an object".into())),
    };
    Ok(match call(name, arguments) {
        Ok(value) => json!({
            "content": [{ "type": "text", "text": value.to_string() }], "structuredContent": value,
        }),
        Err(why) => json!({ "content": [{ "type": "text", "text": why }], "isError": true }),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn asked(message: &Value) -> Option<Value> {
        answer(
            message.to_string().as_bytes(),
            |name, arguments| match name {
                "show_link" => Ok(json!({ "given": arguments })),
                _ => Err("URL not found".into()),
            },
        )
    }

    #[test]
    fn a_handshake_agrees_on_a_revision() {
        for (given, expected) in [("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25")] {
            let params = json!({ "protocolVersion": given, "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } });
            let answer = asked(
                &json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }),
            )
            .unwrap();
            assert_eq!(answer["result"]["protocolVersion"], expected);
            assert_eq!(answer["id"], 1);
        }
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(asked(&note), None);
    }

    #[test]
    fn a_request_of_the_modern_revision_stands_alone() {
        let request = |version: &str, method: &str| {
            let meta =
                json!({ VERSION: version, "io.modelcontextprotocol/clientCapabilities": {} });
            let params =
                json!({ "_meta": meta, "name": "show_link", "arguments": { "link": "x" } });
            asked(&json!({ "jsonrpc": "2.0", "id": "a", "method": method, "params": params }))
                .unwrap()
        };
        for method in ["server/discover", "tools/list", "tools/call"] {
            let answer = request(MODERN, method);
            assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
            assert_eq!(answer["result"]["_meta"][SERVER]["name"], "shunt");
        }
        let refused = request("1900-01-01", "tools/list");
        assert_eq!(refused["error"]["code"], -32022);
        assert_eq!(
            refused["error"]["data"],
            json!({ "supported": [MODERN], "requested": "1900-01-01" })
        );
    }

    #[test]
    fn what_is_no_request_or_no_tool_is_an_error_of_the_protocol() {
        for (message, code) in [
            (
                json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/list" }),
                -32601,
            ),
            (
                json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "delete_all" } }),
                -32602,
            ),
            (
                json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "show_link", "arguments": [] } }),
                -32602,
            ),
            (
                json!({ "jsonrpc": "1.0", "id": 1, "method": "ping" }),
                -32600,
            ),
            (
                json!([{ "jsonrpc": "2.0", "id": 1, "method": "ping" }]),
                -32600,
            ),
            (
                json!({ "jsonrpc": "2.0", "id": {}, "method": "ping" }),
                -32600,
            ),
        ] {
            assert_eq!(asked(&message).unwrap()["error"]["code"], code, "{message}");
        }
        assert_eq!(
            answer(b"{", |_, _| Ok(Value::Null)).unwrap()["error"]["code"],
            -32700
        );
    }

    #[test]
    fn a_refusal_of_the_service_is_a_result_that_says_so() {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "change_link" } });
        let answer = asked(&call).unwrap();
        assert_eq!(answer["result"]["isError"], true);
        assert_eq!(answer["result"]["content"][0]["text"], "URL not found");
    }

    proptest! {
        #[test]
        fn no_line_panics_and_each_answer_is_one_line(line in prop_oneof!["\\PC*", "[\\[{]\"(jsonrpc|id|method|params)\":[\"0-9{}]{0,8}[}\\]]"]) {
            if let Some(answer) = answer(line.as_bytes(), |_, _| Ok(json!({}))) {
                prop_assert_eq!(&answer["jsonrpc"], "2.0");
                prop_assert!(!answer.to_string().contains('\n'));
            }
        }
    }
}

//! The tools: make, find, show, change, statistics. The service checks what is given, and its sentences are passed on.

use serde_json::{Map, Value, json};

use super::{Api, Call, Failure};
use crate::cli::client::named_link::NamedLink;

/// Names of the tools.
const NAMES: [&str; 5] = [
    "create_link",
    "find_links",
    "show_link",
    "change_link",
    "link_statistics",
];

/// Whether there is such a tool.
pub(super) fn has(name: &str) -> bool {
    NAMES.contains(&name)
}

/// All tools, as the protocol lists them.
pub(super) fn all() -> Value {
    let link = json!({ "type": "string", "description": "A short code, or a short URL" });
    let mut new = fields();
    new["custom_code"] =
        json!({ "type": "string", "description": "The code; without it, a random code" });
    let mut changed = fields();
    changed["link"] = link.clone();
    changed["is_active"] = json!({ "type": "boolean", "description": "false pauses the link" });
    let found = json!({
        "q": { "type": "string", "description": "Words in code, title, target or tags" },
        "tag": { "type": "string" },
        "status": { "type": "string", "enum": ["active", "inactive", "scheduled", "expired", "used_up", "removed"] },
        "sort": { "type": "string", "enum": ["-created_at", "created_at", "-clicks", "clicks"] },
        "limit": { "type": "integer", "minimum": 1, "maximum": 100, "default": 20 },
        "cursor": { "type": "string", "description": "The `next` of the page before" },
    });
    let statistics = json!({
        "link": link,
        "interval": { "type": "string", "enum": ["hour", "day", "month"] },
        "from": { "type": "string", "description": "The first interval, such as 2027-01-31" },
        "to": { "type": "string", "description": "The end" },
        "tz": { "type": "string", "description": "An IANA time zone; UTC without it" },
        "by": {
            "type": "string", "enum": ["referrer", "country", "browser", "os", "device", "rule", "bot", "code"],
            "description": "Who followed the link, instead of clicks over time",
        },
        "limit": { "type": "integer", "description": "Rows, with `by`" },
    });
    let show = json!({ "link": link });
    json!([
        tool(
            "create_link",
            "Create a short link",
            &new,
            &["target_url"],
            [false, false]
        ),
        tool(
            "find_links",
            "Find links by words, tag and status",
            &found,
            &[],
            [true, false]
        ),
        tool(
            "show_link",
            "Show everything about a link",
            &show,
            &["link"],
            [true, false]
        ),
        tool(
            "change_link",
            "Change a link; fields that are not given stay, and null clears a field",
            &changed,
            &["link"],
            [false, true]
        ),
        tool(
            "link_statistics",
            "Clicks of a link over time, or who followed it",
            &statistics,
            &["link"],
            [true, false]
        ),
    ])
}

fn tool(
    name: &str,
    description: &str,
    properties: &Value,
    required: &[&str],
    [reads, destroys]: [bool; 2],
) -> Value {
    let schema = json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    });
    json!({
        "name": name, "description": description, "inputSchema": schema,
        "annotations": { "readOnlyHint": reads, "destructiveHint": destroys, "openWorldHint": false },
    })
}

/// Fields that a link may have.
fn fields() -> Value {
    let text =
        |description: &str| json!({ "type": ["string", "null"], "description": description });
    json!({
        "target_url": { "type": "string", "description": "Where the link leads" },
        "title": text("For the owner's reference"),
        "tags": { "type": ["array", "null"], "items": { "type": "string" } },
        "note": text("Only the owner sees it"),
        "starts_at": text("From when on it leads there"),
        "expires_at": text("When it ends"),
        "max_clicks": { "type": ["integer", "null"], "minimum": 1 },
        "fallback_url": text("Where visitors are sent before the start, after the end, and past the limit of clicks"),
        "forward_query": { "type": ["boolean", "null"], "description": "Adds the visitor's query to the target" },
    })
}

/// Calls a tool. The error is a sentence.
pub(super) fn call(api: &Api, name: &str, arguments: Map<String, Value>) -> Result<Value, String> {
    let done = match name {
        "create_link" => create(api, &arguments),
        "find_links" => find(api, &arguments),
        "show_link" => show(api, &arguments),
        "change_link" => change(api, arguments),
        _ => statistics(api, &arguments),
    };
    done.map_err(|failure| failure.to_string())
}

fn create(api: &Api, arguments: &Map<String, Value>) -> Result<Value, Failure> {
    let token = api.token()?;
    let call = Call::post("/urls/shorten").query(&[("view", "full")]);
    Ok(api.read(call.token(&token).json(&Value::Object(arguments.clone())))?)
}

fn find(api: &Api, arguments: &Map<String, Value>) -> Result<Value, Failure> {
    let known = ["q", "tag", "status", "sort", "limit", "cursor"];
    let mut given = texts(arguments, &known)?;
    if !arguments.contains_key("limit") {
        given.push(("limit", "20".into()));
    }
    let mut query = vec![("view", "full")];
    query.extend(given.iter().map(|(name, text)| (*name, text.as_str())));
    let token = api.token()?;
    let (links, next) = api.page::<Value>(Call::get("/urls/my").query(&query).token(&token))?;
    Ok(json!({ "links": links, "next": next }))
}

fn show(api: &Api, arguments: &Map<String, Value>) -> Result<Value, Failure> {
    texts(arguments, &["link"])?;
    let (path, token) = (link_of(api, arguments)?.path(""), api.token()?);
    Ok(api.read(Call::get(&path).token(&token))?)
}

fn change(api: &Api, mut arguments: Map<String, Value>) -> Result<Value, Failure> {
    let (path, token) = (link_of(api, &arguments)?.path(""), api.token()?);
    arguments.remove("link");
    Ok(api.read(
        Call::patch(&path)
            .token(&token)
            .json(&Value::Object(arguments)),
    )?)
}

fn statistics(api: &Api, arguments: &Map<String, Value>) -> Result<Value, Failure> {
    let (kind, known) = if arguments.contains_key("by") {
        (
            "breakdown",
            &["by", "from", "to", "tz", "limit", "link"][..],
        )
    } else {
        ("series", &["interval", "from", "to", "tz", "link"][..])
    };
    let given = texts(arguments, known)?;
    let link = link_of(api, arguments)?;
    let given = given.iter().filter(|(name, _)| *name != "link");
    let query: Vec<_> = given.map(|(name, text)| (*name, text.as_str())).collect();
    let mut found: Value = api.read(Call::get(&link.path("/stats")))?;
    let path = link.path(&format!("/stats/{kind}"));
    let call = Call::get(&path).query(&query);
    // Clicks over time are everybody's to see, visitors only the owner's.
    let token = (kind == "breakdown").then(|| api.token()).transpose()?;
    let read: Value = match &token {
        Some(token) => api.read(call.token(token))?,
        None => api.read(call)?,
    };
    found[kind] = read;
    Ok(found)
}

/// The link that is named.
fn link_of(api: &Api, arguments: &Map<String, Value>) -> Result<NamedLink, Failure> {
    let link = arguments.get("link").and_then(Value::as_str);
    let link =
        link.ok_or_else(|| Failure::Usage("link: must be a short code or a short URL".into()))?;
    api.code(link)
}

/// Arguments as parameters of a query.
fn texts<'a>(
    arguments: &Map<String, Value>,
    known: &[&'a str],
) -> Result<Vec<(&'a str, String)>, Failure> {
    let mut texts = Vec::new();
    for (given, value) in arguments {
        let name = known.iter().find(|name| *name == given);
        let name = name.ok_or_else(|| Failure::Usage(format!("{given}: is not known here")))?;
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => {
                return Err(Failure::Usage(format!(
                    "{given}: must be a string or a number"
                )));
            }
        };
        texts.push((*name, text));
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_has_a_name_a_sentence_and_an_object_of_arguments() {
        let all = all();
        let names: Vec<_> = all
            .as_array()
            .into_iter()
            .flatten()
            .map(|tool| &tool["name"])
            .collect();
        assert_eq!(names, NAMES);
        for tool in all.as_array().into_iter().flatten() {
            assert_eq!(tool["inputSchema"]["type"], "object");
            assert!(tool["description"].is_string());
            for name in tool["inputSchema"]["required"]
                .as_array()
                .into_iter()
                .flatten()
            {
                let name = name.as_str().unwrap_or_default();
                assert!(
                    tool["inputSchema"]["properties"][name].is_object(),
                    "{tool}"
                );
            }
        }
    }

    #[test]
    fn arguments_become_parameters_only_if_they_are_known_and_plain() {
        let given = |value: Value| value.as_object().cloned().unwrap_or_default();
        let texts_of =
            |value| texts(&given(value), &["q", "limit"]).map_err(|error| error.to_string());
        assert_eq!(
            texts_of(json!({ "limit": 5, "q": "a b" })),
            Ok(vec![("limit", "5".into()), ("q", "a b".into())])
        );
        assert_eq!(
            texts_of(json!({ "x": 1 })),
            Err("x: is not known here".into())
        );
        assert_eq!(
            texts_of(json!({ "q": ["a"] })),
            Err("q: must be a string or a number".into())
        );
    }
}

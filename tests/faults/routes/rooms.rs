//! Requests to the APIs of other shorteners.

use reqwest::Method;
use serde_json::{Value, json};

use super::requests::Requests;
use crate::support::{App, Response};

/// What is refused always: there is no hub of events, and no identity provider that ends sessions.
pub(super) const ALWAYS_REFUSED: [&str; 2] = [
    "GET /rest/v3/mercure-info",
    "POST /app/oidc/backchannel-logout",
];

/// A path with something for each parameter.
pub(super) fn filled(template: &str) -> String {
    template.replace("{id}", "nowhere")
}

/// A log-in, and a key of its account.
async fn key(all: &Requests<'_>) -> (String, String) {
    let app = all.app;
    let token = app.register().await;
    all.fill(&token).await;
    let asked = app.request(Method::POST, "/auth/keys").bearer_auth(&token);
    let made = asked.json(&json!({"name": "a key", "scope": "write"}));
    let made = Response::of(made).await.json();
    (token, made["key"].as_str().unwrap().to_owned())
}

pub(super) async fn yourls(all: &mut Requests<'_>) {
    let (_, key) = key(all).await;
    for (method, action) in [("GET", "db-stats"), ("POST", "shorturl")] {
        let route = format!("{method} /yourls-api.php");
        let request = all.plain(&route, &[]).query(&[
            ("signature", key.as_str()),
            ("action", action),
            ("url", "https://example.org/"),
        ]);
        all.add(&route, "", request);
    }
}

/// A request with the key in its header.
fn with_key(all: &mut Requests<'_>, key: &str, route: &str, id: &[(&str, &str)], body: &Value) {
    let mut request = all.plain(route, id).header("X-Api-Key", key);
    if !body.is_null() {
        request = request.json(body);
    }
    all.add(route, "", request);
}

async fn links(app: &App, token: &str) -> (String, String) {
    let kept = app.shorten(token, "https://example.org/kept").await;
    let gone = app.shorten(token, "https://example.org/gone").await;
    (kept, gone)
}

pub(super) async fn kutt(all: &mut Requests<'_>) {
    let (token, key) = key(all).await;
    let (code, gone) = links(all.app, &token).await;
    let (kept, gone) = ([("id", code.as_str())], [("id", gone.as_str())]);
    let none = Value::Null;
    let target = json!({"target": "https://example.org/"});
    let change = json!({"description": "new"});
    for (route, id, body) in [
        ("GET /api/v2/health", &kept, &none),
        ("GET /api/v2/links", &kept, &none),
        ("POST /api/v2/links", &kept, &target),
        ("PATCH /api/v2/links/{id}", &kept, &change),
        ("DELETE /api/v2/links/{id}", &gone, &none),
        ("GET /api/v2/links/{id}/stats", &kept, &none),
        ("GET /api/v2/users", &kept, &none),
    ] {
        with_key(all, &key, route, id, body);
    }
}

pub(super) async fn shlink(all: &mut Requests<'_>) {
    let (token, key) = key(all).await;
    let (code, gone) = links(all.app, &token).await;
    let (kept, gone) = ([("id", code.as_str())], [("id", gone.as_str())]);
    let none = Value::Null;
    let make = json!({"longUrl": "https://example.org/", "tags": ["old"]});
    for tag in ["old", "gone"] {
        let body = json!({"target_url": "https://example.org/", "tags": [tag]});
        let request = all.app.request(Method::POST, "/urls/shorten");
        let tagged = Response::of(request.bearer_auth(&token).json(&body)).await;
        assert_eq!(tagged.status, 200, "{tagged:?}");
    }
    let rules = json!({"redirectRules": [{"longUrl": "https://example.org/ios", "conditions": [
        {"type": "device", "matchKey": null, "matchValue": "ios"},
    ]}]});
    let own_host = [("id", "DEFAULT")];
    for (route, id, body) in [
        ("GET /rest/health", &kept, &none),
        ("GET /rest/v3/domains", &kept, &none),
        ("GET /rest/v3/domains/{id}/visits", &own_host, &none),
        ("GET /rest/v3/health", &kept, &none),
        ("GET /rest/v3/short-urls", &kept, &none),
        ("POST /rest/v3/short-urls", &kept, &make),
        ("GET /rest/v3/short-urls/{id}", &kept, &none),
        (
            "PATCH /rest/v3/short-urls/{id}",
            &kept,
            &json!({"title": "new"}),
        ),
        ("DELETE /rest/v3/short-urls/{id}", &gone, &none),
        ("GET /rest/v3/short-urls/{id}/redirect-rules", &kept, &none),
        (
            "POST /rest/v3/short-urls/{id}/redirect-rules",
            &kept,
            &rules,
        ),
        ("GET /rest/v3/short-urls/{id}/visits", &kept, &none),
        ("GET /rest/v3/tags", &kept, &none),
        (
            "PUT /rest/v3/tags",
            &kept,
            &json!({"oldName": "old", "newName": "new"}),
        ),
        ("DELETE /rest/v3/tags", &kept, &none),
        ("GET /rest/v3/tags/stats", &kept, &none),
        ("GET /rest/v3/tags/{id}/visits", &kept, &none),
        ("GET /rest/v3/visits", &kept, &none),
        ("GET /rest/v3/visits/non-orphan", &kept, &none),
        ("GET /rest/v3/visits/orphan", &kept, &none),
    ] {
        with_key(all, &key, route, id, body);
    }
}

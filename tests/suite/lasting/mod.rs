//! `shunt export --as`: links outlive their service. What is written is served by the real nginx and the real Caddy, and each answer
//! is that of the running service.

mod folder;
mod server;
mod servers;

use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use self::server::Answer;
use super::abuse::{admin, send};
use crate::cli::support::{Finished, run, shunt};
use crate::support::{App, free_port};

/// Codes at the service's own host that are answered as before.
const FOLLOWED: &[&str] = &[
    "abcd",
    "ABCD",
    "aBcD",
    "a-b_c",
    "-_-_",
    "quotes",
    "dollars",
    "braces",
    "unicode",
    "long",
    "longer",
    "colons",
    "escapes",
    "listed",
    "alias-1",
    "ALIAS-2",
    "forward",
    "forward-query",
    "forward-open",
    "forward-end",
    "limited",
    "ending",
    "over",
    "over-and-locked",
    "ruled",
];

/// Codes that only the service can guard, or does not have.
const LEFT_OUT: &[&str] = &["locked", "paused", "later", "ended", "unknown", "ABCd"];

/// A service with a link of each kind, at its own host and at another.
struct Kinds {
    key: String,
    /// The other host, with its port.
    host: String,
    port: u16,
}

fn links(host: &str) -> Vec<Value> {
    let to = |code: &str, target: &str| json!({"custom_code": code, "target_url": target});
    let with = |code: &str, more: Value| {
        let mut link = to(code, &format!("https://example.org/{code}"));
        for (name, value) in more.as_object().unwrap() {
            link[name] = value.clone();
        }
        link
    };
    let ended = json!({"expires_at": "2026-01-01T00:00:00Z", "created_at": "2025-01-01T00:00:00Z"});
    let fallback = json!({
        "expires_at": "2026-01-01T00:00:00Z", "created_at": "2025-01-01T00:00:00Z",
        "fallback_url": "https://example.org/over?$1", "forward_query": true,
    });
    let mut locked = fallback.clone();
    locked["password"] = "Correct-Horse-7".into();
    vec![
        to("abcd", "https://example.org/1"),
        to("ABCD", "https://example.org/2"),
        to("aBcD", "https://example.org/3"),
        to("a-b_c", "https://example.org"),
        to("-_-_", "HTTPS://EXAMPLE.org/?"),
        to(
            "quotes",
            r#"https://example.org/a"b'c\d`e;f#"g'h\i;j#k <l>&lt;m"#,
        ),
        to(
            "dollars",
            "https://example.org/$uri/${shunt_key}/$1?$args=$$",
        ),
        to(
            "braces",
            "https://example.org/{path}/{$HOME}/{{x}}?{query}=}#{",
        ),
        to("unicode", "https://bücher.example/straße?ä=ö#ü\u{202e}"),
        to(
            "long",
            &format!("https://example.org/{}", "ü".repeat(1_000)),
        ),
        to(
            "longer",
            &format!("https://example.org/{}", "$\"".repeat(1_000)),
        ),
        to("colons", "https://example.org:8443/a:splat/*/:b?c=:d#:e"),
        to(
            "escapes",
            "https://example.org/%20%ff%/?x=%22%0d%0aSet-Cookie:%20a=b",
        ),
        with(
            "listed",
            json!({"noindex": true, "title": "<b>\"'&amp;</title>", "aliases": ["alias-1", "ALIAS-2"]}),
        ),
        with("forward", json!({"forward_query": true})),
        json!({"custom_code": "forward-query", "target_url": "https://example.org/?a=b#c", "forward_query": true}),
        json!({"custom_code": "forward-open", "target_url": "https://example.org?", "forward_query": true}),
        json!({"custom_code": "forward-end", "target_url": "https://example.org/a?b&#c?d", "forward_query": true, "noindex": true}),
        with("limited", json!({"max_clicks": 1_000})),
        with("ending", json!({"expires_at": "2099-01-01T00:00:00Z"})),
        with("over", fallback),
        with("over-and-locked", locked),
        with(
            "ruled",
            json!({"rules": [{"when": {"query": {"a": "b"}}, "target_url": "https://example.org/elsewhere"}]}),
        ),
        with("locked", json!({"password": "Correct-Horse-7"})),
        with(
            "paused",
            json!({"is_active": false, "fallback_url": "https://example.org/no"}),
        ),
        with("later", json!({"starts_at": "2099-01-01T00:00:00Z"})),
        with("ended", ended),
        with("abcd", json!({"domain": host, "noindex": true})),
        with("go-only", json!({"domain": host, "forward_query": true})),
    ]
}

impl Kinds {
    async fn of(app: &App) -> Self {
        let port = free_port();
        let host = format!("go.test:{port}");
        let administrator = admin(app).await;
        let added = json!({"host": host, "owners": "all"});
        let added = send(app, Method::POST, &administrator, "/admin/domains", &added).await;
        assert_eq!(added.status, 200, "{added:?}");
        let token = app.register().await;
        let kinds = Self {
            key: key(app, &token).await,
            host,
            port,
        };
        bulk(app, &token, &links(&kinds.host)).await;
        // Many links of no other interest.
        for part in 0..3 {
            let many = (0..1_000).map(|at| {
                let target = format!("https://example.org/{part}/{at}");
                json!({"custom_code": format!("many-{part}-{at}"), "target_url": target})
            });
            bulk(app, &token, &many.collect::<Vec<_>>()).await;
        }
        kinds
    }

    /// Exports, and checks what is said of the links.
    fn export(&self, app: &App, form: &str, to: &Path) -> String {
        let finished = exported(app, &self.key, form, to);
        assert_eq!((finished.code, &*finished.out), (0, ""), "{finished:?}");
        let own = app.server.base.trim_start_matches("http://");
        for note in [
            format!("shunt: 1 link with a password left out: {own}/locked\n"),
            format!("shunt: 1 link that is inactive left out: {own}/paused\n"),
            format!(
                "shunt: 1 link that has not started yet left out; export again after the start: {own}/later\n"
            ),
            format!("shunt: 1 link that has ended left out: {own}/ended\n"),
            format!(
                "shunt: 1 link with rules, of which only the own target is kept: {own}/ruled\n"
            ),
            format!(
                "shunt: 1 link with a limit of clicks, which nobody counts now: {own}/limited\n"
            ),
        ] {
            assert!(finished.err.contains(&note), "{note}{}", finished.err);
        }
        assert!(
            finished.err.contains(&format!("{own}/ending\n")),
            "{}",
            finished.err
        );
        finished.err
    }

    /// The running service's answer at its own host, or at the other.
    async fn expected(&self, app: &App, host: Option<&str>, path: &str) -> Answer {
        let own = app.server.base.trim_start_matches("http://");
        server::answer(&app.server.base, host.unwrap_or(own), path).await
    }
}

async fn key(app: &App, token: &str) -> String {
    let body = json!({"name": "tests", "scope": "write"});
    let made = send(app, Method::POST, token, "/auth/keys", &body).await;
    made.json()["key"].as_str().unwrap().to_owned()
}

async fn bulk(app: &App, token: &str, links: &[Value]) {
    let made = send(app, Method::POST, token, "/urls/bulk", &json!(links)).await;
    let outcomes = made.json();
    for (link, outcome) in links.iter().zip(outcomes.as_array().unwrap()) {
        assert_eq!(outcome["status"], 200, "{link}: {outcome}");
    }
}

fn exported(app: &App, key: &str, form: &str, to: &Path) -> Finished {
    let mut command = shunt();
    command.args(["export", "--as", form, "--server", &app.server.base]);
    command.arg("-o").arg(to).env("SHUNT_KEY", key);
    run(&mut command, "")
}

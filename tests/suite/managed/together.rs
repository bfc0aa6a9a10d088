//! Aliases, passwords, rules and pools of one link.

use reqwest::Method;
use serde_json::{Value, json};

use super::passwords::{PASSWORD, TARGET, is_redirected, locked, posted};
use super::{make, patch};
use crate::support::{App, Response, both_modes, eventually};

const PHONE: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Mobile/15E148 Safari/604.1";
const DESK: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";

async fn visit(app: &App, path: &str, agent: &str) -> (u16, String) {
    let request = app.request(Method::GET, path).header("user-agent", agent);
    let answer = Response::of(request).await;
    let location = answer.headers.get("location");
    let location = location.map(|location| location.to_str().unwrap().to_owned());
    (answer.status.as_u16(), location.unwrap_or_default())
}

async fn pool(app: &App, token: &str, code: &str, lines: &'static str) {
    let request = app.request(Method::POST, &format!("/urls/{code}/pool"));
    let added = Response::of(request.bearer_auth(token).body(lines)).await;
    assert_eq!(added.status, 200, "{}", added.text);
}

async fn by_code(app: &App, token: &str, code: &str) -> Vec<(Value, Value)> {
    let path = format!("/urls/{code}/stats/breakdown?by=code");
    let found = app.get_as(token, &path).await.json();
    let rows = found["rows"].as_array().unwrap().iter();
    rows.map(|row| (row["value"].clone(), row["clicks"].clone()))
        .collect()
}

fn to(path: &str) -> (u16, String) {
    (302, format!("https://example.org/{path}"))
}

both_modes! {
    async fn visitors_by_an_alias_are_told_from_those_by_the_own_code(app) {
        let token = app.register().await;
        let link = json!({"target_url": TARGET, "aliases": ["poster"], "custom_code": "flyer"});
        assert_eq!(make(app, &token, &link).await.status, 200);
        for (path, agent) in [("/poster", PHONE), ("/poster", PHONE), ("/poster", DESK), ("/flyer", DESK)] {
            assert_eq!(visit(app, path, agent).await.0, 302);
        }
        let rows = async |path: &str, query: &str| {
            let found = app.get_as(&token, &format!("/urls/{path}/stats/breakdown?{query}")).await.json();
            let row = |row: &Value| json!([row["value"], row["clicks"], row["people"]]);
            found["rows"].as_array().unwrap().iter().map(row).collect::<Vec<_>>()
        };
        eventually("all visitors are in the breakdowns", async || {
            rows("flyer", "by=device").await == [json!(["desktop", 2, 2]), json!(["phone", 2, 2])]
        })
        .await;
        assert_eq!(rows("flyer", "by=device&code=poster").await, [json!(["phone", 2, 2]), json!(["desktop", 1, 1])]);
        assert_eq!(rows("poster", "by=device&code=flyer").await, [json!(["desktop", 1, 1])]);
        assert_eq!(rows("flyer", "by=code&device=desktop").await, [json!(["flyer", 1, 1]), json!(["poster", 1, 1])]);
        assert_eq!(rows("flyer", "by=device&code=else").await, [json!(null); 0]);
        let refused = app.get_as(&token, "/urls/my/breakdown?code=poster").await;
        refused.is_error(422, "code: is for a single link, as /urls/spring/stats/breakdown?code=spring");
    }

    async fn the_password_of_a_link_opens_each_of_its_codes(app) {
        let token = app.register().await;
        let code = locked(app, &token, &json!({"aliases": ["other-door"]})).await;
        for code in [code.as_str(), "other-door"] {
            is_redirected(&posted(app, &format!("/{code}"), PASSWORD).await, TARGET);
        }
    }

    async fn a_visitor_by_an_alias_gets_a_target_of_the_pool_and_counts_for_the_alias(app) {
        let token = app.register().await;
        let link = json!({"target_url": TARGET, "aliases": ["desk-2"], "custom_code": "desk-1"});
        assert_eq!(make(app, &token, &link).await.status, 200);
        pool(app, &token, "desk-2", "https://example.org/a\nhttps://example.org/b\nhttps://example.org/c\n").await;
        assert_eq!(visit(app, "/desk-2", DESK).await, to("a"));
        assert_eq!(visit(app, "/desk-1", DESK).await, to("b"));
        assert_eq!(visit(app, "/desk-2", DESK).await, to("c"));
        assert_eq!(visit(app, "/desk-2", DESK).await.0, 404);
        assert_eq!(app.clicks("desk-1").await, 3);
        let rows = by_code(app, &token, "desk-1").await;
        assert_eq!(rows, [(json!("desk-2"), json!(2)), (json!("desk-1"), json!(1))]);
        patch(app, &token, "desk-1", &json!({"max_clicks": 4})).await;
        pool(app, &token, "desk-1", "https://example.org/d\nhttps://example.org/e\n").await;
        assert_eq!(visit(app, "/desk-2", DESK).await, to("d"));
        assert_eq!(visit(app, "/desk-1", DESK).await.0, 404);
        let rows = by_code(app, &token, "desk-1").await;
        assert_eq!(rows, [(json!("desk-2"), json!(3)), (json!("desk-1"), json!(1))]);
    }

    async fn rules_go_before_the_pool_and_use_none_of_it_up(app) {
        let token = app.register().await;
        let link = json!({"target_url": TARGET, "custom_code": "ruled-pool", "rules": [
            {"when": {"device": "phone"}, "target_url": "https://example.org/app"},
        ]});
        assert_eq!(make(app, &token, &link).await.status, 200);
        pool(app, &token, "ruled-pool", "https://example.org/1\n").await;
        assert_eq!(visit(app, "/ruled-pool", PHONE).await, to("app"));
        assert_eq!(visit(app, "/ruled-pool", DESK).await, to("1"));
        assert_eq!(visit(app, "/ruled-pool", DESK).await.0, 404);
        assert_eq!(visit(app, "/ruled-pool", PHONE).await, to("app"));
        assert_eq!(app.clicks("ruled-pool").await, 3);
        let left = app.get_as(&token, "/urls/ruled-pool/pool").await.json();
        assert_eq!(left, json!({"left": 0, "given": 1}));
        patch(app, &token, "ruled-pool", &json!({"password": PASSWORD})).await;
        assert_eq!(visit(app, "/ruled-pool", PHONE).await.0, 403);
        pool(app, &token, "ruled-pool", "https://example.org/2\n").await;
        is_redirected(&posted(app, "/ruled-pool", PASSWORD).await, "https://example.org/2");
    }
    async fn a_pool_that_is_empty_ends_no_rule_and_a_limit_that_is_reached_takes_no_target(app) {
        let token = app.register().await;
        let link = json!({"target_url": TARGET, "custom_code": "few-seats", "max_clicks": 5, "rules": [
            {"when": {"device": "phone"}, "target_url": "https://example.org/app"},
        ]});
        assert_eq!(make(app, &token, &link).await.status, 200);
        pool(app, &token, "few-seats", "https://example.org/1\n").await;
        assert_eq!(visit(app, "/few-seats", DESK).await, to("1"));
        assert_eq!(visit(app, "/few-seats", DESK).await.0, 404);
        assert_eq!(visit(app, "/few-seats", PHONE).await, to("app"));
        pool(app, &token, "few-seats", "https://example.org/2\nhttps://example.org/3\nhttps://example.org/4\nhttps://example.org/5\n").await;
        for line in 2..=4 {
            assert_eq!(visit(app, "/few-seats", DESK).await, to(&line.to_string()));
        }
        for agent in [DESK, PHONE, DESK] {
            assert_eq!(visit(app, "/few-seats", agent).await.0, 404);
        }
        let left = app.get_as(&token, "/urls/few-seats/pool").await.json();
        assert_eq!(left, json!({"left": 1, "given": 4}));
    }
}

//! Rules: where each visitor is sent.

use std::collections::BTreeMap;
use std::fs::write;

use reqwest::{Client, Method, redirect};
use serde_json::{Value, json};

use super::{in_seconds, make, patch, show};
use crate::support::{App, Mode, Response, both_modes, eventually, mmdb, raw};

const TARGET: &str = "https://example.org/usual";
const PHONE: &str = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36";
const DESKTOP: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";
const BOT: &str = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";

/// Makes a link with these rules and fields; returns its code.
async fn with_rules(app: &App, token: &str, rules: Value, fields: &[(&str, Value)]) -> String {
    let mut link = json!({"target_url": TARGET, "rules": rules});
    for (name, value) in fields {
        link[name] = value.clone();
    }
    let made = make(app, token, &link).await;
    assert_eq!(made.status, 200, "{}", made.text);
    assert_eq!(made.json()["rules"], link["rules"]);
    made.json()["short_code"].as_str().unwrap().to_owned()
}

/// Where a visitor with these headers is sent.
async fn sent(app: &App, method: Method, path: &str, headers: &[(&str, &str)]) -> Response {
    let mut request = app.request(method, path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = Response::of(request).await;
    assert_eq!(response.status, 302, "{}", response.text);
    response
}

async fn sent_to(app: &App, path: &str, headers: &[(&str, &str)]) -> String {
    let response = sent(app, Method::GET, path, headers).await;
    response.header("location").to_owned()
}

/// A rule with a condition that leads to a page of its own.
fn rule(when: &Value, page: &str) -> Value {
    json!({"when": when, "target_url": format!("https://example.org/{page}")})
}

/// Clicks by the rule, once there are as many as this.
async fn by_rule(app: &App, token: &str, code: &str, clicks: u64) -> BTreeMap<String, u64> {
    let path = format!("/urls/{code}/stats/breakdown?by=rule");
    eventually("the classes are summed", async || {
        app.get_as(token, &path).await.json()["clicks"] == clicks
    })
    .await;
    let found = app.get_as(token, &path).await.json();
    let rows = found["rows"].as_array().unwrap().iter();
    let row = |row: &Value| {
        let value = row["value"].as_str().unwrap_or("no rule").to_owned();
        (value, row["clicks"].as_u64().unwrap())
    };
    rows.map(row).collect()
}

/// Follows a link so often over one connection, and returns where to, by the clicks that led there.
async fn over_one_connection(app: &App, code: &str, visits: usize) -> Vec<String> {
    let request = format!("GET /{code} HTTP/1.1\r\nHost: test\r\nUser-Agent: {DESKTOP}\r\n\r\n");
    let responses = raw::exchange(&app.server.base, request.repeat(visits)).await;
    let lines = responses.lines();
    let locations = lines.filter_map(|line| line.strip_prefix("location: "));
    let locations: Vec<_> = locations.map(str::to_owned).collect();
    assert_eq!(locations.len(), visits);
    locations
}

fn half(page: &str, weight: u16) -> Value {
    json!({"target_url": format!("https://example.org/{page}"), "weight": weight})
}

both_modes! {
    with &[("TRUSTED_PROXIES", "127.0.0.1"), ("FLUSH_INTERVAL_MS", "20")];

    async fn the_first_rule_whose_conditions_all_hold_decides_and_is_counted(app) {
        let token = app.register().await;
        let mut named = rule(&json!({"language": ["es", "pt"]}), "spanish");
        named["name"] = json!("spanish");
        let rules = json!([
            rule(&json!({"after": in_seconds(3_600)}), "later"),
            rule(&json!({"device": "phone", "query": {"utm_source": "flyer"}}), "flyer"),
            rule(&json!({"device": ["phone", "tablet"]}), "phone"),
            rule(&json!({"bot": true}), "bot"),
            named,
            rule(&json!({"address": "203.0.113.0/24", "before": in_seconds(3_600)}), "office"),
        ]);
        let code = with_rules(app, &token, rules, &[]).await;
        let (path, from) = (format!("/{code}"), ("x-forwarded-for", "203.0.113.9"));
        let (phone, desktop) = (("user-agent", PHONE), ("user-agent", DESKTOP));
        for (path, headers, page) in [
            (path.clone(), vec![phone], "phone"),
            (format!("{path}?utm_source=flyer"), vec![phone], "flyer"),
            (format!("{path}?utm_source=other"), vec![phone], "phone"),
            (format!("/urls/r/{code}"), vec![phone], "phone"),
            (path.clone(), vec![("user-agent", BOT), from], "bot"),
            (path.clone(), vec![desktop, ("accept-language", "en;q=0.4, es-MX;q=0.5"), from], "spanish"),
            (format!("{path}?a=b"), vec![desktop, ("accept-language", "pt-BR")], "spanish"),
            (path.clone(), vec![desktop, ("accept-language", "es;q=0.4"), from], "office"),
            (path.clone(), vec![desktop, ("accept-language", "de")], "usual"),
        ] {
            assert_eq!(sent_to(app, &path, &headers).await, format!("https://example.org/{page}"), "{path} {headers:?}");
        }
        assert_eq!(app.clicks(&code).await, 9);
        let expected = [("2", 1), ("3", 3), ("4", 1), ("6", 1), ("no rule", 1), ("spanish", 2)];
        let expected: BTreeMap<_, _> = expected.map(|(rule, clicks)| (rule.to_owned(), clicks)).into();
        assert_eq!(by_rule(app, &token, &code, 9).await, expected);
        let breakdown = format!("/urls/{code}/stats/breakdown?by=device");
        let of_rule = app.get_as(&token, &format!("{breakdown}&rule=3")).await.json();
        assert_eq!(of_rule["rows"], json!([{"value": "phone", "clicks": 3, "people": 3}]));
        assert_eq!(app.get_as(&token, &format!("{breakdown}&rule=")).await.json()["clicks"], 1);
        let export = app.get_as(&token, &format!("/urls/{code}/stats/export")).await.text;
        assert!(export.contains("\r\nrule,spanish,2,2\r\n"), "{export}");
    }

    async fn a_redirect_by_a_rule_is_stored_nowhere(app) {
        let token = app.register().await;
        let code = with_rules(app, &token, json!([{"target_url": "https://example.org/all"}]), &[("noindex", json!(true))]).await;
        for path in [format!("/{code}"), format!("/{code}?a")] {
            let response = sent(app, Method::GET, &path, &[]).await;
            assert_eq!(response.header("location"), "https://example.org/all");
            assert_eq!(response.header("cache-control"), "private, no-store");
            assert_eq!(response.header("x-robots-tag"), "noindex");
        }
    }

    async fn a_preview_follows_no_rule_and_has_their_number(app) {
        let token = app.register().await;
        let code = with_rules(app, &token, json!([{"target_url": "https://example.org/secret"}, {"target_url": "https://example.org/b"}]), &[]).await;
        for path in [format!("/{code}"), format!("/urls/r/{code}"), format!("/{code}?a")] {
            let response = sent(app, Method::HEAD, &path, &[]).await;
            assert_eq!((response.header("location"), response.header("link-rules")), (TARGET, "2"), "{path}");
        }
        let page = app.request(Method::GET, &format!("/{code}+")).header("accept", "text/html");
        let page = Response::of(page).await.text;
        assert!(page.contains("usual") && !page.contains("secret"), "{page}");
        assert!(page.contains("Rules: 2"), "{page}");
        let stats = app.get(&format!("/urls/{code}/stats")).await.json();
        assert_eq!((&stats["target_url"], &stats["rules"], &stats["clicks"]), (&json!(TARGET), &json!(2), &json!(0)));
        let plain = app.shorten(&token, TARGET).await;
        let request = app.request(Method::HEAD, &format!("/{plain}"));
        assert!(!Response::of(request).await.headers.contains_key("link-rules"));
    }

    async fn what_a_browser_loads_ahead_is_by_the_rule_and_not_counted(app) {
        let token = app.register().await;
        let code = with_rules(app, &token, json!([rule(&json!({"device": "phone"}), "phone")]), &[]).await;
        let headers = [("user-agent", PHONE), ("sec-purpose", "prefetch")];
        assert_eq!(sent_to(app, &format!("/{code}"), &headers).await, "https://example.org/phone");
        assert_eq!(app.clicks(&code).await, 0);
    }

    async fn a_link_with_rules_has_all_its_other_fields(app) {
        let token = app.register().await;
        let rules = json!([rule(&json!({"device": "phone"}), "phone?a=1")]);
        let fields = [("forward_query", json!(true)), ("max_clicks", json!(2)), ("fallback_url", json!("https://example.org/later"))];
        let code = with_rules(app, &token, rules, &fields).await;
        let phone = [("user-agent", PHONE)];
        assert_eq!(sent_to(app, &format!("/{code}?a=2&b=3"), &phone).await, "https://example.org/phone?a=2&b=3");
        assert_eq!(sent_to(app, &format!("/{code}"), &phone).await, "https://example.org/phone?a=1");
        assert_eq!(sent_to(app, &format!("/{code}"), &phone).await, "https://example.org/later");
        assert_eq!(app.clicks(&code).await, 2);
        assert_eq!(by_rule(app, &token, &code, 2).await, BTreeMap::from([("1".to_owned(), 2)]));
        let long = format!("/{code}?a={}", "x".repeat(8_180));
        patch(app, &token, &code, &json!({"max_clicks": null})).await;
        let refused = app.request(Method::GET, &long).header("user-agent", PHONE);
        assert_eq!(Response::of(refused).await.status, 414);
        assert_eq!(app.clicks(&code).await, 2);
    }

    async fn an_edit_replaces_all_rules_and_is_felt_at_once(app) {
        let token = app.register().await;
        let code = with_rules(app, &token, json!([rule(&json!({}), "0")]), &[]).await;
        for page in ["1", "2", "3"] {
            let rules = json!([{"target_url": format!("https://example.org/{page}")}]);
            let edited = patch(app, &token, &code, &json!({"rules": rules})).await;
            assert_eq!(edited.json()["rules"], rules);
            assert_eq!(sent_to(app, &format!("/{code}"), &[]).await, format!("https://example.org/{page}"));
        }
        for nothing in [json!(null), json!([])] {
            let cleared = patch(app, &token, &code, &json!({"rules": nothing})).await;
            assert_eq!(cleared.json()["rules"], json!([]));
            assert_eq!(sent_to(app, &format!("/{code}"), &[]).await, TARGET);
            patch(app, &token, &code, &json!({"rules": [{"target_url": "https://example.org/again"}]})).await;
        }
        let before = show(app, &token, &code).await.json();
        patch(app, &token, &code, &json!({"rules": [{"when": {"device": null}, "target_url": TARGET}]})).await
            .is_error(422, "rules[0].when.device: must be desktop, phone, tablet, tv or console");
        patch(app, &token, &code, &json!({"rules": [{"when": {"country": "DE"}, "target_url": TARGET}]})).await
            .is_error(422, "rules[0].when.country: needs a file of countries, which this service does not have (GEOIP_DATABASE)");
        assert_eq!(show(app, &token, &code).await.json(), before);
    }

    async fn rules_that_break_a_rule_are_refused_with_the_path_of_the_field(app) {
        let token = app.register().await;
        let deep = (0..100).fold(json!("phone"), |inner, _| json!([inner]));
        let long = format!("https://example.org/{}", "x".repeat(2_028));
        for (rules, detail) in [
            (json!({}), "rules: must be a list"),
            (json!("none"), "rules: must be a list"),
            (json!(vec![json!({"target_url": long}); 21]), "rules: must be at most 20"),
            (json!([{"target_url": TARGET}, {"when": {"device": "fridge"}, "target_url": TARGET}]), "rules[1].when.device: must be desktop, phone, tablet, tv or console"),
            (json!([{"when": {"device": deep}, "target_url": TARGET}]), "rules[0].when.device[0]: must be desktop, phone, tablet, tv or console"),
            (json!([{"target_url": format!("{long}x")}]), "rules[0].target_url: must be at most 2048 bytes long"),
            (json!([{"target_url": format!("{}/code", app.server.base)}]), "rules[0].target_url: must not lead back to this service's own host"),
            (json!([{"target_url": "http://169.254.169.254/"}]), "rules[0].target_url: must not lead to a link-local address or a metadata service"),
            (json!([{"split": [half("a", 0), half("b", 1)]}]), "rules[0].split[0].weight: must be a whole number from 1 to 1000"),
            (json!([{"when": {"address": "203.0.113.0/40"}, "target_url": TARGET}]), "rules[0].when.address: must be an address or a network, such as 203.0.113.0/24 or 2001:db8::/32"),
        ] {
            make(app, &token, &json!({"target_url": TARGET, "rules": rules})).await.is_error(422, detail);
        }
        let most = json!(vec![json!({"target_url": long}); 20]);
        let made = make(app, &token, &json!({"target_url": TARGET, "rules": most})).await;
        assert_eq!((made.status.as_u16(), &made.json()["rules"]), (200, &most));
        let code = made.json()["short_code"].as_str().unwrap().to_owned();
        assert_eq!(sent_to(app, &format!("/{code}"), &[]).await, long);
        let many = app.request(Method::POST, "/urls/bulk").bearer_auth(&token).json(&json!([
            {"target_url": TARGET, "rules": [{"target_url": "nowhere"}]},
            {"target_url": TARGET, "rules": most, "custom_code": "of-bulk-rules"},
            {"target_url": TARGET, "rules": [{"when": {"country": "DE"}, "target_url": TARGET}]},
        ]));
        let results = Response::of(many).await.json();
        assert_eq!(results[0]["detail"], "rules[0].target_url: must be an absolute http:// or https:// URL with a host");
        assert_eq!(results[1]["status"], 200, "{results}");
        assert_eq!(results[2]["detail"], "rules[0].when.country: needs a file of countries, which this service does not have (GEOIP_DATABASE)");
    }
}

mod exact {
    use super::*;

    both_modes! {
        with &[("WORKERS", "1"), ("FLUSH_INTERVAL_MS", "20")];

        async fn each_target_of_a_split_has_had_its_share_to_within_one_click(app) {
            let token = app.register().await;
            let mut named = half("b", 2);
            named["name"] = json!("blue");
            let code = with_rules(app, &token, json!([{"split": [half("a", 3), named, half("c", 1)]}]), &[]).await;
            let visits = 100;
            let locations = over_one_connection(app, &code, visits).await;
            for until in 1..=visits {
                for (page, weight) in [("a", 3), ("b", 2), ("c", 1)] {
                    let page = format!("https://example.org/{page}");
                    let had = locations[..until].iter().filter(|location| **location == page).count();
                    assert!((had * 6).abs_diff(until * weight) < 6, "{had} of {until} for {page}");
                }
            }
            let count = |page: &str| locations.iter().filter(|location| location.ends_with(page)).count() as u64;
            let expected = [("1/1", count("/a")), ("1/blue", count("/b")), ("1/3", count("/c"))];
            let expected: BTreeMap<_, _> = expected.map(|(rule, clicks)| (rule.to_owned(), clicks)).into();
            assert_eq!(by_rule(app, &token, &code, visits as u64).await, expected);
            let other = app.shorten(&token, TARGET).await;
            patch(app, &token, &other, &json!({"title": "Another link changes"})).await;
            let more = over_one_connection(app, &code, 2).await;
            let all: Vec<_> = locations.into_iter().chain(more).collect();
            for (page, share) in [("a", 51), ("b", 34), ("c", 17)] {
                let had = all.iter().filter(|location| location.ends_with(&format!("/{page}"))).count();
                assert_eq!(had, share, "the turns go on: {page}");
            }
        }
    }
}

async fn without_analytics(mode: Mode) {
    let app = App::start_with(mode, &[("ANALYTICS", "off")]).await;
    let token = app.register().await;
    let rules = json!([rule(
        &json!({"device": "phone", "os": "Android", "bot": false}),
        "phone"
    )]);
    let code = with_rules(&app, &token, rules, &[]).await;
    let path = format!("/{code}");
    let phone = sent_to(&app, &path, &[("user-agent", PHONE), ("sec-gpc", "1")]).await;
    assert_eq!(phone, "https://example.org/phone");
    assert_eq!(sent_to(&app, &path, &[("user-agent", BOT)]).await, TARGET);
    let breakdown = format!("/urls/{code}/stats/breakdown?by=rule");
    assert_eq!(app.get_as(&token, &breakdown).await.json()["clicks"], 0);
    app.server_only().await;
}

#[tokio::test]
async fn embedded_rules_decide_where_no_classes_are_kept() {
    without_analytics(Mode::Embedded).await;
}

#[tokio::test]
async fn production_rules_decide_where_no_classes_are_kept() {
    without_analytics(Mode::Production).await;
}

async fn by_country(mode: Mode, analytics: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countries.mmdb");
    write(&path, mmdb::file([203, 0, 113], "DE")).unwrap();
    let settings = [
        ("GEOIP_DATABASE", path.to_str().unwrap()),
        ("TRUSTED_PROXIES", "127.0.0.1"),
        ("ANALYTICS", analytics),
    ];
    let app = App::start_with(mode, &settings).await;
    let token = app.register().await;
    let rules = json!([rule(&json!({"country": ["AT", "DE"]}), "german")]);
    let code = with_rules(&app, &token, rules, &[]).await;
    for (address, target) in [
        ("203.0.113.77", "https://example.org/german"),
        ("198.51.100.9", TARGET),
    ] {
        let headers = [("x-forwarded-for", address)];
        assert_eq!(sent_to(&app, &format!("/{code}"), &headers).await, target);
    }
    app.server_only().await;
}

#[tokio::test]
async fn embedded_a_rule_asks_for_the_country_of_an_address() {
    by_country(Mode::Embedded, "off").await;
}

#[tokio::test]
async fn production_a_rule_asks_for_the_country_of_an_address() {
    by_country(Mode::Production, "on").await;
}

/// Where so many visitors are sent, each with an address and the agent of another.
async fn sent_by_address(base: &str, code: &str) -> Vec<String> {
    let client = Client::builder().redirect(redirect::Policy::none());
    let client = client.build().unwrap();
    let mut found = Vec::new();
    for number in 0..40 {
        let request = client.get(format!("{base}/{code}"));
        let request = request.header("x-forwarded-for", format!("203.0.113.{number}"));
        let response = Response::of(request.header("user-agent", DESKTOP)).await;
        found.push(response.header("location").to_owned());
    }
    found
}

#[tokio::test]
async fn a_visitor_meets_the_same_target_of_a_sticky_split_on_every_instance() {
    let settings = [("TRUSTED_PROXIES", "127.0.0.1")];
    let app = App::start_with(Mode::Production, &settings).await;
    let other = app.another(&settings).await;
    let token = app.register().await;
    let rules = json!([{"split": [half("a", 1), half("b", 1)], "sticky": true}]);
    let code = with_rules(&app, &token, rules, &[]).await;
    let here = sent_by_address(&app.server.base, &code).await;
    assert!(here.iter().any(|location| location.ends_with("/a")));
    assert!(here.iter().any(|location| location.ends_with("/b")));
    assert_eq!(sent_by_address(&other.base, &code).await, here);
    drop(other);
    app.server_only().await;
}

#[tokio::test]
async fn a_visitor_meets_the_same_target_of_a_sticky_split_all_day() {
    let app = App::start_with(Mode::Embedded, &[("TRUSTED_PROXIES", "127.0.0.1")]).await;
    let token = app.register().await;
    let rules = json!([{"split": [half("a", 1), half("b", 3)], "sticky": true}]);
    let code = with_rules(&app, &token, rules, &[]).await;
    let first = sent_by_address(&app.server.base, &code).await;
    patch(&app, &token, &code, &json!({"title": "Changed"})).await;
    assert_eq!(sent_by_address(&app.server.base, &code).await, first);
    app.server_only().await;
}

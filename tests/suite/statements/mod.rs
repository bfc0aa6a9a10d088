//! Statements of months: what they say, who confirms them, and that they never change.

mod command;
mod keys;
mod pages;
mod time;

use std::fs;
use std::process::Command;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use shunt::domain::{Interval, Timestamp, sha256_of};

use crate::support::{App, Backend, Response, answered, both_modes};

/// The key of RFC 8410, 10.3.
pub(crate) const KEY: &str = "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC";

/// Another key.
const OTHER_KEY: &str = "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhD";

/// Moves the creation of a link to an earlier moment.
async fn made_at(app: &App, code: &str, moment: &str) {
    let moment: Timestamp = moment.parse().unwrap();
    let sql = match app.backend {
        Backend::Embedded { .. } => {
            "UPDATE links SET created_at = json_extract($1, '$[1]') WHERE short_code = json_extract($1, '$[0]')"
        }
        Backend::Production { .. } => {
            "UPDATE links SET created_at = ($1::json->>1)::bigint WHERE short_code = $1::json->>0"
        }
    };
    let values = json!([code, moment.micros()]).to_string();
    app.backend.execute(sql, &values).await;
}

/// A link that was made in September.
pub(crate) async fn old_link(app: &App, token: &str) -> String {
    let code = app.shorten(token, "https://example.org/").await;
    made_at(app, &code, "2026-09-10T12:00:00Z").await;
    code
}

/// Adds clicks that were recorded at a moment.
async fn clicked(app: &App, code: &str, moment: &str, clicks: u64) {
    let interval = Interval::of(moment.parse().unwrap()).number();
    let values = json!([code, interval, clicks]).to_string();
    let statements: &[&str] = match app.backend {
        Backend::Embedded { .. } => &[
            "UPDATE links SET clicks = clicks + json_extract($1, '$[2]') WHERE short_code = json_extract($1, '$[0]')",
            "INSERT INTO link_series (link_id, interval, clicks)
             SELECT id, json_extract($1, '$[1]'), json_extract($1, '$[2]') FROM links WHERE short_code = json_extract($1, '$[0]')
             ON CONFLICT DO UPDATE SET clicks = clicks + excluded.clicks",
            "INSERT INTO owner_series (owner_id, interval, clicks)
             SELECT owner_id, json_extract($1, '$[1]'), json_extract($1, '$[2]') FROM links WHERE short_code = json_extract($1, '$[0]')
             ON CONFLICT DO UPDATE SET clicks = clicks + excluded.clicks",
        ],
        Backend::Production { .. } => &[
            "SELECT count_clicks(ARRAY[(SELECT id FROM links WHERE short_code = $1::json->>0)], ARRAY[($1::json->>2)::bigint], ($1::json->>1)::integer)",
        ],
    };
    for sql in statements {
        app.backend.execute(sql, &values).await;
    }
}

async fn ask(app: &App, token: &str, code: &str, query: &str) -> Response {
    let path = format!("/urls/{code}/statement?{query}");
    answered(async || app.get_as(token, &path).await).await
}

/// The statement of a link, in its bytes.
async fn statement(app: &App, token: &str, code: &str, query: &str) -> String {
    let response = ask(app, token, code, query).await;
    assert_eq!(response.status, 200, "{response:?}");
    assert_eq!(response.header("content-type"), "application/json");
    response.text
}

fn read(statement: &str) -> Value {
    serde_json::from_str(statement).unwrap()
}

async fn key_set(app: &App) -> Value {
    let response = app.get("/.well-known/shunt-keys.json").await;
    assert_eq!(response.status, 200, "{response:?}");
    response.json()
}

/// Whether openssl says that a key of the set signed the statement.
fn is_verified(statement: &str, keys: &Value) -> bool {
    let value = read(statement);
    let signature = value["signature"].as_str().unwrap();
    let signed = statement.replace(&format!("\"signature\":\"{signature}\","), "");
    assert_ne!(signed, statement);
    let key = keys["keys"].as_array().unwrap().iter();
    let key = key.clone().find(|key| key["kid"] == value["key_id"]);
    let key = key.unwrap_or_else(|| panic!("{keys} has no key {}", value["key_id"]));
    assert_eq!(
        (&key["kty"], &key["crv"]),
        (&json!("OKP"), &json!("Ed25519"))
    );
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    // RFC 8410, 4.
    let mut public = vec![
        0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
    ];
    public.extend(BASE64.decode(key["x"].as_str().unwrap()).unwrap());
    fs::write(path("key"), public).unwrap();
    fs::write(path("signed"), signed).unwrap();
    fs::write(path("signature"), BASE64.decode(signature).unwrap()).unwrap();
    let mut openssl = Command::new("openssl");
    openssl.args([
        "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-rawin", "-inkey",
    ]);
    openssl.arg(path("key")).arg("-in").arg(path("signed"));
    openssl.arg("-sigfile").arg(path("signature"));
    openssl.output().unwrap().status.success()
}

both_modes! {
    with &[("STATEMENT_KEY", KEY)];

    async fn a_statement_has_every_day_of_its_month_in_its_zone_and_a_signature_that_others_verify(app) {
        let token = app.register().await;
        let code = old_link(app, &token).await;
        for (moment, clicks) in [
            // In Berlin this is the first of October.
            ("2026-09-30T22:00:00Z", 1), ("2026-10-01T12:00:00Z", 2),
            // The day of 25 hours: from 22:00 to 23:00.
            ("2026-10-24T21:45:00Z", 4), ("2026-10-24T22:00:00Z", 8), ("2026-10-25T22:45:00Z", 16), ("2026-10-25T23:00:00Z", 32),
            // And this is November.
            ("2026-10-31T22:45:00Z", 64), ("2026-10-31T23:00:00Z", 128),
        ] {
            clicked(app, &code, moment, clicks).await;
        }
        let text = statement(app, &token, &code, "month=2026-10&tz=europe/berlin").await;
        let found = read(&text);
        let names: Vec<_> = found.as_object().unwrap().keys().map(String::as_str).collect();
        let mut expected = ["short_code", "domain", "month", "tz", "days", "clicks", "people", "previous", "issued_at", "key_id", "signature"];
        expected.sort_unstable();
        assert_eq!(names, expected, "the canonical form");
        let days = found["days"].as_array().unwrap();
        assert_eq!((days.len(), &days[0]["date"], &days[30]["date"]), (31, &json!("2026-10-01"), &json!("2026-10-31")));
        for day in days {
            let clicks = match day["date"].as_str().unwrap() {
                "2026-10-01" => 3,
                "2026-10-24" => 4,
                "2026-10-25" => 24,
                "2026-10-26" => 32,
                "2026-10-31" => 64,
                _ => 0,
            };
            assert_eq!((&day["clicks"], &day["people"]), (&json!(clicks), &json!(clicks)), "{day}");
        }
        for (name, value) in [
            ("short_code", json!(code)), ("domain", Value::Null), ("month", json!("2026-10")), ("tz", json!("Europe/Berlin")),
            ("clicks", json!(127)), ("people", json!(127)),
        ] {
            assert_eq!(found[name], value, "{name}");
        }
        let keys = key_set(app).await;
        assert_eq!(keys["keys"].as_array().unwrap().len(), 1);
        assert!(is_verified(&text, &keys));
        assert!(!is_verified(&text.replace("\"clicks\":127", "\"clicks\":128"), &keys));
    }

    async fn a_statement_names_the_digest_of_the_month_before(app) {
        let token = app.register().await;
        let code = old_link(app, &token).await;
        clicked(app, &code, "2026-09-10T13:00:00Z", 5).await;
        let october = statement(app, &token, &code, "month=2026-10").await;
        let september = statement(app, &token, &code, "month=2026-09").await;
        assert_eq!(read(&october)["previous"], sha256_of(&september));
        assert_eq!((&read(&september)["previous"], &read(&september)["clicks"]), (&Value::Null, &json!(5)));
        assert_eq!(read(&october)["issued_at"], read(&september)["issued_at"], "they are issued together");
        assert_eq!(read(&october)["tz"], "UTC");
        let keys = key_set(app).await;
        assert!(is_verified(&september, &keys) && is_verified(&october, &keys));
        // A chain of another zone is another chain.
        let tokyo = statement(app, &token, &code, "month=2026-09&tz=Asia/Tokyo").await;
        assert_eq!(read(&tokyo)["previous"], Value::Null);
        assert_ne!(tokyo, september);
    }

    async fn requests_at_the_same_time_get_the_same_statement(app) {
        let token = app.register().await;
        let code = old_link(app, &token).await;
        let months = ["month=2026-10", "month=2026-09"].into_iter().cycle().take(16);
        let all = join_all(months.map(|month| statement(app, &token, &code, month))).await;
        for one in &all {
            assert!(all[..2].contains(one));
        }
        assert_eq!(read(&all[0])["previous"], sha256_of(&all[1]));
    }

    async fn what_has_no_statement_is_refused(app) {
        let token = app.register().await;
        let code = old_link(app, &token).await;
        for query in ["", "month=", "month=2026", "month=2026-13", "month=2026-10-01", "month=10-2026", "month=9999-01"] {
            let detail = "month: must be a month of the years 1970 to 9998, such as 2026-10";
            ask(app, &token, &code, query).await.is_error(422, detail);
        }
        for zone in ["Mars/Olympus", "", "+01:00"] {
            let refused = ask(app, &token, &code, &format!("month=2026-10&tz={zone}")).await;
            refused.is_error(422, "tz: must be an IANA time zone, such as Europe/Berlin");
        }
        ask(app, &token, &code, "month=2026-08").await.is_error(422, "month: must not be before 2026-09, in which the link was made");
        assert_eq!(ask(app, &token, &code, "month=2026-10&zone=UTC").await.status, 422);
        ask(app, &token, &code, "month=9998-12").await.is_error(409, "month: has its statement from 9999-01-01T00:15:00Z on");
        let path = format!("/urls/{code}/statement?month=2026-10");
        app.get(&path).await.is_error(401, "Not authenticated");
        let stranger = app.register().await;
        app.get_as(&stranger, &path).await.is_error(404, "URL not found");
        app.get_as(&token, "/urls/nosuch1/statement?month=2026-10").await.is_error(404, "URL not found");
        for (scope, status) in [("create", 403), ("read", 200)] {
            let key = app.request(Method::POST, "/auth/keys").bearer_auth(&token);
            let key = Response::of(key.json(&json!({"name": "a key", "scope": scope}))).await.json();
            assert_eq!(ask(app, key["key"].as_str().unwrap(), &code, "month=2026-10").await.status, status, "{scope}");
        }
    }

    async fn a_statement_goes_with_its_link(app) {
        let token = app.register().await;
        let code = old_link(app, &token).await;
        let issued = statement(app, &token, &code, "month=2026-10").await;
        let send = async |method: Method, path: &str, body: Value| {
            let request = app.request(method, path).bearer_auth(&token).json(&body);
            let response = Response::of(request).await;
            assert!(response.status.is_success(), "{response:?}");
            response
        };
        assert_eq!(app.delete(&token, &code).await.status, 204);
        ask(app, &token, &code, "month=2026-10").await.is_error(404, "URL not found");
        send(Method::POST, &format!("/urls/{code}/restore"), Value::Null).await;
        assert_eq!(statement(app, &token, &code, "month=2026-10").await, issued);
        // Under its alias it is the same link.
        send(Method::PATCH, &format!("/urls/{code}"), json!({"aliases": [format!("{code}-more")]})).await;
        assert_eq!(statement(app, &token, &format!("{code}-more"), "month=2026-10").await, issued);
        let group = send(Method::POST, "/groups", json!({"name": "Marketing"})).await.json()["id"].clone();
        send(Method::PATCH, &format!("/urls/{code}"), json!({"owner": group})).await;
        ask(app, &token, &code, "month=2026-10").await.is_error(404, "URL not found");
        let path = format!("/urls/{code}/statement?month=2026-10");
        let of_group = app.request(Method::GET, &path).bearer_auth(&token).header("Shunt-Group", group.to_string());
        assert_eq!(Response::of(of_group).await.text, issued);
    }

    async fn statements_of_many_months_come_with_several_requests(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        made_at(app, &code, "2023-01-15T00:00:00Z").await;
        clicked(app, &code, "2023-01-16T00:00:00Z", 1).await;
        clicked(app, &code, "2026-10-16T00:00:00Z", 2).await;
        let path = format!("/urls/{code}/statement?month=2026-10");
        let mut refused = app.get_as(&token, &path).await;
        while refused.detail().starts_with("The service") {
            refused = app.get_as(&token, &path).await;
        }
        refused.is_error(503, "the statements up to 2024-12 are issued, and later ones are not; send the same request again");
        assert_eq!(refused.header("retry-after"), "1");
        let last = statement(app, &token, &code, "month=2026-10").await;
        assert_eq!(read(&last)["clicks"], 2);
        let mut digest = Value::Null;
        for month in (2023..=2026).flat_map(|year| (1..=12).map(move |month| format!("{year}-{month:02}"))).take(46) {
            let text = statement(app, &token, &code, &format!("month={month}")).await;
            assert_eq!(read(&text)["previous"], digest, "{month}");
            digest = json!(sha256_of(&text));
        }
        assert_eq!(digest, sha256_of(&last));
    }

    async fn a_link_has_statements_in_four_time_zones_at_most(app) {
        let token = app.register().await;
        let code = old_link(app, &token).await;
        for zone in ["UTC", "Europe/Berlin", "Asia/Tokyo", "America/New_York"] {
            statement(app, &token, &code, &format!("month=2026-10&tz={zone}")).await;
        }
        let refused = ask(app, &token, &code, "month=2026-10&tz=Asia/Kolkata").await;
        let detail = "tz: this link has statements in America/New_York, Asia/Tokyo, Europe/Berlin, UTC, and in at most 4 time zones; ask for one of these";
        refused.is_error(409, detail);
        statement(app, &token, &code, "month=2026-09&tz=Asia/Tokyo").await;
    }
}

mod without_classes {
    use super::*;

    both_modes! {
        with &[("STATEMENT_KEY", KEY), ("ANALYTICS", "off")];

        async fn people_are_not_counted_where_bots_are_not_known(app) {
            let token = app.register().await;
            let code = old_link(app, &token).await;
            clicked(app, &code, "2026-10-10T13:00:00Z", 5).await;
            let text = statement(app, &token, &code, "month=2026-10").await;
            let found = read(&text);
            assert_eq!((&found["clicks"], &found["people"]), (&json!(5), &Value::Null));
            assert_eq!(found["days"][9], json!({"date": "2026-10-10", "clicks": 5, "people": null}));
            assert!(is_verified(&text, &key_set(app).await));
        }
    }
}

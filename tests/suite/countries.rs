//! Countries of visitors, by a file of the operator's.

use std::fs::write;

use reqwest::Method;
use serde_json::json;

use crate::support::{App, Mode, Response, eventually, mmdb, raw};

const GERMAN: &str = "203.0.113.77";
const UNKNOWN: &str = "198.51.100.9";

async fn visit_from(app: &App, code: &str, address: &str) {
    let request = app.request(Method::GET, &format!("/{code}"));
    let request = request.header("x-forwarded-for", address);
    assert_eq!(Response::of(request).await.status, 302);
}

async fn clicks_have_the_country_of_their_address(mode: Mode) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countries.mmdb");
    write(&path, mmdb::file([203, 0, 113], "DE")).unwrap();
    let path = path.to_str().unwrap();
    let settings = [
        ("GEOIP_DATABASE", path),
        ("TRUSTED_PROXIES", "127.0.0.1"),
        ("FLUSH_INTERVAL_MS", "20"),
    ];
    let app = App::start_with(mode, &settings).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    for address in [GERMAN, GERMAN, UNKNOWN] {
        visit_from(&app, &code, address).await;
    }
    let by_country = format!("/urls/{code}/stats/breakdown?by=country&bot=true");
    eventually("the classes are summed", async || {
        app.get_as(&token, &by_country).await.json()["clicks"] == 3
    })
    .await;
    // A client without an agent is taken for a bot.
    let row = |value, clicks: u64| json!({"value": value, "clicks": clicks, "people": 0});
    let found = app.get_as(&token, &by_country).await.json();
    assert_eq!(found["rows"], json!([row(Some("DE"), 2), row(None, 1)]));
    let german = format!("/urls/{code}/stats/breakdown?country=DE");
    assert_eq!(app.get_as(&token, &german).await.json()["clicks"], 2);
    let metrics = app.get("/metrics").await.text;
    assert!(metrics.contains("\nshunt_geoip_age_seconds "), "{metrics}");

    write(path, mmdb::file([198, 51, 100], "FR")).unwrap();
    eventually("the file is read again", async || {
        visit_from(&app, &code, UNKNOWN).await;
        let french = format!("/urls/{code}/stats/breakdown?country=FR");
        app.get_as(&token, &french).await.json()["clicks"] != 0
    })
    .await;
    app.server_only().await;
}

async fn each_request_over_a_proxys_connection_has_its_own_country(mode: Mode) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("countries.mmdb");
    write(&path, mmdb::file([203, 0, 113], "DE")).unwrap();
    let settings = [
        ("GEOIP_DATABASE", path.to_str().unwrap()),
        ("TRUSTED_PROXIES", "127.0.0.1"),
        ("FLUSH_INTERVAL_MS", "20"),
    ];
    let app = App::start_with(mode, &settings).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    let two_lines = format!("{GERMAN}\r\nX-Forwarded-For: {UNKNOWN}");
    let mut requests = Vec::new();
    // hyper reads those with a query.
    for path in [code.clone(), format!("{code}?x=1")] {
        for address in [GERMAN, GERMAN, UNKNOWN, &two_lines, GERMAN] {
            requests.push(format!(
                "GET /{path} HTTP/1.1\r\nHost: test\r\nX-Forwarded-For: {address}\r\n\r\n"
            ));
        }
    }
    let responses = raw::exchange(&app.server.base, requests.concat()).await;
    assert_eq!(responses.matches("HTTP/1.1 302 ").count(), 10);
    let by_country = format!("/urls/{code}/stats/breakdown?by=country&bot=true");
    eventually("the classes are summed", async || {
        app.get_as(&token, &by_country).await.json()["clicks"] == 10
    })
    .await;
    let row = |value, clicks: u64| json!({"value": value, "clicks": clicks, "people": 0});
    let found = app.get_as(&token, &by_country).await.json();
    assert_eq!(found["rows"], json!([row(Some("DE"), 6), row(None, 4)]));
    app.server_only().await;
}

#[tokio::test]
async fn embedded_each_request_over_a_proxys_connection_has_its_own_country() {
    each_request_over_a_proxys_connection_has_its_own_country(Mode::Embedded).await;
}

#[tokio::test]
async fn production_each_request_over_a_proxys_connection_has_its_own_country() {
    each_request_over_a_proxys_connection_has_its_own_country(Mode::Production).await;
}

#[tokio::test]
async fn embedded_clicks_have_the_country_of_their_address() {
    clicks_have_the_country_of_their_address(Mode::Embedded).await;
}

#[tokio::test]
async fn production_clicks_have_the_country_of_their_address() {
    clicks_have_the_country_of_their_address(Mode::Production).await;
}

//! YOURLS, as its clients speak it.

use form_urlencoded::Serializer;
use reqwest::Method;
use serde_json::{Value, json};

use super::{key_of, writer};
use crate::support::{App, Mode, Response, both_modes};

const PATH: &str = "/yourls-api.php";

fn query(pairs: &[(&str, &str)]) -> String {
    Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// What YOURLS' sample client sends, and the `WordPress` plug-ins after it (`sample-remote-api-call.txt`): a form.
async fn posted(app: &App, pairs: &[(&str, &str)]) -> Response {
    let kind = "application/x-www-form-urlencoded";
    let request = app.request(Method::POST, PATH).header("content-type", kind);
    Response::of(request.body(query(pairs))).await
}

/// What bookmarklets and browser extensions send: a query. `ShareX` sends the same as parts (`YourlsURLShortener.cs`).
async fn asked(app: &App, pairs: &[(&str, &str)]) -> Response {
    app.get(&format!("{PATH}?{}", query(pairs))).await
}

async fn json_of(app: &App, key: &str, pairs: &[(&str, &str)]) -> Value {
    let all = [&[("signature", key), ("format", "json")], pairs].concat();
    posted(app, &all).await.json()
}

both_modes! {
    async fn a_link_is_made_by_a_form_with_a_user_and_the_key_as_password(app) {
        let (_, key) = writer(app).await;
        let response = posted(app, &[
            ("username", "anybody"), ("password", &key), ("action", "shorturl"), ("format", "json"),
            ("url", "https://example.org/a?b=1&c=2"), ("keyword", "spring-sale"), ("title", "Spring \"sale\""),
        ]).await;
        assert_eq!(response.status, 200, "{response:?}");
        assert_eq!(response.header("content-type"), "application/json; charset=UTF-8");
        assert_eq!(response.header("x-content-type-options"), "nosniff");
        let base = &app.server.base;
        let mut made = response.json();
        let date = made["url"]["date"].take();
        assert_eq!(date.as_str().unwrap().len(), "2027-01-31 18:00:00".len());
        assert_eq!(made, json!({
            "status": "success", "code": "", "message": "https://example.org/a?b=1&c=2 added to database",
            "errorCode": "", "statusCode": "200",
            "url": {"keyword": "spring-sale", "url": "https://example.org/a?b=1&c=2", "title": "Spring \"sale\"", "date": null, "ip": ""},
            "title": "Spring \"sale\"", "shorturl": format!("{base}/spring-sale"),
        }));
        let visit = app.visit("/spring-sale").await;
        assert_eq!((visit.status.as_u16(), visit.header("location")), (302, "https://example.org/a?b=1&c=2"));
    }

    async fn a_link_is_made_by_a_query_and_the_answer_is_one_line(app) {
        let (_, key) = writer(app).await;
        let made = asked(app, &[
            ("signature", &key), ("action", "shorturl"), ("url", "https://example.org/"), ("format", "simple"),
        ]).await;
        assert_eq!(made.status, 200);
        assert!(made.header("content-type").starts_with("text/plain"));
        let code = made.text.strip_prefix(&format!("{}/", app.server.base)).unwrap();
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }

    async fn json_and_parts_are_read_and_a_query_beside_an_empty_body_of_json_too(app) {
        let (_, key) = writer(app).await;
        let all = json!({"signature": key, "action": "version", "format": "json"});
        let request = app.request(Method::POST, PATH).json(&all);
        assert!(Response::of(request).await.json()["version"].is_string());
        let version = format!("{PATH}?{}", query(&[("signature", &key), ("action", "version"), ("format", "json"), ("db", "1")]));
        for body in ["", "{}", " "] {
            let request = app.request(Method::POST, &version).header("content-type", "application/json").body(body);
            let answer = Response::of(request).await;
            assert_eq!(answer.json()["db_version"], "507", "{answer:?}");
        }
        let parts = format!(
            "--x\r\nContent-Disposition: form-data; name=\"signature\"\r\n\r\n{key}\r\n--x\r\nContent-Disposition: form-data; name=\"action\"\r\n\r\nversion\r\n--x--\r\n"
        );
        let request = app.request(Method::POST, PATH).header("content-type", "multipart/form-data; boundary=x");
        let answer = Response::of(request.body(parts)).await;
        assert!(answer.text.contains("<root><version>"), "{answer:?}");
    }

    async fn a_link_is_expanded_and_its_clicks_are_told_in_each_form(app) {
        let (token, key) = writer(app).await;
        let code = app.shorten(&token, "https://example.org/?a=1&b=<2>").await;
        for _ in 0..3 {
            app.visit(&format!("/{code}")).await;
        }
        let base = app.server.base.clone();
        for named in [code.clone(), format!("{base}/{code}")] {
            let expanded = json_of(app, &key, &[("action", "expand"), ("shorturl", &named)]).await;
            assert_eq!(expanded, json!({
                "keyword": code, "shorturl": format!("{base}/{code}"), "longurl": "https://example.org/?a=1&b=<2>",
                "title": "https://example.org/?a=1&b=<2>", "message": "success", "statusCode": "200",
            }));
            let stats = json_of(app, &key, &[("action", "url-stats"), ("shorturl", &named)]).await;
            assert_eq!((&stats["statusCode"], &stats["message"]), (&json!("200"), &json!("success")));
            assert_eq!((&stats["link"]["clicks"], &stats["link"]["ip"]), (&json!(3), &json!("")));
            assert!(stats["link"]["timestamp"].is_string());
        }
        let xml = asked(app, &[("signature", &key), ("action", "expand"), ("shorturl", &code)]).await;
        assert!(xml.header("content-type").starts_with("application/xml"));
        assert!(xml.text.contains("<longurl>https://example.org/?a=1&amp;b=&lt;2&gt;</longurl>"), "{xml:?}");
        let line = asked(app, &[("signature", &key), ("action", "expand"), ("shorturl", &code), ("format", "simple")]).await;
        assert_eq!(line.text, "https://example.org/?a=1&b=<2>");
        let script = asked(app, &[
            ("signature", &key), ("action", "expand"), ("shorturl", &code), ("format", "jsonp"), ("callback", "jQuery.f_1"),
        ]).await;
        assert!(script.header("content-type").starts_with("application/javascript"));
        assert!(script.text.starts_with("jQuery.f_1({\"keyword\":") && script.text.ends_with("})"), "{script:?}");
    }

    async fn the_links_of_an_account_are_listed_with_their_totals(app) {
        let (token, key) = writer(app).await;
        let mut codes = Vec::new();
        for number in 0..5 {
            codes.push(app.shorten(&token, &format!("https://example.org/{number}")).await);
        }
        for (code, clicks) in codes.iter().zip(0..) {
            for _ in 0..clicks {
                app.visit(&format!("/{code}")).await;
            }
            app.written_back(code, clicks).await;
        }
        let listed = async |pairs: &[(&str, &str)]| {
            let stats = json_of(app, &key, &[&[("action", "stats")], pairs].concat()).await;
            assert_eq!(stats["stats"], json!({"total_links": 5, "total_clicks": 10}), "{stats}");
            let links = stats["links"].as_object().cloned().unwrap_or_default();
            (1..=links.len()).map(|number| links[&format!("link_{number}")]["url"].as_str().unwrap().to_owned()).collect::<String>()
                .replace("https://example.org/", "")
        };
        assert_eq!(listed(&[("filter", "top"), ("limit", "3")]).await, "432");
        assert_eq!(listed(&[("filter", "bottom"), ("limit", "2"), ("start", "1")]).await, "12");
        assert_eq!(listed(&[("filter", "last"), ("limit", "100"), ("start", "3")]).await, "10");
        assert_eq!(listed(&[("filter", "last"), ("limit", "100"), ("start", "7")]).await, "");
        assert_eq!(listed(&[]).await, "");
        let totals = json_of(app, &key, &[("action", "db-stats")]).await;
        assert_eq!(totals, json!({
            "db-stats": {"total_links": 5, "total_clicks": 10}, "statusCode": "200", "message": "success",
        }));
    }

    async fn what_is_refused_is_refused_in_its_shape(app) {
        let (token, key) = writer(app).await;
        let known = app.shorten(&token, "https://example.org/").await;
        let own = format!("{}/{known}", app.server.base);
        let long = format!("https://example.org/{}", "a".repeat(3_000));
        for (pairs, code) in [
            (vec![], "error:nourl"),
            (vec![("url", "")], "error:nourl"),
            (vec![("url", "javascript:alert(1)")], "error:nourl"),
            (vec![("url", long.as_str())], "error:nourl"),
            (vec![("url", own.as_str())], "error:noloop"),
            (vec![("url", "https://a.example/"), ("keyword", known.as_str())], "error:keyword"),
            (vec![("url", "https://a.example/"), ("keyword", "yourls-api.php")], "error:keyword"),
            (vec![("url", "https://a.example/"), ("keyword", "x")], "error:keyword"),
            (vec![("url", "https://a.example/"), ("keyword", "docs")], "error:keyword"),
            (vec![("url", "https://a.example/"), ("title", "a\u{7}b")], "error:title"),
        ] {
            let all = [&[("signature", key.as_str()), ("format", "json"), ("action", "shorturl")][..], &pairs].concat();
            let refused = posted(app, &all).await;
            let body = refused.json();
            assert_eq!((refused.status.as_u16(), body["statusCode"].as_str()), (400, Some("400")), "{pairs:?}: {body}");
            assert_eq!((body["status"].as_str(), body["code"].as_str()), (Some("fail"), Some(code)), "{pairs:?}: {body}");
            assert!(!body["message"].as_str().unwrap().is_empty());
        }
        for (pairs, status) in [
            (vec![("action", "no-such")], 400),
            (vec![], 400),
            (vec![("action", "expand"), ("shorturl", "nowhere")], 404),
            (vec![("action", "url-stats"), ("shorturl", "https://other.example/x")], 404),
            (vec![("action", "stats"), ("filter", "rand"), ("limit", "3")], 400),
            (vec![("action", "stats"), ("limit", "1001")], 400),
            (vec![("action", "stats"), ("limit", "1"), ("start", "10001")], 400),
            (vec![("action", "version"), ("format", "jsonp"), ("callback", "alert(1)//")], 400),
            (vec![("action", "version"), ("jsonp", "a;b")], 400),
        ] {
            let all = [&[("signature", key.as_str()), ("format", "json")][..], &pairs].concat();
            let refused = asked(app, &all).await;
            assert_eq!(refused.status.as_u16(), status, "{pairs:?}: {refused:?}");
            assert!(!refused.text.contains("alert("), "{refused:?}");
        }
        for (path, body) in [(format!("{PATH}?action=%ff"), ""), (PATH.into(), "{"), (PATH.into(), "a=%ff")] {
            let refused = Response::of(app.request(Method::POST, &path).body(body)).await;
            assert_eq!(refused.status, 400, "{path} {body}: {refused:?}");
            assert!(refused.text.starts_with("<?xml "), "{refused:?}");
        }
        for (method, status) in [(Method::PUT, 405), (Method::HEAD, 405)] {
            let path = format!("{PATH}?{}", query(&[("signature", &key), ("action", "shorturl"), ("url", "https://head.example/")]));
            assert_eq!(Response::of(app.request(method, &path)).await.status, status);
        }
        let large = Response::of(app.request(Method::POST, PATH).body("a".repeat(200_000))).await;
        assert_eq!(large.status, 413);
        assert!(large.text.contains("<errorCode>413</errorCode>"), "{large:?}");
        assert_eq!(app.get_as(&token, "/urls/my").await.json().as_array().unwrap().len(), 1);
    }

    async fn only_a_key_that_may_write_makes_links_and_none_is_told_of_others(app) {
        let (token, key) = writer(app).await;
        let reader = key_of(app, &token, "read").await;
        let code = app.shorten(&token, "https://example.org/").await;
        let make = [("action", "shorturl"), ("url", "https://example.org/"), ("format", "json")];
        for (credentials, why) in [
            (vec![], "Please log in"),
            (vec![("signature", "")], "Please log in"),
            (vec![("signature", "5e3ac5c7ee")], "Invalid username or password"),
            (vec![("username", "a"), ("password", "secret")], "Invalid username or password"),
            (vec![("signature", token.as_str())], "Invalid username or password"),
            (vec![("signature", reader.as_str())], "read-only"),
            (vec![("signature", key.as_str()), ("timestamp", "1700000000")], "Time-limited"),
        ] {
            let refused = posted(app, &[&credentials[..], &make].concat()).await;
            assert_eq!(refused.status, 403, "{credentials:?}");
            let body = refused.json();
            assert_eq!(body["errorCode"], "403");
            assert!(body["message"].as_str().unwrap().contains(why), "{body}");
        }
        let (_, stranger) = writer(app).await;
        let theirs = [("action", "expand"), ("shorturl", code.as_str()), ("format", "json")];
        for (key, status) in [(&reader, 200), (&key, 200), (&stranger, 404)] {
            assert_eq!(posted(app, &[&theirs[..], &[("signature", key)]].concat()).await.status, status);
        }
    }
}

#[tokio::test]
async fn links_are_limited_as_by_the_api() {
    let app = App::start_with(Mode::Embedded, &[("LIMIT_CREATE", "2")]).await;
    let (_, key) = writer(&app).await;
    let make = [
        ("signature", key.as_str()),
        ("action", "shorturl"),
        ("url", "https://example.org/"),
        ("format", "json"),
    ];
    let mut last = posted(&app, &make).await;
    for _ in 0..2 {
        last = posted(&app, &make).await;
    }
    assert_eq!(
        (last.status.as_u16(), last.json()["statusCode"].as_str()),
        (429, Some("429"))
    );
    assert!(!last.header("retry-after").is_empty());
    app.finish().await;
}

#[tokio::test]
async fn no_key_of_a_query_gets_into_the_log() {
    let settings = [("LOG_FORMAT", "json"), ("RUST_LOG", "trace")];
    let app = App::start_with(Mode::Embedded, &settings).await;
    let (_, key) = writer(&app).await;
    for action in ["version", "shorturl", "no-such"] {
        let pairs = [
            ("signature", key.as_str()),
            ("password", &key),
            ("action", action),
            ("url", "https://example.org/"),
        ];
        let answer = asked(&app, &pairs).await;
        assert_eq!(answer.header("referrer-policy"), "no-referrer");
        assert!(!answer.text.contains(&key));
    }
    let log = app.server.log();
    assert!(log.contains(PATH));
    assert!(!log.contains(&key[8..]), "the log has the key");
    app.finish().await;
}

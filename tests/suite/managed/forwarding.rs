//! A visitor's query, added to that of the target.

use reqwest::Method;
use serde_json::json;

use super::make;
use crate::support::{App, Response, both_modes, raw};

both_modes! {
    async fn a_visitors_query_is_added_where_the_link_wants_it(app) {
        let token = app.register().await;
        let target = "https://example.org/p?a=1&b=2#part";
        for (code, forward) in [("forwards", true), ("as-it-is", false)] {
            make(app, &token, &json!({"target_url": target, "custom_code": code, "forward_query": forward})).await;
        }
        for (path, location) in [
            ("/forwards?b=3&c=4", "https://example.org/p?a=1&b=3&c=4#part"),
            ("/urls/r/forwards?utm=x%20y", "https://example.org/p?a=1&b=2&utm=x%20y#part"),
            ("/forwards?", target),
            ("/forwards", target),
            ("/as-it-is?b=3", target),
        ] {
            // Twice: the second time the link is cached.
            for _ in 0..2 {
                assert_eq!(app.get(path).await.header("location"), location, "{path}");
            }
        }
        assert_eq!(app.clicks("forwards").await, 8);
    }

    async fn parameters_are_the_same_when_their_names_are_the_same_bytes(app) {
        let token = app.register().await;
        for (code, target) in [("latin-1", "https://example.org/?%E9=1&x=2"), ("a-space", "https://example.org/?a%20b=1")] {
            make(app, &token, &json!({"target_url": target, "custom_code": code, "forward_query": true})).await;
        }
        for (path, location) in [
            ("/latin-1?%EA=3", "https://example.org/?%E9=1&x=2&%EA=3"),
            ("/latin-1?%e9=3&%78=4", "https://example.org/?%e9=3&%78=4"),
            ("/latin-1?X=3&a[]=|", "https://example.org/?%E9=1&x=2&X=3&a%5B%5D=%7C"),
            ("/a-space?a+b=3", "https://example.org/?a+b=3"),
        ] {
            let answer = raw::get(&app.server.base, path).await;
            assert!(answer.contains(&format!("location: {location}\r\n")), "{path}: {answer}");
        }
    }

    async fn a_location_has_up_to_8_kib_and_past_it_the_visit_is_refused_uncounted(app) {
        let token = app.register().await;
        let target = "https://example.org/?a=1";
        for (code, limit) in [("unlimited", json!(null)), ("once-only", json!(1))] {
            make(app, &token, &json!({"target_url": target, "custom_code": code, "forward_query": true, "max_clicks": limit})).await;
            let query = "x".repeat(8_192 - target.len() - 1);
            let before = metric(app, "too_long").await;
            for path in [format!("/{code}?{query}y"), format!("/urls/r/{code}?{query}y"), format!("/%{:02x}{}?{query}y", code.as_bytes()[0], &code[1..])] {
                app.get(&path).await.is_error(414, "The target URL with your query added is longer than 8192 bytes; send a shorter query");
                assert_eq!(Response::of(app.request(Method::HEAD, &path)).await.status, 414);
            }
            let page = app.request(Method::GET, &format!("/{code}?{query}y")).header("accept", "text/html");
            let page = Response::of(page).await;
            assert_eq!(page.status, 414);
            assert!(page.text.contains("longer than 8192 bytes"), "{}", page.text);
            assert_eq!((app.clicks(code).await, metric(app, "too_long").await - before), (0, 7));
            let sent = app.visit(&format!("/{code}?{query}")).await;
            assert_eq!(sent.header("location"), format!("{target}&{query}"));
            assert_eq!(app.clicks(code).await, 1);
        }
    }

    async fn a_first_line_that_is_longer_than_a_head_may_be_is_414_and_a_longer_header_431(app) {
        for (begin, status, detail) in [
            ("GET /some-code?", "414 URI Too Long", "The request URL is too long; send a shorter URL"),
            ("GET / HTTP/1.1\r\nX: ", "431 Request Header Fields Too Large", "The head of the request is too large"),
        ] {
            let head = format!("{begin}{}", "x".repeat(16_384 - begin.len()));
            let answer = raw::exchange(&app.server.base, head).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{answer}");
            assert!(answer.ends_with(&format!("{{\"detail\":\"{detail}\"}}\n")), "{answer}");
        }
    }
}

/// Requests on the redirect path that had this result.
async fn metric(app: &App, result: &str) -> u64 {
    let metrics = app.get("/metrics").await.text;
    let name = format!("shunt_redirects_total{{result=\"{result}\"}} ");
    let value = metrics.lines().find_map(|line| line.strip_prefix(&name));
    value.map_or(0, |value| value.parse().unwrap())
}

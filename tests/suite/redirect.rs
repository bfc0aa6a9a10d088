//! Following links.

use reqwest::Method;
use serde_json::json;

use crate::suite::managed::make;
use crate::support::{Response, both_modes, eventually, raw, unique};

both_modes! {
    async fn a_link_is_followed_by_an_uncacheable_302_without_a_body(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/a?b=c#d").await;
        for path in [format!("/urls/r/{code}"), format!("/{code}")] {
            let response = app.visit(&path).await;
            assert_eq!(response.status, 302);
            assert_eq!(response.header("location"), "https://example.org/a?b=c#d");
            assert_eq!(response.header("cache-control"), "private, no-store");
            assert_eq!(response.text, "");
        }
        assert_eq!(app.clicks(&code).await, 2);
    }

    async fn one_slash_after_a_code_is_ignored(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let encoded = format!("%{:02x}{}", code.as_bytes()[0], &code[1..]);
        for path in [
            format!("/{code}/"), format!("/urls/r/{code}/"), format!("/{code}/?x=1"), format!("/urls/r/{code}/?"),
            format!("/{encoded}/"), format!("/urls/r/{encoded}/?x=1"),
        ] {
            for method in [Method::GET, Method::HEAD] {
                let response = Response::of(app.request(method.clone(), &path)).await;
                assert_eq!((response.status.as_u16(), response.header("location")), (302, "https://example.org/"), "{method} {path}");
            }
        }
        assert_eq!(app.clicks(&code).await, 6);
        for path in ["/nopenope/", "/urls/r/nopenope/", "/a.b/"] {
            app.get(path).await.is_error(404, "URL not found");
        }
        for path in ["/health/", "/auth/", "/urls/", "/urls/r/", "/urls/my/", &format!("/{code}//")] {
            app.get(path).await.is_error(404, "Not Found");
        }
        let refused = Response::of(app.request(Method::PUT, &format!("/{code}/"))).await;
        assert_eq!((refused.status.as_u16(), refused.header("allow")), (405, "GET,HEAD,POST"));
        assert_eq!(app.delete(&token, &format!("{code}/")).await.status, 204);
        app.get(&format!("/{code}/")).await.is_error(404, "URL not found");
    }

    async fn every_redirect_that_was_answered_is_counted_at_once(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for answered in 1..=30 {
            app.visit(&format!("/{code}")).await;
            assert_eq!(app.clicks(&code).await, answered);
        }
    }

    async fn a_head_request_is_answered_alike_and_not_counted(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for path in [format!("/urls/r/{code}"), format!("/{code}")] {
            let response = Response::of(app.request(Method::HEAD, &path)).await;
            assert_eq!(response.status, 302);
            assert_eq!(response.header("location"), "https://example.org/");
            assert_eq!(response.header("cache-control"), "private, no-store");
        }
        assert_eq!(app.clicks(&code).await, 0);
        assert_eq!(Response::of(app.request(Method::HEAD, "/nobody-has-it")).await.status, 404);
    }

    async fn a_page_that_a_browser_only_loads_ahead_is_answered_alike_and_not_counted(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let once = make(app, &token, &json!({"target_url": "https://example.org/", "max_clicks": 1})).await.json();
        let once = once["short_code"].as_str().unwrap();
        let headers = [
            ("Sec-Purpose", "prefetch"), ("Sec-Purpose", "prefetch;prerender"), ("Sec-Purpose", "prefetch;anonymous-client-ip"),
            ("sec-purpose", "PREFETCH"), ("Sec-Purpose", "other, prefetch"), ("Purpose", "prefetch"), ("Purpose", "preview"),
            ("X-Moz", "prefetch"), ("X-Purpose", "preview"), ("x-purpose", "Preview"),
        ];
        for code in [&code, once] {
            // On the fast path, by hyper, and by the router.
            let encoded = format!("/%{:02x}{}", code.as_bytes()[0], &code[1..]);
            for path in [format!("/{code}"), format!("/urls/r/{code}"), format!("/{code}?a=1"), encoded] {
                for (name, value) in headers {
                    let request = app.request(Method::GET, &path).header(name, value).header("Sec-GPC", "1");
                    let response = Response::of(request).await;
                    assert_eq!((response.status.as_u16(), response.header("location")), (302, "https://example.org/"), "{path} {name}");
                    assert_eq!(response.header("cache-control"), "private, no-store");
                }
            }
            assert_eq!(app.clicks(code).await, 0);
            assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
            assert_eq!(app.clicks(code).await, 1);
        }
        let used_up = app.request(Method::GET, &format!("/{once}")).header("Sec-Purpose", "prefetch");
        Response::of(used_up).await.is_error(404, "URL not found");
        let visited = app.shorten(&token, "https://example.org/").await;
        let other = app.request(Method::GET, &format!("/{visited}")).header("Sec-Purpose", "prefetched");
        assert_eq!((Response::of(other).await.status.as_u16(), app.clicks(&visited).await), (302, 1));
    }

    async fn an_unknown_code_is_not_found(app) {
        for path in ["/urls/r/nopenope", "/nopenope", "/urls/r/a.b", "/urls/r/%00", "/urls/r/%ff", "/urls/r/my"] {
            app.get(path).await.is_error(404, "URL not found");
        }
        let long = "a".repeat(65);
        app.get(&format!("/urls/r/{long}")).await.is_error(404, "URL not found");
    }

    async fn an_unknown_code_stays_unknown_and_others_are_found(app) {
        for _ in 0..3 {
            app.get("/nopenope").await.is_error(404, "URL not found");
        }
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }

    async fn an_inactive_link_is_not_followed_and_keeps_its_statistics(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        app.backend.execute("UPDATE links SET is_active = (1 = 0) WHERE short_code = $1", &code).await;
        app.get(&format!("/urls/r/{code}")).await.is_error(404, "URL not found");
        app.get(&format!("/{code}")).await.is_error(404, "URL not found");
        assert_eq!(app.clicks(&code).await, 0);
        assert_eq!(app.get_as(&token, "/urls/my").await.json()[0]["is_active"], false);
    }

    async fn a_change_by_hand_takes_effect_though_the_link_is_in_memory(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let path = format!("/{code}");
        assert_eq!(app.get(&path).await.status, 302);
        for (change, status) in [
            ("UPDATE links SET is_active = (1 = 0) WHERE short_code = $1", 404),
            ("UPDATE links SET is_active = (1 = 1) WHERE short_code = $1", 302),
            ("DELETE FROM links WHERE short_code = $1", 404),
        ] {
            app.backend.execute(change, &code).await;
            eventually(change, async || app.get(&path).await.status == status).await;
        }
    }

    async fn links_of_an_account_that_is_deleted_by_hand_are_not_followed_any_more(app) {
        let email = unique() + "@example.org";
        let account = app.account("/auth/register", &email, "correct horse").await.json();
        let code = app.shorten(account["access_token"].as_str().unwrap(), "https://example.org/").await;
        let many = "WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 3000)
            INSERT INTO links (short_code, target_url, owner_id, created_at)
            SELECT short_code || '-' || number, target_url, owner_id, created_at FROM links, numbers WHERE short_code = $1";
        app.backend.execute(many, &code).await;
        for path in [format!("/{code}"), format!("/{code}-3000")] {
            assert_eq!(app.get(&path).await.status, 302);
        }
        app.backend.execute("DELETE FROM users WHERE email = $1", &email).await;
        for path in [format!("/{code}"), format!("/{code}-3000")] {
            eventually("the link is gone", async || app.get(&path).await.status == 404).await;
        }
    }

    async fn what_a_uri_has_no_room_for_is_encoded_in_the_location_alone(app) {
        let token = app.register().await;
        for (target, location) in [
            ("https://bücher.example/ä b?q=ü#ö", "https://xn--bcher-kva.example/%C3%A4%20b?q=%C3%BC#%C3%B6"),
            ("HTTP://Example.ORG:80/%7euser?<>\"", "HTTP://Example.ORG:80/%7euser?%3C%3E%22"),
            ("https://example.org/a|b", "https://example.org/a%7Cb"),
            ("https://example.org/\"q\"?a=\"b\"#\"c\"", "https://example.org/%22q%22?a=%22b%22#%22c%22"),
            ("https://example.org/<x>?y=<z>", "https://example.org/%3Cx%3E?y=%3Cz%3E"),
            ("https://example.org/^'{}?^'{}#^`", "https://example.org/%5E'%7B%7D?%5E'%7B%7D#%5E%60"),
            (r"https://example.org/a\b", "https://example.org/a%5Cb"),
            ("https://example.org/100%/%zz?a[]=%#x#y", "https://example.org/100%25/%25zz?a%5B%5D=%25#x%23y"),
            ("https://[2001:db8::1]:81/[1]", "https://[2001:db8::1]:81/%5B1%5D"),
        ] {
            let response = app.try_shorten(&token, target).await.json();
            assert_eq!(response["target_url"], target);
            let code = response["short_code"].as_str().unwrap();
            let encoded = format!("/%{:02x}{}", code.as_bytes()[0], &code[1..]);
            for path in [format!("/{code}"), format!("/{code}"), format!("/urls/r/{code}"), encoded] {
                assert_eq!(app.get(&path).await.header("location"), location, "{path}");
            }
            assert_eq!(app.get(&format!("/urls/{code}/stats")).await.json()["target_url"], target);
        }
    }

    async fn an_encoded_code_is_the_same_code(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let encoded = code.bytes().fold(String::new(), |all, byte| all + &format!("%{byte:02x}"));
        for path in [format!("/{encoded}"), format!("/urls/r/{encoded}")] {
            assert!(raw::get(&app.server.base, &path).await.starts_with("HTTP/1.1 302"), "{path}");
        }
        assert_eq!(app.clicks(&code).await, 2);
    }

    async fn the_fast_path_and_hyper_give_the_same_response(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for path in [format!("/{code}"), "/nopenope".to_owned()] {
            let base = &app.server.base;
            let fast_path = raw::get_plain(base, &path).await;
            let hyper = raw::get(base, &path).await;
            let own = |line: &str| ["connection:", "date:", "x-request-id:"].iter().any(|name| line.starts_with(name));
            let lines = |response: &str| {
                let mut lines: Vec<_> = response
                    .lines()
                    .filter(|line| !own(line))
                    .map(str::to_owned)
                    .collect();
                lines.sort();
                lines
            };
            assert_eq!(lines(&fast_path), lines(&hyper), "{path}");
        }
    }

    async fn requests_sent_ahead_are_answered_in_order(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let request = format!("GET /{code} HTTP/1.1\r\nHost: test\r\n\r\n");
        let other = "GET /health HTTP/1.1\r\nHost: test\r\n\r\n";
        let all = format!("{request}{request}{other}{request}");
        let response = raw::exchange(&app.server.base, all).await;
        let statuses: Vec<_> = response
            .match_indices("HTTP/1.1 ")
            .map(|(at, found)| &response[at + found.len()..][..3])
            .collect();
        assert_eq!(statuses, ["302", "302", "200", "302"], "{response}");
        assert_eq!(app.clicks(&code).await, 3);
    }

    async fn other_requests_share_a_connection_with_redirects(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for _ in 0..3 {
            assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
            assert_eq!(app.get("/health").await.status, 200);
        }
    }
}

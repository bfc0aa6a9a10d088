//! Unknown paths, wrong methods, and bytes that are no request.

use reqwest::Method;

use crate::support::{Response, both_modes, raw};

both_modes! {
    async fn the_service_reports_its_health_and_readiness(app) {
        assert_eq!(app.get("/health").await.text, "{\"status\":\"ok\"}\n");
        let ready = app.get("/ready").await;
        assert_eq!((ready.status.as_u16(), &ready.json()["database"]), (200, &serde_json::json!("up")));
    }

    async fn a_json_body_ends_with_a_newline_for_terminals(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let shorten = "/urls/shorten?target_url=https://example.org/";
        let account = r#"{"email":"nobody@example.org","password":"correct horse"}"#;
        let mut responses = vec![app.post("/auth/login", account).await];
        for path in ["/health", "/ready", "/openapi.json", "/nopenope", "/a/b", &format!("/urls/{code}/stats")] {
            responses.push(app.get(path).await);
        }
        for path in ["/auth/me", "/urls/my", "/urls/my?limit=1", "/urls/my?limit=none"] {
            responses.push(app.get_as(&token, path).await);
        }
        responses.push(Response::of(app.request(Method::POST, shorten).bearer_auth(&token)).await);
        responses.push(Response::of(app.request(Method::PUT, "/health")).await);
        for response in responses {
            assert_eq!(response.header("content-type"), "application/json", "{response:?}");
            assert!(response.text.ends_with("}\n") || response.text.ends_with("]\n"), "{response:?}");
            assert!(!response.text.trim_end_matches('\n').contains('\n'), "{response:?}");
            let length: usize = response.header("content-length").parse().unwrap();
            assert_eq!(length, response.text.len());
        }
        for request in ["GET /health HTTP/9.9\r\n\r\n", "GET /nopenope HTTP/1.1\r\nHost: x\r\n\r\n"] {
            let response = raw::exchange(&app.server.base, request).await;
            let (head, body) = response.split_once("\r\n\r\n").unwrap();
            assert!(body.ends_with("\"}\n"), "{response}");
            assert!(head.contains(&format!("content-length: {}", body.len())), "{response}");
        }
    }

    async fn an_unknown_path_is_not_found(app) {
        for path in ["/a/b", "/urls/a/b/c", "/auth/nope", "/urls/r/", "/favicon.ico", "/auth"] {
            let response = app.get(path).await;
            assert_eq!(response.status, 404, "{path}");
            assert!(!response.detail().is_empty());
        }
        app.get("/a/b").await.is_error(404, "Not Found");
    }

    async fn a_wrong_method_is_refused_with_the_list_of_right_ones(app) {
        for (method, path, allow) in [
            (Method::GET, "/auth/register", "POST"),
            (Method::PUT, "/auth/login", "POST"),
            (Method::POST, "/auth/me", "GET,HEAD,PATCH,DELETE"),
            (Method::GET, "/urls/shorten", "POST"),
            (Method::POST, "/urls/my", "GET,HEAD"),
            (Method::POST, "/urls/abc/stats", "GET,HEAD"),
            (Method::POST, "/urls/abc", "GET,HEAD,PATCH,DELETE"),
            (Method::PUT, "/urls/r/abc", "GET,HEAD,POST"),
            (Method::DELETE, "/abc", "GET,HEAD,POST"),
            (Method::POST, "/health", "GET,HEAD"),
        ] {
            let response = Response::of(app.request(method.clone(), path)).await;
            response.is_error(405, "Method Not Allowed");
            assert_eq!(response.header("allow").replace(' ', ""), allow, "{method} {path}");
        }
    }

    async fn the_explorer_is_served(app) {
        for path in ["/docs", "/docs/"] {
            let page = app.get(path).await;
            assert_eq!((page.status.as_u16(), page.header("content-type")), (200, "text/html; charset=utf-8"), "{path}");
        }
    }

    async fn bytes_that_are_not_http_are_refused_with_a_sentence(app) {
        for (request, status) in [
            ("GET /health HTTP/1.1\r\nno colon\r\n\r\n".to_owned(), 400),
            ("GET /health HTTP/9.9\r\n\r\n".to_owned(), 400),
            ("POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n".to_owned(), 400),
            (format!("GET /health HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(100_000)), 431),
            (format!("GET /health HTTP/1.1\r\n{}\r\n", "X: x\r\n".repeat(200)), 431),
        ] {
            let response = raw::exchange(&app.server.base, request.as_bytes()).await;
            let (head, body) = response.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{request:.60}: {response}"));
            assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{request:.60}: {response}");
            for header in ["content-type: application/json", "x-request-id: ", &format!("content-length: {}", body.len())] {
                assert!(head.to_lowercase().contains(header), "{request:.60}: {response}");
            }
            let body: serde_json::Value = serde_json::from_str(body).unwrap();
            assert!(!body["detail"].as_str().unwrap().is_empty());
        }
        assert_eq!(app.get("/health").await.status, 200);
    }

    async fn characters_that_an_address_may_not_carry_are_read_as_a_browser_would_send_them(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for path in ["/urls/r/<x>", "/<script>", "/a`b"] {
            let response = raw::get(&app.server.base, path).await;
            assert!(response.starts_with("HTTP/1.1 404") && response.ends_with("{\"detail\":\"URL not found\"}\n"), "{path}: {response}");
        }
        let response = raw::get(&app.server.base, &format!("/{code}?<>")).await;
        assert!(response.starts_with("HTTP/1.1 302"), "{response}");
        assert_eq!(app.clicks(&code).await, 1);
    }

    async fn a_request_that_is_not_http_gets_a_response_or_a_closed_connection(app) {
        for request in ["\r\n\r\n", "nonsense\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\u{16}\u{3}\u{1}"] {
            let response = raw::exchange(&app.server.base, request).await;
            assert!(response.is_empty() || response.starts_with("HTTP/1.1 4"), "{request:?}: {response}");
        }
        assert_eq!(app.get("/health").await.status, 200);
    }

    async fn tricks_with_paths_lead_nowhere(app) {
        for path in ["/../etc/passwd", "/%2e%2e/health", "/urls%2fmy", "//health", "/urls//my", "/%c0%af", "/a%00b"] {
            let response = raw::get(&app.server.base, path).await;
            assert!(response.starts_with("HTTP/1.1 404"), "{path}: {response}");
        }
    }
}

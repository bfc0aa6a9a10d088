//! Deceptive request targets: encoded, doubled or relative parts of a path.

use crate::support::{App, both_modes};

use super::wire;

async fn has_status(app: &App, target: &str, status: u16) {
    let received = wire::get_then_close(&app.server.base, target).await;
    assert_eq!(
        received.statuses(),
        [status, 404],
        "{target}: {}",
        received.text
    );
    assert!(received.closed, "{target}");
}

both_modes! {
    async fn no_way_around_a_code_leads_to_its_link(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for target in [
            format!("//{code}"), format!("/./{code}"), format!("/x/../{code}"), format!("/../{code}"), format!("/%2e%2e/{code}"), format!("/..%2f{code}"),
            format!("/{code}//"), format!("/{code}%2f"), format!("/%2f{code}"), format!("/{code}%00"), format!("/{code}%00.html"),
            format!("/%00{code}"), format!("/{code};x=y"), format!("/{code}."), format!("/{code}%20"), format!("/{code}%0d%0a"), format!("/{code}%23"),
            format!("/{code}%3f"), format!("/{code}%"), format!("/{code}%zz"), format!("/{code}%u002f"), format!("/{code}%c0%af"), format!("/{code}%c0%80"),
            format!("/{code}%e0%80%af"), format!("/{code}%f0%80%80%af"), format!("/{code}%ff"), format!("/{code}%ed%a0%80"),
            format!("/{code}%5c"), format!("/%5c{code}"), format!("/{code}*"), format!("/urls//r/{code}"), format!("/urls/r//{code}"),
            format!("/urls/r/{code}//"), format!("/urls/./r/{code}"), format!("/urls/x/../r/{code}"), format!("/urls%2fr%2f{code}"),
            format!("/URLS/R/{code}"), format!("/{code}/%2f"), format!("/urls/{code}/stats/"), format!("/urls/r/../r/{code}"), format!("/urls/r/{code}%2fstats"), format!("//urls/r/{code}"),
            format!("/{}", code.bytes().fold(String::new(), |all, byte| all + &format!("%25{byte:02x}"))),
            format!("/urls/r/%c1%{:02x}{}", code.as_bytes()[0], &code[1..]),
        ] {
            has_status(app, &target, 404).await;
        }
        // The page that says where the link leads.
        has_status(app, &format!("/{code}+"), 200).await;
        // Two segments: the second reads as an unknown code, at a path where owners see their links.
        has_status(app, &format!("/urls/r%2f{code}"), 401).await;
        assert_eq!(app.clicks(&code).await, 0);
    }

    async fn a_query_is_no_part_of_a_code(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for target in [format!("/{code}?"), format!("/{code}?x=1&y=%00"), format!("/urls/r/{code}?/../x")] {
            has_status(app, &target, 302).await;
        }
        assert_eq!(app.clicks(&code).await, 3);
    }

    async fn no_way_around_a_path_leads_to_another(app) {
        for target in [
            "/../../etc/passwd", "/..", "/.", "/%2e", "/%2e%2e", "/%2e%2e/health", "/.%2e/health", "/./health", "/health/", "/health/..", "//health",
            "/%68ealth%2f", "/health%00", "/health%20", "/Health", "/HEALTH", "/urls%2fmy", "/urls/%2e%2e/health", "/auth/../health", "/auth%2fme",
            "/auth//me", "/auth/me/", "/docs/../health", "/docs/..%2fhealth", "/docs/%2e%2e/%2e%2e/etc/passwd", "/docs/..%2f..%2fetc%2fpasswd",
            "/docs/..\\..\\etc\\passwd", "/docs/%5c..%5c", "/docs//etc/passwd", "/docs/%00", "/.git/config", "/.env", "/%c0%ae%c0%ae/health",
            "/metrics/", "/metrics%2f", "/%6detrics/", "/openapi.json/", "/openapi.json%00",
        ] {
            let received = wire::get_then_close(&app.server.base, target).await;
            // A malformed target ends the connection.
            assert!([vec![404, 404], vec![400]].contains(&received.statuses()), "{target}: {}", received.text);
            assert!(received.closed && !received.text.contains("root:"), "{target}");
        }
    }

    /// RFC 9112, 3.2.2: a server accepts the absolute form, too, whatever host it names.
    async fn an_absolute_target_is_the_same_target(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for host in ["test", "evil.example:99", "127.0.0.1"] {
            has_status(app, &format!("http://{host}/{code}"), 302).await;
            has_status(app, &format!("http://{host}/health"), 200).await;
            has_status(app, &format!("http://{host}"), 200).await;
        }
        assert_eq!(app.clicks(&code).await, 3);
    }

    async fn a_target_that_is_not_a_path_is_refused(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for (line, code) in [
            "GET *", "GET health", "GET ?", "GET #", "GET test:80", "OPTIONS *", "CONNECT example.org:443", "CONNECT /", "GET \\health", "GET http://",
            "GET http:///health", "GET file:///etc/passwd",  "TRACE /", "PRI *", "GET",  "GET  /health", "GET /health x",
            "GET /he\0alth", "GET /\u{7f}", "G\u{e9}T /health", " GET /health", "GET\t/health", "get /health", "GET, /health", "/health",
        ].into_iter().map(|line| (line, &code)) {
            let request = format!("{line} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\nGET /{code} HTTP/1.1\r\nHost: test\r\n\r\n");
            let received = wire::send(&app.server.base, request).await;
            assert!(received.closed, "{line:?}");
            let statuses = received.statuses();
            assert!(statuses.len() <= 1 && statuses.iter().all(|status| (400..500).contains(status)), "{line:?}: {}", received.text);
        }
        assert_eq!(app.clicks(&code).await, 0);
    }
}

//! Oversized input of every kind: a clear refusal, and the service goes on.

use crate::support::{App, Mode, both_modes, unique, with_app};

use super::wire;

const REFUSED_HEAD: [u16; 4] = [400, 414, 431, 404];

#[tokio::test]
async fn a_head_over_the_limit_is_refused_and_ends_the_connection() {
    with_app(Mode::Embedded, async |app: &mut App| {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for path in [format!("/{code}"), "/health".to_owned()] {
            let line = format!("GET {path} HTTP/1.1\r\nHost: test\r\n");
            for head in [
                format!("{line}X: {}\r\n\r\n", "x".repeat(100_000)),
                format!("{line}{}: x\r\n\r\n", "x".repeat(100_000)),
                format!("{line}{}\r\n", "X: y\r\n".repeat(1_000)),
                format!("{line}{}\r\n", "X: y\r\n".repeat(100_000)),
                format!("GET {path}?{} HTTP/1.1\r\n\r\n", "q".repeat(100_000)),
                format!("GET {path}/{} HTTP/1.1\r\n\r\n", "p/".repeat(50_000)),
                format!("{} {path} HTTP/1.1\r\n\r\n", "GET".repeat(30_000)),
                format!("{}{line}\r\n", "\r\n".repeat(50_000)),
            ] {
                let received = wire::send(&app.server.base, &head).await;
                assert!(received.closed, "{}", &head[..60]);
                // The response is lost where the rest of the head was still on its way.
                let statuses = received.statuses();
                assert!(statuses.len() <= 1, "{}: {}", &head[..60], received.text);
                assert!(
                    statuses.iter().all(|status| REFUSED_HEAD.contains(status)),
                    "{}: {}",
                    &head[..60],
                    received.text
                );
            }
        }
        assert_eq!(app.clicks(&code).await, 0);
        assert_eq!(app.get("/health").await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn a_head_that_a_browser_with_many_cookies_sends_is_no_attack() {
    with_app(Mode::Embedded, async |app: &mut App| {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for headers in [
            format!("Cookie: {}\r\n", "c".repeat(3_000)),
            format!("Cookie: {}\r\n", "c".repeat(8_000)),
            "X-Header: value\r\n".repeat(31),
            "X-Header: value\r\n".repeat(60),
        ] {
            let request =
                format!("GET /{code} HTTP/1.1\r\nHost: test\r\n{headers}Connection: close\r\n\r\n");
            assert_eq!(
                wire::send(&app.server.base, request).await.statuses(),
                [302]
            );
        }
        assert_eq!(app.clicks(&code).await, 4);
    })
    .await;
}

both_modes! {
    async fn fields_over_their_limit_are_refused_by_name(app) {
        let token = app.register().await;
        for (email, password, field) in [
            (format!("{}@example.org", "a".repeat(65)), "correct horse".to_owned(), "email"),
            (format!("a@{}.example.org", "a".repeat(64)), "correct horse".to_owned(), "email"),
            (format!("a@{}example.org", "a.".repeat(500)), "correct horse".to_owned(), "email"),
            (format!("{}@example.org", "a".repeat(10_000)), "correct horse".to_owned(), "email"),
            (format!("{}@example.org", unique()), "x".repeat(129), "password"),
            (format!("{}@example.org", unique()), "\u{1f980}".repeat(129), "password"),
            (format!("{}@example.org", unique()), "x".repeat(10_000), "password"),
        ] {
            for path in ["/auth/register", "/auth/login"] {
                let response = app.account(path, &email, &password).await;
                // At log-in a password over the limit is simply a wrong one.
                let (status, begin) = match (path, field) {
                    ("/auth/login", "password") => (401, "Incorrect email or password"),
                    _ => (422, field),
                };
                assert_eq!(response.status, status, "{path} {}", &email[..10]);
                assert!(response.detail().starts_with(begin), "{path} {}", response.detail());
                assert!(response.text.len() < 1_000, "it does not say it all again: {}", response.text.len());
            }
        }
        for target in [
            format!("https://example.org/{}", "a".repeat(2_029)),
            format!("https://example.org/{}", "\u{fc}".repeat(1_020)),
            format!("https://example.org/{}", "a".repeat(10_000)),
        ] {
            let response = app.try_shorten(&token, &target).await;
            assert_eq!(response.status, 422, "{}", &target[..30]);
            assert!(response.detail().starts_with("target_url") && response.text.len() < 1_000, "{}", response.text);
        }
        for query in [
            format!("limit={}", "9".repeat(5_000)), format!("cursor={}", "a".repeat(5_000)), format!("limit=1{}", "&limit=1".repeat(500)),
        ] {
            let response = app.get_as(&token, &format!("/urls/my?{query}")).await;
            assert_eq!(response.status, 422);
            assert!(response.text.len() < 1_000, "{}", response.text.len());
        }
        for path in [format!("/{}", "a".repeat(65)), format!("/{}", "a".repeat(10_000)), format!("/urls/r/{}", "%61".repeat(3_000))] {
            assert_eq!(app.get(&path).await.status, 404, "{}", &path[..20]);
        }
    }

    async fn a_body_over_the_limit_is_refused_whether_or_not_it_says_how_long_it_is(app) {
        let email = format!("{}@example.org", unique());
        let padding = " ".repeat(16 * 1024);
        let body = format!(r#"{{"email":"{email}","password":"correct horse"}}{padding}"#);
        let head = "POST /auth/register HTTP/1.1\r\nHost: test\r\nConnection: close\r\n";
        for request in [
            format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()),
            format!("{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len()),
        ] {
            let received = wire::send(&app.server.base, request).await;
            assert_eq!(received.statuses(), [413], "{}", received.text);
        }
        let half = format!("{head}Content-Length: {}\r\n\r\n{{", 17 * 1024);
        let received = wire::send(&app.server.base, half).await;
        assert_eq!(received.statuses(), [413], "a length over the limit is refused before the body comes: {}", received.text);
        // An announced length is refused before the body comes, and an endless body is cut off.
        for request in [
            format!("{head}Content-Length: 99999999999\r\n\r\n"),
            format!("{head}Transfer-Encoding: chunked\r\n\r\n") + &format!("400\r\n{}\r\n", "x".repeat(1024)).repeat(40),
        ] {
            let received = wire::send(&app.server.base, request).await;
            assert!(received.closed);
            assert!([vec![413], vec![]].contains(&received.statuses()), "{}", received.text);
        }
        assert_eq!(app.account("/auth/login", &email, "correct horse").await.status, 401);
    }

    async fn the_refusal_of_a_body_that_is_too_long_announces_that_the_connection_closes(app) {
        let head = "POST /auth/register HTTP/1.1\r\nHost: test\r\n";
        let announced = format!("{head}Content-Length: {}\r\n\r\n{{", 17 * 1024);
        let received = wire::send(&app.server.base, announced).await;
        assert_eq!(received.statuses(), [413]);
        assert!(received.text.contains("\r\nconnection: close\r\n"), "{}", received.text);
        assert!(received.closed);
    }

    async fn a_body_that_is_deep_or_wide_is_refused_and_nothing_worse(app) {
        for body in [
            "[".repeat(16_000), r#"{"email":"#.repeat(1_600), format!(r#"{{"email":{}"#, "[".repeat(16_000)),
            format!(r#"{{"email":{}{}}}"#, "[".repeat(8_000), "]".repeat(8_000)),
            format!("{{{}}}", (0..1_000).map(|number| format!(r#""{number}":0"#)).collect::<Vec<_>>().join(",")),
            format!(r#"{{"email":{},"password":"correct horse"}}"#, "9".repeat(10_000)),
            r#"{"email":"\ud800","password":"correct horse"}"#.to_owned(),
        ] {
            for path in ["/auth/register", "/auth/login"] {
                let response = app.post(path, body.clone()).await;
                assert_eq!(response.status, 422, "{path} {}", &body[..20]);
                assert!(response.text.len() < 1_000, "{}", response.text.len());
            }
        }
    }
}

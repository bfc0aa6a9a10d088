//! Injection through fields: SQL, script, and unexpected fields.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{App, Response, answered, both_modes, unique};

use super::wire;

const SQL: [&str; 14] = [
    "' OR '1'='1",
    "' OR 1=1 --",
    "\" OR \"\"=\"",
    "'; DROP TABLE links; --",
    "1); DELETE FROM users; --",
    "' UNION SELECT email, password_hash FROM users --",
    "'; SELECT pg_sleep(30); --",
    "\\'; SELECT 1; --",
    "%' --",
    "$1",
    "?1",
    ":email",
    "/**/'||(SELECT 1)||'",
    "admin'/*",
];

const SCRIPT: [&str; 8] = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "'-alert(1)-'",
    "<svg/onload=alert(1)>",
    "{{constructor.constructor('alert(1)')()}}",
    "<!--<script>",
    "\u{2028}alert(1)\u{2029}/",
];

/// Percent-encoded so that every byte arrives.
fn encoded(text: &str) -> String {
    text.bytes()
        .fold(String::new(), |all, byte| all + &format!("%{byte:02x}"))
}

/// A browser can read the response only as data: its type is JSON, and guessing is off.
fn is_only_data(response: &Response, what: &str) {
    assert!(response.status.as_u16() < 500, "{what}: {response:?}");
    assert_eq!(
        response.header("x-content-type-options"),
        "nosniff",
        "{what}: {response:?}"
    );
    if response.text.is_empty() {
        return;
    }
    assert_eq!(
        response.header("content-type"),
        "application/json",
        "{what}: {response:?}"
    );
    serde_json::from_str::<Value>(&response.text).unwrap();
}

/// The account and the link still exist.
async fn account_and_link_are_unchanged(app: &App, token: &str, code: &str) {
    let list = app.get_as(token, "/urls/my").await.json();
    assert!(
        list.as_array()
            .unwrap()
            .iter()
            .any(|link| link["short_code"] == code),
        "{list}"
    );
    assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
}

both_modes! {
    async fn sql_in_an_address_never_logs_in(app) {
        let name = unique();
        let email = format!("{name}@example.org");
        let token = app.account("/auth/register", &email, "correct horse").await.json()["access_token"].as_str().unwrap().to_owned();
        let code = app.shorten(&token, "https://example.org/").await;
        for sql in SQL {
            for address in [
                sql.to_owned(), format!("{email}{sql}"), format!("{name}{sql}@example.org"), format!("\"{sql}\"@example.org"), format!("{name}@{sql}.org"),
            ] {
                let response = app.account("/auth/login", &address, "correct horse").await;
                assert!([401, 422].contains(&response.status.as_u16()), "{address}: {response:?}");
            }
        }
        // Wildcards of LIKE, and texts that some databases consider equal.
        for address in [
            "%@example.org", "_%@example.org", &format!("{}_@example.org", &name[..15]), &format!("{email} "), &format!(" {email}"),
            &format!("{email}\0"), &format!("{name}\u{0}@example.org"), &format!("{name}@example.org."), &format!("{name}@\u{435}xample.org"),
        ] {
            let response = app.account("/auth/login", address, "correct horse").await;
            assert!([401, 422].contains(&response.status.as_u16()), "{address:?}: {response:?}");
        }
        account_and_link_are_unchanged(app, &token, &code).await;
    }

    async fn sql_in_a_password_is_a_password(app) {
        let email = format!("{}@example.org", unique());
        app.account("/auth/register", &email, "correct horse").await;
        for sql in SQL {
            let sql = format!("{sql:8}");
            app.account("/auth/login", &email, &sql).await.is_error(401, "Incorrect email or password");
        }
        let own = format!("{}@example.org", unique());
        assert_eq!(app.account("/auth/register", &own, SQL[3]).await.status, 200);
        assert_eq!(app.account("/auth/login", &own, SQL[3]).await.status, 200);
        app.account("/auth/login", &own, SQL[4]).await.is_error(401, "Incorrect email or password");
    }

    async fn sql_in_a_target_is_a_target(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for sql in SQL {
            let target = format!("https://example.org/?q={sql}");
            let response = app.try_shorten(&token, &target).await;
            assert_eq!((response.status.as_u16(), &response.json()["target_url"]), (200, &json!(target)));
        }
        account_and_link_are_unchanged(app, &token, &code).await;
    }

    async fn sql_in_a_code_finds_nothing_and_deletes_nothing(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for sql in SQL {
            for tail in [encoded(sql), encoded(&format!("{code}{sql}"))] {
                for path in [format!("/{tail}"), format!("/urls/r/{tail}"), format!("/urls/{tail}/stats")] {
                    let response = app.get(&path).await;
                    assert_eq!(response.status, 404, "{path}: {response:?}");
                }
                let request = app.request(Method::DELETE, &format!("/urls/{tail}")).bearer_auth(&token);
                Response::of(request).await.is_error(404, "URL not found");
            }
        }
        for wildcard in ["%25", "_______", "%2a", "%3f"] {
            assert_eq!(app.get(&format!("/{wildcard}")).await.status, 404, "{wildcard}");
            let request = app.request(Method::DELETE, &format!("/urls/{wildcard}")).bearer_auth(&token);
            assert_eq!(Response::of(request).await.status, 404, "{wildcard}");
        }
        account_and_link_are_unchanged(app, &token, &code).await;
    }

    async fn sql_in_a_limit_or_a_cursor_is_refused(app) {
        let token = app.register().await;
        for sql in SQL {
            for field in ["limit", "cursor"] {
                for value in [encoded(sql), encoded(&format!("1{sql}")), encoded(&format!("1\r\nSet-Cookie: a=b{sql}"))] {
                    let response = app.get_as(&token, &format!("/urls/my?{field}={value}")).await;
                    assert_eq!(response.status, 422, "{field}={value}: {response:?}");
                    assert_eq!(response.header("set-cookie"), "");
                    assert!(response.detail().starts_with(field));
                }
            }
        }
    }

    async fn script_in_a_field_comes_back_as_data_alone(app) {
        let token = app.register().await;
        for script in SCRIPT {
            let target = format!("https://example.org/?q={script}#{script}");
            let made = app.try_shorten(&token, &target).await;
            is_only_data(&made, "made");
            assert_eq!(made.json()["target_url"], target.as_str());
            let code = made.json()["short_code"].as_str().unwrap().to_owned();
            let stats = answered(async || app.get(&format!("/urls/{code}/stats")).await);
            is_only_data(&stats.await, "stats");
            is_only_data(&app.get_as(&token, "/urls/my").await, "list");
            let followed = app.visit(&format!("/{code}")).await;
            assert_eq!((followed.status.as_u16(), followed.text.as_str()), (302, ""));

            let text = encoded(script);
            for path in [
                format!("/{text}"), format!("/urls/r/{text}"), format!("/urls/{text}/stats"), format!("/nothing/here/{text}"), format!("/urls?{text}"),
                format!("/auth/me?{text}"), format!("/health?{text}"), format!("/ready?{text}"),
            ] {
                is_only_data(&app.get(&path).await, &path);
            }
            for path in [format!("/urls/my?limit={text}"), format!("/urls/my?cursor={text}"), format!("/urls/my?{text}={text}")] {
                is_only_data(&app.get_as(&token, &path).await, &path);
            }
            is_only_data(&app.try_shorten(&token, script).await, "a bad target");
            is_only_data(&app.delete(&token, &text).await, "delete");
            for path in ["/auth/register", "/auth/login"] {
                is_only_data(&app.account(path, script, "correct horse").await, path);
                is_only_data(&app.account(path, &format!("{script}@example.org"), "correct horse").await, path);
                is_only_data(&app.post(path, json!({ script: script }).to_string()).await, path);
                is_only_data(&app.post(path, script).await, path);
                is_only_data(&Response::of(app.request(Method::from_bytes(b"TRACE").unwrap(), path).header("x-script", "<script>")).await, path);
            }
        }
    }

    async fn unexpected_fields_change_nothing(app) {
        let (ada, bob) = (app.register().await, app.register().await);
        let ada_id = app.get_as(&ada, "/auth/me").await.json()["id"].as_i64().unwrap();

        let body = json!({
            "email": format!("{}@example.org", unique()), "password": "correct horse", "id": ada_id, "is_admin": true, "is_active": false,
            "password_hash": "x", "created_at": "1970-01-01T00:00:00Z", "owner_id": ada_id, "__proto__": { "id": ada_id },
        });
        let response = app.post("/auth/register", body.to_string()).await;
        if response.status == 200 {
            let me = app.get_as(response.json()["access_token"].as_str().unwrap(), "/auth/me").await.json();
            assert_ne!(me["id"], ada_id);
            assert_eq!(me["email"], body["email"]);
            assert_eq!(app.post("/auth/login", body.to_string()).await.status, 200);
        } else {
            assert_eq!(response.status, 422, "{response:?}");
        }

        let extra = format!("id=1&short_code=chosen&owner_id={ada_id}&user_id={ada_id}&clicks=99&is_active=false&created_at=0");
        let path = format!("/urls/shorten?target_url=https://example.org/&{extra}");
        let request = app.request(Method::POST, &path).bearer_auth(&bob).header("content-type", "application/json");
        let fields = json!({ "target_url": "https://evil.example/", "short_code": "chosen", "owner_id": ada_id, "clicks": 99, "is_active": false });
        let response = Response::of(request.body(fields.to_string())).await;
        if response.status == 200 {
            let link = response.json();
            assert_eq!((&link["clicks"], &link["is_active"], &link["target_url"]), (&json!(0), &json!(true), &json!("https://example.org/")));
            assert_ne!(link["short_code"], "chosen");
            let list = app.get_as(&bob, "/urls/my").await.json();
            assert_eq!(list[0]["short_code"], link["short_code"], "it is the caller's");
        } else {
            assert_eq!(response.status, 422, "{response:?}");
        }
        assert_eq!(app.get("/chosen").await.status, 404);

        for query in [format!("owner_id={ada_id}"), format!("user_id={ada_id}&sub={ada_id}")] {
            app.shorten(&ada, "https://example.org/of-ada").await;
            let list = app.get_as(&bob, &format!("/urls/my?{query}")).await;
            assert!(!list.text.contains("of-ada"), "{list:?}");
        }
        let request = app.request(Method::GET, "/auth/me").bearer_auth(&bob).header("x-user-id", ada_id).header("x-forwarded-user", ada_id);
        assert_ne!(Response::of(request).await.json()["id"], ada_id);
    }

    async fn a_field_given_twice_is_refused(app) {
        let email = format!("{}@example.org", unique());
        let body = format!(r#"{{"email":"{email}","password":"correct horse","password":"another horse"}}"#);
        assert_eq!(app.post("/auth/register", body).await.status, 422);
        assert_eq!(app.account("/auth/login", &email, "correct horse").await.status, 401);
    }

    async fn no_header_turns_a_request_into_another(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for header in ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X-Original-URL", "X-Rewrite-URL"] {
            for value in ["DELETE", "/auth/me"] {
                let request = app.request(Method::GET, &format!("/urls/{code}/stats")).bearer_auth(&token).header(header, value);
                assert!(Response::of(request).await.json()["clicks"].is_u64(), "{header}");
            }
        }
        let post = app.request(Method::POST, &format!("/urls/{code}?_method=DELETE")).bearer_auth(&token);
        Response::of(post).await.is_error(405, "Method Not Allowed");
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }

    /// Both cost one hash, so the time of a log-in does not show whether the account exists.
    async fn a_login_costs_the_same_work_with_and_without_an_account(app) {
        let email = format!("{}@example.org", unique());
        app.account("/auth/register", &email, "correct horse").await;
        for (address, password) in [(email.clone(), "wrong horse"), (format!("{}@example.org", unique()), "correct horse")] {
            let before = hashes(app).await;
            app.account("/auth/login", &address, password).await.is_error(401, "Incorrect email or password");
            assert_eq!(hashes(app).await - before, 1, "{address}");
        }
    }
}

/// The number of passwords that were hashed so far.
async fn hashes(app: &App) -> u64 {
    let metrics = app.get("/metrics").await.text;
    let line = metrics
        .lines()
        .find(|line| line.starts_with("shunt_password_hashes_total"));
    line.map_or(0, |line| line.rsplit(' ').next().unwrap().parse().unwrap())
}

#[tokio::test]
async fn a_host_header_is_never_echoed() {
    crate::support::with_app(crate::support::Mode::Embedded, async |app: &mut App| {
        for host in ["evil.example", "<script>", "a b", "", "127.0.0.1:99999999"] {
            let request =
                format!("GET /docs HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
            let received = wire::send(&app.server.base, request).await;
            assert!(received.closed, "{host}");
            assert!(
                !received.header("location").contains("evil"),
                "{host}: {}",
                received.text
            );
            assert!(
                !received.text.contains("<script>"),
                "{host}: {}",
                received.text
            );
        }
    })
    .await;
}

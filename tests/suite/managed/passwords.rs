//! Links with a password: who follows them, and what everybody else sees.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use super::{make, patch, send, show};
use crate::support::{App, Response, both_modes};

pub(super) const TARGET: &str = "https://example.org/secret";
pub(super) const PASSWORD: &str = "open sesame";
pub(super) const LOCKED: &str = "This link needs a password";
pub(super) const WRONG: &str = "The password of this link is wrong";

/// A link with a password and these fields besides, by its code.
pub(super) async fn locked(app: &App, token: &str, more: &Value) -> String {
    let mut link = json!({"target_url": TARGET, "title": "Soon", "password": PASSWORD});
    for (name, value) in more.as_object().unwrap() {
        link[name] = value.clone();
    }
    let made = make(app, token, &link).await;
    assert_eq!(made.status, 200, "{}", made.text);
    assert_eq!(made.json()["has_password"], true);
    assert!(
        !made.text.contains("sesame") && !made.text.contains("argon2"),
        "{}",
        made.text
    );
    made.json()["short_code"].as_str().unwrap().to_owned()
}

pub(super) fn form(request: RequestBuilder, password: &str) -> RequestBuilder {
    let body = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("password", password)
        .finish();
    request
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body)
}

pub(super) async fn posted(app: &App, path: &str, password: &str) -> Response {
    Response::of(form(app.request(Method::POST, path), password)).await
}

pub(super) async fn with_basic(app: &App, method: Method, path: &str, password: &str) -> Response {
    Response::of(
        app.request(method, path)
            .basic_auth("anybody", Some(password)),
    )
    .await
}

pub(super) fn is_redirected(answer: &Response, target: &str) {
    assert_eq!(
        (answer.status.as_u16(), answer.header("location")),
        (302, target),
        "{answer:?}"
    );
    assert_eq!(answer.header("cache-control"), "private, no-store");
}

both_modes! {
    async fn a_link_with_a_password_is_followed_with_it_and_counted(app) {
        let token = app.register().await;
        let code = locked(app, &token, &json!({})).await;
        for path in [format!("/{code}"), format!("/urls/r/{code}"), format!("/{code}/")] {
            is_redirected(&posted(app, &path, PASSWORD).await, TARGET);
            is_redirected(&with_basic(app, Method::GET, &path, PASSWORD).await, TARGET);
            is_redirected(&with_basic(app, Method::POST, &path, PASSWORD).await, TARGET);
        }
        assert_eq!(app.clicks(&code).await, 9);
    }

    async fn without_its_password_a_link_is_not_followed_nor_counted(app) {
        let token = app.register().await;
        let code = locked(app, &token, &json!({})).await;
        for path in [format!("/{code}"), format!("/urls/r/{code}")] {
            let answer = app.get(&path).await;
            answer.is_error(403, LOCKED);
            assert_eq!((answer.header("cache-control"), answer.header("x-robots-tag")), ("no-store", "noindex"));
            Response::of(app.request(Method::POST, &path)).await.is_error(403, LOCKED);
            posted(app, &path, "open says me").await.is_error(403, WRONG);
            with_basic(app, Method::GET, &path, "open says me").await.is_error(403, WRONG);
            assert_eq!(Response::of(app.request(Method::HEAD, &path)).await.status, 403);
            assert_eq!(with_basic(app, Method::HEAD, &path, PASSWORD).await.status, 403);
        }
        assert_eq!(app.clicks(&code).await, 0);
        let metrics = app.get("/metrics").await.text;
        for sample in ["shunt_redirects_total{result=\"locked\"} ", "shunt_link_passwords_total{result=\"wrong\"} "] {
            let count = metrics.lines().find_map(|line| line.strip_prefix(sample)).unwrap();
            assert!(count.parse::<u64>().unwrap() >= 4, "{sample}{count}");
        }
    }

    async fn a_person_gets_a_page_with_a_form(app) {
        let token = app.register().await;
        let code = locked(app, &token, &json!({})).await;
        let people = |method| app.request(method, &format!("/{code}")).header("accept", "text/html");
        let page = Response::of(people(Method::GET)).await;
        assert_eq!((page.status.as_u16(), page.header("content-type")), (403, "text/html; charset=utf-8"));
        assert_eq!((page.header("referrer-policy"), page.header("cache-control")), ("no-referrer", "no-store"));
        assert!(page.header("content-security-policy").contains("form-action 'self' https: http:"));
        assert!(page.text.contains("<form method=\"post\">") && !page.text.contains("<script"), "{}", page.text);
        assert_eq!(page.header("x-robots-tag"), "noindex");
        for wrong in [form(people(Method::POST), "wrong"), people(Method::GET).basic_auth("", Some("wrong"))] {
            let page = Response::of(wrong).await;
            assert_eq!(page.status, 403);
            assert!(page.text.contains("The password is wrong.") && page.text.contains("<form method=\"post\">"), "{}", page.text);
            assert!(!page.text.contains("secret"));
        }
        is_redirected(&Response::of(form(people(Method::POST), PASSWORD)).await, TARGET);
        assert_eq!(app.clicks(&code).await, 1);
    }

    async fn only_its_owner_sees_the_target_of_a_locked_link(app) {
        let token = app.register().await;
        let code = locked(app, &token, &json!({})).await;
        for (method, path, accept) in [
            (Method::GET, format!("/{code}"), "text/html"), (Method::GET, format!("/{code}"), "application/json"),
            (Method::HEAD, format!("/{code}"), "*/*"), (Method::GET, format!("/urls/r/{code}"), "*/*"),
            (Method::HEAD, format!("/urls/r/{code}"), "*/*"), (Method::GET, format!("/{code}+"), "text/html"),
            (Method::GET, format!("/urls/{code}/stats"), "*/*"), (Method::GET, format!("/urls/{code}/stats/series"), "*/*"),
            (Method::GET, format!("/urls/{code}/qr"), "*/*"), (Method::GET, format!("/app/report/{code}"), "text/html"),
        ] {
            let answer = Response::of(app.request(method, &path).header("accept", accept)).await;
            assert!(!answer.text.contains("secret") && !answer.text.contains("Soon"), "{path}: {}", answer.text);
            assert_eq!(answer.header("location"), "", "{path}");
        }
        assert_eq!(app.get(&format!("/urls/{code}/stats")).await.json()["target_url"], Value::Null);
        assert_eq!(show(app, &token, &code).await.json()["target_url"], TARGET);
        assert_eq!(app.get_as(&token, "/urls/my").await.json()[0]["target_url"], TARGET);
    }

    async fn a_locked_link_does_with_its_password_what_any_link_does(app) {
        let token = app.register().await;
        let more = json!({"forward_query": true, "noindex": true, "max_clicks": 2, "fallback_url": "https://example.org/later"});
        let code = locked(app, &token, &more).await;
        let path = format!("/{code}?a=b");
        app.get(&path).await.is_error(403, LOCKED);
        let answer = posted(app, &path, PASSWORD).await;
        is_redirected(&answer, "https://example.org/secret?a=b");
        assert_eq!(answer.header("x-robots-tag"), "noindex");
        is_redirected(&with_basic(app, Method::GET, &path, PASSWORD).await, "https://example.org/secret?a=b");
        // Used up: the fallback needs no password.
        for answer in [app.get(&path).await, posted(app, &path, PASSWORD).await, posted(app, &path, "wrong").await] {
            assert_eq!((answer.status.as_u16(), answer.header("location")), (302, "https://example.org/later"));
        }
        assert_eq!(app.clicks(&code).await, 2);
    }

    async fn a_locked_link_that_is_not_followed_answers_as_any_such_link(app) {
        let token = app.register().await;
        let later = json!({"starts_at": "2999-01-01T00:00:00Z"});
        let with_fallback = json!({"starts_at": "2999-01-01T00:00:00Z", "fallback_url": "https://example.org/later"});
        let code = locked(app, &token, &later).await;
        app.get(&format!("/{code}")).await.is_error(404, "URL not found");
        posted(app, &format!("/{code}"), PASSWORD).await.is_error(404, "URL not found");
        let code = locked(app, &token, &with_fallback).await;
        assert_eq!(app.get(&format!("/{code}")).await.header("location"), "https://example.org/later");
        let code = locked(app, &token, &json!({})).await;
        patch(app, &token, &code, &json!({"is_active": false})).await;
        posted(app, &format!("/{code}"), PASSWORD).await.is_error(404, "URL not found");
        app.get(&format!("/{code}")).await.is_error(404, "URL not found");
    }

    async fn a_post_to_a_link_without_a_password_follows_it_and_to_an_unknown_code_finds_none(app) {
        let token = app.register().await;
        let code = app.shorten(&token, TARGET).await;
        is_redirected(&posted(app, &format!("/{code}"), "whatever").await, TARGET);
        is_redirected(&with_basic(app, Method::GET, &format!("/{code}"), "whatever").await, TARGET);
        assert_eq!(app.clicks(&code).await, 2);
        posted(app, "/nosuch1", PASSWORD).await.is_error(404, "URL not found");
        let large = app.request(Method::POST, &format!("/{code}")).body("x".repeat(5_000));
        Response::of(large).await.is_error(413, "The body is larger than 4096 bytes");
    }

    async fn a_password_that_is_set_changed_or_taken_away_holds_at_once(app) {
        let token = app.register().await;
        let code = app.shorten(&token, TARGET).await;
        let path = format!("/{code}");
        for round in 0..3 {
            is_redirected(&app.get(&path).await, TARGET);
            let edited = patch(app, &token, &code, &json!({"password": PASSWORD})).await;
            assert_eq!((edited.status.as_u16(), &edited.json()["has_password"]), (200, &json!(true)));
            app.get(&path).await.is_error(403, LOCKED);
            is_redirected(&posted(app, &path, PASSWORD).await, TARGET);
            let other = patch(app, &token, &code, &json!({"password": "another one", "target_url": "https://example.org/b"})).await;
            assert_eq!(other.status, 200);
            posted(app, &path, PASSWORD).await.is_error(403, WRONG);
            is_redirected(&posted(app, &path, "another one").await, "https://example.org/b");
            let same = patch(app, &token, &code, &json!({"title": "kept", "target_url": TARGET})).await;
            assert_eq!(same.json()["has_password"], true);
            app.get(&path).await.is_error(403, LOCKED);
            let open = patch(app, &token, &code, &json!({"password": null})).await;
            assert_eq!(open.json()["has_password"], false, "{round}");
        }
        is_redirected(&app.get(&path).await, TARGET);
    }

    async fn a_password_is_refused_by_its_length_and_never_shown(app) {
        let token = app.register().await;
        let code = app.shorten(&token, TARGET).await;
        let long = "é".repeat(129);
        for (password, detail) in [
            (json!("abc"), "password: must be 4 to 128 characters long"), (json!(""), "password: must be 4 to 128 characters long"),
            (json!(long), "password: must be 4 to 128 characters long"), (json!(12_345_678), "password: must be a string"),
            (json!(["hidden-one"]), "password: "),
        ] {
            let link = json!({"target_url": TARGET, "password": password});
            let bulk = send(app, Method::POST, &token, "/urls/bulk", &json!([link])).await.json();
            for refused in [
                make(app, &token, &link).await.detail(),
                patch(app, &token, &code, &json!({"password": password})).await.detail(),
                bulk[0]["detail"].as_str().unwrap().to_owned(),
            ] {
                assert!(refused.starts_with(detail), "{refused}");
                assert!(!refused.contains("12345678") && !refused.contains("hidden-one"), "{refused}");
            }
        }
        let query = format!("/urls/shorten?target_url={TARGET}&password=hidden-one");
        let refused = Response::of(app.request(Method::POST, &query).bearer_auth(&token)).await;
        refused.is_error(422, "password: must be in the body: addresses get into logs");
        let (composed, decomposed) = ("Pässwörd", "Pa\u{308}sswo\u{308}rd");
        let code = locked(app, &token, &json!({"password": decomposed})).await;
        is_redirected(&posted(app, &format!("/{code}"), composed).await, TARGET);
    }

    async fn a_request_for_a_locked_link_may_be_repeated_with_its_key(app) {
        let token = app.register().await;
        let ask = async |password: &str| {
            let request = app.request(Method::POST, "/urls/shorten?view=full").bearer_auth(&token);
            Response::of(request.header("idempotency-key", "once").json(&json!({"target_url": TARGET, "password": password}))).await
        };
        let (first, again) = (ask(PASSWORD).await.json(), ask(PASSWORD).await.json());
        assert_eq!(first, again);
        assert_eq!(first["has_password"], true);
        assert_eq!(ask("another one").await.status, 422);
    }

    async fn exports_have_hashes_for_those_who_may_write_and_imports_take_them(app) {
        let token = app.register().await;
        let code = locked(app, &token, &json!({})).await;
        for format in ["csv", "ndjson"] {
            let plain = app.get_as(&token, &format!("/urls/export?format={format}")).await;
            assert!(plain.text.contains("has_password") && !plain.text.contains("argon2"), "{}", plain.text);
            let kind = if format == "csv" { "text/csv" } else { "application/x-ndjson" };
            let import = async |file: &str, code_there: &str| {
                let file = file.replace(&code, code_there);
                let request = app.request(Method::POST, "/urls/bulk").bearer_auth(&token);
                Response::of(request.header("content-type", kind).body(file)).await.json()
            };
            let refused = import(&plain.text, "refused-1").await;
            let detail = refused[0]["detail"].as_str().unwrap();
            assert!(detail.starts_with("has_password: is protected by a password whose hash is missing"), "{detail}");
            let whole = app.get_as(&token, &format!("/urls/export?format={format}&secrets=true")).await;
            assert!(whole.text.contains("$argon2id$v=19$"), "{}", whole.text);
            let copy = format!("copy-{format}");
            assert_eq!(import(&whole.text, &copy).await[0]["status"], 200);
            app.get(&format!("/{copy}")).await.is_error(403, LOCKED);
            is_redirected(&posted(app, &format!("/{copy}"), PASSWORD).await, TARGET);
            app.delete(&token, &copy).await;
        }
        let key = json!({"name": "reads", "scope": "read"});
        let key = send(app, Method::POST, &token, "/auth/keys", &key).await.json()["key"].as_str().unwrap().to_owned();
        assert_eq!(app.get_as(&key, "/urls/export?format=csv").await.status, 200);
        app.get_as(&key, "/urls/export?format=csv&secrets=true").await.is_error(403, "This key is read-only");
        assert!(app.server.log().contains("sensitive_read"));
    }

    async fn a_hash_of_bcrypt_opens_a_link(app) {
        let token = app.register().await;
        // Of "correctbatteryhorsestapler", as Kutt keeps it.
        let hash = "$2a$04$n4Uy0eSnMfvnESYL.bLwuuj0U/ETSsoTpRT9GVk5bektyVVa5xnIi";
        let link = json!([{"target_url": TARGET, "custom_code": "of-kutt", "password_hash": hash}]);
        let made = send(app, Method::POST, &token, "/urls/bulk", &link).await.json();
        assert_eq!(made[0]["status"], 200, "{made}");
        posted(app, "/of-kutt", "wrong").await.is_error(403, WRONG);
        is_redirected(&posted(app, "/of-kutt", "correctbatteryhorsestapler").await, TARGET);
        let costly = json!([{"target_url": TARGET, "password_hash": hash.replace("$04$", "$31$")}]);
        let refused = send(app, Method::POST, &token, "/urls/bulk", &costly).await.json();
        assert!(refused[0]["detail"].as_str().unwrap().starts_with("password_hash: must be"), "{refused}");
    }
}

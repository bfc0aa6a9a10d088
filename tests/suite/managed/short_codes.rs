//! Codes of one to three characters: for those who import links, and for administrators.

use reqwest::Method;
use serde_json::{Value, json};

use super::{make, patch, send, show};
use crate::suite::abuse::{admin, id_of, remove, revoke};
use crate::support::{App, Mode, Response, both_modes};

const TARGET: &str = "https://example.org/";

/// Imports links with these codes; returns the status and the refusal of each.
async fn import(app: &App, token: &str, codes: &[&str]) -> Vec<(u64, String)> {
    let links: Vec<_> = codes
        .iter()
        .map(|code| json!({"target_url": TARGET, "custom_code": code}))
        .collect();
    let made = send(app, Method::POST, token, "/urls/bulk", &json!(links)).await;
    assert_eq!(made.status, 200, "{made:?}");
    let made = made.json();
    let result = |result: &Value| {
        let detail = result["detail"].as_str().unwrap_or_default();
        (result["status"].as_u64().unwrap(), detail.to_owned())
    };
    made.as_array().unwrap().iter().map(result).collect()
}

fn with_code(code: &str) -> Value {
    json!({"target_url": TARGET, "custom_code": code})
}

both_modes! {
    async fn a_single_link_has_a_short_code_only_of_an_administrator(app) {
        let (token, admin) = (app.register().await, admin(app).await);
        let key = send(app, Method::POST, &admin, "/auth/keys", &json!({"name": "script", "scope": "write"})).await;
        let key = key.json()["key"].as_str().unwrap().to_owned();
        for code in ["1", "zZ", "a-_"] {
            for token in [&token, &key] {
                make(app, token, &with_code(code)).await.is_error(422, "custom_code: must be at least 4 characters long");
            }
            let made = make(app, &admin, &with_code(code)).await;
            assert_eq!((made.status.as_u16(), &made.json()["short_code"]), (200, &json!(code)));
        }
        make(app, "no-token", &with_code("2")).await.is_error(401, "Not authenticated");
        assert_eq!(make(app, &token, &with_code("abcd")).await.status, 200);
    }

    async fn everybody_imports_links_with_short_codes(app) {
        let token = app.register().await;
        let dry_run = json!([with_code("1"), with_code("1")]);
        let checked = send(app, Method::POST, &token, "/urls/bulk?dry_run=true", &dry_run).await.json();
        assert_eq!((&checked[0]["status"], &checked[1]["status"]), (&json!(200), &json!(409)));
        let made = import(app, &token, &["1", "zz", "a-_", "", "a.b", "1"]).await;
        let shape = (422, "custom_code: must be 1 to 64 of the characters A-Z a-z 0-9 - _".to_owned());
        let given_twice = (409, "custom_code: is taken".to_owned());
        let ok = (200, String::new());
        assert_eq!(made, [ok.clone(), ok.clone(), ok, shape.clone(), shape, given_twice]);
    }

    async fn a_short_code_is_a_code_on_every_route(app) {
        let token = app.register().await;
        for code in ["7", "Zz", "_-9"] {
            assert_eq!(import(app, &token, &[code]).await[0].0, 200);
            let encoded = format!("/%{:02x}{}", code.as_bytes()[0], &code[1..]);
            for path in [format!("/{code}"), format!("/{code}/"), format!("/urls/r/{code}"), encoded] {
                // Twice: the second time the link is cached.
                for _ in 0..2 {
                    assert_eq!(app.get(&path).await.header("location"), TARGET, "{path}");
                }
                assert_eq!(Response::of(app.request(Method::HEAD, &path)).await.status, 302, "{path}");
            }
            assert_eq!(app.clicks(code).await, 8);
            let preview = app.get(&format!("/{code}+")).await;
            assert!(preview.status == 200 && preview.text.contains("example.org"), "{preview:?}");
            for path in ["stats", "stats/series", "qr"] {
                assert_eq!(app.get(&format!("/urls/{code}/{path}")).await.status, 200, "{path}");
            }
            for path in ["", "/stats/breakdown?by=bot", "/stats/export"] {
                assert_eq!(app.get_as(&token, &format!("/urls/{code}{path}")).await.status, 200, "{path}");
            }
            assert_eq!(patch(app, &token, code, &json!({"target_url": "https://example.com/"})).await.status, 200);
            assert_eq!(app.get(&format!("/{code}")).await.header("location"), "https://example.com/");
            assert_eq!(send(app, Method::POST, &token, "/report", &json!({"short_code": code, "reason": "spam"})).await.status, 202);
        }
        let list = app.get_as(&token, "/urls/my?q=zZ").await.json();
        assert_eq!(list[0]["short_code"], "Zz");
    }

    async fn an_administrator_removes_a_link_with_a_short_code(app) {
        let (token, admin) = (app.register().await, admin(app).await);
        import(app, &token, &["7"]).await;
        let id = id_of(&remove(app, &admin, "link", "7", 410).await);
        app.get("/7").await.is_error(410, "URL removed");
        revoke(app, &admin, id).await;
        assert_eq!(app.get("/7").await.status, 302);
    }

    async fn a_short_code_is_retired_like_any_other(app) {
        let (ada, bob) = (app.register().await, app.register().await);
        import(app, &ada, &["1", "2"]).await;
        for code in ["1", "2"] {
            assert_eq!(app.delete(&ada, code).await.status, 204);
            app.get(&format!("/{code}")).await.is_error(404, "URL not found");
        }
        assert_eq!(import(app, &bob, &["1"]).await[0], (409, "custom_code: is taken".to_owned()));
        assert_eq!(import(app, &ada, &["1"]).await[0].0, 200, "its former owner has it again");
        assert_eq!(app.get("/1").await.status, 302);
    }

    async fn words_of_the_service_are_no_codes_however_short(app) {
        let (token, admin) = (app.register().await, admin(app).await);
        let words = shunt::http::paths::reserved_words();
        assert!(words.contains(&"r") && words.contains(&"my"), "{words:?}");
        let why = "custom_code: is a word that this service uses itself; choose another";
        for word in words.iter().copied().chain(["app", "api", "R", "My"]) {
            assert_eq!(import(app, &token, &[word]).await[0], (422, why.to_owned()), "{word}");
            make(app, &admin, &with_code(word)).await.is_error(422, why);
        }
        assert_eq!(app.get("/r").await.status, 404);
        show(app, &token, "r").await.is_error(404, "URL not found");
    }
}

#[tokio::test]
async fn the_shortest_code_that_everybody_may_choose_is_a_setting() {
    for (least, refused, taken) in [("1", "", "1"), ("3", "12", "123"), ("6", "12345", "123456")] {
        let app = App::start_with(Mode::Embedded, &[("CUSTOM_CODE_MIN", least)]).await;
        let token = app.register().await;
        let detail = match refused {
            "" => "custom_code: must be 1 to 64 of the characters A-Z a-z 0-9 - _".to_owned(),
            _ => format!("custom_code: must be at least {least} characters long"),
        };
        let made = make(&app, &token, &with_code(refused)).await;
        made.is_error(422, &detail);
        assert_eq!(make(&app, &token, &with_code(taken)).await.status, 200);
        app.server_only().await;
    }
}

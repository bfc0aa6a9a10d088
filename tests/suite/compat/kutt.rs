//! Kutt, as its clients speak it.

use reqwest::Method;
use serde_json::{Value, json};

use super::{key_of, writer};
use crate::support::{App, Mode, Response, both_modes};

const LINKS: &str = "/api/v2/links";

async fn sent(app: &App, method: Method, path: &str, key: &str, body: &Value) -> Response {
    let request = app.request(method, path).header("X-API-KEY", key);
    Response::of(request.json(body)).await
}

async fn got(app: &App, path: &str, key: &str) -> Response {
    Response::of(app.request(Method::GET, path).header("x-api-key", key)).await
}

both_modes! {
    async fn a_link_is_made_as_sharex_makes_it(app) {
        // ShareX.UploadersLib/URLShorteners/KuttURLShortener.cs
        let (_, key) = writer(app).await;
        let body = json!({"target": "https://example.org/a", "password": "", "customurl": null, "reuse": false, "domain": ""});
        let made = sent(app, Method::POST, LINKS, &key, &body).await;
        assert_eq!(made.status, 201, "{made:?}");
        let mut link = made.json();
        let code = link["address"].as_str().unwrap().to_owned();
        for name in ["created_at", "updated_at"] {
            assert_eq!(link[name].take().as_str().unwrap().len(), "2027-01-31T17:00:00.123Z".len());
        }
        assert_eq!(link, json!({
            "id": code, "address": code, "description": null, "banned": false, "password": false, "expire_in": null,
            "target": "https://example.org/a", "visit_count": 0, "domain": null, "created_at": null, "updated_at": null,
            "link": format!("{}/{code}", app.server.base),
        }));
        assert_eq!(app.visit(&format!("/{code}")).await.header("location"), "https://example.org/a");
        let again = json!({"target": "https://example.org/a", "reuse": true});
        let reused = sent(app, Method::POST, LINKS, &key, &again).await;
        assert_eq!((reused.status.as_u16(), reused.json()["id"].as_str()), (200, Some(code.as_str())));
        let other = json!({"target": "https://example.org/", "reuse": true});
        assert_eq!(sent(app, Method::POST, LINKS, &key, &other).await.status, 201);
    }

    async fn every_field_is_taken_also_from_a_form(app) {
        let (_, key) = writer(app).await;
        let form = "target=example.org%2Fb&customurl=spring-sale&description=Spring+sale&expire_in=2+days&password=open+sesame";
        let request = app.request(Method::POST, LINKS).header("X-Api-Key", &key);
        let request = request.header("content-type", "application/x-www-form-urlencoded").body(form);
        let made = Response::of(request).await;
        assert_eq!(made.status, 201, "{made:?}");
        let link = made.json();
        assert_eq!((&link["id"], &link["description"]), (&json!("spring-sale"), &json!("Spring sale")));
        assert_eq!((&link["target"], &link["password"]), (&json!("http://example.org/b"), &json!(true)));
        assert!(link["expire_in"].is_string());
        assert!(!made.text.contains("sesame"));
        assert_eq!(app.visit("/spring-sale").await.status, 403);
    }

    async fn links_are_listed_by_number_and_searched(app) {
        let (token, key) = writer(app).await;
        for number in 0..23 {
            app.shorten(&token, &format!("https://example.org/page-{number:02}")).await;
        }
        let page = async |query: &str| {
            let page = got(app, &format!("{LINKS}{query}"), &key).await.json();
            let targets = page["data"].as_array().unwrap().iter().map(|link| link["target"].as_str().unwrap()[25..].to_owned());
            let targets: Vec<_> = targets.collect();
            (page["total"].as_u64().unwrap(), page["limit"].as_u64().unwrap(), page["skip"].as_u64().unwrap(), targets.join(" "))
        };
        let first = "22 21 20 19 18 17 16 15 14 13";
        assert_eq!(page("").await, (23, 10, 0, first.into()));
        assert_eq!(page("?limit=3&skip=20").await, (23, 3, 20, "02 01 00".into()));
        assert_eq!(page("?limit=3&skip=23").await, (23, 3, 23, String::new()));
        assert_eq!(page("?limit=1000&skip=19&search=").await, (23, 50, 19, "03 02 01 00".into()));
        assert_eq!(page("?search=page-1&limit=2&skip=1").await, (10, 2, 1, "18 17".into()));
        assert_eq!(page("?search=nothing").await, (0, 10, 0, String::new()));
    }

    async fn a_link_is_changed_and_deleted(app) {
        let (token, key) = writer(app).await;
        let code = app.shorten(&token, "https://example.org/").await;
        let path = format!("{LINKS}/{code}");
        let change = json!({"target": "https://example.org/new", "address": code, "description": "New", "expire_in": null, "password": ""});
        let changed = sent(app, Method::PATCH, &path, &key, &change).await;
        assert_eq!(changed.status, 200, "{changed:?}");
        assert_eq!((&changed.json()["target"], &changed.json()["description"]), (&json!("https://example.org/new"), &json!("New")));
        assert_eq!(app.visit(&format!("/{code}")).await.header("location"), "https://example.org/new");
        let (_, stranger) = writer(app).await;
        assert_eq!(sent(app, Method::PATCH, &path, &stranger, &change).await.status, 404);
        assert_eq!(sent(app, Method::DELETE, &path, &stranger, &Value::Null).await.status, 404);
        let request = app.request(Method::DELETE, &path).header("X-API-KEY", &key);
        let deleted = Response::of(request).await;
        assert_eq!((deleted.status.as_u16(), deleted.json()), (200, json!({"message": "Link has been deleted successfully."})));
        assert_eq!(app.visit(&format!("/{code}")).await.status, 404);
        assert_eq!(sent(app, Method::DELETE, &path, &key, &Value::Null).await.status, 404);
    }

    async fn statistics_have_every_period_and_the_account_its_address(app) {
        let (token, key) = writer(app).await;
        let code = app.shorten(&token, "https://example.org/").await;
        for _ in 0..3 {
            app.visit(&format!("/{code}")).await;
        }
        let stats = got(app, &format!("{LINKS}/{code}/stats"), &key).await;
        assert_eq!(stats.status, 200, "{stats:?}");
        let stats = stats.json();
        for (period, points) in [("lastDay", 24), ("lastWeek", 7), ("lastMonth", 30), ("lastYear", 12)] {
            let period = &stats[period];
            assert_eq!((period["views"].as_array().unwrap().len(), &period["total"]), (points, &json!(3)), "{stats}");
            for by in ["browser", "os", "country", "referrer"] {
                assert!(period["stats"][by].is_array(), "{period}");
            }
        }
        assert_eq!((&stats["visit_count"], &stats["id"]), (&json!(3), &json!(code)));
        let user = got(app, "/api/v2/users", &key).await.json();
        assert!(user["email"].as_str().unwrap().contains('@'));
        assert_eq!((&user["domains"], &user["apikey"]), (&json!([]), &json!(key)));
        let health = app.get("/api/v2/health").await;
        assert_eq!((health.status.as_u16(), health.text.as_str()), (200, "OK"));
    }

    async fn what_is_refused_has_an_error(app) {
        let (token, key) = writer(app).await;
        let code = app.shorten(&token, "https://example.org/").await;
        let own = format!("{}/x", app.server.base);
        for (body, error) in [
            (json!({}), "Target is missing."),
            (json!({"target": null}), "Target is missing."),
            (json!({"target": ""}), "Target is missing."),
            (json!({"target": "ftp://example.org/"}), "URL is not valid"),
            (json!({"target": "https://"}), "URL is not valid"),
            (json!({"target": own}), "URLs are not allowed."),
            (json!({"target": "https://a.example/", "customurl": code}), "Custom URL is already in use."),
            (json!({"target": "https://a.example/", "customurl": "a b"}), "Custom URL is not valid."),
            (json!({"target": "https://a.example/", "customurl": "docs"}), "You can't use this custom URL."),
            (json!({"target": "https://a.example/", "customurl": "x"}), "customurl: must be"),
            (json!({"target": "https://a.example/", "domain": "other.example"}), "You can't use this domain."),
            (json!({"target": "https://a.example/", "reuse": "maybe"}), "Reuse must be boolean."),
            (json!({"target": "https://a.example/", "expire_in": "soon"}), "Expire format is invalid."),
            (json!({"target": "https://a.example/", "expire_in": "5s"}), "Expire time should be more than 1 minute."),
            (json!({"target": "https://a.example/", "password": "abc"}), "password: must be"),
            (json!({"target": "https://a.example/", "description": "a\u{7}"}), "description: must not"),
            (json!({"target": ["https://a.example/"]}), "each value"),
            (json!(["https://a.example/"]), "the body must be"),
        ] {
            let refused = sent(app, Method::POST, LINKS, &key, &body).await;
            assert_eq!(refused.status, 400, "{body}: {refused:?}");
            assert!(refused.json()["error"].as_str().unwrap().contains(error), "{body}: {refused:?}");
        }
        let path = format!("{LINKS}/{code}");
        for body in [json!({}), json!({"target": null, "password": ""}), json!({"address": "other-code"}), json!({"address": "a b"})] {
            assert_eq!(sent(app, Method::PATCH, &path, &key, &body).await.status, 400, "{body}");
        }
        for path in ["?limit=x", "?skip=-1", "?search=%07", "?search=%ff", "?limit=99999999999999999999999"] {
            let refused = got(app, &format!("{LINKS}{path}"), &key).await;
            assert_eq!(refused.status, 400, "{path}");
            assert!(refused.json()["error"].is_string());
        }
        for path in ["/nowhere/stats", "/%20/stats", "/a.b/stats"] {
            assert_eq!(got(app, &format!("{LINKS}{path}"), &key).await.status, 404, "{path}");
        }
        let bad = got(app, &format!("{LINKS}/%ff/stats"), &key).await;
        assert!(bad.status.as_u16() < 500 && bad.json()["error"].is_string(), "{bad:?}");
        let wrong = sent(app, Method::PUT, LINKS, &key, &json!({})).await;
        assert_eq!(wrong.status, 405);
        assert!(wrong.json()["error"].is_string());
        let large = sent(app, Method::POST, LINKS, &key, &json!({"target": "a".repeat(200_000)})).await;
        assert_eq!(large.status, 413);
        assert!(large.json()["error"].is_string());
    }

    async fn a_key_is_needed_and_one_that_reads_changes_nothing(app) {
        let (token, _) = writer(app).await;
        let reader = key_of(app, &token, "read").await;
        let code = app.shorten(&token, "https://example.org/").await;
        let path = format!("{LINKS}/{code}");
        for (key, error) in [("", "Unauthorized."), ("nonsense", "API key is not correct."), (token.as_str(), "API key is not correct.")] {
            let refused = got(app, LINKS, key).await;
            assert_eq!((refused.status.as_u16(), refused.json()), (401, json!({"error": error})));
        }
        let body = json!({"target": "https://example.org/"});
        for (method, path) in [(Method::POST, LINKS), (Method::PATCH, &path), (Method::DELETE, &path)] {
            let refused = sent(app, method, path, &reader, &body).await;
            assert_eq!((refused.status.as_u16(), refused.json()), (403, json!({"error": "This key is read-only"})));
        }
        assert_eq!(got(app, LINKS, &reader).await.json()["total"], 1);
    }
}

#[tokio::test]
async fn links_are_limited_as_by_the_api() {
    let app = App::start_with(Mode::Embedded, &[("LIMIT_CREATE", "1")]).await;
    let (_, key) = writer(&app).await;
    let body = json!({"target": "https://example.org/"});
    sent(&app, Method::POST, LINKS, &key, &body).await;
    let refused = sent(&app, Method::POST, LINKS, &key, &body).await;
    let refused = if refused.status == 201 {
        sent(&app, Method::POST, LINKS, &key, &body).await
    } else {
        refused
    };
    assert_eq!(refused.status, 429);
    assert!(!refused.header("retry-after").is_empty());
    assert!(refused.json()["error"].is_string());
    app.finish().await;
}

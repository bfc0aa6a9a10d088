//! The APIs of other shorteners, as their clients speak them.

use reqwest::Method;
use serde_json::json;

use crate::support::{App, Mode, Response, both_modes};

mod hosts;
mod kutt;
mod shlink;
mod yourls;

/// A key of an account with a log-in.
async fn key_of(app: &App, token: &str, scope: &str) -> String {
    let asked = app.request(Method::POST, "/auth/keys").bearer_auth(token);
    let made = Response::of(asked.json(&json!({"name": scope, "scope": scope}))).await;
    assert_eq!(made.status, 200, "{made:?}");
    made.json()["key"].as_str().unwrap().to_owned()
}

/// A fresh account with a key that may write.
async fn writer(app: &App) -> (String, String) {
    let token = app.register().await;
    let key = key_of(app, &token, "write").await;
    (token, key)
}

both_modes! {
    async fn a_key_that_only_makes_links_makes_them_and_sees_nothing_else(app) {
        let (_, writer) = writer(app).await;
        let key = {
            let token = app.register().await;
            key_of(app, &token, "create").await
        };
        let made = app.get(&format!("/yourls-api.php?action=shorturl&format=json&url=https://example.org/a&signature={key}")).await;
        assert_eq!(made.json()["status"], "success", "{made:?}");
        for action in ["stats", "db-stats", "expand&shorturl=a"] {
            let refused = app.get(&format!("/yourls-api.php?format=json&signature={key}&action={action}")).await;
            assert_eq!(refused.status, 403, "{action}: {refused:?}");
        }
        let post = async |path: &str, key: &str, body: serde_json::Value| {
            let asked = app.request(Method::POST, path).header("X-API-KEY", key);
            Response::of(asked.json(&body)).await
        };
        let get = async |path: &str| Response::of(app.request(Method::GET, path).header("X-API-KEY", &key)).await;
        // It gets no link that is there already.
        let wanted = json!({"target": "https://example.org/a", "reuse": true});
        assert_eq!(post("/api/v2/links", &key, wanted.clone()).await.status, 201);
        assert_eq!(post("/api/v2/links", &writer, wanted.clone()).await.status, 201);
        assert_eq!(post("/api/v2/links", &writer, wanted).await.status, 200);
        assert_eq!(get("/api/v2/users").await.status, 200);
        assert_eq!(get("/api/v2/links").await.status, 403);
        let wanted = json!({"longUrl": "https://example.org/a", "findIfExists": true});
        assert_eq!(post("/rest/v3/short-urls", &key, wanted).await.status, 200);
        for path in ["/rest/v3/short-urls", "/rest/v3/tags", "/rest/v3/visits"] {
            assert_eq!(get(path).await.status, 403, "{path}");
        }
    }
}

#[tokio::test]
async fn an_api_that_is_not_wanted_is_not_there() {
    let app = App::start_with(Mode::Embedded, &[("COMPAT", "none")]).await;
    for path in ["/yourls-api.php", "/api/v2/links", "/rest/v3/short-urls"] {
        assert_eq!(app.get(path).await.status, 404, "{path}");
    }
    app.finish().await;
}

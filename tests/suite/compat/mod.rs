//! The APIs of other shorteners, as their clients speak them.

use reqwest::Method;
use serde_json::json;

use crate::support::{App, Mode, Response};

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

#[tokio::test]
async fn an_api_that_is_not_wanted_is_not_there() {
    let app = App::start_with(Mode::Embedded, &[("COMPAT", "none")]).await;
    for path in ["/yourls-api.php", "/api/v2/links", "/rest/v3/short-urls"] {
        assert_eq!(app.get(path).await.status, 404, "{path}");
    }
    app.finish().await;
}

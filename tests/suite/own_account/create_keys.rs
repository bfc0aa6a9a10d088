//! Keys that only create links, on every route that the API's document has.

use reqwest::Method;
use serde_json::{Value, json};

use super::{account, send};
use crate::support::{App, Response, both_modes};

/// A fresh key that only creates links.
async fn create_key(app: &App, token: &str) -> String {
    let body = json!({ "name": "a script", "scope": "create" });
    let made = send(app, Method::POST, token, "/auth/keys", &body).await;
    assert_eq!(made.status, 200, "{made:?}");
    made.json()["key"].as_str().unwrap().to_owned()
}

/// Method and path of each operation that needs a token or a key.
async fn routes_with_tokens(app: &App) -> Vec<(Method, String)> {
    let document = app.get("/openapi.json").await.json();
    let mut routes = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let needs_token = operation["security"]
                .as_array()
                .is_some_and(|ways| !ways.is_empty());
            if needs_token && let Ok(method) = method.to_uppercase().parse() {
                routes.push((method, path.clone()));
            }
        }
    }
    routes
}

both_modes! {
    async fn a_create_key_creates_links_and_sees_nothing_but_itself(app) {
        let (email, token) = account(app).await;
        let key = create_key(app, &token).await;
        assert!(key.starts_with("shunt_c"), "{key}");
        assert_eq!(app.get_as(&key, "/auth/me").await.json()["email"], email);
        let code = app.shorten(&key, "https://example.org/").await;
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        let links = json!([{ "target_url": "https://example.org/" }]);
        let made = app.request(Method::POST, "/urls/bulk").bearer_auth(&key).json(&links);
        let made = Response::of(made).await;
        assert_eq!(made.status, 200, "{made:?}");
        assert_eq!(app.get_as(&token, "/urls/my").await.json().as_array().unwrap().len(), 2);
        let listed = app.get_as(&token, "/auth/keys").await.json();
        assert_eq!(listed[0]["scope"], "create");
    }

    async fn a_create_key_is_refused_on_every_other_route(app) {
        let (_, token) = account(app).await;
        let code = app.shorten(&token, "https://example.org/").await;
        let key = create_key(app, &token).await;
        let routes = routes_with_tokens(app).await;
        assert!(routes.len() > 20, "{routes:?}");
        for (method, template) in routes {
            let is_for_it = matches!(
                (method.as_str(), template.as_str()),
                ("POST", "/urls/shorten" | "/urls/bulk") | ("GET", "/auth/me" | "/urls/{short_code}/stats" | "/urls/{short_code}/stats/series")
            );
            if is_for_it {
                continue;
            }
            let path = template.replace("{short_code}", &code).replace("{id}", "1");
            let refused = send(app, method.clone(), &key, &path, &Value::Null).await;
            if ["/auth/", "/admin/", "/groups"].iter().any(|of_people| template.starts_with(of_people)) {
                // As every key is.
                refused.is_error(401, "Not authenticated");
                let challenge = refused.header("www-authenticate");
                assert!(challenge.contains("an API key is not accepted here"), "{method} {path}: {challenge}");
            } else {
                assert_eq!((refused.status.as_u16(), refused.detail().as_str()), (403, "This key can only create links"), "{method} {path}");
                assert_eq!(refused.header("www-authenticate"), "Bearer error=\"insufficient_scope\"");
            }
        }
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }
}

//! Requests that a page of another site makes a browser send, to routes that need no token.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{App, Response, both_modes, unique};

const REFUSED: &str = "Requests from pages of other sites are refused; send this from the service's own pages, or from a program";

/// What a browser adds to the request of a page elsewhere.
const FOREIGN: [&[(&str, &str)]; 7] = [
    &[("sec-fetch-site", "cross-site")],
    &[("sec-fetch-site", "same-site")],
    &[
        ("sec-fetch-site", "cross-site"),
        ("origin", "https://evil.example"),
    ],
    &[("sec-fetch-site", "unheard-of")],
    &[("origin", "https://evil.example")],
    &[("origin", "null")],
    &[("origin", "")],
];

/// Sends a JSON body as the one content type that needs no preflight.
async fn send(
    app: &App,
    method: &Method,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> Response {
    let mut request = app
        .request(method.clone(), path)
        .header("content-type", "text/plain");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    Response::of(request.body(body.to_string())).await
}

/// The routes of the document that change something and need no token.
async fn open_routes(app: &App) -> Vec<(Method, String)> {
    let document = app.get("/openapi.json").await.json();
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let changes = ["post", "put", "patch", "delete"].contains(&method.as_str());
            if changes && operation.get("security").is_none() {
                found.push((method.to_uppercase().parse().unwrap(), path.clone()));
            }
        }
    }
    found
}

both_modes! {
    async fn every_route_that_needs_no_token_refuses_what_a_page_of_another_site_sends(app) {
        let mut routes = open_routes(app).await;
        // A password opens a link wherever it is given.
        routes.retain(|(_, path)| !path.ends_with("{short_code}"));
        let paths: Vec<_> = routes.iter().map(|(_, path)| path.as_str()).collect();
        assert_eq!(paths, ["/auth/login", "/auth/register", "/report"]);
        for (method, path) in &routes {
            for headers in FOREIGN {
                let refused = send(app, method, path, headers, &json!({})).await;
                assert_eq!((refused.status.as_u16(), refused.detail().as_str()), (403, REFUSED), "{path} {headers:?}");
            }
            let with_a_token = [("authorization", "Bearer a"), ("origin", "https://evil.example")];
            assert_eq!(send(app, method, path, &with_a_token, &json!({})).await.status, 403, "{path}");
        }
    }

    async fn a_page_of_another_site_registers_nothing(app) {
        let email = format!("{}@example.org", unique());
        let body = json!({ "email": email, "password": "correct horse" });
        send(app, &Method::POST, "/auth/register", &[("sec-fetch-site", "cross-site")], &body).await.is_error(403, REFUSED);
        app.account("/auth/login", &email, "correct horse").await.is_error(401, "Incorrect email or password");
    }

    async fn the_services_own_pages_and_programs_register_log_in_and_report_whatever_the_content_type(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let base = app.get("/openapi.json").await.json()["servers"][0]["url"].as_str().unwrap().to_owned();
        for headers in [
            &[][..],
            &[("sec-fetch-site", "same-origin"), ("origin", base.as_str())],
            &[("sec-fetch-site", "same-origin"), ("origin", "http://another.name.of.it")],
            &[("sec-fetch-site", "none")],
            &[("origin", base.as_str())],
        ] {
            let account = json!({ "email": format!("{}@example.org", unique()), "password": "correct horse" });
            let report = json!({ "short_code": code, "reason": "spam" });
            for (path, body, wanted) in [("/auth/register", &account, 200), ("/auth/login", &account, 200), ("/report", &report, 202)] {
                let response = send(app, &Method::POST, path, headers, body).await;
                assert_eq!(response.status, wanted, "{path} {headers:?}: {response:?}");
            }
        }
    }
}

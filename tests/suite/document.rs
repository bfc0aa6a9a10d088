//! The OpenAPI document describes all that the service does: no route, method or response is missing from it.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use reqwest::{Method, RequestBuilder};
use serde_json::Value;

use crate::suite::architecture::sources;
use crate::support::{App, Mode, Response, both_modes};

const METHODS: [&str; 8] = [
    "get", "head", "post", "put", "patch", "delete", "options", "trace",
];

struct Document(Value);

impl Document {
    async fn of(app: &App) -> Self {
        Self(app.get("/openapi.json").await.json())
    }

    fn operations(&self) -> Vec<(String, Method, &Value)> {
        let mut all = Vec::new();
        for (path, item) in self.0["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let method = method.to_uppercase().parse().unwrap();
                all.push((path.clone(), method, operation));
            }
        }
        all
    }

    fn methods_of(&self, path: &str) -> HashSet<String> {
        let item = self.0["paths"][path].as_object().unwrap();
        let mut methods: HashSet<_> = item.keys().map(|method| method.to_uppercase()).collect();
        // Every route for GET answers HEAD, too.
        if methods.contains("GET") {
            methods.insert("HEAD".to_owned());
        }
        methods
    }

    /// The document describes this response: its status, its kind of body, its headers.
    fn describes(&self, method: &str, path: &str, response: &Response) {
        let status = response.status.as_str();
        let described = &self.0["paths"][path][method]["responses"][status];
        assert!(
            described.is_object(),
            "{method} {path} answered {response:?}"
        );
        let kind = response.header("content-type").split(';').next().unwrap();
        match described["content"].as_object() {
            Some(kinds) => assert!(kinds.contains_key(kind), "{method} {path}: {response:?}"),
            None => assert_eq!(response.text, "", "{method} {path}"),
        }
        for name in described["headers"]
            .as_object()
            .into_iter()
            .flat_map(|headers| headers.keys())
        {
            // Only where there is another page, and where clicks are not exact.
            if name != "Link" && name != "Clicks-As-Of" {
                assert_ne!(
                    response.header(name),
                    "",
                    "{method} {path} {status}: {name}"
                );
            }
        }
    }
}

/// A path of the document, with values for its parameters.
fn filled(path: &str) -> String {
    path.replace("{short_code}", "nopenope")
        .replace("{file}", "start.js")
}

async fn sent(request: RequestBuilder, token: Option<&str>, body: Option<&str>) -> Response {
    let request = match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    };
    Response::of(match body {
        Some(body) => request.body(body.to_owned()),
        None => request,
    })
    .await
}

/// A test of `api` compares the API's routes with the document and with the table of paths. `/metrics` on an address of its own has no document.
#[test]
fn no_route_is_made_outside_the_document() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/server");
    let mut undocumented = Vec::new();
    for path in sources(&folder) {
        let source = fs::read_to_string(&path).unwrap();
        for way in [
            ".route(",
            ".route_service(",
            ".nest(",
            ".nest_service(",
            ".merge(",
            ".fallback_service(",
        ] {
            undocumented.extend(source.match_indices(way).map(|(at, _)| {
                let name = path.file_name().unwrap().to_string_lossy();
                format!("{name}: {}", source[at..].lines().next().unwrap())
            }));
        }
    }
    assert_eq!(
        undocumented,
        ["metrics_listener.rs: .route(paths::METRICS, get(async move || metrics.render()))"]
    );
}

both_modes! {
    async fn every_operation_of_the_document_exists(app) {
        let document = Document::of(app).await;
        let token = app.register().await;
        for (path, method, operation) in document.operations() {
            let token = operation["security"].is_array().then_some(token.as_str());
            let response = sent(app.request(method.clone(), &filled(&path)), token, None).await;
            if method != Method::HEAD {
                document.describes(&method.as_str().to_lowercase(), &path, &response);
            }
            assert_ne!(response.status, 405, "{method} {path}");
        }
    }

    async fn a_method_missing_from_the_document_is_refused(app) {
        let document = Document::of(app).await;
        for path in document.0["paths"].as_object().unwrap().keys() {
            let known = document.methods_of(path);
            for method in METHODS {
                let method: Method = method.to_uppercase().parse().unwrap();
                if known.contains(method.as_str()) {
                    continue;
                }
                let response = Response::of(app.request(method.clone(), &filled(path))).await;
                assert_eq!(response.status, 405, "{method} {path}");
                let allowed = response.header("allow").split(',').map(|name| name.trim().to_owned());
                assert_eq!(allowed.collect::<HashSet<_>>(), known, "{method} {path}");
            }
        }
    }

    async fn a_path_missing_from_the_document_is_not_found(app) {
        for path in ["/urls", "/auth", "/docs/a/b", "/docs/swagger-ui.js", "/openapi.yaml", "/swagger-ui"] {
            let response = app.get(path).await;
            assert_eq!(response.status, 404, "{path}");
            assert!(!response.detail().is_empty());
        }
    }

    async fn every_operation_has_a_name_of_its_own_a_summary_and_a_tag(app) {
        let document = Document::of(app).await;
        let mut names = HashSet::new();
        for (path, method, operation) in document.operations() {
            let text = |field: &str| operation[field].as_str().unwrap_or_default().to_owned();
            assert!(names.insert(text("operationId")), "{method} {path}");
            assert_ne!(text("summary"), "", "{method} {path}");
            assert_eq!(operation["tags"].as_array().map_or(0, Vec::len), 1, "{method} {path}");
        }
    }

    async fn the_document_names_the_address_of_the_service_and_how_to_authorize(app) {
        let document = Document::of(app).await.0;
        assert_eq!(document["servers"][0]["url"], app.server.base);
        assert_eq!(document["components"]["securitySchemes"]["bearer"]["scheme"], "bearer");
    }

    async fn no_parameter_of_an_operation_is_named_twice(app) {
        let document = Document::of(app).await;
        for (path, method, operation) in document.operations() {
            let mut names = HashSet::new();
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let name = format!("{} in {}", parameter["name"], parameter["in"]);
                assert!(names.insert(name), "{method} {path}: {parameter}");
            }
        }
    }

    async fn every_answer_to_a_key_that_may_only_read_is_in_the_document(app) {
        let document = Document::of(app).await;
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let key = app.request(Method::POST, "/auth/keys").bearer_auth(&token);
        let key = Response::of(key.body(r#"{"name": "reader", "scope": "read"}"#)).await.json();
        let mut refused = Vec::new();
        for (path, method, operation) in document.operations() {
            if !operation["security"].is_array() {
                continue;
            }
            let at = path.replace("{short_code}", &code).replace("{id}", "1");
            // A stream of counts has no end.
            if at.ends_with("/live") {
                continue;
            }
            let response = sent(app.request(method.clone(), &at), key["key"].as_str(), None).await;
            document.describes(&method.as_str().to_lowercase(), &path, &response);
            if response.status == 403 {
                refused.push(format!("{method} {path}"));
            }
        }
        refused.sort();
        assert_eq!(refused, [
            "DELETE /hooks/{id}", "DELETE /urls/tags/{tag}", "DELETE /urls/trash/{short_code}", "DELETE /urls/{short_code}", "DELETE /urls/{short_code}/pool", "DELETE /urls/{short_code}/shares/{id}",
            "GET /hooks", "GET /hooks/{id}", "GET /hooks/{id}/deliveries", "PATCH /hooks/{id}", "PATCH /urls/tags/{tag}", "PATCH /urls/{short_code}",
            "POST /hooks", "POST /hooks/{id}/replay", "POST /urls/bulk", "POST /urls/shorten", "POST /urls/{short_code}/pool", "POST /urls/{short_code}/restore", "POST /urls/{short_code}/shares",
        ]);
    }

    async fn a_parameter_of_one_word_takes_each_word_that_the_document_lists_and_no_other(app) {
        let document = Document::of(app).await;
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let mut lists = Vec::new();
        for (path, method, operation) in document.operations() {
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let Some(words) = parameter["schema"]["enum"].as_array() else { continue };
                let name = parameter["name"].as_str().unwrap();
                lists.push(name);
                if method != Method::GET {
                    continue;
                }
                let words = words.iter().map(|word| (word.as_str().unwrap(), 200));
                for (word, status) in words.chain([("anything-else", 422)]) {
                    let path = format!("{}?{name}={word}", path.replace("{short_code}", &code));
                    let response = sent(app.request(Method::GET, &path), Some(&token), None).await;
                    assert_eq!(response.status, status, "{path}: {response:?}");
                }
            }
        }
        lists.sort_unstable();
        lists.dedup();
        assert_eq!(lists, ["bot", "by", "device", "ecc", "format", "interval", "sort", "status", "view"]);
    }

    async fn every_status_of_a_link_is_in_the_document(app) {
        let document = Document::of(app).await;
        let schema = &document.0["components"]["schemas"]["StatusWord"]["enum"];
        let token = app.register().await;
        let words = ["active", "inactive", "scheduled", "expired", "used_up", "removed"];
        assert_eq!(*schema, serde_json::json!(words));
        for word in words {
            assert_eq!(app.get_as(&token, &format!("/urls/my?status={word}")).await.status, 200);
        }
        for of in ["FullLinkBody", "BulkObject"] {
            let status = document.0["components"]["schemas"][of]["properties"]["status"].to_string();
            assert!(status.contains("#/components/schemas/StatusWord"), "{of}: {status}");
        }
    }

    async fn every_reference_of_the_document_resolves(app) {
        let response = app.get("/openapi.json").await;
        let document = response.json();
        for (at, _) in response.text.match_indices("\"$ref\":\"#") {
            let reference = response.text[at..].split('"').nth(3).unwrap();
            assert!(document.pointer(&reference[1..]).is_some(), "{reference}");
        }
    }

    async fn responses_of_accounts_match_the_document(app) {
        let document = Document::of(app).await;
        let account = r#"{"email":"ada@example.org","password":"correct horse"}"#;
        let wrong = r#"{"email":"ada@example.org","password":"wrong horse"}"#;
        let large = format!(r#"{{"email":"{}"}}"#, "a".repeat(16 * 1024));
        for (path, body, status) in [
            ("/auth/register", account, 200),
            ("/auth/register", account, 400),
            ("/auth/register", &large, 413),
            ("/auth/register", "{}", 422),
            ("/auth/login", account, 200),
            ("/auth/login", wrong, 401),
            ("/auth/login", &large, 413),
            ("/auth/login", "[]", 422),
        ] {
            let response = app.post(path, body.to_owned()).await;
            assert_eq!(response.status, status, "{path}");
            document.describes("post", path, &response);
        }
        let token = app.register().await;
        for (token, status) in [(Some(token.as_str()), 200), (Some("nonsense"), 401), (None, 401)] {
            let response = sent(app.request(Method::GET, "/auth/me"), token, None).await;
            assert_eq!(response.status, status);
            document.describes("get", "/auth/me", &response);
        }
        for (body, status) in [
            (r#"{"email":"bob@example.org","password":"correct horse"}"#, 409),
            (r#"{"email":"nobody","password":"correct horse"}"#, 422),
            (r#"{"email":"bob@example.org"}"#, 422),
        ] {
            let response = sent(app.request(Method::PATCH, "/auth/me"), Some(&token), Some(body)).await;
            assert_eq!(response.status, status, "{body}");
            document.describes("patch", "/auth/me", &response);
        }
    }

    async fn responses_of_links_match_the_document(app) {
        let document = Document::of(app).await;
        let token = app.register().await;
        let mine = Some(token.as_str());
        let code = app.shorten(&token, "https://example.org/").await;
        app.shorten(&token, "https://example.org/").await;
        let good = "/urls/shorten?target_url=https://example.org/".to_owned();
        for (method, template, path, token, status) in [
            ("post", "/urls/shorten", good.clone(), mine, 200),
            ("post", "/urls/shorten", good, None, 401),
            ("post", "/urls/shorten", "/urls/shorten".to_owned(), mine, 422),
            ("get", "/urls/my", "/urls/my".to_owned(), mine, 200),
            ("get", "/urls/my", "/urls/my?limit=1".to_owned(), mine, 200),
            ("get", "/urls/my", "/urls/my".to_owned(), None, 401),
            ("get", "/urls/my", "/urls/my?limit=0".to_owned(), mine, 422),
            ("get", "/urls/{short_code}/stats", format!("/urls/{code}/stats"), None, 200),
            ("get", "/urls/{short_code}/stats", "/urls/nopenope/stats".to_owned(), None, 404),
            ("get", "/urls/{short_code}/qr", format!("/urls/{code}/qr"), None, 200),
            ("get", "/urls/{short_code}/qr", format!("/urls/{code}/qr?format=png"), None, 200),
            ("get", "/urls/{short_code}/qr", format!("/urls/{code}/qr?size=1"), None, 422),
            ("get", "/urls/{short_code}/qr", "/urls/nopenope/qr".to_owned(), None, 404),
            ("head", "/urls/r/{short_code}", format!("/urls/r/{code}"), None, 302),
            ("head", "/{short_code}", format!("/{code}"), None, 302),
            ("get", "/urls/r/{short_code}", "/urls/r/nopenope".to_owned(), None, 404),
            ("get", "/{short_code}", "/nopenope".to_owned(), None, 404),
            ("delete", "/urls/{short_code}", format!("/urls/{code}"), None, 401),
            ("delete", "/urls/{short_code}", format!("/urls/{code}"), mine, 204),
            ("delete", "/urls/{short_code}", format!("/urls/{code}"), mine, 404),
        ] {
            let request = app.request(method.to_uppercase().parse().unwrap(), &path);
            let response = sent(request, token, None).await;
            assert_eq!(response.status, status, "{method} {path}");
            document.describes(method, template, &response);
        }
        let code = app.shorten(&token, "https://example.org/").await;
        document.describes("get", "/urls/r/{short_code}", &app.visit(&format!("/urls/r/{code}")).await);
        document.describes("get", "/{short_code}", &app.visit(&format!("/{code}")).await);
    }
}

#[tokio::test]
async fn the_response_of_a_limit_matches_the_document() {
    let once = [
        ("LIMIT_LOGIN", "1"),
        ("LIMIT_REGISTER", "1"),
        ("LIMIT_CREATE", "1"),
    ];
    let app = App::start_with(Mode::Embedded, &once).await;
    let document = Document::of(&app).await;
    let token = app.register().await;
    let shorten = "/urls/shorten?target_url=https://example.org/";
    let account = Some(r#"{"email":"ada@example.org","password":"correct horse"}"#);
    for (template, path, body) in [
        ("/auth/register", "/auth/register", account),
        ("/auth/login", "/auth/login", account),
        ("/urls/shorten", shorten, None),
    ] {
        let asked = async || sent(app.request(Method::POST, path), Some(&token), body).await;
        // A minute may end in between: two of three requests are in the same one.
        let responses = [asked().await, asked().await, asked().await];
        let limited = responses
            .iter()
            .find(|response| response.status == 429)
            .expect(path);
        document.describes("post", template, limited);
    }
    app.finish().await;
}

#[tokio::test]
async fn metrics_on_an_address_of_their_own_are_not_in_the_document() {
    let app = App::start_with(Mode::Embedded, &[("METRICS_BIND", "127.0.0.1:0")]).await;
    let document = Document::of(&app).await;
    assert!(document.0["paths"]["/metrics"].is_null());
    assert_eq!(app.get("/metrics").await.status, 404);
    app.finish().await;
}

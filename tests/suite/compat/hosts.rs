//! Links of other hosts of the service, in the words of each protocol.

use reqwest::Method;
use serde_json::{Value, json};

use super::writer;
use crate::suite::abuse::admin;
use crate::support::{App, Response, both_modes};

const SHLINK: &str = "/rest/v3/short-urls";
const KUTT: &str = "/api/v2/links";

/// Adds a host, perhaps for nobody.
async fn add(app: &App, host: &str, owners: Value) {
    let admin = admin(app).await;
    let body = json!({"host": host, "owners": owners, "root_url": "https://example.org/root"});
    let request = app.request(Method::POST, "/admin/domains");
    let added = Response::of(request.bearer_auth(admin).json(&body)).await;
    assert_eq!(added.status, 200, "{added:?}");
}

async fn ask(app: &App, method: Method, path: &str, key: &str, body: &Value) -> Response {
    let request = app.request(method, path).header("X-Api-Key", key);
    let request = if body.is_null() {
        request
    } else {
        request.json(body)
    };
    Response::of(request).await
}

async fn get(app: &App, path: &str, key: &str) -> Response {
    ask(app, Method::GET, path, key, &Value::Null).await
}

/// Where a code of a host leads.
async fn leads(app: &App, host: &str, code: &str) -> String {
    let request = app.request(Method::GET, &format!("/{code}"));
    let response = Response::of(request.header("host", host)).await;
    response.header("location").to_owned()
}

both_modes! {
    async fn shlink_makes_lists_shows_changes_and_deletes_links_of_a_host(app) {
        add(app, "go.test:81", json!("all")).await;
        add(app, "closed.test", json!([])).await;
        let (_, key) = writer(app).await;
        let post = async |body: Value| ask(app, Method::POST, SHLINK, &key, &body).await;
        let there = json!({"longUrl": "https://example.org/there", "customSlug": "spring", "domain": "GO.test", "findIfExists": true});
        let made = post(there.clone()).await;
        assert_eq!(made.status, 200, "{made:?}");
        let made = made.json();
        assert_eq!((&made["shortCode"], &made["domain"], &made["shortUrl"]), (&json!("spring"), &json!("go.test:81"), &json!("http://go.test:81/spring")));
        // The same link does.
        assert_eq!(post(there).await.json(), made);
        let here = post(json!({"longUrl": "https://example.org/here", "customSlug": "spring", "domain": "DEFAULT"})).await.json();
        assert_eq!(here["domain"], Value::Null);
        let drawn = post(json!({"longUrl": "https://example.org/", "domain": "go.test", "shortCodeLength": 9})).await.json();
        assert_eq!((drawn["shortCode"].as_str().unwrap().len(), &drawn["domain"]), (9, &json!("go.test:81")));
        for domain in ["closed.test", "unknown.test"] {
            let refused = post(json!({"longUrl": "https://example.org/", "domain": domain})).await;
            assert_eq!((refused.status.as_u16(), &refused.json()["invalidElements"]), (400, &json!(["domain"])), "{refused:?}");
        }
        let listed = async |query: &str| {
            let list = get(app, &format!("{SHLINK}?{query}"), &key).await.json();
            list["shortUrls"]["data"].as_array().unwrap().len()
        };
        for (query, count) in [("", 3), ("domain=go.test", 2), ("domain=DEFAULT", 1), ("domain=go.test&orderBy=title-ASC", 2)] {
            assert_eq!(listed(query).await, count, "{query}");
        }
        let path = format!("{SHLINK}/spring");
        let of_host = format!("{path}?domain=go.test%3A81");
        assert_eq!(get(app, &path, &key).await.json()["longUrl"], "https://example.org/here");
        assert_eq!(get(app, &of_host, &key).await.json(), made);
        let edited = ask(app, Method::PATCH, &of_host, &key, &json!({"longUrl": "https://example.org/new"})).await;
        assert_eq!(edited.json()["longUrl"], "https://example.org/new", "{edited:?}");
        assert_eq!(leads(app, "go.test", "spring").await, "https://example.org/new");
        assert_eq!(leads(app, "own.test", "spring").await, "https://example.org/here");
        for below in ["visits", "redirect-rules"] {
            let path = format!("{SHLINK}/{}/{below}", drawn["shortCode"].as_str().unwrap());
            assert_eq!(get(app, &path, &key).await.status, 404, "{below}");
            assert_eq!(get(app, &format!("{path}?domain=go.test"), &key).await.status, 200, "{below}");
        }
        assert_eq!(ask(app, Method::DELETE, &of_host, &key, &Value::Null).await.status, 204);
        assert_eq!(get(app, &of_host, &key).await.status, 404);
        assert_eq!(get(app, &path, &key).await.status, 200);
        let unknown = get(app, &format!("{path}?domain=unknown.test"), &key).await;
        assert!(unknown.json()["type"].as_str().unwrap().ends_with("/domain-not-found"), "{unknown:?}");
    }

    async fn shlink_lists_the_domains_of_the_account_after_the_services_own(app) {
        add(app, "go.test", json!("all")).await;
        add(app, "closed.test", json!([])).await;
        let (_, key) = writer(app).await;
        let domains = get(app, "/rest/v3/domains", &key).await.json();
        let data = domains["domains"]["data"].as_array().unwrap();
        assert_eq!(data.len(), 2, "{domains}");
        assert_eq!(data[0]["isDefault"], true);
        assert_eq!((&data[1]["domain"], &data[1]["isDefault"]), (&json!("go.test"), &json!(false)));
        assert_eq!(data[1]["redirects"]["baseUrlRedirect"], "https://example.org/root");
        assert_eq!(get(app, "/rest/v3/domains/go.test/visits", &key).await.status, 200);
        assert_eq!(get(app, "/rest/v3/domains/unknown.test/visits", &key).await.status, 404);
    }

    async fn kutt_has_links_of_all_hosts(app) {
        add(app, "go.test", json!("all")).await;
        add(app, "closed.test", json!([])).await;
        let (_, key) = writer(app).await;
        let make = async |body: Value| ask(app, Method::POST, KUTT, &key, &body).await;
        let there = make(json!({"target": "https://example.org/there", "customurl": "spring", "domain": "GO.test"})).await;
        assert_eq!(there.status, 201, "{there:?}");
        let there = there.json();
        assert_eq!((&there["address"], &there["domain"], &there["link"]), (&json!("spring"), &json!("go.test"), &json!("http://go.test/spring")));
        let here = make(json!({"target": "https://example.org/there", "customurl": "spring", "reuse": true})).await;
        // A link of another host is not reused.
        assert_eq!((here.status.as_u16(), &here.json()["domain"]), (201, &Value::Null), "{here:?}");
        let again = make(json!({"target": "https://example.org/there", "domain": "go.test", "reuse": true})).await;
        assert_eq!((again.status.as_u16(), &again.json()["id"]), (200, &there["id"]));
        for domain in ["closed.test", "unknown.test"] {
            let refused = make(json!({"target": "https://example.org/", "domain": domain})).await;
            assert_eq!((refused.status.as_u16(), &refused.json()["error"]), (400, &json!("You can't use this domain.")));
        }
        assert_eq!(get(app, KUTT, &key).await.json()["total"], 2);
        let path = format!("{KUTT}/{}", there["id"].as_str().unwrap());
        assert_ne!(here.json()["id"], there["id"]);
        let edited = ask(app, Method::PATCH, &path, &key, &json!({"target": "https://example.org/new", "address": "spring"})).await;
        assert_eq!(edited.status, 200, "{edited:?}");
        assert_eq!(leads(app, "go.test", "spring").await, "https://example.org/new");
        assert_eq!(get(app, &format!("{path}/stats"), &key).await.json()["domain"], "go.test");
        assert_eq!(ask(app, Method::DELETE, &path, &key, &Value::Null).await.status, 200);
        assert_eq!(leads(app, "go.test", "spring").await, "");
        assert_eq!(leads(app, "own.test", "spring").await, "https://example.org/there");
        let user = get(app, "/api/v2/users", &key).await.json();
        let domains = json!([{"id": "go.test", "address": "go.test", "homepage": "https://example.org/root", "banned": false}]);
        assert_eq!(user["domains"], domains);
    }

    async fn yourls_reads_a_short_url_of_another_host(app) {
        add(app, "go.test", json!("all")).await;
        let (token, key) = writer(app).await;
        for (domain, target) in [("go.test", "https://example.org/there"), ("", "https://example.org/here")] {
            let link = json!({"target_url": target, "custom_code": "spring", "domain": domain});
            let request = app.request(Method::POST, "/urls/shorten").bearer_auth(&token);
            assert_eq!(Response::of(request.json(&link)).await.status, 200);
        }
        assert_eq!(leads(app, "go.test", "spring").await, "https://example.org/there");
        let told = async |action: &str, short_url: &str| {
            let path = format!("/yourls-api.php?action={action}&format=json&signature={key}&shorturl={short_url}");
            app.get(&path).await.json()
        };
        for (short_url, target) in [("spring", "https://example.org/here"), ("http://go.test/spring", "https://example.org/there"), ("GO.test/spring", "https://example.org/there")] {
            assert_eq!(told("expand", short_url).await["longurl"], target, "{short_url}");
        }
        let expanded = told("expand", "http://go.test/spring").await;
        assert_eq!(expanded["shorturl"], "http://go.test/spring");
        assert_eq!(told("url-stats", "http://go.test/spring").await["link"]["clicks"], 1);
        assert_eq!(told("expand", "http://unknown.test/spring").await["errorCode"], "404");
    }
}

//! Shlink, as its clients speak it: requests are as in `src/api/ShlinkApiClient.ts` of @shlinkio/shlink-js-sdk, which
//! `tests/clients` drives, too.

use reqwest::Method;
use serde_json::{Value, json};

use super::{key_of, writer};
use crate::support::{App, Mode, Response, both_modes};

const LINKS: &str = "/rest/v3/short-urls";

/// The SDK sends JSON as text, without a content type.
async fn sent(app: &App, method: Method, path: &str, key: &str, body: &Value) -> Response {
    let request = app.request(method, path).header("X-Api-Key", key);
    Response::of(request.body(body.to_string())).await
}

async fn got(app: &App, path: &str, key: &str) -> Response {
    Response::of(app.request(Method::GET, path).header("X-Api-Key", key)).await
}

async fn deleted(app: &App, path: &str, key: &str) -> Response {
    Response::of(app.request(Method::DELETE, path).header("X-Api-Key", key)).await
}

async fn made(app: &App, key: &str, body: Value) -> Value {
    let made = sent(app, Method::POST, LINKS, key, &body).await;
    assert_eq!(made.status, 200, "{body}: {made:?}");
    made.json()
}

fn problem(response: &Response) -> (u16, String) {
    let body = response.json();
    assert_eq!(
        response.header("content-type"),
        "application/problem+json",
        "{body}"
    );
    assert_eq!(
        body["status"].as_u64(),
        Some(response.status.as_u16().into()),
        "{body}"
    );
    assert!(
        body["title"].is_string() && body["detail"].is_string(),
        "{body}"
    );
    let kind = body["type"]
        .as_str()
        .unwrap()
        .rsplit('/')
        .next()
        .unwrap()
        .to_owned();
    (response.status.as_u16(), kind)
}

both_modes! {
    async fn a_link_is_made_with_all_that_the_sdk_sends(app) {
        let (token, key) = writer(app).await;
        let mut link = made(app, &key, json!({
            "longUrl": "https://example.org/a?b=1", "customSlug": "spring-sale", "tags": ["print", "b"], "title": "Spring",
            "validSince": "2026-01-31T18:00:00+01:00", "validUntil": "2090-01-31T18:00:00.000Z", "maxVisits": 50, "crawlable": true,
            "domain": null, "shortCodeLength": null, "findIfExists": false,
        })).await;
        assert_eq!(link["dateCreated"].take().as_str().unwrap().len(), "2027-01-31T17:00:00+00:00".len());
        assert_eq!(link, json!({
            "shortCode": "spring-sale", "shortUrl": format!("{}/spring-sale", app.server.base), "longUrl": "https://example.org/a?b=1",
            "dateCreated": null, "visitsSummary": {"total": 0, "nonBots": 0, "bots": 0}, "tags": ["print", "b"],
            "meta": {"validSince": "2026-01-31T17:00:00+00:00", "validUntil": "2090-01-31T18:00:00+00:00", "maxVisits": 50},
            "domain": null, "title": "Spring", "crawlable": true, "forwardQuery": true, "hasRedirectRules": false,
        }));
        let visit = app.visit("/spring-sale?c=2").await;
        assert_eq!(visit.header("location"), "https://example.org/a?b=1&c=2");
        let own = app.get_as(&token, "/urls/spring-sale").await.json();
        assert_eq!((&own["max_clicks"], &own["noindex"]), (&json!(50), &json!(false)));
        let plain = made(app, &key, json!({"longUrl": "https://example.org/", "forwardQuery": false, "crawlable": false})).await;
        assert_eq!((&plain["forwardQuery"], &plain["crawlable"]), (&json!(false), &json!(false)));
    }

    async fn a_code_has_the_wanted_length_and_a_link_that_is_there_is_found(app) {
        let (_, key) = writer(app).await;
        for length in [4, 5, 12, 64] {
            let link = made(app, &key, json!({"longUrl": "https://example.org/length", "shortCodeLength": length})).await;
            assert_eq!(link["shortCode"].as_str().unwrap().len(), length);
        }
        let target = "https://example.org/found";
        let first = made(app, &key, json!({"longUrl": target, "tags": ["a", "b"], "title": "One"})).await;
        let code = &first["shortCode"];
        for (more, is_found) in [
            (json!({}), true), (json!({"tags": ["b", "a"]}), true), (json!({"title": "One", "maxVisits": null}), true),
            (json!({"customSlug": code}), true), (json!({"tags": ["a"]}), false), (json!({"title": "Two"}), false), (json!({"maxVisits": 3}), false),
        ] {
            let mut body = json!({"longUrl": target, "findIfExists": true});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            // What the last loop made would be found, too.
            let link = made(app, &key, body.clone()).await;
            assert_eq!(link["shortCode"] == *code, is_found, "{body}");
            if !is_found {
                deleted(app, &format!("{LINKS}/{}", link["shortCode"].as_str().unwrap()), &key).await;
            }
        }
    }

    async fn a_link_is_shown_changed_and_deleted(app) {
        let (_, key) = writer(app).await;
        let link = made(app, &key, json!({"longUrl": "https://example.org/", "title": "Old", "maxVisits": 5, "validUntil": "2090-01-01"})).await;
        let code = link["shortCode"].as_str().unwrap().to_owned();
        let path = format!("{LINKS}/{code}");
        assert_eq!(got(app, &path, &key).await.json(), link);
        let host = app.server.base.split_once("://").unwrap().1;
        assert_eq!(got(app, &format!("{path}?domain={host}"), &key).await.status, 200);
        // `null` means absent.
        let change = json!({"longUrl": "https://example.org/new", "title": null, "maxVisits": null, "validUntil": null, "tags": ["t"], "customSlug": code});
        let changed = sent(app, Method::PATCH, &path, &key, &change).await;
        assert_eq!(changed.status, 200, "{changed:?}");
        let changed = changed.json();
        assert_eq!((&changed["longUrl"], &changed["title"], &changed["tags"]), (&json!("https://example.org/new"), &json!("Old"), &json!(["t"])));
        assert_eq!(changed["meta"], link["meta"]);
        assert_eq!(app.visit(&format!("/{code}")).await.header("location"), "https://example.org/new");
        let (_, stranger) = writer(app).await;
        assert_eq!(problem(&got(app, &path, &stranger).await), (404, "short-url-not-found".into()));
        assert_eq!(problem(&deleted(app, &path, &stranger).await), (404, "short-url-not-found".into()));
        assert_eq!(deleted(app, &path, &key).await.status, 204);
        assert_eq!(problem(&deleted(app, &path, &key).await), (404, "short-url-not-found".into()));
    }

    async fn links_are_listed_by_page_with_every_filter_and_order(app) {
        let (_, key) = writer(app).await;
        for (slug, target, tags, more) in [
            ("link-a", "https://c.example/", json!(["x"]), json!({"title": "b", "maxVisits": 1})),
            ("link-b", "https://b.example/", json!(["x", "y"]), json!({"title": "C"})),
            ("link-c", "https://a.example/", json!(["y"]), json!({"title": "a", "validUntil": "2090-01-01"})),
            ("link-d", "https://d.example/", json!([]), json!({})),
        ] {
            let mut body = json!({"longUrl": target, "customSlug": slug, "tags": tags});
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            made(app, &key, body).await;
        }
        for (code, clicks) in [("link-a", 1), ("link-c", 3), ("link-d", 2)] {
            for _ in 0..clicks {
                app.visit(&format!("/{code}")).await;
            }
            app.written_back(code, clicks).await;
        }
        let list = async |query: &str| {
            let listed = got(app, &format!("{LINKS}?{query}"), &key).await;
            assert_eq!(listed.status, 200, "{query}: {listed:?}");
            let listed = listed.json()["shortUrls"].clone();
            let codes = listed["data"].as_array().unwrap().iter().map(|link| link["shortCode"].as_str().unwrap()[5..].to_owned());
            (codes.collect::<String>(), listed["pagination"].clone())
        };
        let page = |page: u64, pages: u64, size: u64, shown: u64, total: u64| json!({
            "currentPage": page, "pagesCount": pages, "itemsPerPage": size, "itemsInCurrentPage": shown, "totalItems": total,
        });
        assert_eq!(list("").await, ("dcba".into(), page(1, 1, 10, 4, 4)));
        assert_eq!(list("page=2&itemsPerPage=3").await, ("a".into(), page(2, 2, 3, 1, 4)));
        assert_eq!(list("page=9&itemsPerPage=3").await, (String::new(), page(9, 2, 3, 0, 4)));
        assert_eq!(list("itemsPerPage=-1").await.0, "dcba");
        for (query, codes) in [
            ("orderBy=dateCreated-ASC", "abcd"), ("orderBy=visits-DESC", "cdab"), ("orderBy=visits-ASC&itemsPerPage=2&page=2", "dc"),
            ("orderBy=shortCode-ASC", "abcd"), ("orderBy=longUrl-ASC", "cbad"), ("orderBy=title-DESC", "bacd"),
            ("tags%5B%5D=x", "ba"), ("tags%5B%5D=x&tags%5B%5D=y", "cba"), ("tags[]=x&tags[]=y&tagsMode=all", "b"),
            ("excludeTags[]=x", "dc"), ("searchTerm=link-c", "c"), ("searchTerm=example&tags[]=y", "cb"),
            ("excludeMaxVisitsReached=true", "dcb"), ("excludePastValidUntil=true", "dcba"),
            ("startDate=2020-01-01&endDate=2090-01-01T00:00:00%2B01:00", "dcba"), ("startDate=2090-01-01", ""), ("domain=DEFAULT", "dcba"),
            ("excludeTags[]=y&orderBy=shortCode-DESC&itemsPerPage=1&page=2", "a"),
        ] {
            assert_eq!(list(query).await.0, codes, "{query}");
        }
        for query in ["page=0", "page=x", "itemsPerPage=0", "orderBy=color-ASC", "tagsMode=some", "startDate=soon", "apiKeyName=a", "searchTerm=%07", "tags[]=a,b"] {
            assert_eq!(problem(&got(app, &format!("{LINKS}?{query}"), &key).await), (400, "invalid-data".into()), "{query}");
        }
        assert_eq!(problem(&got(app, &format!("{LINKS}?domain=other.example"), &key).await), (404, "domain-not-found".into()));
    }

    async fn rules_are_set_and_shown_and_followed(app) {
        let (token, key) = writer(app).await;
        let code = app.shorten(&token, "https://example.org/").await;
        let path = format!("{LINKS}/{code}/redirect-rules");
        let nothing = json!({"defaultLongUrl": "https://example.org/", "redirectRules": []});
        assert_eq!(got(app, &path, &key).await.json(), nothing);
        let condition = |kind: &str, name: Value, value: Value| json!({"type": kind, "matchKey": name, "matchValue": value});
        let rules = json!({"redirectRules": [
            {"longUrl": "https://example.org/flyer", "conditions": [condition("query-param", json!("from"), json!("flyer"))]},
            {"longUrl": "https://example.org/mobile", "conditions": [condition("device", Value::Null, json!("mobile"))]},
        ]});
        let set = sent(app, Method::POST, &path, &key, &rules).await;
        assert_eq!(set.status, 200, "{set:?}");
        assert_eq!(set.json()["redirectRules"][0], json!({
            "longUrl": "https://example.org/flyer", "priority": 1, "conditions": [condition("query-param", json!("from"), json!("flyer"))],
        }));
        assert_eq!(got(app, &path, &key).await.json(), set.json());
        assert_eq!(app.visit(&format!("/{code}?from=flyer")).await.header("location"), "https://example.org/flyer");
        assert_eq!(got(app, &format!("{LINKS}/{code}"), &key).await.json()["hasRedirectRules"], true);
        for body in [json!({}), json!({"redirectRules": "x"}), json!({"redirectRules": [{"longUrl": "nonsense", "conditions": []}]}),
            json!({"redirectRules": [{"longUrl": "https://a.example/", "conditions": [condition("geolocation-city-name", Value::Null, json!("Berlin"))]}]})] {
            assert_eq!(problem(&sent(app, Method::POST, &path, &key, &body).await), (400, "invalid-data".into()), "{body}");
        }
        assert_eq!(sent(app, Method::POST, &path, &key, &json!({"redirectRules": []})).await.json(), nothing);
        let other = app.request(Method::PATCH, &format!("/urls/{code}")).bearer_auth(&token);
        let browser = json!({"rules": [{"target_url": "https://a.example/", "when": {"browser": "Firefox"}}]});
        assert_eq!(Response::of(other.json(&browser)).await.status, 200);
        assert_eq!(problem(&got(app, &path, &key).await).0, 501);
    }

    async fn tags_are_counted_renamed_and_deleted(app) {
        let (_, key) = writer(app).await;
        for (slug, tags) in [("tagged-1", json!(["print", "spring"])), ("tagged-2", json!(["print"])), ("tagged-3", json!([]))] {
            made(app, &key, json!({"longUrl": "https://example.org/", "customSlug": slug, "tags": tags})).await;
        }
        app.visit("/tagged-1").await;
        app.written_back("tagged-1", 1).await;
        let tags = async || got(app, "/rest/v3/tags", &key).await.json()["tags"]["data"].clone();
        assert_eq!(tags().await, json!(["print", "spring"]));
        let stats = got(app, "/rest/v3/tags/stats?orderBy=shortUrlsCount-DESC", &key).await.json();
        assert_eq!(stats["tags"]["data"][0], json!({"tag": "print", "shortUrlsCount": 2, "visitsSummary": {"total": 1, "nonBots": 1, "bots": 0}}));
        let page = got(app, "/rest/v3/tags/stats?page=2&itemsPerPage=1&searchTerm=P", &key).await.json();
        assert_eq!((&page["tags"]["data"][0]["tag"], &page["tags"]["pagination"]["pagesCount"]), (&json!("spring"), &json!(2)));
        let rename = async |old: &str, new: &str| sent(app, Method::PUT, "/rest/v3/tags", &key, &json!({"oldName": old, "newName": new})).await;
        assert_eq!(rename("print", "paper").await.status, 204);
        assert_eq!(tags().await, json!(["paper", "spring"]));
        assert_eq!(problem(&rename("paper", "spring").await), (409, "tag-conflict".into()));
        assert_eq!(problem(&rename("print", "x").await), (404, "tag-not-found".into()));
        assert_eq!(problem(&rename("paper", "").await), (400, "invalid-data".into()));
        assert_eq!(problem(&rename("paper", "a,b").await), (400, "invalid-data".into()));
        assert_eq!(got(app, &format!("{LINKS}/tagged-1"), &key).await.json()["tags"], json!(["paper", "spring"]));
        assert_eq!(deleted(app, "/rest/v3/tags?tags%5B%5D=paper&tags%5B%5D=nothing", &key).await.status, 204);
        assert_eq!(tags().await, json!(["spring"]));
    }

    async fn visits_are_totals_and_single_visits_an_empty_list_that_says_so(app) {
        let (token, key) = writer(app).await;
        let code = app.shorten(&token, "https://example.org/").await;
        app.visit(&format!("/{code}")).await;
        app.written_back(&code, 1).await;
        let totals = got(app, "/rest/v3/visits", &key).await.json();
        assert_eq!(totals["visits"]["nonOrphanVisits"], json!({"total": 1, "nonBots": 1, "bots": 0}));
        assert_eq!(totals["visits"]["orphanVisits"]["total"], 0);
        let of_link = format!("short-urls/{code}/visits?page=1&itemsPerPage=20");
        for path in [of_link.as_str(), "visits/orphan", "visits/non-orphan", "tags/a/visits", "domains/DEFAULT/visits"] {
            let list = got(app, &format!("/rest/v3/{path}"), &key).await;
            assert_eq!(list.status, 200, "{path}: {list:?}");
            assert_eq!(list.json()["visits"]["data"], json!([]));
            assert!(list.json()["visits"]["detail"].as_str().unwrap().contains("not kept"), "{list:?}");
        }
        assert_eq!(problem(&got(app, &format!("{LINKS}/nowhere/visits"), &key).await), (404, "short-url-not-found".into()));
        assert_eq!(problem(&deleted(app, &format!("{LINKS}/{code}/visits"), &key).await).0, 405);
    }

    async fn the_service_tells_its_health_its_domain_and_that_it_has_no_hub(app) {
        let (_, key) = writer(app).await;
        for path in ["/rest/health", "/rest/v3/health"] {
            let health = app.get(path).await;
            assert_eq!(health.header("content-type"), "application/health+json");
            assert_eq!((&health.json()["status"], &health.json()["version"]), (&json!("pass"), &json!("4.0.0")));
        }
        let domains = got(app, "/rest/v3/domains", &key).await.json();
        let host = app.server.base.split_once("://").unwrap().1;
        assert_eq!(domains["domains"]["data"].as_array().unwrap().len(), 1);
        assert_eq!((&domains["domains"]["data"][0]["domain"], &domains["domains"]["data"][0]["isDefault"]), (&json!(host), &json!(true)));
        assert_eq!(problem(&got(app, "/rest/v3/mercure-info", &key).await), (501, "mercure-not-configured".into()));
    }

    async fn a_key_is_needed_and_problems_have_their_types(app) {
        let (token, key) = writer(app).await;
        let reader = key_of(app, &token, "read").await;
        let code = app.shorten(&token, "https://example.org/").await;
        assert_eq!(problem(&app.get(LINKS).await), (401, "missing-authentication".into()));
        for wrong in ["nonsense", token.as_str()] {
            assert_eq!(problem(&got(app, LINKS, wrong).await), (401, "invalid-api-key".into()));
        }
        let body = json!({"longUrl": "https://example.org/"});
        let path = format!("{LINKS}/{code}");
        for (method, path) in [(Method::POST, LINKS), (Method::PATCH, &path), (Method::DELETE, &path), (Method::PUT, "/rest/v3/tags"), (Method::DELETE, "/rest/v3/tags")] {
            assert_eq!(problem(&sent(app, method, path, &reader, &body).await).0, 403);
        }
        assert_eq!(got(app, &path, &reader).await.status, 200);
        let own = format!("{}/x", app.server.base);
        for (body, kind) in [
            (json!({}), "invalid-data"), (json!({"longUrl": 5}), "invalid-data"), (json!({"longUrl": ""}), "invalid-data"),
            (json!({"longUrl": "nonsense"}), "invalid-data"), (json!({"longUrl": own}), "invalid-data"),
            (json!({"longUrl": "https://a.example/", "customSlug": code}), "non-unique-slug"),
            (json!({"longUrl": "https://a.example/", "customSlug": "a b"}), "invalid-data"),
            (json!({"longUrl": "https://a.example/", "shortCodeLength": 3}), "invalid-data"),
            (json!({"longUrl": "https://a.example/", "shortCodeLength": 65}), "invalid-data"),
            (json!({"longUrl": "https://a.example/", "validSince": "soon"}), "invalid-data"),
            (json!({"longUrl": "https://a.example/", "validUntil": "2001-01-01"}), "invalid-data"),
            (json!({"longUrl": "https://a.example/", "maxVisits": 0}), "invalid-data"),
            (json!({"longUrl": "https://a.example/", "maxVisits": -3}), "invalid-data"),
            (json!({"longUrl": "https://a.example/", "tags": "a"}), "invalid-data"),
            (json!({"longUrl": "https://a.example/", "tags": [1]}), "invalid-data"),
            (json!({"longUrl": "https://a.example/", "crawlable": "yes"}), "invalid-data"),
            (json!({"longUrl": "https://a.example/", "domain": "other.example"}), "invalid-data"),
            (json!({"longUrl": "https://a.example/", "pathPrefix": "x"}), "invalid-data"),
            (json!([1]), "malformed-request-body"),
        ] {
            assert_eq!(problem(&sent(app, Method::POST, LINKS, &key, &body).await), (400, kind.into()), "{body}");
        }
        assert_eq!(problem(&sent(app, Method::PATCH, &path, &key, &json!({"customSlug": "other"})).await), (400, "invalid-data".into()));
        assert_eq!(problem(&sent(app, Method::PUT, LINKS, &key, &body).await).0, 405);
        assert_eq!(problem(&got(app, &format!("{LINKS}/%ff"), &key).await).0 / 100, 4);
        let large = json!({"longUrl": "a".repeat(200_000)});
        assert_eq!(problem(&sent(app, Method::POST, LINKS, &key, &large).await).0, 413);
    }
}

#[tokio::test]
async fn links_are_limited_as_by_the_api() {
    let app = App::start_with(Mode::Embedded, &[("LIMIT_CREATE", "1")]).await;
    let (_, key) = writer(&app).await;
    let body = json!({"longUrl": "https://example.org/"});
    let mut last = sent(&app, Method::POST, LINKS, &key, &body).await;
    for _ in 0..2 {
        last = sent(&app, Method::POST, LINKS, &key, &body).await;
    }
    assert_eq!(problem(&last).0, 429);
    assert!(!last.header("retry-after").is_empty());
    app.finish().await;
}

//! Hosts beside the service's own: each has codes of its own.

use reqwest::Method;
use serde_json::{Value, json};

use super::abuse::{account, admin, becomes, id_of, remove};
use crate::cli::support::{run, shunt};
use crate::suite::web::admin::administrator;
use crate::suite::web::browser::Browser;
use crate::support::{App, Mode, Response, both_modes, eventually, raw};

const TARGET: &str = "https://example.org/";

async fn send(app: &App, method: Method, token: &str, path: &str, body: &Value) -> Response {
    let request = app.request(method, path).bearer_auth(token);
    Response::of(request.json(body)).await
}

/// Adds a host.
async fn add(app: &App, admin: &str, body: &Value) -> Response {
    send(app, Method::POST, admin, "/admin/domains", body).await
}

/// Adds a host that every account may use.
async fn open(app: &App, host: &str) -> String {
    let admin = admin(app).await;
    let added = add(app, &admin, &json!({"host": host, "owners": "all"})).await;
    assert_eq!(added.status, 200, "{added:?}");
    admin
}

async fn make(app: &App, token: &str, domain: &str, code: &str, target: &str) -> Response {
    let link = json!({"target_url": target, "custom_code": code, "domain": domain});
    send(app, Method::POST, token, "/urls/shorten?view=full", &link).await
}

/// The response of a host.
async fn at(app: &App, host: &str, path: &str) -> Response {
    Response::of(app.request(Method::GET, path).header("host", host)).await
}

/// The status with which a host answers, and where it leads.
async fn leads(app: &App, host: &str, path: &str) -> (u16, String) {
    let response = at(app, host, path).await;
    let location = response.header("location").to_owned();
    (response.status.as_u16(), location)
}

fn found(location: &str) -> (u16, String) {
    (302, location.to_owned())
}

both_modes! {
    async fn a_host_has_codes_of_its_own(app) {
        open(app, "go.test:8443").await;
        let token = app.register().await;
        let elsewhere = make(app, &token, "go.test", "spring", "https://example.org/go").await;
        assert_eq!(elsewhere.status, 200, "{elsewhere:?}");
        let elsewhere = elsewhere.json();
        assert_eq!(elsewhere["short_code"], "spring");
        assert_eq!(elsewhere["domain"], "go.test:8443");
        assert_eq!(elsewhere["short_url"], "http://go.test:8443/spring");
        let own = make(app, &token, "", "spring", "https://example.org/own").await.json();
        assert_eq!(own["domain"], Value::Null);
        make(app, &token, "", "autumn", "https://example.org/autumn").await;
        for path in ["/spring", "/urls/r/spring", "/spring/", "/sprin%67"] {
            assert_eq!(leads(app, "go.test", path).await, found("https://example.org/go"), "{path}");
        }
        assert_eq!(leads(app, "other.test", "/spring").await, found("https://example.org/own"));
        // A code of one host is unknown at every other.
        assert_eq!(leads(app, "go.test", "/autumn").await.0, 404);
        let clicks = async |path: &str| app.get(path).await.json()["clicks"].clone();
        assert_eq!(clicks("/urls/spring/stats?domain=go.test").await, 4);
        assert_eq!(clicks("/urls/spring/stats").await, 1);
        assert_eq!(clicks("/urls/spring/stats/series?domain=GO.test:8443&interval=day").await, 4);
        app.get("/urls/spring/stats?domain=unknown.test").await.is_error(404, "Not Found");
        let again = make(app, &token, "go.test", "spring", TARGET).await;
        again.is_error(409, "custom_code: is taken");
        let deleted = Response::of(
            app.request(Method::DELETE, "/urls/spring?domain=go.test").bearer_auth(&token),
        );
        assert_eq!(deleted.await.status, 204);
        assert_eq!(leads(app, "go.test", "/spring").await.0, 404);
        assert_eq!(leads(app, "other.test", "/spring").await.0, 302);
    }

    async fn a_host_is_found_whatever_its_case_its_port_and_its_dot(app) {
        open(app, "Go.Test").await;
        let token = app.register().await;
        make(app, &token, "go.test", "here", TARGET).await;
        for host in ["go.test", "GO.TEST", "go.test.", "go.test:80", "go.test.:8080"] {
            assert_eq!(leads(app, host, "/here").await, found(TARGET), "{host}");
        }
        let line = "GET http://go.test/here HTTP/1.1\r\nhost: other.test\r\nconnection: close\r\n\r\n";
        let answered = raw::exchange(&app.server.base, line).await;
        assert!(answered.starts_with("HTTP/1.1 302 "), "{answered}");
        let line = "GET http://other.test/here HTTP/1.1\r\nhost: go.test\r\nconnection: close\r\n\r\n";
        let answered = raw::exchange(&app.server.base, line).await;
        assert!(answered.starts_with("HTTP/1.1 404 "), "{answered}");
    }

    async fn a_host_has_a_root_a_place_for_unknown_codes_and_nothing_else(app) {
        let admin = open(app, "go.test").await;
        let token = app.register().await;
        make(app, &token, "go.test", "here", TARGET).await;
        for path in ["/", "/unknown", "/app", "/docs", "/auth/me", "/urls/my", "/a.b", "/admin/domains"] {
            assert_eq!(leads(app, "go.test", path).await.0, 404, "{path}");
        }
        let set = json!({"root_url": "https://example.org/root", "not_found_url": "https://example.org/lost"});
        let edited = send(app, Method::PATCH, &admin, "/admin/domains/go.test", &set).await;
        assert_eq!(edited.json()["root_url"], "https://example.org/root");
        assert_eq!(leads(app, "go.test", "/").await, found("https://example.org/root"));
        for path in ["/unknown", "/urls/r/unknown", "/unknow%6e"] {
            assert_eq!(leads(app, "go.test", path).await, found("https://example.org/lost"), "{path}");
        }
        for path in ["/app", "/docs", "/auth/me", "/a.b"] {
            assert_eq!(leads(app, "go.test", path).await.0, 404, "{path}");
        }
        for path in ["/health", "/robots.txt", "/urls/here/qr"] {
            assert_eq!(leads(app, "go.test", path).await.0, 200, "{path}");
        }
        let page = app.request(Method::GET, "/here+").header("host", "go.test");
        let page = Response::of(page.header("accept", "text/html")).await;
        assert_eq!(page.status, 200);
        assert!(page.text.contains("http://go.test/here"), "{}", page.text);
        let cleared = json!({"root_url": null, "not_found_url": null});
        send(app, Method::PATCH, &admin, "/admin/domains/go.test", &cleared).await;
        assert_eq!(leads(app, "go.test", "/").await.0, 404);
        assert_eq!(leads(app, "go.test", "/unknown").await.0, 404);
    }

    async fn files_for_apps_are_served_as_they_were_given(app) {
        let admin = admin(app).await;
        let links = "[ {\"relation\": []} ]";
        let apple = json!({"applinks": {"details": []}});
        let host = json!({"host": "go.test", "assetlinks": links, "apple_app_site_association": apple});
        assert_eq!(add(app, &admin, &host).await.status, 200);
        let served = at(app, "go.test", "/.well-known/assetlinks.json").await;
        assert_eq!((served.status.as_u16(), served.text.as_str()), (200, links));
        assert_eq!(served.header("content-type"), "application/json");
        let served = at(app, "go.test", "/.well-known/apple-app-site-association").await;
        assert_eq!(served.json(), apple);
        assert_eq!(served.header("content-type"), "application/json");
        let own = app.get("/.well-known/assetlinks.json").await;
        assert_eq!(own.status, 404);
        // Each quotation mark is two bytes in the text of JSON.
        let large = format!("[{}1]", "\"a\",".repeat(16_000));
        let files = json!({"assetlinks": large, "apple_app_site_association": large});
        let changed = send(app, Method::PATCH, &admin, "/admin/domains/go.test", &files).await;
        assert_eq!(changed.status, 200, "{}", changed.text);
        assert_eq!(at(app, "go.test", "/.well-known/assetlinks.json").await.text, large);
        let broken = json!({"assetlinks": "[", "owners": "all"});
        let refused = send(app, Method::PATCH, &admin, "/admin/domains/go.test", &broken).await;
        refused.is_error(422, "assetlinks: must be JSON");
    }

    async fn only_its_owners_make_links_on_a_host(app) {
        let admin = admin(app).await;
        let (email, owner) = account(app).await;
        let other = app.register().await;
        let host = json!({"host": "go.test", "owners": [email]});
        assert_eq!(add(app, &admin, &host).await.json()["owners"], json!([email]));
        let refusal = "domain: must be one of the hosts that you may use: see GET /domains";
        make(app, &other, "go.test", "mine", TARGET).await.is_error(422, refusal);
        make(app, &other, "unknown.test", "mine", TARGET).await.is_error(422, refusal);
        assert_eq!(make(app, &owner, "go.test", "mine", TARGET).await.status, 200);
        assert_eq!(app.get_as(&owner, "/domains").await.json(), json!([{"host": "go.test"}]));
        assert_eq!(app.get_as(&other, "/domains").await.json(), json!([]));
        let bulk = json!([
            {"target_url": TARGET, "domain": "go.test", "custom_code": "bulk1"},
            {"target_url": TARGET, "domain": "unknown.test"},
            {"target_url": TARGET, "custom_code": "bulk1"},
        ]);
        let made = send(app, Method::POST, &owner, "/urls/bulk", &bulk).await.json();
        let statuses: Vec<_> = made.as_array().unwrap().iter().map(|link| link["status"].clone()).collect();
        assert_eq!(statuses, [200, 422, 200], "{made}");
        assert_eq!(leads(app, "go.test", "/bulk1").await.0, 302);
        let forbidden = add(app, &owner, &json!({"host": "more.test"})).await;
        assert_eq!(forbidden.status, 403);
    }

    async fn a_link_stays_on_its_host_with_its_aliases(app) {
        open(app, "go.test").await;
        let token = app.register().await;
        let link = json!({"target_url": TARGET, "custom_code": "main", "aliases": ["more"], "domain": "go.test"});
        let made = send(app, Method::POST, &token, "/urls/shorten?view=full", &link).await;
        assert_eq!(made.json()["aliases"], json!(["more"]));
        assert_eq!(leads(app, "go.test", "/more").await.0, 302);
        assert_eq!(leads(app, "other.test", "/more").await.0, 404);
        let path = "/urls/more?domain=go.test";
        let edited = send(app, Method::PATCH, &token, path, &json!({"aliases": ["other"]})).await;
        assert_eq!(edited.json()["aliases"], json!(["other"]), "{edited:?}");
        assert_eq!(leads(app, "go.test", "/other").await.0, 302);
        assert_eq!(leads(app, "go.test", "/more").await.0, 404);
        let path = "/urls/main?domain=go.test";
        let moved = send(app, Method::PATCH, &token, path, &json!({"domain": "other.test"})).await;
        assert_eq!(moved.status, 422);
        assert!(moved.detail().starts_with("domain: "), "{moved:?}");
        let by_code = app.get_as(&token, "/urls/main/stats/breakdown?by=code&domain=go.test").await;
        assert_eq!(by_code.status, 200, "{by_code:?}");
    }

    async fn lists_have_the_links_of_a_host(app) {
        open(app, "go.test").await;
        let token = app.register().await;
        for code in ["one1", "two2"] {
            make(app, &token, "go.test", code, TARGET).await;
        }
        make(app, &token, "", "own1", TARGET).await;
        let codes = async |query: &str| {
            let list = app.get_as(&token, &format!("/urls/my?{query}")).await;
            assert_eq!(list.status, 200, "{list:?}");
            let list = list.json();
            let codes = list.as_array().unwrap().iter();
            codes.map(|link| link["short_code"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(codes("").await, ["own1", "two2", "one1"]);
        assert_eq!(codes("domain=go.test").await, ["two2", "one1"]);
        assert_eq!(codes("domain=go.test&limit=10&sort=-clicks").await, ["two2", "one1"]);
        let own = app.server.base.strip_prefix("http://").unwrap();
        assert_eq!(codes(&format!("domain={own}")).await, ["own1"]);
        let unknown = app.get_as(&token, "/urls/my?domain=unknown.test").await;
        unknown.is_error(422, "domain: is no host of this service");
        let exported = app.get_as(&token, "/urls/export?format=csv").await.text;
        assert!(exported.lines().next().unwrap().ends_with(",domain,owner"), "{exported}");
        assert_eq!(exported.matches(",go.test").count(), 2, "{exported}");
    }

    async fn no_link_leads_back_to_any_host_of_the_service(app) {
        open(app, "go.test").await;
        let token = app.register().await;
        for target in ["http://go.test/x", "https://GO.test.:99/"] {
            let refused = app.try_shorten(&token, target).await;
            refused.is_error(422, "target_url: must not lead back to this service's own host");
        }
    }

    async fn a_host_with_links_is_not_removed(app) {
        let admin = open(app, "go.test").await;
        let token = app.register().await;
        make(app, &token, "go.test", "here", TARGET).await;
        add(app, &admin, &json!({"host": "GO.test:1"})).await
            .is_error(409, "host: there is this domain already");
        let own = app.server.base.strip_prefix("http://").unwrap();
        add(app, &admin, &json!({ "host": own })).await
            .is_error(422, "host: must not be the service's own host");
        let delete = async || {
            let request = app.request(Method::DELETE, "/admin/domains/go.test");
            Response::of(request.bearer_auth(&admin)).await
        };
        delete().await.is_error(409, "host: the domain has links; delete them first, from bins, too");
        for path in ["/urls/here?domain=go.test", "/urls/trash/here?domain=go.test"] {
            assert_eq!(delete().await.status, 409);
            Response::of(app.request(Method::DELETE, path).bearer_auth(&token)).await;
        }
        assert_eq!(delete().await.status, 204);
        assert_eq!(delete().await.status, 404);
        // It is the service's own host from now on.
        assert_eq!(leads(app, "go.test", "/health").await.0, 200);
        assert_eq!(leads(app, "go.test", "/docs").await.0, 200);
        let audit = app.get_as(&admin, "/admin/audit").await.text;
        for action in ["add_domain", "remove_domain"] {
            assert!(audit.contains(action), "{audit}");
        }
    }

    async fn a_link_of_a_host_is_removed_by_host_and_code(app) {
        let admin = open(app, "go.test").await;
        let token = app.register().await;
        make(app, &token, "go.test", "evil", TARGET).await;
        make(app, &token, "", "evil", TARGET).await;
        assert_eq!(leads(app, "go.test", "/evil").await.0, 302);
        let removed = remove(app, &admin, "link", "GO.test/evil", 410).await;
        id_of(&removed);
        assert_eq!(removed.json()["value"], "go.test/evil");
        assert_eq!(leads(app, "go.test", "/evil").await.0, 410);
        becomes(app, "evil", 302).await;
        let unknown = remove(app, &admin, "link", "unknown.test/evil", 410).await;
        assert_eq!(unknown.status, 422);
    }

    async fn clicks_are_summed_by_host(app) {
        open(app, "go.test").await;
        let token = app.register().await;
        for (host, code, tags) in [("go.test", "first", "a"), ("go.test", "second", "b"), ("", "first", "a")] {
            let link = json!({"target_url": TARGET, "custom_code": code, "domain": host, "tags": [tags]});
            assert_eq!(send(app, Method::POST, &token, "/urls/shorten", &link).await.status, 200);
        }
        let chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36";
        let visit = async |host: &str, path: &str| {
            let request = app.request(Method::GET, path).header("host", host);
            assert_eq!(Response::of(request.header("user-agent", chrome)).await.status, 302);
        };
        for path in ["/first", "/first", "/second"] {
            visit("go.test", path).await;
        }
        visit("own.test", "/first").await;
        // Exact at once, before anything is written back.
        let series = async |query: &str| {
            let path = format!("/urls/my/series?interval=day&{query}");
            let series = app.get_as(&token, &path).await;
            assert_eq!(series.status, 200, "{series:?}");
            series.json()["clicks"].as_u64().unwrap()
        };
        let sums = [
            ("", 4), ("domain=GO.test.", 3), ("domain=127.0.0.1", 1), ("domain=go.test&tag=a", 2), ("tag=a", 3), ("domain=127.0.0.1&tag=b", 0),
        ];
        for (query, clicks) in sums {
            assert_eq!(series(query).await, clicks, "{query}");
        }
        let breakdown = async |query: &str| {
            let path = format!("/urls/my/breakdown?by=browser&{query}");
            app.get_as(&token, &path).await.json()["clicks"].as_u64().unwrap()
        };
        eventually("all clicks have their classes", async || breakdown("").await == 4).await;
        for (query, clicks) in sums {
            assert_eq!(breakdown(query).await, clicks, "{query}");
            // Now that they are written back.
            assert_eq!(series(query).await, clicks, "{query}");
        }
        let bots = app.get_as(&token, "/urls/my/series?interval=day&domain=go.test").await.json();
        assert_eq!(bots["people"], 3, "{bots}");
        for path in ["/urls/my/series", "/urls/my/breakdown"] {
            let refused = app.get_as(&token, &format!("{path}?domain=unknown.test")).await;
            refused.is_error(422, "domain: is no host of this service");
        }
    }

    async fn pages_of_links_are_narrowed_to_a_host(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        assert!(!browser.get("/app").await.text.contains("name=\"domain\""));
        open(app, "go.test").await;
        browser.make(&[("target_url", "https://example.org/there"), ("domain", "go.test")]).await;
        browser.make(&[("target_url", "https://example.org/here")]).await;
        for (query, there, here) in [("", true, true), ("?domain=go.test", true, false), ("?domain=127.0.0.1", false, true)] {
            for path in ["/app", "/app/all"] {
                let page = browser.get(&format!("{path}{query}")).await;
                assert_eq!(page.status, 200, "{path}{query}");
                assert!(page.text.contains("<option selected>go.test</option>") == (query == "?domain=go.test"), "{path}{query}");
                let has = |part: &str| page.text.contains(part);
                let shown = (has("/there"), has("/here"));
                assert_eq!(shown, (there, here), "{path}{query}: {}", page.text);
            }
        }
        assert_eq!(browser.get("/app/all/count?domain=go.test").await.text, "0");
        assert_eq!(browser.get("/app/all/export?domain=go.test").await.status, 200);
        assert_eq!(browser.get("/app?domain=unknown.test").await.status, 422);
    }

    async fn administrators_see_a_code_with_its_host(app) {
        let admin = open(app, "go.test").await;
        let token = app.register().await;
        make(app, &token, "go.test", "evil", "https://there.example/").await;
        make(app, &token, "", "evil", "https://here.example/").await;
        for text in ["go.test/evil", "http://GO.test/evil", "https%3A%2F%2Fgo.test%2Fevil%2F"] {
            let found = app.get_as(&admin, &format!("/admin/links?q={text}")).await.json();
            let found = found["links"].as_array().unwrap();
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert_eq!((&found[0]["short_code"], &found[0]["domain"]), (&json!("evil"), &json!("go.test")));
        }
        let all = app.get_as(&admin, "/admin/links?q=evil").await.json();
        assert_eq!(all["links"].as_array().unwrap().len(), 2, "{all}");
        for (domain, status) in [(Value::Null, 202), (json!("GO.test"), 202), (json!("other.test"), 422)] {
            let report = json!({"short_code": "evil", "domain": domain, "reason": "phishing"});
            let sent = app.request(Method::POST, "/report").json(&report);
            assert_eq!(Response::of(sent).await.status, status, "{domain}");
        }
        let reports = app.get_as(&admin, "/admin/reports").await.text;
        assert!(reports.contains("go.test"), "{reports}");

        let mut browser = administrator(app).await;
        let page = browser.get("/app/admin/links?q=go.test%2Fevil").await.text;
        for part in ["<strong>go.test/evil</strong>", "/app/admin/removals?kind=link&#38;value=go.test%2Fevil"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        let fields = [("kind", "link"), ("value", "go.test/evil"), ("reason", "spam"), ("status", "410")];
        let asked = browser.send("/app/admin/removals", "/app/admin/removals/ask", &fields).await;
        assert!(asked.text.contains("Remove go.test/evil?"), "{asked:?}");
        assert_eq!(browser.send("/app/admin/removals", "/app/admin/removals", &fields).await.status, 303);
        assert!(browser.get("/app/admin/removals").await.text.contains("go.test/evil"));
        assert_eq!(leads(app, "go.test", "/evil").await.0, 410);
        assert_eq!(leads(app, "own.test", "/evil").await.0, 302);
        let audit = app.get_as(&admin, "/admin/audit").await.text;
        assert!(audit.contains("link go.test/evil: spam"), "{audit}");
    }

    async fn ten_thousand_hosts_are_served_and_one_more_is_refused(app) {
        const OTHERS: &str = "WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < 9999)
            INSERT INTO domains (host, name, root_url, for_all, created_at)
            SELECT 'h' || n || '.test', 'h' || n || '.test', $1, n > 0, 1800000000000000 FROM counted";
        let admin = open(app, "go.test").await;
        app.backend.execute(OTHERS, "https://example.org/root").await;
        let root = found("https://example.org/root");
        eventually("all hosts are known", async || leads(app, "h9999.test", "/").await == root).await;
        let refused = add(app, &admin, &json!({"host": "one-more.test"})).await;
        refused.is_error(409, "host: there are as many domains as there may be");
        let started = std::time::Instant::now();
        let set = json!({"root_url": TARGET});
        let edited = send(app, Method::PATCH, &admin, "/admin/domains/h5000.test", &set).await;
        assert_eq!(edited.status, 200, "{edited:?}");
        eprintln!("a change beside 10,000 hosts: {:?}", started.elapsed());
        assert_eq!(leads(app, "h5000.test", "/").await, found(TARGET));
        let token = app.register().await;
        assert_eq!(make(app, &token, "h5000.test", "spring", TARGET).await.status, 200);
        assert_eq!(leads(app, "h5000.test", "/spring").await, found(TARGET));
        let started = std::time::Instant::now();
        let page = app.get_as(&admin, "/admin/domains").await.json();
        assert_eq!(page.as_array().unwrap().len(), 10_000);
        eprintln!("the list of 10,000 hosts: {:?}", started.elapsed());
    }

    async fn proxies_may_ask_for_a_host(app) {
        open(app, "go.test").await;
        for (host, status) in [("go.test", 200), ("GO.test.", 200), ("unknown.test", 404), ("", 404)] {
            let asked = app.get(&format!("/domains/ask?domain={host}")).await;
            assert_eq!(asked.status, status, "{host}");
        }
        assert_eq!(app.get("/domains/ask").await.status, 422);
    }
}

#[tokio::test]
async fn another_instance_learns_of_a_host_and_of_its_end() {
    let app = App::start(crate::support::Mode::Production).await;
    let followed = [("REDIS_URL", "")];
    for settings in [&[][..], &followed[..]] {
        let other = app.another(settings).await;
        let knows = async |host: &str| {
            let ask = format!("{}/domains/ask?domain={host}", other.base);
            reqwest::get(ask).await.unwrap().status() == 200
        };
        let admin = open(&app, "go.test").await;
        eventually("the other instance knows the host", async || {
            knows("go.test").await
        })
        .await;
        let path = "/admin/domains/go.test";
        let deleted = app.request(Method::DELETE, path).bearer_auth(&admin);
        assert_eq!(Response::of(deleted).await.status, 204);
        eventually("it knows that the host is gone", async || {
            !knows("go.test").await
        })
        .await;
    }
    app.finish().await;
}

/// The command line takes the short URL of a host for its link.
#[tokio::test(flavor = "multi_thread")]
async fn links_of_a_host_are_made_listed_shown_and_deleted_on_the_command_line() {
    let app = App::start(Mode::Embedded).await;
    open(&app, "go.test").await;
    let token = app.register().await;
    let key = json!({"name": "a script", "scope": "write"});
    let key = send(&app, Method::POST, &token, "/auth/keys", &key).await;
    let key = key.json()["key"].as_str().unwrap().to_owned();
    let runs = |line: &[&str]| {
        let mut command = shunt();
        command.args(line).args(["--server", &app.server.base]);
        run(command.env("SHUNT_KEY", &key), "")
    };
    let line = ["shorten", TARGET, "--code", "spring", "--domain", "go.test"];
    let short_url = runs(&line).line();
    assert_eq!(short_url, "http://go.test/spring");
    runs(&["shorten", TARGET, "--code", "spring"]).line();
    let listed = runs(&["list", "--json", "--domain", "go.test"]).json();
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    let shown = runs(&["show", "--json", "go.test/spring"]).json();
    assert_eq!(shown["domain"], "go.test");
    runs(&["edit", &short_url, "--title", "Spring"]).succeeds();
    assert_eq!(runs(&["stats", "--json", &short_url]).json()["clicks"], 0);
    runs(&["rm", "go.test/spring"]).succeeds();
    runs(&["show", &short_url]).fails(2, "neither a short code nor a short link");
    assert_eq!(
        runs(&["show", "--json", "spring"]).json()["domain"],
        json!(null)
    );
    app.finish().await;
}

//! Links of several hosts of another service, by the command line and by the page.

use std::fs;

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::abuse::{admin, send};
use super::web::browser::Browser;
use crate::cli::support::{Finished, run, shunt};
use crate::support::{App, both_modes, unique};

/// An owner of a key, who imports into the service of the test.
struct Importer<'a> {
    app: &'a App,
    key: String,
    folder: TempDir,
}

impl<'a> Importer<'a> {
    async fn of(app: &'a App) -> Self {
        let token = app.register().await;
        let key = json!({"name": "import", "scope": "write"});
        let key = send(app, Method::POST, &token, "/auth/keys", &key).await;
        Self {
            app,
            key: key.json()["key"].as_str().unwrap().to_owned(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn runs(&self, line: &[&str]) -> Finished {
        let mut command = shunt();
        let home = self.folder.path();
        let command = command.args(line).args(["--server", &self.app.server.base]);
        run(command.env("SHUNT_KEY", &self.key).env("HOME", home), "")
    }

    /// Imports a file; more flags may follow.
    fn imports(&self, from: &str, file: &str, more: &[&str]) -> Finished {
        let path = self.folder.path().join("links.json");
        fs::write(&path, file).unwrap();
        let path = path.to_str().unwrap();
        self.runs(&[&["import", path, "--from", from], more].concat())
    }

    fn refused(&self) -> String {
        fs::read_to_string(self.folder.path().join("links.json.refused.csv")).unwrap()
    }
}

async fn add(app: &App, host: &str) {
    let host = json!({"host": host, "owners": "all"});
    let added = send(
        app,
        Method::POST,
        &admin(app).await,
        "/admin/domains",
        &host,
    )
    .await;
    assert_eq!(added.status, 200, "{added:?}");
}

/// Where a code of a host leads.
async fn leads(app: &App, host: &str, code: &str) -> String {
    let request = app.request(Method::GET, &format!("/{code}"));
    let response = crate::support::Response::of(request.header("host", host)).await;
    response.header("location").to_owned()
}

fn target(name: &str) -> String {
    format!("https://example.org/{name}")
}

/// The same code at a host that is served here, at a host that moves, and at a host that is not served.
fn dub() -> String {
    let link = |domain: &str| json!({"domain": domain, "key": "spring", "url": target(domain), "clicks": 1});
    json!([
        link("s.test"),
        link("GO.test"),
        link("lost.test"),
        link("dub.sh")
    ])
    .to_string()
}

both_modes! {
    async fn links_of_a_second_host_go_to_that_host(app) {
        add(app, "go.test").await;
        let ada = Importer::of(app).await;
        let tried = ada.imports("dub", &dub(), &["--dry-run"]);
        assert_eq!(tried.code, 1, "{tried:?}");
        assert!(tried.out.contains("note        links of s.test would be at the service's own host\n"), "{tried:?}");
        let refusal = "domain: lost.test is not a host of this service, and the service's own host has the links of s.test; \
                       have the host added, or import the link without its host";
        assert!(tried.err.contains(refusal), "{tried:?}");
        let done = ada.imports("dub", &dub(), &[]);
        assert_eq!(done.code, 1, "{done:?}");
        assert!(done.out.starts_with("imported    2 links\n"), "{done:?}");
        assert!(done.out.contains("note        links of s.test are at the service's own host\n"), "{done:?}");
        assert_eq!(leads(app, "go.test", "spring").await, target("GO.test"));
        assert_eq!(leads(app, "s.test", "spring").await, target("s.test"));
        // Nothing is made twice, and the refused link can be imported once its host is there.
        let again = ada.imports("dub", &dub(), &["--json"]);
        let again: Value = serde_json::from_str(&again.out).unwrap();
        assert_eq!((&again["already_there"], &again["moved_from"]), (&json!(2), &json!("s.test")));
        assert!(ada.refused().contains(",spring,lost.test,"), "{}", ada.refused());
        add(app, "lost.test").await;
        // The code is taken at the service's own host.
        let corrected: Vec<_> = ada.refused().lines().filter(|line| !line.contains("dub.sh")).map(str::to_owned).collect();
        ada.imports("shunt", &corrected.join("\n"), &[]).succeeds();
        assert_eq!(leads(app, "lost.test", "spring").await, target("lost.test"));
    }

    async fn a_domain_of_kutt_or_shlink_that_is_not_served_is_refused_by_its_name(app) {
        add(app, "go.test").await;
        let ada = Importer::of(app).await;
        let kutt = |code: &str, domain: Value| json!({"address": code, "target": target(code), "domain": domain, "password": false});
        let file = json!({"data": [kutt("kutt-2", "lost.test".into()), kutt("kutt-1", Value::Null), kutt("kutt-1", "go.test".into())]});
        let done = ada.imports("kutt", &file.to_string(), &[]);
        assert!(done.out.starts_with("imported    2 links\n"), "{done:?}");
        assert!(ada.refused().contains("domain: lost.test is not a host of this service;"), "{}", ada.refused());
        assert_eq!(leads(app, "go.test", "kutt-1").await, target("kutt-1"));
        let shlink = |code: &str, domain: Value| json!({
            "shortCode": code, "longUrl": target(code), "domain": domain, "dateCreated": "2026-01-01T00:00:00Z", "forwardQuery": false,
        });
        let file = json!({"shortUrls": {"data": [
            shlink("shlink-2", "lost.test".into()), shlink("shlink-1", Value::Null), shlink("shlink-1", "go.test".into()),
        ]}});
        let done = ada.imports("shlink", &file.to_string(), &[]);
        assert!(done.out.starts_with("imported    2 links\n"), "{done:?}");
        assert!(ada.refused().contains(",shlink-2,lost.test,"), "{}", ada.refused());
        assert_eq!(leads(app, "go.test", "shlink-1").await, target("shlink-1"));
    }

    async fn a_short_url_at_another_host_than_its_link_is_left_behind_and_named(app) {
        add(app, "go.test").await;
        let ada = Importer::of(app).await;
        let file = json!({"links": [{
            "link": "https://bit.ly/3jGoAb1", "custom_bitlinks": ["https://s.test/video", "https://go.test/film"], "long_url": target("video"),
        }]});
        let out = ada.imports("bitly", &file.to_string(), &[]).succeeds();
        assert!(out.contains("short URL left behind, because it is at another host than the link: https://go.test/film"), "{out}");
        for code in ["video", "3jGoAb1"] {
            assert_eq!(leads(app, "s.test", code).await, target("video"));
        }
        assert_eq!(leads(app, "go.test", "film").await, "");
    }

    async fn the_page_puts_links_to_their_hosts_as_the_command_line_does(app) {
        let host = format!("{}.test", unique());
        add(app, &host).await;
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        let code = unique();
        let file = dub().replace("GO.test", &host).replace("spring", &code);
        let made = browser.send("/app/import", "/app/import", &[("from", "dub"), ("table", &file), ("action", "make")]).await;
        for words in ["2 links were created. 2 rows are refused.", "domain: lost.test is not a host of this service", &format!("{host}/{code}")] {
            assert!(made.text.contains(words), "{words}: {}", made.text);
        }
        assert_eq!(leads(app, &host, &code).await, target(&host));
        assert_eq!(leads(app, "s.test", &code).await, target("s.test"));
    }
}

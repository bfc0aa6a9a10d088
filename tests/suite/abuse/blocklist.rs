//! `BLOCKLIST` and `NOINDEX`

use std::fs;

use reqwest::Method;
use serde_json::json;
use tempfile::TempDir;

use super::{account, admin, becomes, id_of, is_removed, remove, send, status_of};
use crate::support::{App, Backend, Mode, Response, eventually, links, refused};

const REFUSED: &str = "target_url: must not lead to a target that this service refuses";

/// A service with this blocklist, and the folder of the list.
async fn with_list(mode: Mode, text: &str) -> (App, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("blocklist");
    fs::write(&path, text).unwrap();
    let app = App::start_with(mode, &[("BLOCKLIST", path.to_str().unwrap())]).await;
    (app, folder)
}

async fn gauge(app: &App, name: &str) -> String {
    let metrics = app.get("/metrics").await.text;
    let value = metrics
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{name} ")));
    value.unwrap_or_default().to_owned()
}

async fn a_target_on_the_list_is_refused_everywhere(mode: Mode) {
    let (app, _folder) = with_list(
        mode,
        "*.bad.example\ndocs.example/forms/a\n!good.bad.example\n",
    )
    .await;
    let token = app.register().await;
    let kept = app.shorten(&token, "https://good.bad.example/").await;
    for target in [
        "https://bad.example/",
        "http://www.bad.example/",
        "https://docs.example/forms/a/b",
    ] {
        app.try_shorten(&token, target).await.is_error(422, REFUSED);
        let edit = json!({ "target_url": target });
        send(&app, Method::PATCH, &token, &format!("/urls/{kept}"), &edit)
            .await
            .is_error(422, REFUSED);
        let many = json!([{ "target_url": target }]);
        let results = send(&app, Method::POST, &token, "/urls/bulk", &many)
            .await
            .json();
        assert_eq!(
            (&results[0]["status"], &results[0]["detail"]),
            (&json!(422), &json!(REFUSED))
        );
        let refused = REFUSED.replace("target_url", "fallback_url");
        let (link, edit) = (
            json!([{ "target_url": "https://example.org/", "fallback_url": target }]),
            json!({ "fallback_url": target }),
        );
        let alone = send(&app, Method::POST, &token, "/urls/shorten", &link[0]).await;
        alone.is_error(422, &refused);
        let path = format!("/urls/{kept}");
        let edited = send(&app, Method::PATCH, &token, &path, &edit).await;
        edited.is_error(422, &refused);
        let many = send(&app, Method::POST, &token, "/urls/bulk", &link).await;
        assert_eq!(many.json()[0]["detail"], refused);
        let dry = send(&app, Method::POST, &token, "/urls/bulk?dry_run=true", &link).await;
        assert_eq!(dry.json()[0]["detail"], refused);
    }
    assert_eq!(
        app.try_shorten(&token, "https://docs.example/forms/b")
            .await
            .status,
        200
    );
    app.finish().await;
}

/// Makes a link that adds its visitor's query.
async fn forwarding(app: &App, token: &str, target: &str, max_clicks: Option<u32>) -> String {
    let mut body = links::forwarding(target);
    body["max_clicks"] = json!(max_clicks);
    let made = send(app, Method::POST, token, "/urls/shorten", &body).await;
    assert_eq!(made.status, 200, "{made:?}");
    made.json()["short_code"].as_str().unwrap().to_owned()
}

async fn a_visitors_query_does_not_lead_to_a_listed_url(mode: Mode) {
    let text =
        "files.example/x?id=1&to=a b\nform.example\n!form.example/f?id=7\nplain.example/bad\n";
    let (app, folder) = with_list(mode, text).await;
    let token = app.register().await;
    let half = forwarding(&app, &token, "https://files.example/x?id=1", None).await;
    let none = forwarding(&app, &token, "https://files.example//x/", None).await;
    let once = forwarding(&app, &token, "https://files.example/x?id=1", Some(1)).await;
    let excepted = forwarding(&app, &token, "https://form.example/f?id=7", None).await;
    let plain = forwarding(&app, &token, "https://plain.example/good", None).await;
    for path in [
        format!("/{half}?to=a%20b"),
        format!("/{half}?%74o=a+b&x"),
        format!("/urls/r/{half}?x&&to=a+b#part"),
        format!("/{none}?to=a+b&id=1"),
        format!("/{none}/?id=1&to=a%20b"),
        format!("/{once}?to=a+b"),
        format!("/{excepted}?id=8"),
        format!("/{excepted}?to=elsewhere"),
    ] {
        // The second time the link is in memory.
        for _ in 0..2 {
            let refused = app.get(&path).await;
            is_removed(&refused, 410);
            let head = Response::of(app.request(Method::HEAD, &path)).await;
            assert_eq!(
                (head.status.as_u16(), head.header("location")),
                (410, ""),
                "{path}"
            );
        }
        let page = app
            .request(Method::GET, &path)
            .header("accept", "text/html");
        let page = Response::of(page).await;
        assert_eq!(page.status, 410, "{path}");
        assert!(
            page.header("content-type").starts_with("text/html"),
            "{page:?}"
        );
    }
    for (path, location) in [
        (format!("/{half}"), "https://files.example/x?id=1"),
        (format!("/{half}?to=b"), "https://files.example/x?id=1&to=b"),
        (
            format!("/{none}?to=a+b"),
            "https://files.example//x/?to=a+b",
        ),
        (format!("/{once}?to=b"), "https://files.example/x?id=1&to=b"),
        (format!("/{excepted}?id=7"), "https://form.example/f?id=7"),
        (
            format!("/{plain}?id=1&to=a+b"),
            "https://plain.example/good?id=1&to=a+b",
        ),
    ] {
        let visit = app.visit(&path).await;
        assert_eq!(visit.header("location"), location, "{path}: {visit:?}");
    }
    // Refused visits are not counted, and use no click up.
    for (code, clicks) in [
        (&half, 2),
        (&none, 1),
        (&once, 1),
        (&excepted, 1),
        (&plain, 1),
    ] {
        assert_eq!(app.clicks(code).await, clicks, "{code}");
    }
    // A list that is put in force later holds for links that are known.
    let path = folder.path().join("blocklist");
    fs::write(&path, "plain.example/good?id=2\n").unwrap();
    app.server.signal("HUP");
    eventually("the list is in force", async || {
        app.get(&format!("/{plain}?id=2")).await.status == 410
    })
    .await;
    assert_eq!(app.visit(&format!("/{half}?to=a+b")).await.status, 302);
    app.server_only().await;
}

async fn every_spelling_of_a_listed_url_is_refused_and_removed(mode: Mode) {
    const SPELLINGS: [&str; 16] = [
        "https://docs.example//bad",
        "https://docs.example/./bad",
        "https://docs.example/x/%2e%2e/bad",
        "https://docs.example/x%2f..%2fbad",
        "https://docs.example/b%61d/",
        "https://docs.example/bad;v=1",
        "https://DOCS%2eexample.:8443/bad#top",
        "http://198.51.100.7/",
        "http://3325256711/",
        "http://0306.063.0144.07/",
        "http://[::ffff:198.51.100.7]/",
        "http://[::198.51.100.7]/",
        "http://[64:ff9b::c633:6407]/",
        "http://[64:ff9b:1::c633:6407]/",
        "http://[2002:c633:6407::1]/",
        "http://[2600::5efe:198.51.100.7]/",
    ];
    let (app, folder) = with_list(mode, "").await;
    let token = app.register().await;
    let mut codes = Vec::new();
    for target in SPELLINGS {
        codes.push(app.shorten(&token, target).await);
    }
    let good = app.shorten(&token, "http://[64:ff9b::c633:6408]/").await;
    let path = folder.path().join("blocklist");
    fs::write(&path, "docs.example/bad\n[64:ff9b::198.51.100.7]\n").unwrap();
    app.server.signal("HUP");
    for (code, target) in codes.iter().zip(SPELLINGS) {
        becomes(&app, code, 410).await;
        app.try_shorten(&token, target).await.is_error(422, REFUSED);
    }
    assert_eq!(app.visit(&format!("/{good}")).await.status, 302);
    app.server_only().await;
}

async fn links_are_removed_and_restored_with_the_list(mode: Mode) {
    let (app, folder) = with_list(mode, "").await;
    let path = folder.path().join("blocklist");
    let (admin, token) = (admin(&app).await, app.register().await);
    let bad = app.shorten(&token, "https://bad.example/").await;
    let good = app.shorten(&token, "https://good.example/").await;
    let fallback =
        json!({ "target_url": "https://good.example/", "fallback_url": "https://bad.example/" });
    let fallback = send(&app, Method::POST, &token, "/urls/shorten", &fallback).await;
    let fallback = fallback.json()["short_code"].as_str().unwrap().to_owned();
    fs::write(&path, "bad.example\n").unwrap();
    app.server.signal("HUP");
    becomes(&app, &bad, 410).await;
    becomes(&app, &fallback, 410).await;
    assert_eq!(status_of(&app, &token, &bad).await, "removed");
    assert_eq!(app.visit(&format!("/{good}")).await.status, 302);
    let listed = app.get_as(&admin, "/admin/removals").await.json();
    assert_eq!(listed["removals"][0]["kind"], "blocklist");
    // A wrong file changes nothing.
    fs::write(&path, "good.example\n*.com\n").unwrap();
    eventually("the file is refused", async || {
        gauge(&app, "shunt_blocklist_invalid").await == "1"
    })
    .await;
    let why = "BLOCKLIST: line 2: must not be a public suffix";
    eventually("the log says why", async || app.server.log().contains(why)).await;
    assert_eq!(app.visit(&format!("/{good}")).await.status, 302);
    assert_eq!(app.get(&format!("/{bad}")).await.status, 410);
    fs::write(&path, "# nothing any more\n").unwrap();
    becomes(&app, &bad, 302).await;
    becomes(&app, &fallback, 302).await;
    assert_eq!(gauge(&app, "shunt_blocklist_entries").await, "0");
    app.server_only().await;
}

#[tokio::test]
async fn a_target_on_the_list_is_refused_everywhere_embedded() {
    a_target_on_the_list_is_refused_everywhere(Mode::Embedded).await;
}

#[tokio::test]
async fn a_target_on_the_list_is_refused_everywhere_in_production() {
    a_target_on_the_list_is_refused_everywhere(Mode::Production).await;
}

#[tokio::test]
async fn a_visitors_query_does_not_lead_to_a_listed_url_embedded() {
    a_visitors_query_does_not_lead_to_a_listed_url(Mode::Embedded).await;
}

#[tokio::test]
async fn a_visitors_query_does_not_lead_to_a_listed_url_in_production() {
    a_visitors_query_does_not_lead_to_a_listed_url(Mode::Production).await;
}

#[tokio::test]
async fn every_spelling_of_a_listed_url_is_refused_and_removed_embedded() {
    every_spelling_of_a_listed_url_is_refused_and_removed(Mode::Embedded).await;
}

#[tokio::test]
async fn every_spelling_of_a_listed_url_is_refused_and_removed_in_production() {
    every_spelling_of_a_listed_url_is_refused_and_removed(Mode::Production).await;
}

#[tokio::test]
async fn links_are_removed_and_restored_with_the_list_embedded() {
    links_are_removed_and_restored_with_the_list(Mode::Embedded).await;
}

#[tokio::test]
async fn links_are_removed_and_restored_with_the_list_in_production() {
    links_are_removed_and_restored_with_the_list(Mode::Production).await;
}

#[tokio::test]
async fn an_instance_without_a_list_takes_nothing_back_that_one_with_a_list_removed() {
    let (app, folder) = with_list(Mode::Production, "bad.example\n").await;
    let (admin, (email, token)) = (admin(&app).await, account(&app).await);
    // Made while the list was another one.
    let insert = "INSERT INTO links (short_code, target_url, owner_id, created_at)
        SELECT 'listed-1', 'https://bad.example/', id, now_micros() FROM users WHERE email = $1";
    app.backend.execute(insert, &email).await;
    fs::write(folder.path().join("blocklist"), "bad.example\n#\n").unwrap();
    app.server.signal("HUP");
    becomes(&app, "listed-1", 410).await;
    let other = App::of(Backend::new(Mode::Embedded).await, app.another(&[]).await);
    // Both work on this one; the list would have been given up before.
    let good = app.shorten(&token, "https://other.example/").await;
    id_of(&remove(&other, &admin, "host", "other.example", 410).await);
    becomes(&other, &good, 410).await;
    assert_eq!(other.get("/listed-1").await.status, 410);
    let listed = other.get_as(&admin, "/admin/removals").await.json();
    let of_list = listed["removals"].as_array().unwrap().iter();
    let of_list = of_list.filter(|removal| removal["kind"] == "blocklist");
    let links: Vec<_> = of_list.map(|removal| &removal["links"]).collect();
    assert_eq!(links, [1]);
    other.server_only().await;
    app.server_only().await;
}

#[test]
fn a_wrong_list_stops_the_start_with_the_number_of_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("blocklist");
    fs::write(&path, "example.org\nhttps://docs.example/\n").unwrap();
    let database = format!("sqlite://{}", folder.path().join("shunt.db").display());
    let settings = [
        ("DATABASE_URL", database),
        ("BLOCKLIST", path.display().to_string()),
    ];
    let ended = refused(&settings.map(|(name, value)| (name.to_owned(), value)));
    assert_eq!(ended.status.code(), Some(1));
    assert!(
        ended.stderr.contains("BLOCKLIST: ") && ended.stderr.contains("line 2: "),
        "{}",
        ended.stderr
    );
}

#[tokio::test]
async fn redirects_ask_search_engines_not_to_list_them_where_it_is_set() {
    for (value, expected) in [("true", "noindex"), ("false", "")] {
        let app = App::start_with(Mode::Embedded, &[("NOINDEX", value)]).await;
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let encoded = format!("/%{:02x}{}", code.as_bytes()[0], &code[1..]);
        for path in [format!("/{code}"), format!("/urls/r/{code}"), encoded] {
            for method in [Method::GET, Method::HEAD] {
                let answered = Response::of(app.request(method, &path)).await;
                assert_eq!(
                    (answered.status.as_u16(), answered.header("x-robots-tag")),
                    (302, expected),
                    "{path}"
                );
            }
        }
        app.server_only().await;
    }
}

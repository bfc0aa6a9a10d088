//! `BLOCKLIST` and `NOINDEX`

use std::fs;

use reqwest::Method;
use serde_json::json;
use tempfile::TempDir;

use super::{account, admin, becomes, id_of, remove, send, status_of};
use crate::support::{App, Backend, Mode, Response, eventually, refused};

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
    }
    assert_eq!(
        app.try_shorten(&token, "https://docs.example/forms/b")
            .await
            .status,
        200
    );
    app.finish().await;
}

async fn links_are_removed_and_put_back_with_the_list(mode: Mode) {
    let (app, folder) = with_list(mode, "").await;
    let path = folder.path().join("blocklist");
    let (admin, token) = (admin(&app).await, app.register().await);
    let bad = app.shorten(&token, "https://bad.example/").await;
    let good = app.shorten(&token, "https://good.example/").await;
    fs::write(&path, "bad.example\n").unwrap();
    app.server.signal("HUP");
    becomes(&app, &bad, 410).await;
    assert_eq!(status_of(&app, &token, &bad).await, "removed");
    assert_eq!(app.visit(&format!("/{good}")).await.status, 302);
    let listed = app.get_as(&admin, "/admin/removals").await.json();
    assert_eq!(listed["removals"][0]["kind"], "blocklist");
    // A wrong file changes nothing.
    fs::write(&path, "good.example\n*.com\n").unwrap();
    eventually("the file is refused", async || {
        gauge(&app, "shunt_blocklist_refused").await == "1"
    })
    .await;
    let why = "BLOCKLIST: line 2: must not be all of a public suffix";
    eventually("the log says why", async || app.server.log().contains(why)).await;
    assert_eq!(app.visit(&format!("/{good}")).await.status, 302);
    assert_eq!(app.get(&format!("/{bad}")).await.status, 410);
    fs::write(&path, "# nothing any more\n").unwrap();
    becomes(&app, &bad, 302).await;
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
async fn links_are_removed_and_put_back_with_the_list_embedded() {
    links_are_removed_and_put_back_with_the_list(Mode::Embedded).await;
}

#[tokio::test]
async fn links_are_removed_and_put_back_with_the_list_in_production() {
    links_are_removed_and_put_back_with_the_list(Mode::Production).await;
}

#[tokio::test]
async fn an_instance_without_a_list_takes_nothing_back_that_one_with_a_list_removed() {
    let (app, folder) = with_list(Mode::Production, "bad.example\n").await;
    let (admin, (email, token)) = (admin(&app).await, account(&app).await);
    // Made while the list was another one.
    let insert = "INSERT INTO links (short_code, target_url, owner_id, created_at)
        SELECT 'listed-1', 'https://bad.example/', id, now() FROM users WHERE email = $1";
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

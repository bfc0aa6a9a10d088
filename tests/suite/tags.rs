//! Tags of the caller's own links: listed, renamed, merged, taken off.

use reqwest::Method;
use serde_json::{Value, json};

use super::abuse::{admin, remove};
use crate::support::{App, Response, both_modes};

const TARGET: &str = "https://example.org/";

async fn send(app: &App, method: Method, token: &str, path: &str, body: &Value) -> Response {
    let request = app.request(method, path).bearer_auth(token);
    Response::of(request.json(body)).await
}

/// Makes a link with these tags, and returns its code.
async fn make(app: &App, token: &str, tags: &[&str]) -> String {
    let link = json!({"target_url": TARGET, "tags": tags});
    let made = send(app, Method::POST, token, "/urls/shorten", &link).await;
    assert_eq!(made.status, 200, "{made:?}");
    made.json()["short_code"].as_str().unwrap().to_owned()
}

async fn tags(app: &App, token: &str) -> Value {
    let listed = app.get_as(token, "/urls/tags").await;
    assert_eq!(listed.status, 200, "{listed:?}");
    listed.json()
}

fn tag(name: &str, links: u64, clicks: u64) -> Value {
    json!({"tag": name, "links": links, "clicks": clicks})
}

async fn rename(app: &App, token: &str, old: &str, new: &str) -> Response {
    let path = format!("/urls/tags/{old}");
    send(app, Method::PATCH, token, &path, &json!({"tag": new})).await
}

async fn delete(app: &App, token: &str, tag: &str) -> Response {
    let request = app.request(Method::DELETE, &format!("/urls/tags/{tag}"));
    Response::of(request.bearer_auth(token)).await
}

async fn tags_of(app: &App, token: &str, code: &str) -> Value {
    let shown = app.get_as(token, &format!("/urls/{code}")).await;
    shown.json()["tags"].clone()
}

async fn key(app: &App, token: &str, scope: &str) -> String {
    let wanted = json!({"name": scope, "scope": scope});
    let made = send(app, Method::POST, token, "/auth/keys", &wanted).await;
    made.json()["key"].as_str().unwrap().to_owned()
}

both_modes! {
    async fn tags_are_listed_by_their_bytes_with_every_click_of_their_links(app) {
        let token = app.register().await;
        assert_eq!(tags(app, &token).await, json!([]));
        let both = make(app, &token, &["print", "spring"]).await;
        let one = make(app, &token, &["print", "Été"]).await;
        make(app, &token, &["Print", "été", "b"]).await;
        make(app, &token, &[]).await;
        let list = |of_both: u64, of_one: u64| json!([
            tag("Print", 1, 0), tag("b", 1, 0), tag("print", 2, of_both + of_one), tag("spring", 1, of_both), tag("Été", 1, of_one), tag("été", 1, 0),
        ]);
        // Clicks count at once, wherever they are.
        for clicks in 1..=5 {
            app.visit(&format!("/{both}")).await;
            assert_eq!(tags(app, &token).await, list(clicks, 0));
        }
        app.written_back(&both, 5).await;
        app.visit(&format!("/{one}")).await;
        assert_eq!(tags(app, &token).await, list(5, 1));
        app.delete(&token, &one).await;
        let left = json!([tag("Print", 1, 0), tag("b", 1, 0), tag("print", 1, 5), tag("spring", 1, 5), tag("été", 1, 0)]);
        assert_eq!(tags(app, &token).await, left);
    }

    async fn a_list_of_tags_is_read_in_pages(app) {
        let token = app.register().await;
        make(app, &token, &["a b", "c&d", "e", "é"]).await;
        let mut path = Some("/urls/tags?limit=3".to_owned());
        let mut names = Vec::new();
        let mut pages = 0;
        while let Some(next) = path {
            let page = app.get_as(&token, &next).await;
            assert_eq!(page.status, 200, "{page:?}");
            names.extend(page.json().as_array().unwrap().iter().map(|tag| tag["tag"].as_str().unwrap().to_owned()));
            let link = page.header("link").strip_prefix(&format!("<{}", app.server.base));
            path = link.and_then(|link| Some(link.strip_suffix(">; rel=\"next\"")?.to_owned()));
            pages += 1;
        }
        assert_eq!((pages, names.join("|")), (2, "a b|c&d|e|é".to_owned()));
        for (query, why) in [
            ("limit=0", "limit: must be a whole number from 1 to 1000"),
            ("cursor=a,b", "cursor: must be the cursor of a page's Link header"),
            ("domain=no.test", "domain: is no host of this service"),
            ("limits=1", "limits: is not known here; did you mean limit?"),
        ] {
            app.get_as(&token, &format!("/urls/tags?{query}")).await.is_error(422, why);
        }
    }

    async fn a_renamed_tag_keeps_its_place_its_clicks_and_gives_its_links_a_revision(app) {
        let (token, other) = (app.register().await, app.register().await);
        let code = make(app, &token, &["a", "old", "b"]).await;
        let plain = make(app, &token, &["a"]).await;
        let others = make(app, &other, &["old"]).await;
        let revision = async |code: &str| app.get_as(&token, &format!("/urls/{code}")).await.header("etag").to_owned();
        let (before, of_plain) = (revision(&code).await, revision(&plain).await);
        app.visit(&format!("/{code}")).await;
        let renamed = rename(app, &token, "old", " new ").await;
        assert_eq!((renamed.status.as_u16(), renamed.json()), (200, tag("new", 1, 1)));
        assert_eq!(tags_of(app, &token, &code).await, json!(["a", "new", "b"]));
        assert_ne!(revision(&code).await, before);
        assert_eq!(revision(&plain).await, of_plain);
        let shown = app.get_as(&token, &format!("/urls/{code}")).await.json();
        assert_ne!(shown["updated_at"], shown["created_at"]);
        assert_eq!(tags_of(app, &other, &others).await, json!(["old"]));
        assert_eq!(app.get_as(&token, "/urls/my?tag=new").await.json()[0]["short_code"], *code);
        // A name in another case is another tag; its own name changes nothing.
        assert_eq!(rename(app, &token, "new", "New").await.json(), tag("New", 1, 1));
        let before = revision(&code).await;
        assert_eq!(rename(app, &token, "New", "New").await.json(), tag("New", 1, 1));
        assert_eq!(revision(&code).await, before);
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }

    async fn a_tag_that_gets_the_name_of_another_one_is_merged_with_it(app) {
        let token = app.register().await;
        let both = make(app, &token, &["old", "x", "new"]).await;
        let late = make(app, &token, &["new", "x", "old"]).await;
        let full: Vec<_> = (0..19).map(|number| number.to_string()).chain(["old".to_owned()]).collect();
        let full: Vec<_> = full.iter().map(String::as_str).collect();
        let full = make(app, &token, &full).await;
        make(app, &token, &["new"]).await;
        app.visit(&format!("/{both}")).await;
        assert_eq!(rename(app, &token, "old", "new").await.json(), tag("new", 4, 1));
        assert_eq!(tags_of(app, &token, &both).await, json!(["new", "x"]));
        assert_eq!(tags_of(app, &token, &late).await, json!(["new", "x"]));
        assert_eq!(tags_of(app, &token, &full).await[19], "new");
        rename(app, &token, "old", "new").await.is_error(404, "Not Found");
    }

    async fn a_deleted_tag_is_on_no_link_and_the_links_stay(app) {
        let (token, other) = (app.register().await, app.register().await);
        let code = make(app, &token, &["a", "old"]).await;
        let last = make(app, &token, &["old"]).await;
        make(app, &other, &["old"]).await;
        assert_eq!(delete(app, &token, "old").await.status, 204);
        assert_eq!(tags(app, &token).await, json!([tag("a", 1, 0)]));
        assert_eq!((tags_of(app, &token, &code).await, tags_of(app, &token, &last).await), (json!(["a"]), json!([])));
        delete(app, &token, "old").await.is_error(404, "Not Found");
        assert_eq!(tags(app, &other).await, json!([tag("old", 1, 0)]));
        assert_eq!(app.visit(&format!("/{last}")).await.status, 302);
    }

    async fn an_unknown_tag_is_404_and_an_invalid_name_is_refused_as_in_a_link(app) {
        let token = app.register().await;
        make(app, &token, &["old"]).await;
        let long = "x".repeat(51);
        for unknown in ["none", "OLD", "a%2Cb", "%FF", "%20old", &long] {
            rename(app, &token, unknown, "new").await.is_error(404, "Not Found");
            delete(app, &token, unknown).await.is_error(404, "Not Found");
        }
        for (new, why) in [
            (long.as_str(), "tags: must be at most 50 characters long each"),
            ("a,b", "tags: must not contain commas"),
            ("a\u{7}", "tags: must not contain control characters"),
            (" ", "tag: must not be empty"),
        ] {
            rename(app, &token, "old", new).await.is_error(422, why);
        }
        let patch = async |body: Value| send(app, Method::PATCH, &token, "/urls/tags/old", &body).await;
        patch(json!({})).await.is_error(422, "tag: field is required");
        patch(json!({"tags": "new"})).await.is_error(422, "tags: is not known here; did you mean tag?");
        assert_eq!(tags(app, &token).await, json!([tag("old", 1, 0)]));
        app.get("/urls/tags").await.is_error(401, "Not authenticated");
    }

    async fn a_tag_of_any_characters_is_named_in_a_path(app) {
        let token = app.register().await;
        for (name, encoded) in [
            ("a/b", "a%2Fb"), ("50 % off?", "50%20%25%20off%3F"), ("été #1", "%C3%A9t%C3%A9%20%231"), ("stats", "stats"), ("a+b", "a+b"),
            ("\u{1f600}", "%F0%9F%98%80"), ("...", "..."),
        ] {
            make(app, &token, &[name]).await;
            assert_eq!(rename(app, &token, encoded, "new").await.json(), tag("new", 1, 0), "{name}");
            assert_eq!(rename(app, &token, "new", name).await.json(), tag(name, 1, 0), "{name}");
            assert_eq!(delete(app, &token, encoded).await.status, 204, "{name}");
        }
        assert_eq!(tags(app, &token).await, json!([]));
    }

    async fn a_key_reads_tags_or_changes_them_as_its_scope_says(app) {
        let token = app.register().await;
        make(app, &token, &["old"]).await;
        let (read, write, create) = (key(app, &token, "read").await, key(app, &token, "write").await, key(app, &token, "create").await);
        assert_eq!(tags(app, &read).await, json!([tag("old", 1, 0)]));
        rename(app, &read, "old", "new").await.is_error(403, "This key is read-only");
        delete(app, &read, "old").await.is_error(403, "This key is read-only");
        let only = "This key can only create links";
        app.get_as(&create, "/urls/tags").await.is_error(403, only);
        rename(app, &create, "old", "new").await.is_error(403, only);
        delete(app, &create, "old").await.is_error(403, only);
        assert_eq!(rename(app, &write, "old", "new").await.json(), tag("new", 1, 0));
        assert_eq!(delete(app, &write, "new").await.status, 204);
    }

    async fn links_of_all_hosts_and_removed_links_are_renamed_and_a_host_is_counted_alone(app) {
        let (token, admin) = (app.register().await, admin(app).await);
        let host = json!({"host": "tags.test", "owners": "all"});
        assert_eq!(send(app, Method::POST, &admin, "/admin/domains", &host).await.status, 200);
        let link = json!({"target_url": TARGET, "tags": ["old", "there"], "domain": "tags.test"});
        assert_eq!(send(app, Method::POST, &token, "/urls/shorten", &link).await.status, 200);
        let code = make(app, &token, &["old"]).await;
        assert_eq!(remove(app, &admin, "link", &code, 410).await.status, 200);
        let at = async |host: &str| app.get_as(&token, &format!("/urls/tags?domain={host}")).await.json();
        assert_eq!(at("tags.test").await, json!([tag("old", 1, 0), tag("there", 1, 0)]));
        assert_eq!(rename(app, &token, "old", "new").await.json(), tag("new", 2, 0));
        assert_eq!(tags_of(app, &token, &code).await, json!(["new"]));
        assert_eq!(at("tags.test").await, json!([tag("new", 1, 0), tag("there", 1, 0)]));
    }

    async fn a_tag_of_thousands_of_links_is_renamed_and_deleted_by_steps(app) {
        let token = app.register().await;
        let links: Vec<_> = (0..3_000).map(|_| json!({"target_url": TARGET, "tags": ["old", "kept"]})).collect();
        let made = send(app, Method::POST, &token, "/urls/bulk", &json!(links)).await;
        let code = made.json()[7]["short_code"].as_str().unwrap().to_owned();
        app.visit(&format!("/{code}")).await;
        assert_eq!(rename(app, &token, "old", "new").await.json(), tag("new", 3_000, 1));
        assert_eq!(tags_of(app, &token, &code).await, json!(["new", "kept"]));
        assert_eq!(delete(app, &token, "new").await.status, 204);
        assert_eq!(tags(app, &token).await, json!([tag("kept", 3_000, 1)]));
    }

    async fn tags_is_no_short_code(app) {
        let token = app.register().await;
        let link = json!({"target_url": TARGET, "custom_code": "tags"});
        let refused = send(app, Method::POST, &token, "/urls/shorten", &link).await;
        assert_eq!(refused.status, 422, "{refused:?}");
        app.get("/urls/tags/stats/series").await.is_error(404, "Not Found");
        app.get_as(&token, "/urls/tags/stats").await.is_error(405, "Method Not Allowed");
    }
}

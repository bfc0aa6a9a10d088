//! The bin: what was deleted is followed nowhere, and can be restored with all that it had.

use reqwest::Method;
use serde_json::{Value, json};

use super::aliases::{follow, follow_at, statuses, two_instances, with_aliases};
use super::{make, send, show};
use crate::suite::abuse::{admin, remove};
use crate::support::{App, Response, both_modes, eventually};

async fn trash(app: &App, token: &str) -> Vec<Value> {
    let listed = app.get_as(token, "/urls/trash").await;
    assert_eq!(listed.status, 200, "{}", listed.text);
    listed.json().as_array().unwrap().clone()
}

async fn codes_in_trash(app: &App, token: &str) -> Vec<String> {
    let codes = trash(app, token).await;
    let code = |link: &Value| link["short_code"].as_str().unwrap().to_owned();
    codes.iter().map(code).collect()
}

async fn restore(app: &App, token: &str, code: &str) -> Response {
    let path = format!("/urls/{code}/restore");
    send(app, Method::POST, token, &path, &json!({})).await
}

async fn end(app: &App, token: &str, code: &str) -> Response {
    let path = format!("/urls/trash/{code}");
    let request = app.request(Method::DELETE, &path).bearer_auth(token);
    Response::of(request).await
}

both_modes! {
    async fn a_deleted_link_comes_back_as_it_was_with_its_clicks_and_all_of_its_codes(app) {
        let token = app.register().await;
        with_aliases(app, &token, "own-code", &["alias-1"]).await;
        let before = super::patch(app, &token, "own-code", &json!({"title": "Kept", "tags": ["a", "b"], "note": "n"})).await;
        follow(app, "own-code", 3).await;
        follow(app, "alias-1", 2).await;
        assert_eq!(app.delete(&token, "alias-1").await.status, 204);
        assert_eq!(statuses(app, &["own-code", "alias-1"]).await, [404, 404]);
        show(app, &token, "own-code").await.is_error(404, "URL not found");
        app.get("/urls/own-code/stats").await.is_error(404, "Not Found");
        let in_bin = trash(app, &token).await;
        assert_eq!((in_bin.len(), &in_bin[0]["clicks"]), (1, &json!(5)), "{in_bin:?}");
        assert!(in_bin[0]["deleted_at"].as_str() < in_bin[0]["ends_at"].as_str());
        let restored = restore(app, &token, "alias-1").await;
        assert_eq!(restored.status, 200, "{}", restored.text);
        let mut expected = before.json();
        expected["clicks"] = 5.into();
        assert_eq!(restored.json(), expected);
        assert_eq!(show(app, &token, "own-code").await.json(), expected);
        follow(app, "own-code", 1).await;
        follow(app, "alias-1", 1).await;
        let stats = app.get("/urls/own-code/stats").await;
        assert_eq!(stats.json()["clicks"], 7);
        assert!(trash(app, &token).await.is_empty());
        restore(app, &token, "own-code").await.is_error(404, "URL not found");
    }

    async fn the_bin_is_in_no_list_search_tag_or_number_of_links(app) {
        let token = app.register().await;
        for (code, tag) in [("kept", "both"), ("gone", "both"), ("gone-2", "gone")] {
            let link = json!({"target_url": "https://example.org/x", "custom_code": code, "tags": [tag]});
            assert_eq!(make(app, &token, &link).await.status, 200);
        }
        for code in ["gone", "gone-2"] {
            assert_eq!(app.delete(&token, code).await.status, 204);
        }
        for path in ["/urls/my", "/urls/my?q=example", "/urls/my?tag=both", "/urls/my?sort=-clicks", "/urls/my?status=active"] {
            let found = app.get_as(&token, path).await.json();
            let codes: Vec<_> = found.as_array().unwrap().iter().map(|link| &link["short_code"]).collect();
            assert_eq!(codes, ["kept"], "{path}");
        }
        assert_eq!(app.get_as(&token, "/urls/my?tag=gone").await.json(), json!([]));
        let export = app.get_as(&token, "/urls/export?format=csv").await.text;
        assert!(!export.contains("gone"), "{export}");
        assert_eq!(codes_in_trash(app, &token).await, ["gone-2", "gone"], "the last first");
        restore(app, &token, "gone-2").await;
        assert_eq!(app.get_as(&token, "/urls/my?tag=gone").await.json()[0]["short_code"], "gone-2");
    }

    async fn clicks_of_the_bin_are_in_no_sum_over_all_links(app) {
        let token = app.register().await;
        let mut codes = Vec::new();
        for clicks in [3, 4] {
            let code = app.shorten(&token, "https://example.org/").await;
            for _ in 0..clicks {
                assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
            }
            codes.push(code);
        }
        let sums = async || {
            let series = app.get_as(&token, "/urls/my/series").await.json();
            series["clicks"].as_u64()
        };
        let by_bot = async || app.get_as(&token, "/urls/my/breakdown?by=bot").await.json()["clicks"].as_u64();
        assert_eq!(sums().await, Some(7));
        eventually("the classes are summed", async || by_bot().await == Some(7)).await;
        assert_eq!(app.delete(&token, &codes[0]).await.status, 204);
        assert_eq!((sums().await, by_bot().await), (Some(4), Some(4)));
        app.written_back(&codes[1], 4).await;
        assert_eq!((sums().await, by_bot().await), (Some(4), Some(4)));
        restore(app, &token, &codes[0]).await;
        assert_eq!((sums().await, by_bot().await), (Some(7), Some(7)));
        app.delete(&token, &codes[0]).await;
        assert_eq!(end(app, &token, &codes[0]).await.status, 204);
        assert_eq!(sums().await, Some(4));
    }

    async fn the_bin_is_read_page_by_page(app) {
        let token = app.register().await;
        let mut codes = Vec::new();
        for _ in 0..5 {
            codes.push(app.shorten(&token, "https://example.org/").await);
        }
        for code in &codes {
            assert_eq!(app.delete(&token, code).await.status, 204);
        }
        codes.reverse();
        let (mut path, mut read) = ("/urls/trash?limit=2".to_owned(), Vec::new());
        loop {
            let page = app.get_as(&token, &path).await;
            let links = page.json();
            read.extend(links.as_array().unwrap().iter().map(|link| link["short_code"].as_str().unwrap().to_owned()));
            let Some(next) = page.headers.get("link") else { break };
            let next = next.to_str().unwrap().split_once('>').unwrap().0;
            next[next.find("/urls/").unwrap()..].clone_into(&mut path);
        }
        assert_eq!(read, codes);
        app.get_as(&token, "/urls/trash?limit=0").await.is_error(422, "limit: must be a whole number from 1 to 100");
    }

    async fn only_its_owner_sees_restores_and_ends_what_is_in_a_bin(app) {
        let (ada, bob) = (app.register().await, app.register().await);
        let code = app.shorten(&ada, "https://example.org/").await;
        let live = app.shorten(&ada, "https://example.org/").await;
        assert_eq!(app.delete(&ada, &code).await.status, 204);
        assert!(trash(app, &bob).await.is_empty());
        restore(app, &bob, &code).await.is_error(404, "URL not found");
        end(app, &bob, &code).await.is_error(404, "URL not found");
        end(app, &ada, &live).await.is_error(404, "URL not found");
        assert_eq!(app.get("/urls/trash").await.status, 401);
        assert_eq!(end(app, &ada, &code).await.status, 204);
        assert!(trash(app, &ada).await.is_empty());
        restore(app, &ada, &code).await.is_error(404, "URL not found");
        assert_eq!(app.visit(&format!("/{live}")).await.status, 302);
    }

    async fn a_code_in_a_bin_is_taken_but_for_its_owner_whose_deleted_link_ends_then(app) {
        let (ada, bob) = (app.register().await, app.register().await);
        with_aliases(app, &ada, "first", &["alias-1"]).await;
        assert_eq!(app.delete(&ada, "first").await.status, 204);
        for code in ["first", "alias-1"] {
            let link = json!({"target_url": "https://example.net/", "custom_code": code});
            assert_eq!(make(app, &bob, &link).await.status, 409, "{code}");
        }
        let link = json!({"target_url": "https://example.net/", "custom_code": "second", "aliases": ["alias-1"]});
        let made = make(app, &ada, &link).await;
        assert_eq!(made.status, 200, "{}", made.text);
        assert_eq!(made.json()["clicks"], 0);
        assert!(trash(app, &ada).await.is_empty());
        let visited = app.get("/alias-1").await;
        assert_eq!(visited.header("location"), "https://example.net/");
        assert_eq!(app.delete(&ada, "second").await.status, 204);
        let link = json!({"target_url": "https://example.org/", "custom_code": "third"});
        assert_eq!(make(app, &ada, &link).await.status, 200);
        let edited = super::patch(app, &ada, "third", &json!({"aliases": ["second", "first"]})).await;
        assert_eq!(edited.status, 200, "{}", edited.text);
        assert!(trash(app, &ada).await.is_empty());
    }

    async fn a_removed_link_comes_back_from_the_bin_as_a_removed_link(app) {
        let (root, ada) = (admin(app).await, app.register().await);
        let link = json!({"target_url": "https://example.org/", "custom_code": "removed-1"});
        make(app, &ada, &link).await;
        remove(app, &root, "link", "removed-1", 410).await;
        assert_eq!(app.delete(&ada, "removed-1").await.status, 204);
        assert_eq!(make(app, &ada, &link).await.status, 409, "its code stays with it");
        let restored = restore(app, &ada, "removed-1").await;
        assert_eq!(restored.json()["status"], "removed", "{}", restored.text);
        assert_eq!(app.get("/removed-1").await.status, 410);
    }

    async fn keys_see_the_bin_if_they_read_and_restore_if_they_write(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        assert_eq!(app.delete(&token, &code).await.status, 204);
        let mut keys = Vec::new();
        for scope in ["read", "write", "create"] {
            let key = json!({"name": scope, "scope": scope});
            let made = send(app, Method::POST, &token, "/auth/keys", &key).await;
            keys.push(made.json()["key"].as_str().unwrap().to_owned());
        }
        assert_eq!(trash(app, &keys[0]).await.len(), 1);
        assert_eq!(app.get_as(&keys[2], "/urls/trash").await.status, 403);
        for key in [&keys[0], &keys[2]] {
            assert_eq!(restore(app, key, &code).await.status, 403);
            assert_eq!(end(app, key, &code).await.status, 403);
        }
        assert_eq!(restore(app, &keys[1], &code).await.status, 200);
    }
}

mod without_a_bin {
    use super::{restore, trash};
    use crate::support::both_modes;

    both_modes! {
        with &[("TRASH_DAYS", "0")];

        async fn without_a_bin_a_deleted_link_is_gone(app) {
            let token = app.register().await;
            let code = app.shorten(&token, "https://example.org/").await;
            assert_eq!(app.delete(&token, &code).await.status, 204);
            assert!(trash(app, &token).await.is_empty());
            restore(app, &token, &code).await.is_error(404, "URL not found");
        }
    }
}

mod with_a_quota {
    use super::restore;
    use crate::support::both_modes;

    both_modes! {
        with &[("LINKS_PER_ACCOUNT", "2")];

        async fn the_bin_is_not_in_the_quota_and_a_link_comes_back_only_if_there_is_room(app) {
            let token = app.register().await;
            let first = app.shorten(&token, "https://example.org/").await;
            app.shorten(&token, "https://example.org/").await;
            assert_eq!(app.delete(&token, &first).await.status, 204);
            let third = app.shorten(&token, "https://example.org/").await;
            let refused = restore(app, &token, &first).await;
            refused.is_error(403, "This account has the maximum of 2 links; delete links to make room");
            assert_eq!(app.get(&format!("/{first}")).await.status, 404);
            assert_eq!(app.delete(&token, &third).await.status, 204);
            assert_eq!(restore(app, &token, &first).await.status, 200);
            assert_eq!(app.try_shorten(&token, "https://example.org/").await.status, 403);
        }
    }
}

#[tokio::test]
async fn a_restored_link_is_followed_at_once_on_two_instances() {
    let (app, other, token) = two_instances(&["alias-1"]).await;
    assert_eq!(app.delete(&token, "own-code").await.status, 204);
    for base in [&app.server.base, &other.base] {
        follow_at(base, "own-code", 1, 404).await;
        follow_at(base, "alias-1", 1, 404).await;
    }
    assert_eq!(restore(&app, &token, "own-code").await.status, 200);
    for base in [&other.base, &app.server.base] {
        follow_at(base, "own-code", 1, 302).await;
        follow_at(base, "alias-1", 1, 302).await;
    }
    drop(other);
    app.finish().await;
}

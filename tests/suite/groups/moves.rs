//! Links that move between an account and its groups: what they keep, and sums that stay exact.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use reqwest::Method;
use serde_json::{Value, json};

use super::{PASSWORD, Person, code_of, codes, get, group_of, member, person, send, shorten};
use crate::support::{App, Mode, Response, answered, both_modes, eventually};

async fn move_to(app: &App, by: &Person, from: Option<i64>, code: &str, owner: Value) -> Response {
    let path = format!("/urls/{code}");
    let body = json!({ "owner": owner });
    send(app, &by.token, from, (Method::PATCH, &path), &body).await
}

async fn read(app: &App, token: &str, group: Option<i64>, path: &str) -> Value {
    let response = answered(async || match group {
        Some(group) => get(app, token, group, path).await,
        None => app.get_as(token, path).await,
    });
    let response = response.await;
    assert_eq!(response.status, 200, "{path}: {response:?}");
    response.json()
}

/// The clicks of an owner's links one by one, and the sums over all of them.
async fn sums(app: &App, token: &str, group: Option<i64>) -> (u64, u64) {
    let list = read(app, token, group, "/urls/my").await;
    let clicks = list.as_array().unwrap().iter();
    let clicks = clicks.map(|link| link["clicks"].as_u64().unwrap()).sum();
    let series = read(app, token, group, "/urls/my/series").await;
    let points = series["points"].as_array().unwrap().iter();
    let points: u64 = points.map(|point| point["clicks"].as_u64().unwrap()).sum();
    assert_eq!(points, series["clicks"].as_u64().unwrap(), "{series}");
    (clicks, points)
}

/// Waits until the classes of all clicks are in the sums of an owner.
async fn broken_down(app: &App, token: &str, group: Option<i64>, clicks: u64) {
    eventually("the breakdown has all clicks", async || {
        let found = read(app, token, group, "/urls/my/breakdown?by=browser").await;
        found["clicks"] == clicks
    })
    .await;
    eventually("the series has all people", async || {
        read(app, token, group, "/urls/my/series").await["people"] == clicks
    })
    .await;
}

async fn visit(app: &App, code: &str, times: u64) {
    for _ in 0..times {
        let request = app.request(Method::GET, &format!("/{code}"));
        let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
        let visited = Response::of(request.header("User-Agent", firefox)).await;
        assert_eq!(visited.status, 302, "{visited:?}");
    }
}

both_modes! {
    async fn a_link_that_is_moved_keeps_what_it_is(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let body = json!({ "target_url": "https://example.org/", "tags": ["a"], "aliases": ["moved-alias"], "title": "Kept" });
        let code = code_of(&send(app, &owner.token, None, (Method::POST, "/urls/shorten"), &body).await);
        visit(app, "moved-alias", 2).await;
        let before = read(app, &owner.token, None, &format!("/urls/{code}")).await;
        let moved = move_to(app, &owner, None, &code, json!(group)).await;
        assert_eq!(moved.status, 200, "{moved:?}");
        let mut after = moved.json();
        assert_eq!(after["owner"], group, "{after}");
        for field in ["owner", "updated_at"] {
            after[field] = before[field].clone();
        }
        assert_eq!(after, before);
        app.get_as(&owner.token, &format!("/urls/{code}")).await.is_error(404, "URL not found");
        assert_eq!(read(app, &owner.token, None, "/urls/tags").await, json!([]));
        assert_eq!(read(app, &owner.token, Some(group), "/urls/tags").await, json!([{ "tag": "a", "links": 1, "clicks": 2 }]));
        let back = move_to(app, &owner, Some(group), &code, json!("me")).await;
        assert_eq!(back.json()["clicks"], 2, "{back:?}");
        assert_eq!(codes(&app.get_as(&owner.token, "/urls/my?tag=a").await), [code]);
    }

    async fn sums_of_both_owners_are_those_of_their_links(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let (stays, moves) = (app.shorten(&owner.token, "https://example.org/1").await, app.shorten(&owner.token, "https://example.org/2").await);
        let shared = code_of(&shorten(app, &owner.token, group, &json!({})).await);
        visit(app, &stays, 1).await;
        visit(app, &moves, 2).await;
        visit(app, &shared, 4).await;
        assert_eq!(move_to(app, &owner, None, &moves, json!(group)).await.status, 200);
        assert_eq!((sums(app, &owner.token, None).await, sums(app, &owner.token, Some(group)).await), ((1, 1), (6, 6)));
        visit(app, &moves, 8).await;
        for _ in 0..2 {
            assert_eq!((sums(app, &owner.token, None).await, sums(app, &owner.token, Some(group)).await), ((1, 1), (14, 14)));
            // Written back, and with its classes.
            broken_down(app, &owner.token, None, 1).await;
            broken_down(app, &owner.token, Some(group), 14).await;
        }
        // A link that ends leaves the sums of the owner that it has.
        let path = format!("/urls/{moves}");
        assert_eq!(send(app, &owner.token, Some(group), (Method::DELETE, &path), &json!({})).await.status, 204);
        assert_eq!((sums(app, &owner.token, None).await, sums(app, &owner.token, Some(group)).await), ((1, 1), (4, 4)));
        let restore = format!("/urls/{moves}/restore");
        assert_eq!(send(app, &owner.token, Some(group), (Method::POST, &restore), &json!({})).await.status, 200);
        assert_eq!(sums(app, &owner.token, Some(group)).await, (14, 14));
        assert_eq!(send(app, &owner.token, Some(group), (Method::DELETE, &path), &json!({})).await.status, 204);
        let end = format!("/urls/trash/{moves}");
        assert_eq!(send(app, &owner.token, Some(group), (Method::DELETE, &end), &json!({})).await.status, 204);
        assert_eq!((sums(app, &owner.token, None).await, sums(app, &owner.token, Some(group)).await), ((1, 1), (4, 4)));
    }

    async fn a_link_that_comes_back_is_in_the_sums_as_before(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let code = app.shorten(&owner.token, "https://example.org/").await;
        for (from, to, clicks) in [(None, json!(group), 1), (Some(group), json!("me"), 2), (None, json!(group), 3)] {
            visit(app, &code, 1).await;
            assert_eq!(move_to(app, &owner, from, &code, to).await.status, 200);
            let (here, there) = if from.is_none() { (Some(group), None) } else { (None, Some(group)) };
            assert_eq!((sums(app, &owner.token, here).await, sums(app, &owner.token, there).await), ((clicks, clicks), (0, 0)));
        }
        broken_down(app, &owner.token, Some(group), 3).await;
        broken_down(app, &owner.token, None, 0).await;
    }

    async fn no_click_is_lost_or_doubled_while_links_move(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let mut links = Vec::new();
        for number in 0..6 {
            links.push(app.shorten(&owner.token, &format!("https://example.org/{number}")).await);
        }
        let (visited, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        let visitors = async |links: &[String]| {
            while !is_over.load(Ordering::Relaxed) {
                for code in links {
                    visit(app, code, 1).await;
                    visited.fetch_add(1, Ordering::Relaxed);
                }
            }
        };
        let mover = async {
            for round in 0..12 {
                let (from, to) = if round % 2 == 0 { (None, json!(group)) } else { (Some(group), json!("me")) };
                for code in &links[..4] {
                    assert_eq!(move_to(app, &owner, from, code, to.clone()).await.status, 200);
                    let (own, shared) = (sums(app, &owner.token, None).await, sums(app, &owner.token, Some(group)).await);
                    // The list is read before the series.
                    assert!(own.0 <= own.1 && shared.0 <= shared.1, "{own:?} {shared:?}");
                }
            }
            is_over.store(true, Ordering::Relaxed);
        };
        tokio::join!(visitors(&links[..3]), visitors(&links[2..]), mover);
        let visited = visited.load(Ordering::Relaxed);
        for code in &links[..2] {
            assert_eq!(move_to(app, &owner, None, code, json!(group)).await.status, 200);
        }
        let (own, shared) = (sums(app, &owner.token, None).await, sums(app, &owner.token, Some(group)).await);
        assert_eq!((own.0, shared.0), (own.1, shared.1));
        assert_eq!(own.0 + shared.0, visited);
        broken_down(app, &owner.token, None, own.0).await;
        broken_down(app, &owner.token, Some(group), shared.0).await;
    }

    async fn a_mover_is_an_editor_at_both_ends(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let viewer = member(app, &owner, group, "viewer").await;
        let stranger = person(app).await;
        let own = app.shorten(&viewer.token, "https://example.org/").await;
        let sentence = "You are a viewer of this group; this needs an editor";
        move_to(app, &viewer, None, &own, json!(group)).await.is_error(403, sentence);
        let shared = code_of(&shorten(app, &owner.token, group, &json!({})).await);
        move_to(app, &viewer, Some(group), &shared, json!("me")).await.is_error(403, sentence);
        let other = app.shorten(&stranger.token, "https://example.org/").await;
        move_to(app, &stranger, None, &other, json!(group)).await.is_error(404, "Group not found");
        let number = app.get_as(&viewer.token, "/auth/me").await.json()["id"].clone();
        move_to(app, &owner, Some(group), &shared, number).await.is_error(404, "Group not found");
        assert_eq!(codes(&get(app, &owner.token, group, "/urls/my").await), [shared]);
    }

    async fn a_move_says_nothing_else(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let code = app.shorten(&owner.token, "https://example.org/").await;
        let path = format!("/urls/{code}");
        let edit = async |body: Value| send(app, &owner.token, None, (Method::PATCH, &path), &body).await;
        edit(json!({ "owner": group, "title": "x" })).await.is_error(422, "owner: must be the only field; send the others in another request");
        edit(json!({ "owner": null })).await.is_error(422, "owner: must not be null");
        assert_eq!(edit(json!({ "owner": "you" })).await.status, 422);
        let stale = app.request(Method::PATCH, &path).bearer_auth(&owner.token).header("If-Match", "\"stale\"");
        let stale = Response::of(stale.json(&json!({ "owner": group }))).await;
        stale.is_error(412, "If-Match: the link was changed meanwhile; read it again");
        let key = json!({ "name": "own", "scope": "write" });
        let key = send(app, &owner.token, None, (Method::POST, "/auth/keys"), &key).await.json();
        let refused = send(app, key["key"].as_str().unwrap(), None, (Method::PATCH, &path), &json!({ "owner": group })).await;
        assert_eq!(refused.status, 403, "{refused:?}");
        assert_eq!(edit(json!({ "owner": "me" })).await.status, 200);
        assert_eq!(codes(&app.get_as(&owner.token, "/urls/my").await), [code]);
    }

    async fn an_account_that_leaves_hands_its_links_over(app) {
        let (owner, leaver) = (person(app).await, person(app).await);
        let group = group_of(app, &owner).await;
        super::set_role(app, &owner, group, &leaver.email, "editor").await;
        let code = app.shorten(&leaver.token, "https://example.org/").await;
        visit(app, &code, 3).await;
        let delete = (Method::DELETE, "/auth/me");
        let wrong = json!({ "password": "another", "links_to": group });
        send(app, &leaver.token, None, delete.clone(), &wrong).await.is_error(403, "Incorrect password");
        let nowhere = json!({ "password": PASSWORD, "links_to": 999_999 });
        send(app, &leaver.token, None, delete.clone(), &nowhere).await.is_error(404, "Group not found");
        assert_eq!(codes(&app.get_as(&leaver.token, "/urls/my").await), [code.as_str()]);
        let body = json!({ "password": PASSWORD, "links_to": group });
        let deleted = send(app, &leaver.token, None, delete, &body).await;
        assert_eq!(deleted.status, 204, "{deleted:?}");
        assert_eq!(app.get_as(&leaver.token, "/auth/me").await.status, 401);
        visit(app, &code, 1).await;
        assert_eq!(codes(&get(app, &owner.token, group, "/urls/my").await), [code]);
        assert_eq!(sums(app, &owner.token, Some(group)).await, (4, 4));
        broken_down(app, &owner.token, Some(group), 4).await;
        assert_eq!(sums(app, &owner.token, Some(group)).await, (4, 4));
    }
}

#[tokio::test]
async fn a_move_holds_to_what_the_new_owner_may_have() {
    for mode in [Mode::Embedded, Mode::Production] {
        let app = App::start_with(mode, &[("LINKS_PER_ACCOUNT", "2")]).await;
        let owner = person(&app).await;
        let group = group_of(&app, &owner).await;
        for _ in 0..2 {
            code_of(&shorten(&app, &owner.token, group, &json!({})).await);
        }
        let code = app.shorten(&owner.token, "https://example.org/").await;
        let refused = move_to(&app, &owner, None, &code, json!(group)).await;
        assert_eq!(refused.status, 403, "{refused:?}");
        assert_eq!(codes(&app.get_as(&owner.token, "/urls/my").await), [code]);
        app.finish().await;
    }
}

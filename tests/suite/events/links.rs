//! Events of links.

use reqwest::Method;
use serde_json::json;
use shunt::domain::{Clock, SystemClock};

use super::{events, events_in, found_at_last, read, sum, told};
use crate::suite::abuse::{admin, id_of, remove, revoke};
use crate::suite::managed::{make, patch, send};
use crate::support::{App, Response, both_modes};

async fn make_link(app: &App, token: &str, code: &str) {
    let link = json!({"target_url": "https://example.org/x", "custom_code": code, "title": "First", "tags": ["a", "b"]});
    assert_eq!(make(app, token, &link).await.status, 200);
}

both_modes! {
    async fn a_link_is_made_changed_deleted_and_restored_in_this_order(app) {
        let token = app.register().await;
        make_link(app, &token, "spring").await;
        patch(app, &token, "spring", &json!({"title": "Second"})).await;
        assert_eq!(app.delete(&token, "spring").await.status, 204);
        let path = "/urls/spring/restore";
        assert_eq!(send(app, Method::POST, &token, path, &json!({})).await.status, 200);
        let found = events(app, &token, 4).await;
        let expected = ["link.created spring", "link.changed spring", "link.deleted spring", "link.restored spring"];
        assert_eq!(told(&found), expected);
        assert_eq!(found[0]["title"], "First");
        assert_eq!(found[0]["tags"], json!(["a", "b"]));
        assert_eq!(found[0]["target_url"], "https://example.org/x");
        assert_eq!(found[0]["clicks"], 0);
        assert_eq!(found[0]["domain"], json!(null));
        assert_eq!(found[1]["title"], "Second");
        let moments = found.iter().map(|event| event["at"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap());
        let moments: Vec<_> = moments.collect();
        assert!(moments.is_sorted(), "{moments:?}");
    }

    async fn an_edit_that_changes_nothing_is_no_event(app) {
        let token = app.register().await;
        make_link(app, &token, "same").await;
        patch(app, &token, "same", &json!({"title": "First"})).await;
        patch(app, &token, "same", &json!({"note": "Another"})).await;
        let found = events(app, &token, 2).await;
        assert_eq!(told(&found), ["link.created same", "link.changed same"]);
    }

    async fn many_links_that_are_made_at_once_have_an_event_each_with_their_starting_clicks(app) {
        let token = app.register().await;
        let rows: Vec<_> = (0..50).map(|number| json!({
            "target_url": "https://example.org/", "custom_code": format!("many-{number}"), "clicks": number,
        })).collect();
        let made = send(app, Method::POST, &token, "/urls/bulk", &json!(rows)).await;
        assert_eq!(made.status, 200, "{}", made.text);
        let found = events(app, &token, 50).await;
        for number in [0, 1, 49] {
            assert_eq!(sum(&found, &format!("many-{number}")), number);
        }
        assert!(found.iter().all(|event| event["type"] == "link.created"));
    }

    async fn a_removal_and_its_end_are_events_of_the_owner(app) {
        let (token, admin) = (app.register().await, admin(app).await);
        make_link(app, &token, "evil").await;
        let removal = remove(app, &admin, "link", "evil", 451).await;
        revoke(app, &admin, id_of(&removal)).await;
        let found = events(app, &token, 3).await;
        assert_eq!(told(&found), ["link.created evil", "link.removed evil", "link.restored evil"]);
    }

    async fn the_end_of_a_link_is_an_event_once(app) {
        let token = app.register().await;
        let soon = SystemClock.now().after(std::time::Duration::from_secs(1)).to_string();
        let link = json!({"target_url": "https://example.org/", "custom_code": "short", "expires_at": soon});
        assert_eq!(make(app, &token, &link).await.status, 200);
        let link = json!({"target_url": "https://example.org/", "custom_code": "twice", "max_clicks": 2});
        assert_eq!(make(app, &token, &link).await.status, 200);
        for status in [302, 302, 404] {
            assert_eq!(app.visit("/twice").await.status, status);
        }
        let found = found_at_last(async || {
            let found = events_in(&read(app, &token, "").await);
            let ended = found.iter().filter(|event| event["type"] == "link.ended").count();
            (ended == 2 && sum(&found, "twice") == 2).then_some(found)
        }).await;
        // All that happened before this has its place then.
        make_link(app, &token, "later").await;
        let found = found_at_last(async || {
            let found = events_in(&read(app, &token, &format!("limit={}", found.len() + 1)).await);
            told(&found).contains(&"link.created later".to_owned()).then_some(found)
        }).await;
        let told = told(&found);
        for code in ["short", "twice"] {
            let ends = told.iter().filter(|word| **word == format!("link.ended {code}"));
            assert_eq!(ends.count(), 1, "{told:?}");
        }
    }

    async fn nobody_reads_the_feed_of_another_account(app) {
        let (ada, bob) = (app.register().await, app.register().await);
        make_link(app, &ada, "hers").await;
        events(app, &ada, 1).await;
        assert_eq!(events(app, &bob, 0).await.len(), 0);
        app.get("/urls/my/events").await.is_error(401, "Not authenticated");
    }

    async fn a_key_that_only_creates_links_reads_no_events(app) {
        let token = app.register().await;
        let key = json!({"name": "k", "scope": "create"});
        let made = send(app, Method::POST, &token, "/auth/keys", &key).await;
        let key = made.json()["key"].as_str().unwrap().to_owned();
        assert_eq!(read(app, &key, "").await.status, 403);
        let key = json!({"name": "r", "scope": "read"});
        let made = send(app, Method::POST, &token, "/auth/keys", &key).await;
        let key = made.json()["key"].as_str().unwrap().to_owned();
        assert_eq!(read(app, &key, "").await.status, 200);
    }

    async fn a_link_that_moves_to_a_group_starts_there_with_its_clicks(app) {
        let token = app.register().await;
        let group = send(app, Method::POST, &token, "/groups", &json!({"name": "Team"})).await.json()["id"].clone();
        make_link(app, &token, "moves").await;
        for _ in 0..3 {
            assert_eq!(app.visit("/moves").await.status, 302);
        }
        app.written_back("moves", 3).await;
        patch(app, &token, "moves", &json!({"owner": group})).await;
        for _ in 0..2 {
            assert_eq!(app.visit("/moves").await.status, 302);
        }
        let of_group = async || {
            let request = app.request(Method::GET, "/urls/my/events").bearer_auth(&token);
            events_in(&Response::of(request.header("Shunt-Group", group.to_string())).await)
        };
        let found = found_at_last(async || {
            let found = of_group().await;
            (sum(&found, "moves") == 5).then_some(found)
        }).await;
        assert_eq!(found[0]["type"], "link.created");
        let start = found[0]["clicks"].as_u64().unwrap();
        assert!(start >= 3, "{found:?}");
        let own = events_in(&read(app, &token, "").await);
        assert_eq!(told(&own).last().unwrap(), "link.moved moves");
        assert_eq!(sum(&own, "moves"), start, "the former owner has the clicks up to the move");
    }
}

//! What each role may do for a group that a request names.

use reqwest::Method;
use serde_json::json;

use super::{code_of, codes, get, group_of, member, person, remove, send, shorten};
use crate::support::{App, Mode, Response, both_modes};

both_modes! {
    async fn a_group_has_links_of_its_own(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let own = app.shorten(&owner.token, "https://example.org/own").await;
        let shared = code_of(&shorten(app, &owner.token, group, &json!({})).await);
        assert_eq!(codes(&app.get_as(&owner.token, "/urls/my").await), [own]);
        assert_eq!(codes(&get(app, &owner.token, group, "/urls/my").await), [shared.as_str()]);
        app.get_as(&owner.token, &format!("/urls/{shared}")).await.is_error(404, "URL not found");
        let shown = get(app, &owner.token, group, &format!("/urls/{shared}")).await.json();
        assert_eq!(shown["owner"], group, "{shown}");
    }

    async fn a_viewer_reads_and_changes_nothing(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let code = code_of(&shorten(app, &owner.token, group, &json!({})).await);
        let viewer = member(app, &owner, group, "viewer").await;
        for path in ["/urls/my", "/urls/export?format=ndjson", "/urls/my/series", "/urls/tags", "/domains", "/urls/trash"] {
            assert_eq!(get(app, &viewer.token, group, path).await.status, 200, "{path}");
        }
        let sentence = "You are a viewer of this group; this needs an editor";
        let path = format!("/urls/{code}");
        for (method, path) in [
            (Method::POST, "/urls/shorten"), (Method::POST, "/urls/bulk"), (Method::PATCH, &path), (Method::DELETE, &path),
        ] {
            let refused = send(app, &viewer.token, Some(group), (method, path), &json!({})).await;
            refused.is_error(403, sentence);
        }
        get(app, &viewer.token, group, "/urls/export?format=csv&secrets=true").await.is_error(403, sentence);
        get(app, &viewer.token, group, "/auth/keys").await.is_error(403, "You are a viewer of this group; this needs an owner");
        assert_eq!(get(app, &owner.token, group, &path).await.status, 200);
    }

    async fn an_editor_changes_links_and_nothing_else(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let editor = member(app, &owner, group, "editor").await;
        let code = code_of(&shorten(app, &editor.token, group, &json!({ "tags": ["a"] })).await);
        let path = format!("/urls/{code}");
        let titled = json!({ "title": "By the editor" });
        let changed = send(app, &editor.token, Some(group), (Method::PATCH, &path), &titled).await;
        assert_eq!(changed.json()["title"], "By the editor", "{changed:?}");
        let renamed = send(app, &editor.token, Some(group), (Method::PATCH, "/urls/tags/a"), &json!({ "tag": "b" })).await;
        assert_eq!(renamed.json()["links"], 1, "{renamed:?}");
        let sentence = "You are an editor of this group; this needs an owner";
        let key = json!({ "name": "x", "scope": "read" });
        send(app, &editor.token, Some(group), (Method::POST, "/auth/keys"), &key).await.is_error(403, sentence);
        let of_group = format!("/groups/{group}");
        send(app, &editor.token, None, (Method::PATCH, &of_group), &json!({ "name": "x" })).await.is_error(403, sentence);
        send(app, &editor.token, None, (Method::DELETE, &of_group), &json!({})).await.is_error(403, sentence);
        assert_eq!(send(app, &editor.token, Some(group), (Method::DELETE, &path), &json!({})).await.status, 204);
    }

    async fn who_is_no_member_finds_no_group(app) {
        let (owner, stranger) = (person(app).await, person(app).await);
        let group = group_of(app, &owner).await;
        for group in [group, 999_999] {
            get(app, &stranger.token, group, "/urls/my").await.is_error(404, "Group not found");
            shorten(app, &stranger.token, group, &json!({})).await.is_error(404, "Group not found");
            let path = format!("/groups/{group}");
            app.get_as(&stranger.token, &path).await.is_error(404, "Group not found");
            app.get_as(&stranger.token, &format!("{path}/members")).await.is_error(404, "Group not found");
            send(app, &stranger.token, None, (Method::DELETE, &path), &json!({})).await.is_error(404, "Group not found");
        }
        // An account of a person is no group.
        let other = app.get_as(&owner.token, "/auth/me").await.json()["id"].as_i64().unwrap();
        get(app, &stranger.token, other, "/urls/my").await.is_error(404, "Group not found");
    }

    async fn an_invalid_group_is_refused_by_the_name_of_its_header(app) {
        let owner = person(app).await;
        for value in ["", "0", "-1", "Marketing", "1, 2", "99999999999999999999"] {
            let request = app.request(Method::GET, "/urls/my").bearer_auth(&owner.token);
            let refused = Response::of(request.header("Shunt-Group", value)).await;
            refused.is_error(422, "Shunt-Group: must be the number of a group, once");
        }
    }

    async fn a_route_of_the_person_takes_no_group(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let sentence = "Shunt-Group: this route is about your own account; leave the header out";
        get(app, &owner.token, group, "/auth/me").await.is_error(422, sentence);
        let body = json!({ "password": super::PASSWORD });
        send(app, &owner.token, Some(group), (Method::DELETE, "/auth/me"), &body).await.is_error(422, sentence);
        assert_eq!(app.get_as(&owner.token, "/auth/me").await.status, 200);
    }

    async fn a_token_that_ended_acts_for_no_group(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let everywhere = (Method::POST, "/auth/logout-everywhere");
        assert_eq!(send(app, &owner.token, None, everywhere, &json!({})).await.status, 204);
        get(app, &owner.token, group, "/urls/my").await.is_error(401, "Not authenticated");
        shorten(app, &owner.token, group, &json!({})).await.is_error(401, "Not authenticated");
    }

    async fn a_request_with_the_key_of_an_earlier_one_is_of_the_group(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let make = async || {
            let request = app.request(Method::POST, "/urls/shorten").bearer_auth(&owner.token);
            let request = request.header("Shunt-Group", group).header("Idempotency-Key", "once");
            Response::of(request.json(&json!({ "target_url": "https://example.org/" }))).await
        };
        assert_eq!(code_of(&make().await), code_of(&make().await));
        assert_eq!(codes(&get(app, &owner.token, group, "/urls/my").await).len(), 1);
    }
}

#[tokio::test]
async fn a_member_who_is_removed_does_nothing_at_once_on_any_instance() {
    let app = App::start(Mode::Production).await;
    let other = app.another(&[]).await;
    let owner = person(&app).await;
    let group = group_of(&app, &owner).await;
    let code = code_of(&shorten(&app, &owner.token, group, &json!({})).await);
    for role in ["viewer", "editor", "owner"] {
        let removed = member(&app, &owner, group, role).await;
        let own = app.shorten(&removed.token, "https://example.org/").await;
        let at_other = async |path: &str, group: Option<i64>| {
            let request = reqwest::Client::new().get(format!("{}{path}", other.base));
            let request = request.bearer_auth(&removed.token);
            let request = match group {
                Some(group) => request.header("Shunt-Group", group),
                None => request,
            };
            Response::of(request).await
        };
        let shown = format!("/urls/{code}");
        assert_eq!(at_other(&shown, Some(group)).await.status, 200);
        assert_eq!(
            remove(&app, &owner, group, &removed.email).await.status,
            204
        );
        for path in ["/urls/my", &shown, "/urls/export?format=csv"] {
            at_other(path, Some(group))
                .await
                .is_error(404, "Group not found");
            get(&app, &removed.token, group, path)
                .await
                .is_error(404, "Group not found");
        }
        // The token stays good for the member's own links.
        assert_eq!(codes(&at_other("/urls/my", None).await), [own]);
    }
    drop(other);
    app.finish().await;
}

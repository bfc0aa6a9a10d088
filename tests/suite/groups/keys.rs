//! Keys of a group.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Person, codes, get, group_of, member, person, remove, send};
use crate::support::{App, both_modes};

async fn key(app: &App, owner: &Person, group: i64, scope: &str) -> Value {
    let body = json!({ "name": "deployment", "scope": scope });
    let made = send(
        app,
        &owner.token,
        Some(group),
        (Method::POST, "/auth/keys"),
        &body,
    )
    .await;
    assert_eq!(made.status, 200, "{made:?}");
    made.json()
}

both_modes! {
    async fn a_key_of_a_group_acts_for_it_without_naming_it(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let made = key(app, &owner, group, "write").await;
        let text = made["key"].as_str().unwrap();
        let code = app.shorten(text, "https://example.org/").await;
        assert_eq!(codes(&get(app, &owner.token, group, "/urls/my").await), [code]);
        assert_eq!(app.get_as(&owner.token, "/urls/my").await.text, "[]\n");
        let me = app.get_as(text, "/auth/me").await.json();
        assert_eq!((&me["id"], &me["group"]), (&json!(group), &json!("Marketing")));
    }

    async fn a_key_names_no_group(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let body = json!({ "name": "own", "scope": "write" });
        let own = send(app, &owner.token, None, (Method::POST, "/auth/keys"), &body).await.json();
        let refused = get(app, own["key"].as_str().unwrap(), group, "/urls/my").await;
        assert_eq!(refused.status, 403, "{refused:?}");
        assert!(refused.detail().starts_with("An API key acts only for"), "{refused:?}");
    }

    async fn keys_outlive_the_member_who_made_them_and_name_the_maker(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let other = member(app, &owner, group, "owner").await;
        let made = key(app, &other, group, "write").await;
        assert_eq!(remove(app, &owner, group, &other.email).await.status, 204);
        let text = made["key"].as_str().unwrap();
        assert_eq!(app.get_as(text, "/urls/my").await.status, 200);
        let listed = get(app, &owner.token, group, "/auth/keys").await.json();
        assert_eq!(listed[0]["made_by"], other.email.as_str(), "{listed}");
        get(app, &other.token, group, "/auth/keys").await.is_error(404, "Group not found");
        let path = format!("/auth/keys/{}", made["id"]);
        assert_eq!(send(app, &owner.token, Some(group), (Method::DELETE, &path), &json!({})).await.status, 204);
        app.get_as(text, "/urls/my").await.is_error(401, "Not authenticated");
    }

    async fn keys_end_with_the_group(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let made = key(app, &owner, group, "read").await;
        let deleted = send(app, &owner.token, None, (Method::DELETE, &format!("/groups/{group}")), &json!({})).await;
        assert_eq!(deleted.status, 204, "{deleted:?}");
        app.get_as(made["key"].as_str().unwrap(), "/urls/my").await.is_error(401, "Not authenticated");
    }

    async fn other_clients_work_with_a_key_of_a_group(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let made = key(app, &owner, group, "write").await;
        let text = made["key"].as_str().unwrap();
        let request = app.request(Method::POST, "/rest/v3/short-urls").header("X-Api-Key", text);
        let body = json!({ "longUrl": "https://example.org/shlink" });
        let shlink = crate::support::Response::of(request.json(&body)).await;
        assert_eq!(shlink.status, 200, "{shlink:?}");
        let code = shlink.json()["shortCode"].as_str().unwrap().to_owned();
        assert_eq!(codes(&get(app, &owner.token, group, "/urls/my").await), [code]);
    }
}

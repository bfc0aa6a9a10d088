//! Who is a member of a group, and what a group needs.

use reqwest::Method;
use serde_json::json;

use super::{PASSWORD, code_of, get, group_of, member, person, remove, send, set_role, shorten};
use crate::support::both_modes;

both_modes! {
    async fn members_see_each_other_and_their_roles(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let viewer = member(app, &owner, group, "viewer").await;
        let members = app.get_as(&viewer.token, &format!("/groups/{group}/members")).await.json();
        let seen: Vec<_> = members.as_array().unwrap().iter()
            .map(|member| (member["email"].as_str().unwrap(), member["role"].as_str().unwrap())).collect();
        assert_eq!(seen, [(owner.email.as_str(), "owner"), (viewer.email.as_str(), "viewer")]);
        let groups = app.get_as(&viewer.token, "/groups").await.json();
        assert_eq!((&groups[0]["id"], &groups[0]["role"], &groups[0]["members"]), (&json!(group), &json!("viewer"), &json!(2)));
    }

    async fn a_group_is_renamed_for_all_of_its_members(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let viewer = member(app, &owner, group, "viewer").await;
        let path = format!("/groups/{group}");
        let renamed = send(app, &owner.token, None, (Method::PATCH, &path), &json!({ "name": " Sales " })).await;
        assert_eq!(renamed.json()["name"], "Sales", "{renamed:?}");
        assert_eq!(app.get_as(&viewer.token, &path).await.json()["name"], "Sales");
        let refused = send(app, &owner.token, None, (Method::PATCH, &path), &json!({ "name": "  " })).await;
        refused.is_error(422, "name: must be 1 to 100 characters, without control characters");
    }

    async fn a_role_is_felt_at_once(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let other = member(app, &owner, group, "editor").await;
        assert_eq!(shorten(app, &other.token, group, &json!({})).await.status, 200);
        assert_eq!(set_role(app, &owner, group, &other.email, "viewer").await.status, 200);
        assert_eq!(shorten(app, &other.token, group, &json!({})).await.status, 403);
    }

    async fn the_last_owner_stays(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let sentence = "The group needs an owner; make another member an owner first";
        remove(app, &owner, group, &owner.email).await.is_error(409, sentence);
        set_role(app, &owner, group, &owner.email, "editor").await.is_error(409, sentence);
        let other = member(app, &owner, group, "owner").await;
        assert_eq!(remove(app, &owner, group, &owner.email).await.status, 204);
        get(app, &owner.token, group, "/urls/my").await.is_error(404, "Group not found");
        assert_eq!(get(app, &other.token, group, "/urls/my").await.status, 200);
    }

    async fn the_operator_gives_a_group_another_owner_in_sql(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let other = member(app, &owner, group, "viewer").await;
        set_role(app, &other, group, &owner.email, "viewer").await.is_error(403, "You are a viewer of this group; this needs an owner");
        let sql = "UPDATE group_members SET role = 'owner' WHERE user_id = (SELECT id FROM users WHERE email_key = $1)";
        app.backend.execute(sql, &other.email).await;
        assert_eq!(set_role(app, &other, group, &owner.email, "viewer").await.status, 200);
    }

    async fn a_member_leaves_and_removes_nobody(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let viewer = member(app, &owner, group, "viewer").await;
        let sentence = "You are a viewer of this group; this needs an owner";
        remove(app, &viewer, group, &owner.email).await.is_error(403, sentence);
        remove(app, &viewer, group, "nobody@example.org").await.is_error(403, sentence);
        set_role(app, &viewer, group, &viewer.email, "owner").await.is_error(403, sentence);
        assert_eq!(remove(app, &viewer, group, &viewer.email).await.status, 204);
        assert_eq!(app.get_as(&viewer.token, "/groups").await.text, "[]\n");
    }

    async fn the_number_of_a_stranger_tells_no_address(app) {
        let (owner, stranger) = (person(app).await, person(app).await);
        let group = group_of(app, &owner).await;
        let number = app.get_as(&stranger.token, "/auth/me").await.json()["id"].to_string();
        for named in [number.as_str(), "nobody@example.org", "someone"] {
            set_role(app, &owner, group, named, "viewer").await.is_error(404, "No account or member is named so");
        }
        let refused = set_role(app, &owner, group, &stranger.email, "admin").await;
        refused.is_error(422, "role: must be viewer, editor or owner");
        assert_eq!(set_role(app, &owner, group, &stranger.email, "viewer").await.status, 200);
        // Of a member the number will do.
        assert_eq!(set_role(app, &owner, group, &number, "editor").await.json()["role"], "editor");
    }

    async fn a_group_with_links_is_deleted_only_with_them(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let code = code_of(&shorten(app, &owner.token, group, &json!({})).await);
        let path = format!("/groups/{group}");
        let refused = send(app, &owner.token, None, (Method::DELETE, &path), &json!({})).await;
        refused.is_error(409, "The group has links, perhaps in its bin; move them, or delete the group with links=delete");
        let wrong = send(app, &owner.token, None, (Method::DELETE, &format!("{path}?links=keep")), &json!({})).await;
        wrong.is_error(422, "links: must be delete");
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        let deleted = send(app, &owner.token, None, (Method::DELETE, &format!("{path}?links=delete")), &json!({})).await;
        assert_eq!(deleted.status, 204, "{deleted:?}");
        assert_eq!(app.visit(&format!("/{code}")).await.status, 404);
        get(app, &owner.token, group, "/urls/my").await.is_error(404, "Group not found");
    }

    async fn the_only_owner_of_a_group_does_not_go(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let delete = (Method::DELETE, "/auth/me");
        let body = json!({ "password": PASSWORD });
        let refused = send(app, &owner.token, None, delete.clone(), &body).await;
        refused.is_error(409, "You are the only owner of the group Marketing; make another member an owner, or delete the group");
        let code = code_of(&shorten(app, &owner.token, group, &json!({})).await);
        member(app, &owner, group, "owner").await;
        assert_eq!(send(app, &owner.token, None, delete, &body).await.status, 204);
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }

    async fn a_ban_of_a_member_leaves_the_links_of_the_group(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let editor = member(app, &owner, group, "editor").await;
        let code = code_of(&shorten(app, &editor.token, group, &json!({})).await);
        let own = app.shorten(&editor.token, "https://example.org/").await;
        let admin = crate::suite::abuse::admin(app).await;
        let ban = json!({ "kind": "user", "value": editor.email, "reason": "spam" });
        let banned = send(app, &admin, None, (Method::POST, "/admin/removals"), &ban).await;
        assert_eq!(banned.status, 200, "{banned:?}");
        assert_eq!(get(app, &editor.token, group, "/urls/my").await.status, 401);
        crate::support::eventually("the own link is removed", async || app.visit(&format!("/{own}")).await.status == 410).await;
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }

    async fn administrators_see_a_group_as_one_ban_it_and_let_it_use_a_host(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let code = code_of(&shorten(app, &owner.token, group, &json!({})).await);
        let admin = crate::suite::abuse::admin(app).await;
        let users = app.get_as(&admin, "/admin/users").await.json();
        let users = users["users"].as_array().unwrap();
        let seen = users.iter().find(|user| user["id"] == group).unwrap();
        assert_eq!(seen["group"], "Marketing", "{seen}");
        let host = json!({ "host": "go.group.example", "owners": [seen["email"]] });
        assert_eq!(send(app, &admin, None, (Method::POST, "/admin/domains"), &host).await.status, 200);
        assert_eq!(get(app, &owner.token, group, "/domains").await.json()[0]["host"], "go.group.example");
        assert_eq!(app.get_as(&owner.token, "/domains").await.text, "[]\n");
        let ban = json!({ "kind": "user", "value": group.to_string(), "reason": "spam" });
        let banned = send(app, &admin, None, (Method::POST, "/admin/removals"), &ban).await;
        assert_eq!(banned.status, 200, "{banned:?}");
        get(app, &owner.token, group, "/urls/my").await.is_error(404, "Group not found");
        shorten(app, &owner.token, group, &json!({})).await.is_error(404, "Group not found");
        crate::support::eventually("the link is removed", async || app.visit(&format!("/{code}")).await.status == 410).await;
        let revoke = format!("/admin/removals/{}", banned.json()["id"]);
        assert_eq!(send(app, &admin, None, (Method::DELETE, &revoke), &json!({})).await.status, 200);
        assert_eq!(get(app, &owner.token, group, "/urls/my").await.status, 200);
    }
}

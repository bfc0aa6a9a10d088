//! People who are invited to a group.

use reqwest::Method;
use serde_json::json;

use super::{PASSWORD, get, group_of, person, send};
use crate::suite::web::browser::{Browser, leads_to};
use crate::support::{both_modes, unique};

both_modes! {
    async fn an_invited_person_joins_the_group_with_its_role(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let admin = crate::suite::abuse::admin(app).await;
        let email = format!("{}@example.org", unique());
        let body = json!({ "email": email, "group": group, "group_role": "editor" });
        let invited = send(app, &admin, None, (Method::POST, "/admin/invitations"), &body).await;
        assert_eq!(invited.status, 200, "{invited:?}");
        assert_eq!((&invited.json()["group"], &invited.json()["group_role"]), (&json!(group), &json!("editor")));
        let url = invited.json()["url"].as_str().unwrap().to_owned();
        let path = &url[url.find("/app/join/").unwrap()..];
        let mut browser = Browser::new(app);
        leads_to(&browser.send(path, path, &[("password", PASSWORD)]).await, "/app");
        let logged_in = app.account("/auth/login", &email, PASSWORD).await.json();
        let token = logged_in["access_token"].as_str().unwrap();
        assert_eq!(app.get_as(token, "/groups").await.json()[0]["role"], "editor");
        assert_eq!(get(app, token, group, "/urls/my").await.status, 200);
    }

    async fn an_invitation_names_a_group_that_is_there(app) {
        let owner = person(app).await;
        let admin = crate::suite::abuse::admin(app).await;
        let number = app.get_as(&owner.token, "/auth/me").await.json()["id"].clone();
        for group in [number, json!(999_999)] {
            let body = json!({ "email": "new@example.org", "group": group });
            let refused = send(app, &admin, None, (Method::POST, "/admin/invitations"), &body).await;
            refused.is_error(422, "group: must be the number of a group");
        }
        let body = json!({ "email": "new@example.org", "group_role": "viewer" });
        let refused = send(app, &admin, None, (Method::POST, "/admin/invitations"), &body).await;
        refused.is_error(422, "group_role: must be viewer, editor or owner, and only beside group");
    }
}

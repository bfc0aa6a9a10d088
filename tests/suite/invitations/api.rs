//! `/admin/invitations`.

use reqwest::Method;
use serde_json::json;

use super::{address, invite, invited, is_over, path_of};
use crate::suite::abuse::{account, admin, send};
use crate::suite::web::browser::Browser;
use crate::support::{Response, both_modes, eventually};

both_modes! {
    async fn an_invitation_has_its_link_once_and_is_listed_without_it(app) {
        let admin = admin(app).await;
        let email = address();
        let made = invite(app, &admin, &json!({ "email": email, "role": "admin" })).await;
        assert_eq!(made.status, 200, "{made:?}");
        let made = made.json();
        let url = made["url"].as_str().unwrap();
        let token = url.rsplit('/').next().unwrap();
        assert!(url.ends_with(&path_of(url)) && token.len() == 48, "{url}");
        assert_eq!((&made["email"], &made["role"]), (&json!(email), &json!("admin")));
        invited(app, &admin, &address()).await;
        let listed = app.get_as(&admin, "/admin/invitations").await;
        assert!(!listed.text.contains(token), "{listed:?}");
        let listed = listed.json();
        let all = listed["invitations"].as_array().unwrap();
        assert_eq!((all.len(), &listed["next"]), (2, &json!(null)));
        assert_eq!((&all[0]["role"], &all[1]["role"], &all[1]["email"]), (&json!(null), &json!("admin"), &json!(email)));
        let page = app.get_as(&admin, "/admin/invitations?limit=1").await.json();
        let next = format!("/admin/invitations?before={}", page["next"]);
        assert_eq!(app.get_as(&admin, &next).await.json()["invitations"][0]["email"], json!(email));
    }

    async fn a_revoked_invitation_is_over_and_gone_from_the_list(app) {
        let admin = admin(app).await;
        let path = invited(app, &admin, &address()).await;
        let id = app.get_as(&admin, "/admin/invitations").await.json()["invitations"][0]["id"].to_string();
        let revoke = async || {
            let request = app.request(Method::DELETE, &format!("/admin/invitations/{id}"));
            Response::of(request.bearer_auth(&admin)).await
        };
        assert_eq!(revoke().await.status, 204);
        revoke().await.is_error(404, "Invitation not found");
        is_over(&Browser::new(app).get(&path).await);
        assert_eq!(app.get_as(&admin, "/admin/invitations").await.json()["invitations"], json!([]));
        let audit = app.get_as(&admin, "/admin/audit").await.text;
        for action in ["\"invite\"", "\"revoke_invitation\""] {
            assert!(audit.contains(action), "{action}: {audit}");
        }
        eventually("it is in the log", async || app.server.log().contains("revoke invitation ")).await;
    }

    async fn another_invitation_of_an_address_ends_the_earlier_one(app) {
        let admin = admin(app).await;
        let email = address();
        let earlier = invited(app, &admin, &email).await;
        let later = invited(app, &admin, &email.to_uppercase()).await;
        let mut browser = Browser::new(app);
        is_over(&browser.get(&earlier).await);
        assert_eq!(browser.get(&later).await.status, 200);
        let listed = app.get_as(&admin, "/admin/invitations").await.json();
        assert_eq!(listed["invitations"].as_array().unwrap().len(), 1);
    }

    async fn an_invitation_that_breaks_a_rule_is_refused_by_its_field(app) {
        let admin = admin(app).await;
        let (taken, _) = account(app).await;
        for (body, status, detail) in [
            (json!({ "email": "nobody" }), 422, "email: this is not a valid e-mail address"),
            (json!({ "email": address(), "role": "owner" }), 422, "role: must be admin, or left out"),
            (json!({ "email": address(), "role": "" }), 422, "role: must be admin, or left out"),
            (json!({ "email": taken, "group": 0 }), 422, "group: must be the number of a group"),
            (json!({ "email": taken }), 409, "email: has an account already"),
        ] {
            invite(app, &admin, &body).await.is_error(status, detail);
        }
        for body in [json!({ "role": "admin" }), json!({ "email": address(), "group": 1 }), json!({ "email": 1 })] {
            let refused = send(app, Method::POST, &admin, "/admin/invitations", &body).await;
            assert_eq!(refused.status, 422, "{body}: {refused:?}");
        }
    }
}

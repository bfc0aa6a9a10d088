//! Who may administer the service, what they see, and what is noted of it.

use reqwest::Method;
use serde_json::json;

use super::{account, admin, id_of, remove, revoke, send};
use crate::support::{Response, both_modes, eventually};

const ROUTES: [(&str, &str); 16] = [
    ("GET", "/admin/audit"),
    ("GET", "/admin/domains"),
    ("POST", "/admin/domains"),
    ("GET", "/admin/domains/go.test"),
    ("PATCH", "/admin/domains/go.test"),
    ("DELETE", "/admin/domains/go.test"),
    ("GET", "/admin/invitations"),
    ("POST", "/admin/invitations"),
    ("DELETE", "/admin/invitations/1"),
    ("GET", "/admin/links"),
    ("GET", "/admin/removals"),
    ("POST", "/admin/removals"),
    ("DELETE", "/admin/removals/1"),
    ("GET", "/admin/reports"),
    ("DELETE", "/admin/reports/1"),
    ("GET", "/admin/users"),
];

both_modes! {
    async fn routes_of_administrators_are_forbidden_to_all_others(app) {
        let token = app.register().await;
        let key = json!({ "name": "script", "scope": "write" });
        let key = send(app, Method::POST, &token, "/auth/keys", &key).await.json();
        for (method, path) in ROUTES {
            let request = || app.request(method.parse().unwrap(), path).json(&json!({}));
            Response::of(request()).await.is_error(401, "Not authenticated");
            let forbidden = Response::of(request().bearer_auth(&token)).await;
            forbidden.is_error(403, "This needs the administrator role");
            let with_key = Response::of(request().bearer_auth(key["key"].as_str().unwrap())).await;
            assert_eq!(with_key.status, 401, "{with_key:?}");
        }
        eventually("the refusals are in the log", async || app.server.log().contains("authz_fail")).await;
    }

    async fn a_key_of_an_administrator_does_not_administer(app) {
        let admin = admin(app).await;
        let key = json!({ "name": "script", "scope": "write" });
        let key = send(app, Method::POST, &admin, "/auth/keys", &key).await.json();
        for (method, path) in ROUTES {
            let request = app.request(method.parse().unwrap(), path).json(&json!({}));
            let refused = Response::of(request.bearer_auth(key["key"].as_str().unwrap())).await;
            assert_eq!(refused.status, 401, "{refused:?}");
        }
    }

    async fn administrators_search_links_and_accounts(app) {
        let admin = admin(app).await;
        let (email, token) = account(app).await;
        let code = app.shorten(&token, "https://needle.example/100%").await;
        app.shorten(&token, "https://other.example/").await;
        for query in ["q=NEEDLE", &format!("q={code}"), "q=100%25", &format!("q=needle&owner={email}")] {
            let found = app.get_as(&admin, &format!("/admin/links?{query}")).await.json();
            assert_eq!(found["links"].as_array().unwrap().len(), 1, "{query}");
            assert_eq!((&found["links"][0]["short_code"], &found["next"]), (&json!(code), &json!(null)));
        }
        let page = app.get_as(&admin, &format!("/admin/links?owner={email}&limit=1")).await.json();
        let next = page["next"].as_i64().unwrap();
        let page = app.get_as(&admin, &format!("/admin/links?owner={email}&limit=1&before={next}")).await.json();
        assert_eq!((&page["links"][0]["short_code"], &page["next"]), (&json!(code), &json!(null)));
        let users = app.get_as(&admin, &format!("/admin/users?q={email}")).await.json();
        assert_eq!((&users["users"][0]["email"], &users["users"][0]["links"], &users["users"][0]["is_admin"]), (&json!(email), &json!(2), &json!(false)));
        app.get_as(&admin, "/admin/links?limit=0").await.is_error(422, "limit: must be from 1 to 200");
        app.get_as(&admin, "/admin/users?befor=1").await.is_error(422, "befor: is not known here; did you mean before?");
    }

    async fn a_list_of_administrators_refuses_what_it_cannot_do(app) {
        let admin = admin(app).await;
        for list in ["audit", "reports", "removals", "invitations"] {
            for name in ["q", "owner"] {
                let detail = format!("{name}: is not known here; known names are ");
                let refused = app.get_as(&admin, &format!("/admin/{list}?{name}=1")).await;
                assert_eq!(refused.status, 422, "{list} {refused:?}");
                assert!(refused.detail().starts_with(&detail), "{list} {refused:?}");
            }
        }
        for list in ["audit", "reports", "removals", "invitations", "links", "users"] {
            for (query, detail) in [
                ("limit=ten", "limit: must be from 1 to 200"),
                ("limit=201", "limit: must be from 1 to 200"),
                ("before=", "before: must be at least 1"),
                ("before=0", "before: must be at least 1"),
                ("before=99999999999999999999", "before: must be at least 1"),
            ] {
                app.get_as(&admin, &format!("/admin/{list}?{query}")).await.is_error(422, detail);
            }
            assert_eq!(app.get_as(&admin, &format!("/admin/{list}?limit=200&before=9")).await.status, 200);
        }
    }

    async fn what_administrators_do_is_in_the_audit_and_in_the_log(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        let code = app.shorten(&token, "https://example.org/").await;
        let id = id_of(&remove(app, &admin, "link", &code, 410).await);
        assert_eq!(revoke(app, &admin, id).await.status, 200);
        let audit = app.get_as(&admin, "/admin/audit").await.json();
        let [back, removed] = [&audit["entries"][0], &audit["entries"][1]];
        assert_eq!((&back["action"], &back["subject"]), (&json!("revoke"), &json!(format!("removal {id}"))));
        assert_eq!((&removed["action"], &removed["detail"]), (&json!("remove"), &json!(format!("link {code}: phishing"))));
        assert_eq!((&removed["address"], removed["user"].is_i64()), (&json!("127.0.0.1"), true));
        eventually("both are in the log", async || app.server.log().matches("authz_admin").count() == 2).await;
    }

    async fn whoever_sees_where_a_locked_link_leads_is_in_the_audit(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        for link in [json!({"custom_code": "locked-1", "password": "open sesame"}), json!({"custom_code": "unlocked"})] {
            let mut link = link;
            link["target_url"] = json!("https://example.org/");
            assert_eq!(app.request(reqwest::Method::POST, "/urls/shorten").bearer_auth(&token).json(&link).send().await.unwrap().status(), 200);
        }
        assert_eq!(app.get_as(&admin, "/admin/links?q=unlocked").await.status, 200);
        assert_eq!(app.get_as(&admin, "/admin/audit").await.json()["entries"], json!([]));
        let found = app.get_as(&admin, "/admin/links?q=locked-1").await.json();
        assert_eq!(found["links"][0]["has_password"], json!(true), "{found}");
        let entry = &app.get_as(&admin, "/admin/audit").await.json()["entries"][0];
        assert_eq!(
            (&entry["action"], &entry["detail"], entry["user"].is_i64()),
            (&json!("see_targets"), &json!("locked-1"), true)
        );
    }
}

//! Making, changing and deleting hooks.

use reqwest::Method;
use serde_json::json;

use super::{hook_of, patch_hook, show_hook};
use crate::suite::managed::send;
use crate::support::both_modes;

both_modes! {
    async fn a_hook_shows_its_secret_once(app) {
        let token = app.register().await;
        let body = json!({ "url": "https://example.org/in?key=1", "types": ["clicks", "clicks"], "tags": ["Spring"] });
        let made = send(app, Method::POST, &token, "/hooks", &body).await.json();
        assert!(made["secret"].as_str().unwrap().starts_with("whsec_"));
        assert_eq!((&made["url"], &made["types"]), (&json!("https://example.org/in?key=1"), &json!(["clicks"])));
        let id = made["id"].as_i64().unwrap();
        let shown = show_hook(app, &token, id).await;
        assert!(shown.get("secret").is_none());
        assert_eq!(shown["tags"], made["tags"]);
        let listed = app.get_as(&token, "/hooks").await.json();
        assert_eq!(listed, json!([shown]));
        let changed = patch_hook(app, &token, id, &json!({ "types": ["link.ended"], "tags": [] })).await;
        assert_eq!((&changed["types"], &changed["tags"]), (&json!(["link.ended"]), &json!([])));
        assert_eq!(changed["url"], made["url"]);
        assert!(changed.get("secret").is_none());
    }

    async fn a_hook_that_is_wrong_is_refused_with_a_reason(app) {
        let token = app.register().await;
        for (body, detail) in [
            (json!({ "url": "http://example.org/", "types": ["clicks"] }), "url: must be an absolute https:// URL"),
            (json!({ "url": "https://127.0.0.1/", "types": ["clicks"] }), "url: must lead to a public address"),
            (json!({ "url": "https://a:b@example.org/", "types": ["clicks"] }), "url: must not contain a user name or password"),
            (json!({ "url": "https://example.org/", "types": [] }), "types: must name at least one type"),
            (
                json!({ "url": "https://example.org/", "types": ["click"] }),
                "types: must each be one of link.created, link.changed, link.deleted, link.removed, link.restored, link.ended, link.moved, clicks, hook.off",
            ),
        ] {
            send(app, Method::POST, &token, "/hooks", &body).await.is_error(422, detail);
        }
        assert_eq!(app.get_as(&token, "/hooks").await.json(), json!([]));
    }

    async fn an_account_has_at_most_ten_hooks(app) {
        let token = app.register().await;
        let body = json!({ "url": "https://example.org/in", "types": ["clicks"] });
        for _ in 0..10 {
            hook_of(app, &token, &body).await;
        }
        send(app, Method::POST, &token, "/hooks", &body).await
            .is_error(403, "This account has the maximum of 10 hooks; delete a hook to make room");
    }

    async fn a_hook_is_its_owners(app) {
        let (token, other) = (app.register().await, app.register().await);
        let body = json!({ "url": "https://example.org/in", "types": ["clicks"] });
        let (id, _) = hook_of(app, &token, &body).await;
        let path = format!("/hooks/{id}");
        app.get_as(&other, &path).await.is_error(404, "Hook not found");
        app.get_as(&other, &format!("{path}/deliveries")).await.is_error(404, "Hook not found");
        for (method, path, body) in [
            (Method::PATCH, path.clone(), json!({ "is_active": false })),
            (Method::DELETE, path.clone(), json!({})),
            (Method::POST, format!("{path}/replay"), json!({ "after": "000000000.0" })),
        ] {
            send(app, method, &other, &path, &body).await.is_error(404, "Hook not found");
        }
        assert_eq!(app.get_as(&other, "/hooks").await.json(), json!([]));
        assert_eq!(show_hook(app, &token, id).await["is_active"], true);
        for id in ["0", "x", "99999999999999999999"] {
            app.get_as(&token, &format!("/hooks/{id}")).await.is_error(404, "Hook not found");
        }
        let gone = send(app, Method::DELETE, &token, &path, &json!({})).await;
        assert_eq!(gone.status, 204);
        app.get_as(&token, &path).await.is_error(404, "Hook not found");
    }

    async fn a_key_that_only_reads_has_no_hooks(app) {
        let token = app.register().await;
        let key = async |scope: &str| {
            let body = json!({ "name": "key", "scope": scope });
            let made = send(app, Method::POST, &token, "/auth/keys", &body).await.json();
            made["key"].as_str().unwrap().to_owned()
        };
        let (read, write, create) = (key("read").await, key("write").await, key("create").await);
        for key in [&read, &create] {
            assert_eq!(app.get_as(key, "/hooks").await.status, 403);
        }
        let body = json!({ "url": "https://example.org/in", "types": ["clicks"] });
        let (id, _) = hook_of(app, &write, &body).await;
        assert_eq!(show_hook(app, &token, id).await["id"], id);
    }
}

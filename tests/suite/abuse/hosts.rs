//! Removals of all links to a host.

use reqwest::Method;
use serde_json::json;

use super::{admin, becomes, id_of, remove, revoke, send};
use crate::support::both_modes;

const REFUSED: &str = "target_url: must not lead to a target that this service refuses";

both_modes! {
    async fn all_links_to_a_removed_host_are_removed_and_restored(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        let mut bad = Vec::new();
        for target in ["https://bad.example/a", "http://BAD.example:8080/", "https://bad.example./", "https://www.bad.example/"] {
            bad.push(app.shorten(&token, target).await);
        }
        let good = app.shorten(&token, "https://notbad.example/").await;
        let id = id_of(&remove(app, &admin, "host", "*.bad.example", 451).await);
        for code in &bad {
            becomes(app, code, 451).await;
        }
        assert_eq!(app.visit(&format!("/{good}")).await.status, 302);
        let listed = app.get_as(&admin, "/admin/removals").await.json();
        assert_eq!((&listed["removals"][0]["id"], &listed["removals"][0]["links"]), (&json!(id), &json!(4)));
        assert_eq!(revoke(app, &admin, id).await.status, 200);
        for code in &bad {
            becomes(app, code, 302).await;
        }
    }

    async fn a_link_is_removed_with_the_host_of_its_fallback(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        let make = async |fallback: &str| {
            let link = json!({"target_url": "https://good.example/", "fallback_url": fallback});
            send(app, Method::POST, &token, "/urls/shorten", &link).await
        };
        let code = make("https://bad.example/later").await.json()["short_code"].as_str().unwrap().to_owned();
        let seen = app.get_as(&admin, "/admin/links?q=BAD.example").await.json();
        assert_eq!((&seen["links"][0]["short_code"], &seen["links"][0]["fallback_url"]), (&json!(code), &json!("https://bad.example/later")));
        let id = id_of(&remove(app, &admin, "host", "bad.example", 410).await);
        becomes(app, &code, 410).await;
        let refused = REFUSED.replace("target_url", "fallback_url");
        make("https://bad.example/other").await.is_error(422, &refused);
        assert_eq!(revoke(app, &admin, id).await.status, 200);
        becomes(app, &code, 302).await;
    }

    async fn a_link_is_removed_with_the_host_of_a_target_of_its_rules(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        let make = async |target: &str| {
            let split = json!([{"target_url": "https://good.example/a", "weight": 1}, {"target_url": target, "weight": 1}]);
            let link = json!({"target_url": "https://good.example/", "rules": [{"when": {"device": "phone"}, "split": split}]});
            send(app, Method::POST, &token, "/urls/shorten", &link).await
        };
        let code = make("https://bad.example/b").await.json()["short_code"].as_str().unwrap().to_owned();
        let seen = app.get_as(&admin, "/admin/links?q=BAD.example").await.json();
        assert_eq!(seen["links"][0]["short_code"], json!(code));
        assert_eq!(seen["links"][0]["rule_targets"], json!(["https://good.example/a", "https://bad.example/b"]));
        let id = id_of(&remove(app, &admin, "host", "bad.example", 410).await);
        becomes(app, &code, 410).await;
        make("https://bad.example/c").await.is_error(422, &REFUSED.replace("target_url", "rules"));
        let plain = app.shorten(&token, "https://good.example/").await;
        let edit = json!({"rules": [{"target_url": "https://bad.example/d"}]});
        send(app, Method::PATCH, &token, &format!("/urls/{plain}"), &edit).await.is_error(422, &REFUSED.replace("target_url", "rules"));
        assert_eq!(revoke(app, &admin, id).await.status, 200);
        becomes(app, &code, 302).await;
    }

    async fn a_removed_address_is_removed_in_every_form_in_which_ipv6_carries_it(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        let forms = [
            "http://198.51.100.9/", "http://0xc6336409/", "http://[::ffff:198.51.100.9]/", "http://[::198.51.100.9]/", "http://[::ffff:0:198.51.100.9]/",
            "http://[64:ff9b::198.51.100.9]/", "http://[64:ff9b:1::198.51.100.9]/", "http://[2002:c633:6409::1]/", "http://[2600::5efe:198.51.100.9]/",
        ];
        let mut bad = Vec::new();
        for target in forms {
            bad.push(app.shorten(&token, target).await);
        }
        let good = app.shorten(&token, "http://[64:ff9b::198.51.100.10]/").await;
        let removal = remove(app, &admin, "host", "[64:ff9b::c633:6409]", 410).await;
        let id = id_of(&removal);
        assert_eq!(removal.json()["value"], "198.51.100.9");
        for (code, target) in bad.iter().zip(forms) {
            becomes(app, code, 410).await;
            app.try_shorten(&token, target).await.is_error(422, REFUSED);
        }
        assert_eq!(app.visit(&format!("/{good}")).await.status, 302);
        assert_eq!(revoke(app, &admin, id).await.status, 200);
    }

    async fn a_removal_holds_once_it_is_answered_and_so_does_its_end(app) {
        const MANY: &str = "INSERT INTO links (short_code, target_url, owner_id, created_at)
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
            SELECT 'many' || n.i, 'https://many.example/', users.id, users.created_at FROM n, users
            WHERE CAST(users.id AS text) = $1";
        let (admin, token) = (admin(app).await, app.register().await);
        let me = app.get_as(&token, "/auth/me").await.json()["id"].to_string();
        app.backend.execute(MANY, &me).await;
        let all = async |status| {
            for code in ["many1", "many600", "many1200"] {
                assert_eq!(app.visit(&format!("/{code}")).await.status, status, "{code}");
            }
        };
        for (kind, value) in [("host", "many.example"), ("user", &*me)] {
            all(302).await;
            let removal = remove(app, &admin, kind, value, 410).await;
            assert_eq!(removal.json()["progress"], "done", "{removal:?}");
            let id = id_of(&removal);
            all(410).await;
            assert_eq!(revoke(app, &admin, id).await.status, 200);
        }
        all(302).await;
    }

    async fn new_links_to_a_removed_host_are_refused_everywhere(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        let kept = app.shorten(&token, "https://example.org/").await;
        let id = id_of(&remove(app, &admin, "host", "bad.example", 410).await);
        app.try_shorten(&token, "https://BAD.example/").await.is_error(422, REFUSED);
        let edit = json!({ "target_url": "https://bad.example/" });
        send(app, Method::PATCH, &token, &format!("/urls/{kept}"), &edit).await.is_error(422, REFUSED);
        let many = json!([{ "target_url": "https://bad.example/" }, { "target_url": "https://sub.bad.example/" }]);
        let made = send(app, Method::POST, &token, "/urls/bulk", &many).await.json();
        assert_eq!((&made[0]["status"], &made[0]["detail"], &made[1]["status"]), (&json!(422), &json!(REFUSED), &json!(200)));
        assert_eq!(revoke(app, &admin, id).await.status, 200);
        assert_eq!(app.try_shorten(&token, "https://bad.example/").await.status, 200);
    }
}

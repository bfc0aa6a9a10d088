//! Removals of single links.

use reqwest::Method;
use serde_json::json;

use super::{admin, id_of, is_removed, remove, revoke, send, status_of};
use crate::support::{App, Backend, Mode, both_modes};

both_modes! {
    async fn a_removed_link_is_not_followed_on_any_path_and_not_counted(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        for status in [410, 451] {
            let code = app.shorten(&token, "https://example.org/").await;
            assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
            let removal = remove(app, &admin, "link", &code, status).await.json();
            assert_eq!((&removal["links"], &removal["progress"]), (&json!(1), &json!("done")));
            for path in [format!("/{code}"), format!("/{code}/"), format!("/urls/r/{code}"), format!("/{code}?a=b"), format!("/%{:02x}{}", code.as_bytes()[0], &code[1..])] {
                is_removed(&app.get(&path).await, status);
                let head = crate::support::Response::of(app.request(Method::HEAD, &path)).await;
                assert_eq!((head.status.as_u16(), head.text.as_str()), (status, ""), "{path}");
                assert_eq!(head.header("link"), "</>; rel=\"blocked-by\"");
            }
            assert_eq!(app.clicks(&code).await, 1);
        }
    }

    async fn statistics_of_a_removed_link_do_not_show_its_target(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        let code = app.shorten(&token, "https://evil.example/page").await;
        id_of(&remove(app, &admin, "link", &code, 410).await);
        let stats = app.get(&format!("/urls/{code}/stats")).await;
        assert_eq!((stats.status.as_u16(), &stats.json()["target_url"]), (200, &json!(null)));
        for path in [format!("/urls/{code}/stats"), format!("/urls/{code}/qr"), format!("/{code}"), format!("/{code}+")] {
            let request = app.request(Method::GET, &path).header("accept", "text/html");
            let shown = crate::support::Response::of(request).await;
            assert!(!shown.text.contains("evil.example"), "{path}: {shown:?}");
        }
    }

    async fn a_removed_link_is_shown_so_to_its_owner_who_cannot_undo_it(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        let code = app.shorten(&token, "https://example.org/").await;
        let before = app.get_as(&token, &format!("/urls/{code}")).await;
        id_of(&remove(app, &admin, "link", &code, 410).await);
        let after = app.get_as(&token, &format!("/urls/{code}")).await;
        assert_eq!((&after.json()["status"], &after.json()["is_active"]), (&json!("removed"), &json!(true)));
        assert_ne!(before.header("etag"), after.header("etag"));
        for edit in [json!({ "is_active": true }), json!({ "target_url": "https://example.com/" }), json!({ "title": "a" })] {
            send(app, Method::PATCH, &token, &format!("/urls/{code}"), &edit).await.is_error(409, "URL removed");
        }
        is_removed(&app.get(&format!("/{code}")).await, 410);
        for (status, found) in [("removed", 1), ("active", 0), ("inactive", 0)] {
            let listed = app.get_as(&token, &format!("/urls/my?status={status}&view=full")).await.json();
            assert_eq!(listed.as_array().unwrap().len(), found, "{status}");
        }
        let listed = app.get_as(&token, "/urls/my?sort=clicks&view=full&status=removed").await.json();
        assert_eq!(listed[0]["status"], "removed");
    }

    async fn a_link_whose_removal_is_revoked_is_as_its_owner_had_it(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        let on = app.shorten(&token, "https://example.org/").await;
        let off = app.shorten(&token, "https://example.org/").await;
        let edit = json!({ "is_active": false });
        assert_eq!(send(app, Method::PATCH, &token, &format!("/urls/{off}"), &edit).await.status, 200);
        for code in [&on, &off] {
            let id = id_of(&remove(app, &admin, "link", code, 410).await);
            is_removed(&app.get(&format!("/{code}")).await, 410);
            let back = revoke(app, &admin, id).await;
            assert_eq!((back.status.as_u16(), &back.json()["links"]), (200, &json!(0)));
            revoke(app, &admin, id).await.is_error(404, "Removal not found");
        }
        assert_eq!(app.visit(&format!("/{on}")).await.status, 302);
        assert_eq!(app.visit(&format!("/{off}")).await.status, 404);
        assert_eq!(status_of(app, &token, &off).await, "inactive");
    }

    async fn a_link_that_two_removals_cover_needs_both_revoked(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        let code = app.shorten(&token, "https://twice.example/").await;
        let link = id_of(&remove(app, &admin, "link", &code, 410).await);
        let host = id_of(&remove(app, &admin, "host", "twice.example", 451).await);
        super::becomes(app, &code, 451).await;
        assert_eq!(revoke(app, &admin, host).await.status, 200);
        super::becomes(app, &code, 410).await;
        assert_eq!(revoke(app, &admin, link).await.status, 200);
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }

    async fn the_code_of_a_removed_link_stays_retired_also_for_its_owner(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        let chosen = json!({ "target_url": "https://example.org/", "custom_code": "once-bad" });
        assert_eq!(send(app, Method::POST, &token, "/urls/shorten", &chosen).await.status, 200);
        id_of(&remove(app, &admin, "link", "once-bad", 410).await);
        assert_eq!(app.delete(&token, "once-bad").await.status, 204);
        send(app, Method::POST, &token, "/urls/shorten", &chosen).await.is_error(409, "custom_code: is taken");
        app.get("/once-bad").await.is_error(404, "URL not found");
    }

    async fn what_is_removed_already_is_not_removed_again(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        let code = app.shorten(&token, "https://example.org/").await;
        let id = id_of(&remove(app, &admin, "link", &code, 410).await);
        let again = remove(app, &admin, "link", &code, 451).await;
        again.is_error(409, &format!("value: was already removed, by removal {id}"));
        remove(app, &admin, "link", "unknown1", 410).await.is_error(404, "value: nothing of this kind has this value");
    }

    async fn a_removal_is_refused_by_the_name_of_its_wrong_field(app) {
        let admin = admin(app).await;
        for (body, detail) in [
            (json!({ "kind": "page", "value": "a", "reason": "b" }), "kind: must be link, host, user or address"),
            (json!({ "kind": "link", "value": "a b", "reason": "b" }), "value: must be a short code"),
            (json!({ "kind": "host", "value": "*.com", "reason": "b" }), "value: must not be a public suffix, such as co.uk: the hosts of many owners end in it"),
            (json!({ "kind": "address", "value": "0.0.0.0/0", "reason": "b" }), "value: must be an IP address, or a range of them such as 198.51.100.0/24"),
            (json!({ "kind": "link", "value": "a", "reason": " " }), "reason: must not be empty"),
            (json!({ "kind": "link", "value": "a", "reason": "b", "status": 404 }), "status: must be 410 or 451"),
            (json!({ "kind": "link", "value": "a", "reason": "b", "status": "410" }), "status: must be 410 or 451"),
            (json!({ "kind": "link", "value": "a", "reason": "b", "status": 66946 }), "status: must be 410 or 451"),
            (json!({ "kind": "link", "value": "a", "reason": "b", "status": [451] }), "status: must be 410 or 451"),
            (json!({ "kind": "link", "value": "a" }), "reason: field is required"),
        ] {
            send(app, Method::POST, &admin, "/admin/removals", &body).await.is_error(422, detail);
        }
    }
}

/// Removes links that another instance has cached, or not.
async fn removed_beside_another(is_warm: bool, settings: &[(&str, &str)]) {
    let app = App::start_with(Mode::Production, settings).await;
    let other = App::of(
        Backend::new(Mode::Embedded).await,
        app.another(settings).await,
    );
    let (admin, token) = (admin(&app).await, app.register().await);
    for _ in 0..10 {
        let code = app.shorten(&token, "https://example.org/").await;
        let mut visits = 0;
        if is_warm {
            for visited in [&app, &other, &other] {
                assert_eq!(visited.server.follow(&code).await, 302);
                visits += 1;
            }
        }
        let id = id_of(&remove(&app, &admin, "link", &code, 410).await);
        is_removed(&other.get(&format!("/{code}")).await, 410);
        is_removed(&app.get(&format!("/{code}")).await, 410);
        assert_eq!(
            app.clicks(&code).await,
            visits,
            "a removed link is not counted"
        );
        assert_eq!(revoke(&app, &admin, id).await.status, 200);
        for visited in [&other, &app] {
            let back = visited.visit(&format!("/{code}")).await;
            assert_eq!(back.status, 302, "it is followed again at once");
        }
    }
    other.server_only().await;
    app.server_only().await;
}

#[tokio::test]
async fn no_instance_follows_or_counts_a_removed_link_that_it_has_not_cached() {
    removed_beside_another(false, &[("CACHE_TTL_SECONDS", "600")]).await;
}

#[tokio::test]
async fn no_instance_follows_or_counts_a_removed_link_that_it_has_cached() {
    removed_beside_another(true, &[("CACHE_TTL_SECONDS", "600")]).await;
}

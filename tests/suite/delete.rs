//! Deleting links.

use futures_util::future::join;
use reqwest::Method;
use serde_json::json;

use crate::suite::managed::{patch, show};
use crate::support::{App, Response, both_modes};

/// A deletion of a link in one of these states.
async fn delete_if_match(app: &App, token: &str, code: &str, tags: &str) -> Response {
    let request = app.request(Method::DELETE, &format!("/urls/{code}"));
    Response::of(request.bearer_auth(token).header("If-Match", tags)).await
}

both_modes! {
    async fn a_deleted_link_is_gone_at_once(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        app.visit(&format!("/{code}")).await;
        let response = app.delete(&token, &code).await;
        assert_eq!((response.status.as_u16(), response.text.as_str()), (204, ""));
        app.get(&format!("/{code}")).await.is_error(404, "URL not found");
        app.get(&format!("/urls/r/{code}")).await.is_error(404, "URL not found");
        app.get(&format!("/urls/{code}/stats")).await.is_error(404, "Not Found");
        assert_eq!(app.get_as(&token, "/urls/my").await.text, "[]\n");
        app.delete(&token, &code).await.is_error(404, "URL not found");
    }

    async fn the_link_of_another_user_and_an_unknown_link_are_answered_alike(app) {
        let (ada, bob) = (app.register().await, app.register().await);
        let code = app.shorten(&ada, "https://example.org/").await;
        app.delete(&bob, &code).await.is_error(404, "URL not found");
        app.delete(&bob, "nopenope").await.is_error(404, "URL not found");
        app.delete(&bob, "a.b").await.is_error(404, "URL not found");
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }

    async fn if_match_deletes_a_link_in_the_state_that_its_owner_saw(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let seen = show(app, &token, &code).await.header("etag").to_owned();
        assert_eq!(patch(app, &token, &code, &json!({"title": "changed"})).await.status, 200);
        let detail = "If-Match: the link was changed meanwhile; read it again";
        for tags in [&seen, "\"other\"", "", "no tag"] {
            delete_if_match(app, &token, &code, tags).await.is_error(412, detail);
        }
        let now = show(app, &token, &code).await.header("etag").to_owned();
        delete_if_match(app, &token, &code, &format!("W/{now}")).await.is_error(412, detail);
        let bob = app.register().await;
        delete_if_match(app, &bob, &code, &now).await.is_error(404, "URL not found");
        // A click changes nothing of what an owner edits.
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        assert_eq!(delete_if_match(app, &token, &code, &format!("{seen}, {now}")).await.status, 204);
        app.get(&format!("/{code}")).await.is_error(404, "URL not found");
        delete_if_match(app, &token, &code, &now).await.is_error(404, "URL not found");
        let other = app.shorten(&token, "https://example.org/").await;
        assert_eq!(delete_if_match(app, &token, &other, "*").await.status, 204);
    }

    async fn of_an_edit_and_a_deletion_of_the_same_state_one_is_carried_out(app) {
        let token = app.register().await;
        for round in 0..10 {
            let code = app.shorten(&token, "https://example.org/").await;
            let tag = show(app, &token, &code).await.header("etag").to_owned();
            let edit = app.request(Method::PATCH, &format!("/urls/{code}")).bearer_auth(&token);
            let edit = edit.header("If-Match", &tag).json(&json!({"title": format!("round {round}")}));
            let (edited, deleted) = join(Response::of(edit), delete_if_match(app, &token, &code, &tag)).await;
            let statuses = (edited.status.as_u16(), deleted.status.as_u16());
            assert!(matches!(statuses, (200, 412) | (404, 204)), "{statuses:?}");
        }
    }
}

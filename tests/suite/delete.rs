//! Deleting links.

use crate::support::both_modes;

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
}

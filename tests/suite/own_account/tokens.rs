//! `POST /auth/logout-everywhere`

use super::{PASSWORD, account, is_refused_everywhere, log_in, log_out_everywhere, token_of};
use crate::support::both_modes;

both_modes! {
    async fn all_tokens_end_and_a_new_log_in_gives_one_that_is_good(app) {
        let (email, first) = account(app).await;
        let second = token_of(&log_in(app, &email, PASSWORD).await);
        let answer = log_out_everywhere(app, &second).await;
        assert_eq!((answer.status.as_u16(), answer.text.as_str()), (204, ""));
        for ended in [&first, &second] {
            is_refused_everywhere(app, ended).await;
        }
        let third = token_of(&log_in(app, &email, PASSWORD).await);
        assert_eq!(app.get_as(&third, "/auth/me").await.status, 200);
    }

    async fn links_live_on_when_tokens_end(app) {
        let (email, token) = account(app).await;
        let code = app.shorten(&token, "https://example.org/").await;
        log_out_everywhere(app, &token).await;
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        let token = token_of(&log_in(app, &email, PASSWORD).await);
        assert_eq!(app.get_as(&token, "/urls/my").await.json().as_array().unwrap().len(), 1);
    }

    async fn tokens_of_others_go_on(app) {
        let ((_, other), (_, token)) = (account(app).await, account(app).await);
        log_out_everywhere(app, &token).await;
        assert_eq!(app.get_as(&other, "/auth/me").await.status, 200);
    }
}

//! How many links an account may have.

use futures_util::future::join_all;

use crate::support::both_modes;

const FIVE: &[(&str, &str)] = &[("LINKS_PER_ACCOUNT", "5")];

const TARGET: &str = "https://example.org/";

both_modes! {
    with FIVE;

    async fn an_account_with_all_its_links_gets_403_with_the_number_until_one_is_deleted(app) {
        let (ada, bob) = (app.register().await, app.register().await);
        let at_once = join_all((0..12).map(|_| app.try_shorten(&ada, TARGET))).await;
        let (made, refused): (Vec<_>, Vec<_>) = at_once.into_iter().partition(|response| response.status == 200);
        assert_eq!(made.len(), 5);
        for response in refused {
            response.is_error(403, "This account has the maximum of 5 links; delete links to make room");
        }
        assert_eq!(app.limit_hits("links_of_account").await, 7);
        app.shorten(&bob, TARGET).await;
        let codes: Vec<_> = made.iter().map(|response| response.json()["short_code"].as_str().unwrap().to_owned()).collect();
        assert_eq!(app.visit(&format!("/{}", codes[0])).await.status, 302, "its links go on");
        assert_eq!(app.delete(&ada, &codes[1]).await.status, 204);
        assert_eq!(app.delete(&ada, &codes[1]).await.status, 404);
        app.shorten(&ada, TARGET).await;
        assert_eq!(app.try_shorten(&ada, TARGET).await.status, 403);
    }
}

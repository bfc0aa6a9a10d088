//! A visitor's query, added to that of the target.

use serde_json::json;

use super::make;
use crate::support::both_modes;

both_modes! {
    async fn a_visitors_query_is_added_where_the_link_wants_it(app) {
        let token = app.register().await;
        let target = "https://example.org/p?a=1&b=2#part";
        for (code, forward) in [("forwards", true), ("as-it-is", false)] {
            make(app, &token, &json!({"target_url": target, "custom_code": code, "forward_query": forward})).await;
        }
        for (path, location) in [
            ("/forwards?b=3&c=4", "https://example.org/p?a=1&b=3&c=4#part"),
            ("/urls/r/forwards?utm=x%20y", "https://example.org/p?a=1&b=2&utm=x%20y#part"),
            ("/forwards?", target),
            ("/forwards", target),
            ("/as-it-is?b=3", target),
        ] {
            // Twice: the second time the link is cached.
            for _ in 0..2 {
                assert_eq!(app.get(path).await.header("location"), location, "{path}");
            }
        }
        assert_eq!(app.clicks("forwards").await, 8);
    }
}

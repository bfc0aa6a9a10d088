//! Where receivers may be.

use serde_json::json;

use super::receiver::Receiver;
use super::{hook_of, patch_hook, show_hook};
use crate::support::{both_modes, eventually};

both_modes! {
    async fn the_addresses_of_a_name_are_checked_when_the_connection_is_made(app) {
        let (token, receiver) = (app.register().await, Receiver::start().await);
        let body = json!({ "url": "https://example.org/in", "types": ["link.created"] });
        let (id, _) = hook_of(app, &token, &body).await;
        // What a name leads to changes, and so does the setting.
        for (url, error) in [
            (format!("https://localhost:{}/in", receiver.port), "The name of the receiver leads to no public address"),
            (receiver.url.clone(), "The address must begin with https://"),
        ] {
            app.backend.execute("UPDATE hooks SET url = $1", &url).await;
            patch_hook(app, &token, id, &json!({ "is_active": true })).await;
            app.shorten(&token, "https://example.org/").await;
            eventually("the failure is noted", async || show_hook(app, &token, id).await["last_error"] == error).await;
        }
        assert!(receiver.received().is_empty());
    }
}

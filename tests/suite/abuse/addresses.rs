//! Removals of all links from an address.

use reqwest::Method;
use serde_json::json;

use super::{admin, becomes, id_of, remove, revoke, send};
use crate::support::{App, Response, both_modes};

/// A link that a client at this address makes.
async fn made_from(app: &App, token: &str, address: &str) -> String {
    let request = app
        .request(Method::POST, "/urls/shorten")
        .bearer_auth(token);
    let request = request.header("x-forwarded-for", address);
    let made = Response::of(request.json(&json!({ "target_url": "https://example.org/" }))).await;
    assert_eq!(made.status, 200, "{made:?}");
    made.json()["short_code"].as_str().unwrap().to_owned()
}

both_modes! {
    with &[("TRUSTED_PROXIES", "127.0.0.0/8")];

    async fn links_that_were_made_from_an_address_are_removed(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        let code = app.shorten(&token, "https://example.org/").await;
        let many = json!([{ "target_url": "https://example.org/" }, { "target_url": "https://example.org/", "custom_code": "of-bulk" }]);
        let made = send(app, Method::POST, &token, "/urls/bulk", &many).await.json();
        let seen = app.get_as(&admin, "/admin/links?q=of-bulk").await.json();
        assert_eq!(seen["links"][0]["made_from"], "127.0.0.1");
        let other = id_of(&remove(app, &admin, "address", "198.51.100.0/24", 410).await);
        let id = id_of(&remove(app, &admin, "address", "127.0.0.0/8", 410).await);
        for code in [&*code, "of-bulk", made[0]["short_code"].as_str().unwrap()] {
            becomes(app, code, 410).await;
        }
        assert_eq!(revoke(app, &admin, other).await.status, 200);
        assert_eq!(revoke(app, &admin, id).await.status, 200);
        becomes(app, &code, 302).await;
    }

    async fn an_address_is_the_same_in_every_form_in_which_it_is_written(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        for address in ["203.0.113.77", "::ffff:203.0.113.77", "64:ff9b::203.0.113.77", "2002:cb00:714d::9"] {
            let code = made_from(app, &token, address).await;
            let beside = made_from(app, &token, "64:ff9b::203.0.113.78").await;
            for value in ["203.0.113.77", "64:ff9b::cb00:714d", "2002:cb00:714d::/48"] {
                let removal = remove(app, &admin, "address", value, 410).await;
                assert_eq!(removal.json()["value"], "203.0.113.77", "{value}");
                becomes(app, &code, 410).await;
                assert_eq!(app.visit(&format!("/{beside}")).await.status, 302);
                assert_eq!(revoke(app, &admin, id_of(&removal)).await.status, 200);
                becomes(app, &code, 302).await;
            }
        }
    }

    async fn links_that_were_made_from_a_network_of_ipv6_are_removed(app) {
        let (admin, token) = (admin(app).await, app.register().await);
        let code = made_from(app, &token, "2001:db8:1:2:3::4").await;
        let beside = made_from(app, &token, "2001:db8:1:3::4").await;
        let seen = app.get_as(&admin, &format!("/admin/links?q={code}")).await.json();
        let kept = seen["links"][0]["made_from"].as_str().unwrap().to_owned();
        // A client has a whole /64, and a link keeps no more of it.
        for (value, shown) in [
            (&*kept, "2001:db8:1:2::/64"),
            ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
            ("2001:db8:1:2::/48", "2001:db8:1::/48"),
        ] {
            let removal = remove(app, &admin, "address", value, 410).await;
            assert_eq!(removal.json()["value"], shown);
            becomes(app, &code, 410).await;
            let is_beside = app.visit(&format!("/{beside}")).await.status;
            assert_eq!(is_beside, if shown.ends_with("/48") { 410 } else { 302 }, "{value}");
            assert_eq!(revoke(app, &admin, id_of(&removal)).await.status, 200);
            becomes(app, &code, 302).await;
        }
    }
}

//! New links.

use std::collections::HashSet;

use reqwest::Method;

use crate::support::{Response, both_modes};

const ALPHABET: &str = "23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz";

both_modes! {
    async fn a_new_link_is_active_and_has_no_clicks(app) {
        let token = app.register().await;
        let response = app.try_shorten(&token, "https://example.org/a?b=c#d").await;
        assert_eq!(response.status, 200);
        let link = response.json();
        assert!(link["id"].is_i64());
        assert_eq!(link["target_url"], "https://example.org/a?b=c#d");
        assert_eq!(link["clicks"], 0);
        assert_eq!(link["is_active"], true);
        assert_eq!(link.as_object().unwrap().len(), 5);
    }

    async fn codes_are_seven_unambiguous_letters_and_all_different(app) {
        let token = app.register().await;
        let mut codes = HashSet::new();
        for _ in 0..50 {
            let code = app.shorten(&token, "https://example.org/").await;
            assert_eq!(code.len(), 7);
            assert!(code.chars().all(|letter| ALPHABET.contains(letter)), "{code}");
            assert!(codes.insert(code));
        }
    }

    async fn a_target_that_is_missing_or_not_acceptable_is_refused_by_name(app) {
        let token = app.register().await;
        let long = format!("https://example.org/{}", "a".repeat(2048));
        let label = format!("https://{}.example.org/", "a".repeat(64));
        for target in [
            "", "example.org", "/path", "//example.org", "ftp://example.org/", "javascript:alert(1)",
            "data:text/html,x", "http://", "https:///path", "http://user:secret@example.org/", "http://user@example.org/",
            "https://.example.org/", "https://example..org/", "https://example.org../", &label,
            "https://example.org/\r\nSet-Cookie: a=b", "https://example.org/\u{0}", "https://exam ple.org/", &long,
        ] {
            let response = app.try_shorten(&token, target).await;
            assert_eq!(response.status, 422, "{target:?}");
            assert!(response.detail().starts_with("target_url"), "{target:?}: {}", response.detail());
        }
        for path in ["/urls/shorten", "/urls/shorten?target=https://example.org/", "/urls/shorten?target_url=%ff"] {
            let response = Response::of(app.request(Method::POST, path).bearer_auth(&token)).await;
            assert_eq!(response.status, 422, "{path}");
        }
        let twice = "/urls/shorten?target_url=https://a.example/&target_url=https://b.example/";
        assert_eq!(Response::of(app.request(Method::POST, twice).bearer_auth(&token)).await.status, 422);
    }

    async fn a_target_on_the_services_own_host_is_refused_however_it_is_spelt(app) {
        let token = app.register().await;
        let port = app.server.base.rsplit_once(':').unwrap().1.to_owned();
        for host in ["127.0.0.1", "localhost", "LOCALHOST.", "127.1", "2130706433", "[::1]", "[::ffff:127.0.0.1]"] {
            let response = app.try_shorten(&token, &format!("http://{host}:{port}/abc")).await;
            assert_eq!(response.status, 422, "{host}");
        }
    }

    async fn a_target_of_2048_bytes_is_accepted(app) {
        let token = app.register().await;
        let target = format!("https://example.org/{}", "a".repeat(2048 - 20));
        let response = app.try_shorten(&token, &target).await;
        assert_eq!(response.json()["target_url"], target);
    }

}

//! New links.

use std::collections::HashSet;

use futures_util::future::join_all;
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

    async fn of_links_that_an_account_makes_at_once_each_request_is_answered_with_its_own(app) {
        let (ada, bob) = (app.register().await, app.register().await);
        let owners = [&ada, &bob, &ada, &ada];
        let targets: Vec<_> = (0..200).map(|place| format!("https://example.org/{place}")).collect();
        let making = targets.iter().zip(owners.iter().cycle()).map(|(target, owner)| app.try_shorten(owner, target));
        let made = join_all(making).await;
        let mut ids = HashSet::new();
        for (target, response) in targets.iter().zip(&made) {
            assert_eq!(response.status, 200, "{response:?}");
            let link = response.json();
            assert_eq!(link["target_url"].as_str(), Some(&**target));
            assert!(ids.insert(link["id"].as_i64().unwrap()));
            let code = link["short_code"].as_str().unwrap();
            let visit = app.visit(&format!("/{code}")).await;
            assert_eq!((visit.status.as_u16(), visit.header("location")), (302, target.as_str()));
        }
        assert_eq!(app.get_as(&ada, "/urls/my").await.json().as_array().unwrap().len(), 150);
        assert_eq!(app.get_as(&bob, "/urls/my").await.json().as_array().unwrap().len(), 50);
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

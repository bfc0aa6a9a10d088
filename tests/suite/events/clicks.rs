//! Events of clicks: their sum is the count.

use serde_json::{Value, json};

use super::{events_in, found_at_last, read, sum, told};
use crate::suite::managed::make;
use crate::support::{App, both_modes};

/// All events, once the clicks of a link are in them.
async fn with_clicks(app: &App, token: &str, code: &str, clicks: u64) -> Vec<Value> {
    found_at_last(async || {
        let found = events_in(&read(app, token, "").await);
        let sum = sum(&found, code);
        assert!(sum <= clicks, "{found:#?}");
        (sum == clicks).then_some(found)
    })
    .await
}

both_modes! {
    async fn the_sum_of_all_events_is_the_count_and_never_above_it(app) {
        let token = app.register().await;
        let (one, two) = (app.shorten(&token, "https://example.org/1").await, app.shorten(&token, "https://example.org/2").await);
        for round in 1..=5 {
            for _ in 0..4 {
                assert_eq!(app.visit(&format!("/{one}")).await.status, 302);
            }
            assert_eq!(app.visit(&format!("/{two}")).await.status, 302);
            let found = events_in(&read(app, &token, "").await);
            assert!(sum(&found, &one) <= 4 * round && sum(&found, &two) <= round, "{found:#?}");
        }
        with_clicks(app, &token, &one, 20).await;
        let found = with_clicks(app, &token, &two, 5).await;
        assert_eq!(told(&found)[..2], [format!("link.created {one}"), format!("link.created {two}")]);
        let clicks = found.iter().find(|event| event["type"] == "clicks").unwrap();
        let interval: jiff::Timestamp = clicks["interval"].as_str().unwrap().parse().unwrap();
        assert_eq!(interval.as_second() % 900, 0);
    }

    async fn clicks_have_the_classes_of_their_visitors(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
        for _ in 0..2 {
            let visit = app.request(reqwest::Method::GET, &format!("/{code}"));
            let visit = visit.header("User-Agent", agent).header("Referer", "https://news.example.org/a");
            assert_eq!(visit.send().await.unwrap().status(), 302);
        }
        let found = with_clicks(app, &token, &code, 2).await;
        let classes = found.iter().filter(|event| event["type"] == "clicks");
        let classes: Vec<_> = classes.flat_map(|event| event["classes"].as_array().unwrap()).collect();
        let clicks: u64 = classes.iter().map(|class| class["clicks"].as_u64().unwrap()).sum();
        assert_eq!(clicks, 2, "{found:#?}");
        for class in classes {
            assert_eq!(class["browser"], "Firefox");
            assert_eq!(class["os"], "Linux");
            assert_eq!(class["referrer"], "example.org");
            assert_eq!(class["bot"], false);
        }
    }

    async fn clicks_of_an_alias_are_clicks_of_its_link(app) {
        let token = app.register().await;
        let link = json!({"target_url": "https://example.org/", "custom_code": "long-code", "aliases": ["alias"]});
        assert_eq!(make(app, &token, &link).await.status, 200);
        for code in ["alias", "long-code", "alias"] {
            let visit = app.request(reqwest::Method::GET, &format!("/{code}"));
            assert_eq!(visit.send().await.unwrap().status(), 302);
        }
        let found = with_clicks(app, &token, "long-code", 3).await;
        assert!(found.iter().all(|event| event["short_code"] == "long-code"), "{found:#?}");
    }

    async fn granted_clicks_are_in_the_feed_too(app) {
        let token = app.register().await;
        let link = json!({"target_url": "https://example.org/", "custom_code": "limited", "max_clicks": 100});
        assert_eq!(make(app, &token, &link).await.status, 200);
        for _ in 0..7 {
            assert_eq!(app.visit("/limited").await.status, 302);
        }
        with_clicks(app, &token, "limited", 7).await;
    }

    async fn clicks_of_a_link_that_is_deleted_come_before_its_deletion(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        for _ in 0..3 {
            assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        }
        app.written_back(&code, 3).await;
        assert_eq!(app.delete(&token, &code).await.status, 204);
        let found = found_at_last(async || {
            let found = events_in(&read(app, &token, "").await);
            found.iter().any(|event| event["type"] == "link.deleted").then_some(found)
        }).await;
        assert_eq!(sum(&found, &code), 3);
        assert_eq!(told(&found).last().unwrap(), &format!("link.deleted {code}"));
    }
}

/// What visitors were is not kept; their clicks are.
async fn clicks_without_classes_are_in_the_feed(app: &mut App) {
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    for _ in 0..3 {
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }
    let found = with_clicks(app, &token, &code, 3).await;
    let clicks = found.iter().filter(|event| event["type"] == "clicks");
    assert!(
        clicks
            .into_iter()
            .all(|event| event["classes"] == json!([])),
        "{found:#?}"
    );
}

mod without_a_bin {
    use reqwest::Method;
    use serde_json::json;

    use super::{events_in, found_at_last, read, sum, told};
    use crate::suite::managed::send;
    use crate::support::{App, both_modes, eventually};

    /// More than one step takes from the queue.
    const MANY: usize = 2_500;

    /// Makes that many links, a thousand at a time.
    async fn make_many(app: &App, token: &str, name: &str) {
        for first in [0, 1_000, 2_000] {
            let links: Vec<_> = (first..MANY.min(first + 1_000))
                .map(|number| json!({"target_url": "https://example.org/", "custom_code": format!("{name}-{number}")}))
                .collect();
            let made = send(app, Method::POST, token, "/urls/bulk", &json!(links)).await;
            assert_eq!(made.status, 200, "{}", made.text);
        }
    }

    both_modes! {
        with &[("TRASH_DAYS", "0")];

        async fn clicks_are_told_between_the_making_and_the_deletion_of_a_link_behind_thousands_of_events(app) {
            let (busy, token) = (app.register().await, app.register().await);
            make_many(app, &busy, "before").await;
            let code = app.shorten(&token, "https://example.org/").await;
            for _ in 0..3 {
                assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
            }
            app.written_back(&code, 3).await;
            make_many(app, &busy, "behind").await;
            assert_eq!(app.delete(&token, &code).await.status, 204);
            eventually("the link is gone", async || app.visit(&format!("/{code}")).await.status == 404).await;
            let found = found_at_last(async || {
                let found = events_in(&read(app, &token, "").await);
                found.iter().any(|event| event["type"] == "link.deleted").then_some(found)
            }).await;
            let told = told(&found);
            assert_eq!(told.first().unwrap(), &format!("link.created {code}"));
            assert_eq!(told.last().unwrap(), &format!("link.deleted {code}"));
            assert_eq!(sum(&found, &code), 3);
        }
    }
}

mod without_analytics {
    use super::both_modes;

    both_modes! {
        with &[("ANALYTICS", "off")];

        async fn clicks_without_classes_are_in_the_feed(app) {
            super::clicks_without_classes_are_in_the_feed(app).await;
        }
    }
}

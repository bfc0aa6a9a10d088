//! Links that search engines are asked not to list.

use reqwest::Method;
use serde_json::json;

use super::{make, patch};
use crate::support::{App, Mode, Response, both_modes};

const TARGET: &str = "https://example.org/";

/// The header of a redirect.
async fn robots(app: &App, method: Method, path: &str) -> String {
    let answered = Response::of(app.request(method, path)).await;
    assert_eq!(answered.status, 302, "{path}");
    answered.header("x-robots-tag").to_owned()
}

both_modes! {
    async fn the_redirect_of_a_link_asks_search_engines_not_to_list_it_if_its_owner_wants_that(app) {
        let token = app.register().await;
        for (code, noindex) in [("unlisted", true), ("listed", false)] {
            make(app, &token, &json!({"target_url": TARGET, "custom_code": code, "noindex": noindex})).await;
            let expected = if noindex { "noindex" } else { "" };
            let encoded = format!("/%{:02x}{}", code.as_bytes()[0], &code[1..]);
            for path in [format!("/{code}"), format!("/urls/r/{code}"), encoded] {
                // Twice: the second time the link is cached.
                for method in [Method::GET, Method::GET, Method::HEAD] {
                    assert_eq!(robots(app, method, &path).await, expected, "{path}");
                }
            }
        }
    }

    async fn a_change_of_what_search_engines_are_asked_is_felt_at_once(app) {
        let token = app.register().await;
        let code = app.shorten(&token, TARGET).await;
        let path = format!("/{code}");
        for (noindex, expected) in [(json!(true), "noindex"), (json!(null), ""), (json!(true), "noindex"), (json!(false), "")] {
            assert_eq!(patch(app, &token, &code, &json!({"noindex": noindex})).await.status, 200);
            assert_eq!(robots(app, Method::GET, &path).await, expected);
        }
        assert_eq!(app.clicks(&code).await, 4);
    }

    async fn a_link_with_a_limit_and_a_forwarded_query_asks_search_engines_too(app) {
        let token = app.register().await;
        let link = json!({"target_url": TARGET, "custom_code": "all-of-it", "noindex": true, "max_clicks": 2, "forward_query": true});
        make(app, &token, &link).await;
        for _ in 0..2 {
            assert_eq!(robots(app, Method::GET, "/all-of-it?a=b").await, "noindex");
        }
    }
}

#[tokio::test]
async fn another_instance_has_it_from_the_shared_cache() {
    let app = App::start(Mode::Production).await;
    let token = app.register().await;
    let link = json!({"target_url": TARGET, "custom_code": "unlisted", "noindex": true});
    make(&app, &token, &link).await;
    assert_eq!(robots(&app, Method::GET, "/unlisted").await, "noindex");
    let other = app.another(&[]).await;
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    let visit = client
        .build()
        .unwrap()
        .get(format!("{}/unlisted", other.base));
    assert_eq!(Response::of(visit).await.header("x-robots-tag"), "noindex");
    drop(other);
    app.finish().await;
}

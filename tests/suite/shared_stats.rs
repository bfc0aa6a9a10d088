//! Who reads the statistics of links: everybody, or with `STATS=owner` their owners and who has a share.

use reqwest::Method;
use serde_json::{Value, json};

use crate::suite::web::browser::{Browser, token};
use crate::support::{App, Response, both_modes};

async fn ask(app: &App, method: Method, bearer: &str, path: &str) -> Response {
    Response::of(app.request(method, path).bearer_auth(bearer)).await
}

/// Shares the statistics of a link; returns the share.
async fn share(app: &App, bearer: &str, code: &str) -> Value {
    let made = ask(app, Method::POST, bearer, &format!("/urls/{code}/shares")).await;
    assert_eq!(made.status, 200, "{made:?}");
    made.json()
}

/// A page for a visitor.
async fn browse(app: &App, path: &str) -> Response {
    Browser::new(app).get(path).await
}

/// Both kinds of statistics.
fn paths(code: &str) -> [String; 2] {
    ["stats", "stats/series"].map(|kind| format!("/urls/{code}/{kind}"))
}

both_modes! {
    async fn statistics_are_public_unless_the_operator_has_them_for_owners(app) {
        let owner = app.register().await;
        let code = app.shorten(&owner, "https://example.org/").await;
        for path in paths(&code) {
            assert_eq!(app.get(&path).await.status, 200, "{path}");
            assert_eq!(app.get(&format!("{path}?share=x")).await.status, 200, "{path}");
        }
        assert!(browse(app, &format!("/{code}+")).await.text.contains("Clicks"));
    }

    async fn a_link_has_twenty_shares_at_most(app) {
        let owner = app.register().await;
        let code = app.shorten(&owner, "https://example.org/").await;
        let path = format!("/urls/{code}/shares");
        let made = futures_util::future::join_all((0..25).map(|_| ask(app, Method::POST, &owner, &path))).await;
        let refused: Vec<_> = made.iter().filter(|made| made.status != 200).collect();
        assert_eq!(refused.len(), 5);
        refused[0].is_error(403, "This link has the maximum of 20 shares; end one to make room");
        assert_eq!(app.get_as(&owner, &path).await.json().as_array().unwrap().len(), 20);
    }

}

mod for_owners {
    use super::*;

    both_modes! {
        with &[("STATS", "owner")];

        async fn for_owners_they_need_a_token_of_the_owner_or_a_share_of_the_link(app) {
            let owner = app.register().await;
            let code = app.shorten(&owner, "https://example.org/").await;
            let other = app.shorten(&owner, "https://example.org/other").await;
            assert_eq!(app.get(&format!("/{code}")).await.status, 302);
            let made = share(app, &owner, &code).await;
            let secret = made["token"].as_str().unwrap();
            let stranger = app.register().await;
            for path in paths(&code) {
                app.get(&path).await.is_error(401, "Not authenticated");
                app.get_as(&stranger, &path).await.is_error(404, "Not Found");
                app.get(&format!("{path}?share={}", "0".repeat(48))).await.is_error(404, "Not Found");
                app.get(&format!("{path}?share=short")).await.is_error(404, "Not Found");
                let own = app.get_as(&owner, &path).await;
                assert_eq!((own.status.as_u16(), &own.json()["clicks"]), (200, &json!(1)), "{path}");
                let shared = app.get(&format!("{path}?share={secret}")).await;
                assert_eq!((shared.status.as_u16(), &shared.json()["clicks"]), (200, &json!(1)), "{path}");
            }
            for path in paths(&other) {
                app.get(&format!("{path}?share={secret}")).await.is_error(404, "Not Found");
            }
            app.get_as(&stranger, "/urls/nosuch1/stats").await.is_error(404, "Not Found");
            let preview = browse(app, &format!("/{code}+")).await;
            assert!(preview.status == 200 && !preview.text.contains("Clicks"), "{preview:?}");
        }

        async fn a_share_ends_at_once_and_with_its_link(app) {
            let owner = app.register().await;
            let code = app.shorten(&owner, "https://example.org/").await;
            let (first, second) = (share(app, &owner, &code).await, share(app, &owner, &code).await);
            let shares = format!("/urls/{code}/shares");
            let listed = app.get_as(&owner, &shares).await.json();
            assert_eq!(listed, json!([{"id": second["id"], "created_at": second["created_at"]}, {"id": first["id"], "created_at": first["created_at"]}]));
            let of = |share: &Value| format!("/urls/{code}/stats?share={}", share["token"].as_str().unwrap());
            let one = format!("{shares}/{}", first["id"]);
            let stranger = app.register().await;
            ask(app, Method::DELETE, &stranger, &one).await.is_error(404, "Share not found");
            ask(app, Method::POST, &stranger, &shares).await.is_error(404, "URL not found");
            app.get_as(&stranger, &shares).await.is_error(404, "URL not found");
            assert_eq!(app.get(&of(&first)).await.status, 200);
            assert_eq!(ask(app, Method::DELETE, &owner, &one).await.status, 204);
            ask(app, Method::DELETE, &owner, &one).await.is_error(404, "Share not found");
            app.get(&of(&first)).await.is_error(404, "Not Found");
            assert_eq!(app.get(&of(&second)).await.status, 200);
            assert_eq!(app.delete(&owner, &code).await.status, 204);
            app.get(&of(&second)).await.is_error(404, "Not Found");
            assert_eq!(ask(app, Method::POST, &owner, &format!("/urls/{code}/restore")).await.status, 200);
            assert_eq!(app.get(&of(&second)).await.status, 200, "a link that comes back has its shares");
        }

        async fn a_person_with_a_share_sees_the_statistics_of_one_link_and_nothing_else(app) {
            let mut browser = Browser::new(app);
            browser.sign_up().await;
            let code = browser.make(&[("target_url", "https://example.org/secret"), ("title", "Spring"), ("note", "for us")]).await;
            assert_eq!(app.get(&format!("/{code}")).await.status, 302);
            let path = format!("/app/links/{code}/shares");
            let page = browser.get(&path).await.text;
            let newest = |page: &str| page.split("name=\"newest\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
            let newest = newest(&page);
            let fields = [("newest", newest.as_str())];
            let made = browser.send_with(&token(&page), &path, &fields, &[]).await;
            assert_eq!(made.status, 200, "{made:?}");
            let at = made.text.find("/app/shared/").unwrap();
            let address = made.text[at..].split('"').next().unwrap().to_owned();
            let again = browser.send_with(&token(&page), &path, &fields, &[]).await;
            assert!(again.status == 409 && again.text.contains("this form made none"), "{again:?}");
            let mut visitor = Browser::new(app);
            let shared = visitor.get(&format!("{address}?period=7d")).await;
            assert_eq!(shared.status, 200, "{shared:?}");
            assert!(shared.text.contains("<h1><bdi>Spring</bdi></h1>") && shared.text.contains(&address), "{}", shared.text);
            for hidden in ["for us", "/app/account", "/edit", "example.org/secret"] {
                assert!(!shared.text.contains(hidden), "{hidden}: {}", shared.text);
            }
            let page = browser.get(&path).await.text;
            let at = page.find("/end\"").unwrap();
            let action = page[..at].rsplit('"').next().unwrap().to_owned() + "/end";
            assert_eq!(browser.send(&path, &action, &[]).await.status, 303);
            assert_eq!(visitor.get(&address).await.status, 404);
        }
    }
}

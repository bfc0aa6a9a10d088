//! Lists by clicks of an owner of so many links that the service keeps their order.

use std::collections::HashSet;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{App, Response, both_modes};

/// 12,000 links with the codes `many1` to `many12000`.
const MANY: &str = "INSERT INTO links (short_code, target_url, owner_id, created_at)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
    SELECT 'many' || n.i, 'https://example.org/' || n.i, users.id, users.created_at FROM n, users
    WHERE CAST(users.id AS text) = $1";

/// The token of an owner of many links.
async fn owner_of_many(app: &App) -> String {
    let token = app.register().await;
    let me = app.get_as(&token, "/auth/me").await.json()["id"].to_string();
    app.backend.execute(MANY, &me).await;
    token
}

fn links(response: &Response) -> Vec<(String, u64)> {
    assert_eq!(response.status, 200, "{response:?}");
    let list = response.json();
    let link = |link: &Value| {
        let code = link["short_code"].as_str().unwrap().to_owned();
        (code, link["clicks"].as_u64().unwrap())
    };
    list.as_array().unwrap().iter().map(link).collect()
}

/// All pages from this one on.
async fn walk(app: &App, token: &str, first: &str) -> Vec<(String, u64)> {
    let mut all = Vec::new();
    let mut path = Some(first.to_owned());
    while let Some(page) = path {
        let response = app.get_as(token, &page).await;
        all.extend(links(&response));
        let link = response.header("link");
        path = link.strip_prefix('<').map(|link| {
            let (address, _) = link.split_once('>').unwrap();
            address.strip_prefix(&app.server.base).unwrap().to_owned()
        });
    }
    all
}

async fn visit(app: &App, code: &str, times: u64) {
    for _ in 0..times {
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }
    app.written_back(code, times).await;
}

both_modes! {
    async fn an_owner_of_many_links_has_each_once_by_clicks_that_are_written_back(app) {
        let token = owner_of_many(app).await;
        for (code, times) in [("many7000", 3), ("many11999", 2), ("many3", 1)] {
            visit(app, code, times).await;
        }
        let most = [("many7000".to_owned(), 3), ("many11999".to_owned(), 2), ("many3".to_owned(), 1)];
        let falling = walk(app, &token, "/urls/my?sort=-clicks&limit=1000").await;
        assert_eq!(falling[..3], most);
        let distinct: HashSet<_> = falling.iter().map(|(code, _)| code).collect();
        assert_eq!((falling.len(), distinct.len()), (12_000, 12_000));
        let mut rising = walk(app, &token, "/urls/my?sort=clicks&limit=1000").await;
        rising.reverse();
        assert_eq!(rising, falling);
        let whole = links(&app.get_as(&token, "/urls/my?sort=-clicks").await);
        assert_eq!(whole, falling);
    }

    async fn links_of_an_owner_of_many_that_come_and_go_are_on_the_pages_by_clicks_at_once(app) {
        let token = owner_of_many(app).await;
        let first = links(&app.get_as(&token, "/urls/my?sort=clicks&limit=3").await);
        let made = app.shorten(&token, "https://example.org/new").await;
        assert!(app.delete(&token, &first[1].0).await.status.is_success());
        let rising = walk(app, &token, "/urls/my?sort=clicks&limit=1000").await;
        let codes: HashSet<_> = rising.iter().map(|(code, _)| code.as_str()).collect();
        assert_eq!((rising.len(), codes.len()), (12_000, 12_000));
        assert!(codes.contains(made.as_str()) && !codes.contains(first[1].0.as_str()));
        let falling = walk(app, &token, "/urls/my?sort=-clicks&limit=1000").await;
        assert!(falling.iter().any(|(code, _)| *code == made));
    }

    async fn a_search_by_clicks_in_many_links_finds_all_in_order(app) {
        let token = owner_of_many(app).await;
        visit(app, "many5005", 2).await;
        visit(app, "many11005", 1).await;
        let found = walk(app, &token, "/urls/my?q=005&limit=50&sort=-clicks").await;
        assert_eq!(found[..2], [("many5005".to_owned(), 2), ("many11005".to_owned(), 1)]);
        let expected = (1..=12_000).filter(|number| format!("{number}").contains("005")).count();
        assert_eq!(found.len(), expected);
        assert!(walk(app, &token, "/urls/my?q=nowhere&limit=50&sort=-clicks").await.is_empty());
        // Those that are few have an index of their own.
        let tagged = json!({"tags": ["print"]});
        let request = app.request(Method::PATCH, "/urls/many5005").bearer_auth(&token);
        assert_eq!(Response::of(request.json(&tagged)).await.status, 200);
        let few = walk(app, &token, "/urls/my?tag=print&sort=-clicks&limit=9").await;
        assert_eq!(few, [("many5005".to_owned(), 2)]);
        let active = walk(app, &token, "/urls/my?status=active&sort=-clicks&limit=1000").await;
        assert_eq!((active.len(), active[0].1), (12_000, 2));
        assert!(walk(app, &token, "/urls/my?status=inactive&sort=-clicks&limit=9").await.is_empty());
    }

    async fn the_order_of_many_links_follows_their_clicks(app) {
        let token = owner_of_many(app).await;
        let first = "/urls/my?sort=-clicks&limit=1";
        links(&app.get_as(&token, first).await);
        visit(app, "many42", 1).await;
        // It is made anew after five seconds, on a busy machine later.
        for _ in 0..600 {
            if links(&app.get_as(&token, first).await) == [("many42".to_owned(), 1)] {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("the order stayed as it was");
    }

    async fn a_token_that_has_ended_shows_no_order_of_many_links(app) {
        let token = owner_of_many(app).await;
        links(&app.get_as(&token, "/urls/my?sort=-clicks&limit=1").await);
        let request = app.request(Method::POST, "/auth/logout-everywhere").bearer_auth(&token);
        assert_eq!(Response::of(request).await.status, 204);
        app.get_as(&token, "/urls/my?sort=-clicks&limit=1").await.is_error(401, "Not authenticated");
    }
}

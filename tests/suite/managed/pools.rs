//! Pools: each counted visitor is sent to the next target.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use reqwest::{Client, Method, redirect};
use serde_json::json;

use super::{make, patch};
use crate::suite::abuse::{admin, id_of, remove};
use crate::support::{App, Mode, Response, Server, both_modes, eventually};

const PERSON: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
const BOT: &str = "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)";
const TARGET: &str = "https://example.org/offer";
const FALLBACK: &str = "https://example.org/sold-out";

/// Targets, a line each.
fn lines(from: usize, count: usize) -> String {
    let line = |number| format!("https://example.org/coupon/{number}\n");
    (from..from + count).map(line).collect()
}

async fn add(app: &App, token: &str, code: &str, lines: impl Into<reqwest::Body>) -> Response {
    let path = format!("/urls/{code}/pool");
    let request = app.request(Method::POST, &path).bearer_auth(token);
    Response::of(request.header("content-type", "text/plain").body(lines)).await
}

/// How many targets are left and given.
async fn state(app: &App, token: &str, code: &str) -> (u64, u64) {
    let state = app.get_as(token, &format!("/urls/{code}/pool")).await;
    assert_eq!(state.status, 200, "{}", state.text);
    let number = |name: &str| state.json()[name].as_u64().unwrap();
    (number("left"), number("given"))
}

async fn visit(server: &Server, method: Method, path: &str, agent: &str) -> (u16, String) {
    let client = Client::builder().redirect(redirect::Policy::none());
    let request = client
        .build()
        .unwrap()
        .request(method, format!("{}{path}", server.base));
    let response = request.header("user-agent", agent).send().await.unwrap();
    let location = response.headers().get("location");
    let location = location.map(|location| location.to_str().unwrap().to_owned());
    (response.status().as_u16(), location.unwrap_or_default())
}

async fn person(app: &App, code: &str) -> (u16, String) {
    visit(&app.server, Method::GET, &format!("/{code}"), PERSON).await
}

fn coupon(number: usize) -> (u16, String) {
    (302, format!("https://example.org/coupon/{number}"))
}

async fn linked(app: &App, fields: serde_json::Value) -> (String, String) {
    let token = app.register().await;
    let mut link = json!({"target_url": TARGET});
    for (name, value) in fields.as_object().unwrap() {
        link[name] = value.clone();
    }
    let made = make(app, &token, &link).await;
    assert_eq!(made.status, 200, "{}", made.text);
    let code = made.json()["short_code"].as_str().unwrap().to_owned();
    (token, code)
}

both_modes! {
    async fn each_visitor_is_sent_to_the_next_line_and_counted(app) {
        let (token, code) = linked(app, json!({})).await;
        assert_eq!(state(app, &token, &code).await, (0, 0));
        assert_eq!(person(app, &code).await, (302, TARGET.to_owned()));
        let added = add(app, &token, &code, lines(0, 2)).await;
        assert_eq!(added.json(), json!({"left": 2, "given": 0}));
        assert_eq!(person(app, &code).await, coupon(0));
        add(app, &token, &code, lines(2, 1)).await;
        assert_eq!(state(app, &token, &code).await, (2, 1));
        assert_eq!(person(app, &code).await, coupon(1));
        assert_eq!(visit(&app.server, Method::GET, &format!("/urls/r/{code}"), PERSON).await, coupon(2));
        assert_eq!(person(app, &code).await.0, 404);
        assert_eq!(state(app, &token, &code).await, (0, 3));
        assert_eq!(app.clicks(&code).await, 4);
        add(app, &token, &code, lines(3, 1)).await;
        assert_eq!(person(app, &code).await, coupon(3));
    }

    async fn bots_and_previews_use_no_line_up_and_get_the_fallback(app) {
        let (token, code) = linked(app, json!({"fallback_url": FALLBACK})).await;
        add(app, &token, &code, lines(0, 1)).await;
        let path = format!("/{code}");
        let fallback = (302, FALLBACK.to_owned());
        assert_eq!(visit(&app.server, Method::HEAD, &path, PERSON).await, fallback);
        assert_eq!(visit(&app.server, Method::GET, &path, BOT).await, fallback);
        assert_eq!(app.clicks(&code).await, 0);
        assert_eq!(state(app, &token, &code).await, (1, 0));
        assert_eq!(person(app, &code).await, coupon(0));
        assert_eq!(person(app, &code).await, fallback);
        assert_eq!(app.clicks(&code).await, 1);
        patch(app, &token, &code, &json!({"fallback_url": null})).await;
        assert_eq!(visit(&app.server, Method::GET, &path, BOT).await.0, 404);
    }

    async fn an_emptied_pool_gives_nothing_until_it_ends_or_gets_more(app) {
        let (token, code) = linked(app, json!({})).await;
        add(app, &token, &code, lines(0, 3)).await;
        assert_eq!(person(app, &code).await, coupon(0));
        let path = format!("/urls/{code}/pool");
        let empty = async |query: &str| {
            let request = app.request(Method::DELETE, &format!("{path}{query}"));
            Response::of(request.bearer_auth(&token)).await.status
        };
        assert_eq!(empty("").await, 204);
        assert_eq!(state(app, &token, &code).await, (0, 1));
        assert_eq!(person(app, &code).await.0, 404);
        add(app, &token, &code, lines(7, 1)).await;
        assert_eq!(person(app, &code).await, coupon(7));
        assert_eq!(empty("?end=true").await, 204);
        assert_eq!(person(app, &code).await, (302, TARGET.to_owned()));
        assert_eq!(state(app, &token, &code).await, (0, 0));
        assert_eq!(empty("?ends=true").await, 422);
    }

    async fn a_pool_holds_to_the_limit_of_its_link_and_to_its_end(app) {
        let (token, code) = linked(app, json!({"max_clicks": 2, "fallback_url": FALLBACK})).await;
        add(app, &token, &code, lines(0, 5)).await;
        assert_eq!([person(app, &code).await, person(app, &code).await], [coupon(0), coupon(1)]);
        assert_eq!(person(app, &code).await, (302, FALLBACK.to_owned()));
        patch(app, &token, &code, &json!({"max_clicks": null})).await;
        assert_eq!(person(app, &code).await, coupon(2));
        patch(app, &token, &code, &json!({"is_active": false})).await;
        assert_eq!(person(app, &code).await.0, 404);
        patch(app, &token, &code, &json!({"is_active": true, "forward_query": true})).await;
        let path = format!("/{code}?via=mail");
        let forwarded = visit(&app.server, Method::GET, &path, PERSON).await;
        assert_eq!(forwarded, (302, "https://example.org/coupon/3?via=mail".to_owned()));
        assert_eq!(app.clicks(&code).await, 4);
    }

    async fn a_line_that_is_no_target_is_named_and_nothing_is_added(app) {
        let (token, code) = linked(app, json!({})).await;
        let lines = "https://example.org/1\n\nexample.org\n";
        let refused = add(app, &token, &code, lines).await;
        refused.is_error(422, "line 3: must be an absolute http:// or https:// URL with a host");
        add(app, &token, &code, "\n \n").await.is_error(422, "body: must have a target in each line");
        let own = format!("{}/abc", app.server.base);
        assert_eq!(add(app, &token, &code, own).await.status, 422);
        assert_eq!(state(app, &token, &code).await, (0, 0));
        assert_eq!(person(app, &code).await, (302, TARGET.to_owned()));
        let all = lines_of(100_000);
        assert_eq!(add(app, &token, &code, all).await.json(), json!({"left": 100_000, "given": 0}));
        let refused = add(app, &token, &code, "https://example.org/more").await;
        assert!(refused.detail().starts_with("body: the pool has room for 0 more targets"), "{}", refused.text);
    }

    async fn no_visitor_is_sent_to_a_host_that_was_removed_meanwhile(app) {
        let (token, code) = linked(app, json!({})).await;
        let lines = "https://example.org/coupon/1\nhttps://bad.example/\nhttps://example.org/coupon/2\n";
        add(app, &token, &code, lines).await;
        let admin = admin(app).await;
        id_of(&remove(app, &admin, "host", "bad.example", 410).await);
        assert_eq!([person(app, &code).await, person(app, &code).await], [coupon(1), coupon(2)]);
        assert_eq!(person(app, &code).await.0, 404);
        let refused = add(app, &token, &code, "https://example.org/\n\nhttps://bad.example/").await;
        refused.is_error(422, "line 3: must not lead to a target that this service refuses");
    }

    async fn a_pool_is_its_owners_alone(app) {
        let (_, code) = linked(app, json!({})).await;
        let other = app.register().await;
        add(app, &other, &code, lines(0, 1)).await.is_error(404, "URL not found");
        app.get_as(&other, &format!("/urls/{code}/pool")).await.is_error(404, "URL not found");
        let request = app.request(Method::DELETE, &format!("/urls/{code}/pool"));
        Response::of(request.bearer_auth(&other)).await.is_error(404, "URL not found");
        app.get(&format!("/urls/{code}/pool")).await.is_error(401, "Not authenticated");
    }

    async fn a_deleted_link_takes_its_pool_along(app) {
        let (token, code) = linked(app, json!({})).await;
        add(app, &token, &code, lines(0, 200)).await;
        assert_eq!(app.delete(&token, &code).await.status, 204);
        assert_eq!(person(app, &code).await.0, 404);
        app.get_as(&token, &format!("/urls/{code}/pool")).await.is_error(404, "URL not found");
    }

    async fn visitors_at_once_get_each_line_once(app) {
        let (token, code) = linked(app, json!({})).await;
        add(app, &token, &code, lines(0, 150)).await;
        let client = Client::builder().redirect(redirect::Policy::none()).build().unwrap();
        let url = format!("{}/{code}", app.server.base);
        let visits = (0..200).map(async |_| {
            let response = client.get(&url).header("user-agent", PERSON).send().await.unwrap();
            let location = response.headers().get("location").cloned();
            location.map(|location| location.to_str().unwrap().to_owned())
        });
        let sent: Vec<_> = join_all(visits).await.into_iter().flatten().collect();
        let distinct: HashSet<_> = sent.iter().collect();
        assert_eq!((sent.len(), distinct.len()), (150, 150));
        assert_eq!(app.clicks(&code).await, 150);
    }
}

fn lines_of(count: usize) -> String {
    "https://example.org/seat\n".repeat(count)
}

#[tokio::test]
async fn visitors_of_several_instances_get_each_line_once_also_when_one_is_killed() {
    let app = App::start(Mode::Production).await;
    let mut others = [app.another(&[]).await, app.another(&[]).await];
    let (token, code) = linked(&app, json!({})).await;
    add(&app, &token, &code, lines(0, 600)).await;
    let client = Client::builder()
        .redirect(redirect::Policy::none())
        .build()
        .unwrap();
    let answered = &AtomicUsize::new(0);
    let visits = async |bases: Vec<String>| {
        let visits = (0..300).map(|number| {
            let url = format!("{}/{code}", bases[number % bases.len()]);
            let request = client.get(url).header("user-agent", PERSON);
            async move {
                let response = request.send().await.ok()?;
                let location = response.headers().get("location")?;
                answered.fetch_add(1, Ordering::SeqCst);
                Some(location.to_str().unwrap().to_owned())
            }
        });
        join_all(visits)
            .await
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
    };
    let bases = |servers: &[&Server]| servers.iter().map(|one| one.base.clone()).collect();
    let [victim, survivor] = &mut others;
    let all = visits(bases(&[&app.server, victim, survivor]));
    let (mut sent, ()) = tokio::join!(all, async {
        eventually("visitors get their targets", async || {
            answered.load(Ordering::SeqCst) >= 30
        })
        .await;
        victim.kill();
    });
    loop {
        let more = visits(bases(&[&app.server, survivor])).await;
        if more.is_empty() {
            break;
        }
        sent.extend(more);
    }
    let distinct: HashSet<_> = sent.iter().collect();
    assert_eq!(sent.len(), distinct.len(), "no line is given twice");
    assert_eq!(state(&app, &token, &code).await, (0, 600));
    // Targets that the killed instance had taken, and did not send, are lost.
    assert!(sent.len() >= 500, "{}", sent.len());
    app.finish().await;
}

//! Links that end after a number of clicks.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures_util::future::{join, join_all};
use reqwest::{Client, Method, redirect};
use serde_json::json;

use super::{make, patch, show};
use crate::support::{App, Mode, Response, both_modes, eventually};

/// The code of a fresh link with a limit.
async fn limited(app: &App, token: &str, max: u64) -> String {
    let body = json!({"target_url": "https://example.org/", "max_clicks": max});
    let made = make(app, token, &body).await;
    assert_eq!(made.status, 200, "{}", made.text);
    made.json()["short_code"].as_str().unwrap().to_owned()
}

async fn limit_to(app: &App, token: &str, code: &str, max: Option<u64>) {
    let edited = patch(app, token, code, &json!({"max_clicks": max})).await;
    assert_eq!(edited.status, 200, "{}", edited.text);
}

async fn status(app: &App, token: &str, code: &str) -> String {
    let shown = show(app, token, code).await.json();
    shown["status"].as_str().unwrap().to_owned()
}

/// How many of so many visitors at once are redirected; the others get a 404.
async fn redirected(app: &App, code: &str, visitors: usize) -> usize {
    let path = format!("/{code}");
    let responses = join_all((0..visitors).map(|_| app.visit(&path))).await;
    let (found, refused): (Vec<_>, Vec<_>) = responses
        .iter()
        .partition(|response| response.status == 302);
    for response in refused {
        response.is_error(404, "URL not found");
    }
    found.len()
}

async fn previewed(app: &App, code: &str) -> u16 {
    let preview = app.request(Method::HEAD, &format!("/{code}"));
    Response::of(preview).await.status.as_u16()
}

both_modes! {
    async fn exactly_as_many_visitors_are_redirected_as_the_limit_says(app) {
        let token = app.register().await;
        let code = limited(app, &token, 20).await;
        assert_eq!(redirected(app, &code, 60).await, 20);
        assert_eq!(app.clicks(&code).await, 20);
        assert_eq!(redirected(app, &code, 60).await, 0);
        assert_eq!(app.clicks(&code).await, 20);
        assert_eq!(status(app, &token, &code).await, "used_up");
    }

    async fn a_preview_uses_no_click_up_and_says_when_they_are_used_up(app) {
        let token = app.register().await;
        let code = limited(app, &token, 2).await;
        for _ in 0..5 {
            assert_eq!(previewed(app, &code).await, 302);
        }
        assert_eq!(redirected(app, &code, 2).await, 2);
        assert_eq!(previewed(app, &code).await, 404);
        assert_eq!(app.clicks(&code).await, 2);
    }

    async fn a_visit_of_a_link_that_is_switched_off_uses_no_click_up(app) {
        let token = app.register().await;
        let code = limited(app, &token, 2).await;
        patch(app, &token, &code, &json!({"is_active": false})).await;
        assert_eq!(redirected(app, &code, 5).await, 0);
        patch(app, &token, &code, &json!({"is_active": true})).await;
        assert_eq!(redirected(app, &code, 5).await, 2);
    }

    async fn a_limit_that_is_raised_is_felt_at_once(app) {
        let token = app.register().await;
        let code = limited(app, &token, 3).await;
        assert_eq!(redirected(app, &code, 5).await, 3);
        for max in 4..10 {
            limit_to(app, &token, &code, Some(max)).await;
            assert_eq!(previewed(app, &code).await, 302);
            assert_eq!(redirected(app, &code, 5).await, 1);
            assert_eq!(previewed(app, &code).await, 404);
            assert_eq!(app.clicks(&code).await, max);
        }
    }

    async fn a_limit_that_is_lowered_below_the_clicks_ends_the_link(app) {
        let token = app.register().await;
        let code = limited(app, &token, 100).await;
        assert_eq!(redirected(app, &code, 7).await, 7);
        limit_to(app, &token, &code, Some(5)).await;
        assert_eq!(redirected(app, &code, 5).await, 0);
        limit_to(app, &token, &code, Some(8)).await;
        assert_eq!(redirected(app, &code, 5).await, 1);
    }

    async fn a_limit_counts_the_clicks_from_before_it(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        assert_eq!(redirected(app, &code, 7).await, 7);
        limit_to(app, &token, &code, Some(10)).await;
        assert_eq!(redirected(app, &code, 7).await, 3);
        limit_to(app, &token, &code, None).await;
        assert_eq!(redirected(app, &code, 7).await, 7);
        limit_to(app, &token, &code, Some(18)).await;
        assert_eq!(redirected(app, &code, 7).await, 1);
        assert_eq!(app.clicks(&code).await, 18);
    }

    async fn a_limit_that_is_set_by_hand_counts_the_clicks_from_before_it(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        assert_eq!(redirected(app, &code, 7).await, 7);
        app.backend.execute("UPDATE links SET max_clicks = 10 WHERE short_code = $1", &code).await;
        eventually("it is used up", async || app.visit(&format!("/{code}")).await.status == 404).await;
        assert!(app.clicks(&code).await >= 10);
        assert_eq!(redirected(app, &code, 7).await, 0);
    }

    async fn a_limit_that_is_set_while_visitors_come_is_kept_exactly(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let (is_over, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
        let visitors = join_all((0..8).map(async |_| {
            while !is_over.load(Ordering::SeqCst) {
                match app.visit(&format!("/{code}")).await.status.as_u16() {
                    302 => { answered.fetch_add(1, Ordering::SeqCst); }
                    404 => return,
                    // A click was counted at the moment at which the limit took effect.
                    other => assert_eq!(other, 503),
                }
            }
        }));
        let edits = async {
            eventually("visitors come", async || answered.load(Ordering::SeqCst) > 50).await;
            let max = answered.load(Ordering::SeqCst) as u64 + 500;
            limit_to(app, &token, &code, Some(max)).await;
            max
        };
        let (_, max) = join(visitors, edits).await;
        is_over.store(true, Ordering::SeqCst);
        assert_eq!(answered.load(Ordering::SeqCst) as u64, max);
        assert_eq!(app.clicks(&code).await, max);
    }

    async fn a_deleted_link_with_a_limit_is_gone_at_once(app) {
        let token = app.register().await;
        let code = limited(app, &token, 20).await;
        assert_eq!(redirected(app, &code, 5).await, 5);
        assert_eq!(app.delete(&token, &code).await.status, 204);
        assert_eq!(redirected(app, &code, 5).await, 0);
    }
}

/// How many of so many visitors at once are redirected by the instance at this address.
async fn redirected_by(base: &str, code: &str, visitors: usize) -> usize {
    let client = Client::builder().redirect(redirect::Policy::none());
    let client = client.build().unwrap();
    let visits = (0..visitors).map(async |_| {
        let response = client.get(format!("{base}/{code}")).send().await.unwrap();
        response.status().as_u16()
    });
    let statuses = join_all(visits).await;
    assert!(
        statuses.iter().all(|status| [302, 404].contains(status)),
        "{statuses:?}"
    );
    statuses.iter().filter(|status| **status == 302).count()
}

async fn of_several_instances(settings: &[(&str, &str)]) {
    let app = App::start_with(Mode::Production, settings).await;
    let others = [app.another(settings).await, app.another(settings).await];
    let bases = [&*app.server.base, &*others[0].base, &*others[1].base];
    let token = app.register().await;
    let code = limited(&app, &token, 100).await;
    let visits = bases.map(|base| redirected_by(base, &code, 60));
    let redirected = join_all(visits).await;
    assert_eq!(redirected.iter().sum::<usize>(), 100, "{redirected:?}");
    assert_eq!(app.clicks(&code).await, 100);
    drop(others);
    app.server_only().await;
}

mod instances_together_redirect_exactly_as_many_visitors_as_the_limit_says {
    use super::of_several_instances;

    #[tokio::test]
    async fn with_redis() {
        of_several_instances(&[]).await;
    }

    #[tokio::test]
    async fn postgres_alone() {
        of_several_instances(&[("REDIS_URL", "")]).await;
    }
}

#[tokio::test]
async fn a_change_of_a_limit_is_felt_at_once_on_every_instance() {
    let app = App::start(Mode::Production).await;
    let other = app.another(&[]).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    for round in 1..=10_u64 {
        assert_eq!(redirected_by(&other.base, &code, 3).await, 3);
        limit_to(&app, &token, &code, Some(10 * round - 5)).await;
        assert_eq!(redirected_by(&other.base, &code, 5).await, 2);
        limit_to(&app, &token, &code, Some(10 * round - 3)).await;
        assert_eq!(redirected_by(&other.base, &code, 5).await, 2);
        limit_to(&app, &token, &code, None).await;
        assert_eq!(redirected_by(&other.base, &code, 3).await, 3);
        assert_eq!(app.clicks(&code).await, 10 * round);
    }
    drop(other);
    app.server_only().await;
}

/// Clients that follow a link on one instance until it is used up; notes how often they are redirected.
async fn until_used_up(base: &str, code: &str, redirected: &AtomicUsize) {
    let client = Client::builder().redirect(redirect::Policy::none());
    let client = client.build().unwrap();
    let visits = (0..8).map(async |_| {
        loop {
            let response = client.get(format!("{base}/{code}")).send().await.unwrap();
            match response.status().as_u16() {
                302 => redirected.fetch_add(1, Ordering::SeqCst),
                404 => return,
                _ => panic!("{}", response.text().await.unwrap()),
            };
        }
    });
    join_all(visits).await;
}

#[tokio::test]
async fn a_limit_that_is_set_while_visitors_come_to_several_instances_is_kept_exactly() {
    let app = App::start(Mode::Production).await;
    let others = [app.another(&[]).await, app.another(&[]).await];
    let bases = [&*app.server.base, &*others[0].base, &*others[1].base];
    let token = app.register().await;
    for _ in 0..3 {
        let code = app.shorten(&token, "https://example.org/").await;
        let redirected = AtomicUsize::new(0);
        let visits = bases.map(|base| until_used_up(base, &code, &redirected));
        let limits = async {
            let visitors_come = async || redirected.load(Ordering::SeqCst) > 200;
            eventually("visitors come", visitors_come).await;
            let max = redirected.load(Ordering::SeqCst) as u64 + 500;
            limit_to(&app, &token, &code, Some(max)).await;
            max
        };
        let (_, max) = join(join_all(visits), limits).await;
        assert_eq!(redirected.load(Ordering::SeqCst) as u64, max);
        assert_eq!(app.clicks(&code).await, max);
    }
    drop(others);
    app.server_only().await;
}

//! The count of a link as it rises, as server-sent events.

use std::time::Instant;

use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::support::{App, Mode, both_modes};

/// Begins to listen.
async fn listen(app: &App, token: &str, code: &str) -> Response {
    let request = app.request(Method::GET, &format!("/urls/{code}/stats/live"));
    let response = request.bearer_auth(token).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(response.headers()["cache-control"], "no-store");
    response
}

/// The next event; `None` where the stream has come to its end.
async fn next(stream: &mut Response) -> Option<Value> {
    loop {
        let piece = stream.chunk().await.unwrap()?;
        let piece = str::from_utf8(&piece).unwrap();
        assert!(piece.ends_with("\n\n"), "{piece}");
        if let Some((_, data)) = piece.split_once("data: ") {
            return Some(serde_json::from_str(data.trim()).unwrap());
        }
    }
}

async fn comes_to_its_end(stream: &mut Response) {
    while next(stream).await.is_some() {}
}

async fn database_operations(app: &App) -> u64 {
    let metrics = app.get("/metrics").await.text;
    let mut lines = metrics.lines();
    let count = lines.find_map(|line| line.strip_prefix("shunt_database_operations_total "));
    count.unwrap().parse().unwrap()
}

both_modes! {
    async fn the_owner_sees_the_count_rise(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        app.visit(&format!("/{code}")).await;
        let mut stream = listen(app, &token, &code).await;
        assert_eq!(next(&mut stream).await, Some(json!({"clicks": 1, "last_minute": 0})));
        for clicks in 2..=3 {
            app.visit(&format!("/{code}")).await;
            assert_eq!(next(&mut stream).await, Some(json!({"clicks": clicks, "last_minute": clicks - 1})));
        }
        let mut other = listen(app, &token, &code).await;
        assert_eq!(next(&mut other).await, Some(json!({"clicks": 3, "last_minute": 2})));
    }

    async fn a_link_of_another_owner_is_not_listened_to(app) {
        let (ada, bob) = (app.register().await, app.register().await);
        let code = app.shorten(&ada, "https://example.org/").await;
        app.get_as(&bob, &format!("/urls/{code}/stats/live")).await.is_error(404, "URL not found");
        app.get(&format!("/urls/{code}/stats/live")).await.is_error(401, "Not authenticated");
        app.get_as(&ada, "/urls/nopenope/stats/live").await.is_error(404, "URL not found");
    }

    async fn listening_ends_when_every_token_does(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let mut stream = listen(app, &token, &code).await;
        assert!(next(&mut stream).await.is_some());
        let ended = app.request(Method::POST, "/auth/logout-everywhere").bearer_auth(&token).send().await.unwrap();
        assert_eq!(ended.status(), 204);
        comes_to_its_end(&mut stream).await;
    }

    async fn listening_ends_with_its_link(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let mut stream = listen(app, &token, &code).await;
        assert!(next(&mut stream).await.is_some());
        assert_eq!(app.delete(&token, &code).await.status, 204);
        comes_to_its_end(&mut stream).await;
    }

    async fn events_come_at_most_once_a_second_however_fast_the_count_rises(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let mut stream = listen(app, &token, &code).await;
        let began = Instant::now();
        let (mut events, mut seen) = (0, 0);
        for _ in 0..200 {
            app.visit(&format!("/{code}")).await;
        }
        while seen < 200 {
            seen = next(&mut stream).await.unwrap()["clicks"].as_u64().unwrap();
            events += 1;
        }
        // The first one comes at once.
        let most = 1.0 + began.elapsed().as_secs_f64() / 0.9;
        assert!(f64::from(events) <= most, "{events} events, {most} at most");
    }

    async fn a_hundred_listeners_of_a_link_cost_one_look_up(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let mut streams = Vec::new();
        for _ in 0..100 {
            let mut stream = listen(app, &token, &code).await;
            assert!(next(&mut stream).await.is_some());
            streams.push(stream);
        }
        let before = database_operations(app).await;
        app.visit(&format!("/{code}")).await;
        for stream in &mut streams {
            assert_eq!(next(stream).await.unwrap()["clicks"], 1);
        }
        let operations = database_operations(app).await - before;
        assert!(operations < 60, "{operations} operations of the database");
    }

    async fn a_shutdown_ends_all_listening(app) {
        let token = app.register().await;
        let code = app.shorten(&token, "https://example.org/").await;
        let mut streams = Vec::new();
        for _ in 0..40 {
            let mut stream = listen(app, &token, &code).await;
            assert!(next(&mut stream).await.is_some());
            streams.push(stream);
        }
        app.server.stop().await;
        for stream in &mut streams {
            comes_to_its_end(stream).await;
        }
        app.server = app.another(&[]).await;
    }
}

async fn listening_ends_when_its_token_expires(mode: Mode) {
    let app = App::start_with(mode, &[("JWT_TTL_SECONDS", "3")]).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    comes_to_its_end(&mut listen(&app, &token, &code).await).await;
    app.get_as(&token, "/auth/me")
        .await
        .is_error(401, "Not authenticated");
    app.server_only().await;
}

#[tokio::test]
async fn embedded_listening_ends_when_its_token_expires() {
    listening_ends_when_its_token_expires(Mode::Embedded).await;
}

#[tokio::test]
async fn production_listening_ends_when_its_token_expires() {
    listening_ends_when_its_token_expires(Mode::Production).await;
}

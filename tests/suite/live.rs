//! The count of a link as it rises, as server-sent events.

use std::time::Instant;

use futures_util::future::join_all;
use reqwest::{Method, Response};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
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

/// How often the database and Redis were asked for something.
async fn look_ups(app: &App) -> u64 {
    let metrics = app.get("/metrics").await.text;
    let counts = metrics.lines().filter(|line| {
        line.starts_with("shunt_database_operations_total ")
            || line.starts_with("shunt_redis_commands_total{")
    });
    let counts: Vec<u64> = counts
        .map(|line| line.rsplit_once(' ').unwrap().1.parse().unwrap())
        .collect();
    assert!(!counts.is_empty());
    counts.iter().sum()
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

/// Each of them looking for itself would be a thousand look-ups; what the service does anyway meanwhile is some dozens.
async fn a_thousand_listeners_cost_what_one_does(mode: Mode) {
    const LISTENERS: usize = 1_000;
    const AT_ONCE: usize = 50;
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let needed = LISTENERS as u64 + 500;
    assert!(
        maximum.is_none_or(|maximum| maximum >= needed),
        "this test needs {needed} open files: ulimit -Hn"
    );
    let current = maximum;
    setrlimit(Resource::Nofile, Rlimit { current, maximum }).unwrap();
    let app = App::start_with(mode, &[("MAX_CONNECTIONS_PER_ADDRESS", "0")]).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    let mut streams = Vec::new();
    while streams.len() < LISTENERS {
        let opened = (0..AT_ONCE).map(|_| async {
            let mut stream = listen(&app, &token, &code).await;
            let first = next(&mut stream).await.unwrap();
            assert_eq!(first, json!({"clicks": 0, "last_minute": 0}));
            stream
        });
        streams.extend(join_all(opened).await);
    }
    let before = look_ups(&app).await;
    for clicks in 1..=2 {
        app.visit(&format!("/{code}")).await;
        let events = streams.iter_mut().map(next);
        for event in join_all(events).await {
            let expected = json!({"clicks": clicks, "last_minute": clicks});
            assert_eq!(event, Some(expected));
        }
    }
    let asked = look_ups(&app).await - before;
    assert!(asked < LISTENERS as u64 / 4, "{asked} look-ups");
    drop(streams);
    app.finish().await;
}

#[tokio::test]
async fn a_thousand_embedded_listeners_cost_what_one_does() {
    a_thousand_listeners_cost_what_one_does(Mode::Embedded).await;
}

#[tokio::test]
async fn a_thousand_production_listeners_cost_what_one_does() {
    a_thousand_listeners_cost_what_one_does(Mode::Production).await;
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

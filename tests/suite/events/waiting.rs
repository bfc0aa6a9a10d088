//! Waiting for events: by a long poll, and by server-sent events.

use futures_util::future::join_all;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use super::{events, events_in, read};
use crate::suite::managed::send;
use crate::support::{App, both_modes};

async fn listen(app: &App, token: &str, after: &str) -> Response {
    let request = app.request(Method::GET, &format!("/urls/my/events?after={after}"));
    let request = request
        .bearer_auth(token)
        .header("Accept", "text/event-stream");
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    response
}

/// The next event and its id; `None` at the end of the stream.
async fn next(stream: &mut Response) -> Option<(String, Value)> {
    loop {
        let piece = stream.chunk().await.unwrap()?;
        let piece = str::from_utf8(&piece).unwrap().to_owned();
        if let Some((head, data)) = piece.split_once("data: ") {
            let id = head.strip_prefix("id: ").unwrap().lines().next().unwrap();
            let data = data.split_once("\n\n").unwrap().0;
            return Some((id.to_owned(), serde_json::from_str(data).unwrap()));
        }
    }
}

both_modes! {
    async fn a_long_poll_ends_when_something_happens(app) {
        let token = app.register().await;
        let waiting = read(app, &token, "after=now&wait=30");
        let making = async {
            // The poll has begun once it is counted.
            crate::support::eventually("the reader waits", async || {
                app.get("/metrics").await.text.contains("shunt_event_readers 1")
            }).await;
            app.shorten(&token, "https://example.org/").await
        };
        let (found, code) = tokio::join!(waiting, making);
        let found = events_in(&found);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0]["short_code"], code);
    }

    async fn a_long_poll_without_news_ends_empty_and_its_cursor_goes_on(app) {
        let token = app.register().await;
        app.shorten(&token, "https://example.org/").await;
        let last = events(app, &token, 1).await[0]["id"].as_str().unwrap().to_owned();
        let empty = read(app, &token, &format!("after={last}&wait=1")).await;
        assert_eq!(events_in(&empty).len(), 0);
        let cursor = empty.header("shunt-cursor").to_owned();
        app.shorten(&token, "https://example.org/").await;
        let found = events_in(&read(app, &token, &format!("after={cursor}&wait=30")).await);
        assert_eq!(found.len(), 1);
    }

    async fn events_are_sent_as_they_happen_and_go_on_after_the_last_one(app) {
        let token = app.register().await;
        let mut stream = listen(app, &token, "now").await;
        let code = app.shorten(&token, "https://example.org/").await;
        let (id, event) = next(&mut stream).await.unwrap();
        assert_eq!((&event["short_code"], &event["id"]), (&code.into(), &id.as_str().into()));
        drop(stream);
        let code = app.shorten(&token, "https://example.org/").await;
        let request = app.request(Method::GET, "/urls/my/events").bearer_auth(&token);
        let request = request.header("Accept", "text/event-stream").header("Last-Event-ID", &id);
        let mut stream = request.send().await.unwrap();
        assert_eq!(next(&mut stream).await.unwrap().1["short_code"], code);
    }

    async fn many_readers_each_get_their_own_events(app) {
        let mut readers = Vec::new();
        for _ in 0..20 {
            let token = app.register().await;
            let stream = listen(app, &token, "now").await;
            readers.push((token, stream));
        }
        let got = readers.iter_mut().map(async |(token, stream)| {
            let code = app.shorten(token, "https://example.org/").await;
            assert_eq!(next(stream).await.unwrap().1["short_code"], code);
        });
        join_all(got).await;
    }

    async fn the_stream_of_a_key_that_is_deleted_ends(app) {
        let token = app.register().await;
        let key = send(app, Method::POST, &token, "/auth/keys", &json!({"name": "reader", "scope": "read"})).await.json();
        let mut stream = listen(app, key["key"].as_str().unwrap(), "now").await;
        let path = format!("/auth/keys/{}", key["id"]);
        assert_eq!(send(app, Method::DELETE, &token, &path, &json!({})).await.status, 204);
        app.shorten(&token, "https://example.org/").await;
        while let Some((_, event)) = next(&mut stream).await {
            assert_eq!(event["type"], "link.created");
        }
    }

    async fn a_shutdown_ends_streams_and_polls(app) {
        let token = app.register().await;
        let mut stream = listen(app, &token, "now").await;
        let poll = app.request(Method::GET, "/urls/my/events?after=now&wait=30").bearer_auth(&token).send();
        let poll = poll.await.unwrap();
        app.server.stop().await;
        assert_eq!(next(&mut stream).await, None);
        assert_eq!(poll.text().await.unwrap(), "");
        app.server = app.another(&[]).await;
    }
}

//! Cursors: each names a place for ever, or says plainly that it is gone.

use serde_json::Value;

use super::{events, events_in, read};
use crate::support::{App, both_modes};

const RESTORED: &str =
    "The database went back to a state before this event; begin again without `after`";
const TOO_OLD: &str = "Events after this one are not kept any more; begin again without `after`";

async fn make_links(app: &App, token: &str, count: usize) {
    for _ in 0..count {
        app.shorten(token, "https://example.org/").await;
    }
}

fn id(event: &Value) -> &str {
    event["id"].as_str().unwrap()
}

both_modes! {
    async fn reading_goes_on_after_a_cursor_in_pieces_of_any_size(app) {
        let token = app.register().await;
        make_links(app, &token, 7).await;
        let all = events(app, &token, 7).await;
        let mut seen = Vec::new();
        let mut query = "limit=2".to_owned();
        loop {
            let page = read(app, &token, &query).await;
            let found = events_in(&page);
            assert!(found.len() <= 2);
            let Some(last) = found.last() else { break };
            assert_eq!(page.header("shunt-cursor"), id(last));
            query = format!("limit=2&after={}", id(last));
            seen.extend(found);
        }
        assert_eq!(seen, all);
    }

    async fn ids_stay_the_same_after_a_restart(app) {
        let token = app.register().await;
        make_links(app, &token, 3).await;
        let before = events(app, &token, 3).await;
        app.server.stop().await;
        app.server = app.another(&[]).await;
        make_links(app, &token, 1).await;
        let after = events(app, &token, 4).await;
        assert_eq!(after[..3], before);
        let rest = events_in(&read(app, &token, &format!("after={}", id(&before[2]))).await);
        assert_eq!(rest, after[3..]);
    }

    async fn an_empty_feed_has_a_cursor_that_goes_on(app) {
        let token = app.register().await;
        let cursor = read(app, &token, "after=now").await.header("shunt-cursor").to_owned();
        make_links(app, &token, 1).await;
        events(app, &token, 1).await;
        let found = events_in(&read(app, &token, &format!("after={cursor}")).await);
        assert_eq!(found.len(), 1);
    }

    async fn a_cursor_of_a_state_that_was_lost_is_refused_plainly(app) {
        let token = app.register().await;
        make_links(app, &token, 2).await;
        let found = events(app, &token, 2).await;
        let (history, place) = id(&found[1]).split_at(8);
        let (step, index) = place.split_once('.').unwrap();
        let step = i64::from_str_radix(step, 16).unwrap();
        for cursor in [format!("deadbeef{place}"), format!("{history}{:x}.{index}", step + 100_000)] {
            read(app, &token, &format!("after={cursor}")).await.is_error(410, RESTORED);
        }
    }

    async fn an_older_cursor_is_refused_only_if_events_after_it_are_gone(app) {
        let (token, other) = (app.register().await, app.register().await);
        make_links(app, &token, 2).await;
        make_links(app, &other, 1).await;
        let found = events(app, &token, 2).await;
        let quiet = id(&events(app, &other, 1).await[0]).to_owned();
        app.backend.execute("UPDATE events SET told_at = 1000 WHERE type <> $1", "clicks").await;
        // The next process removes them with its first run.
        app.server.stop().await;
        app.server = app.another(&[]).await;
        let first = format!("after={}", id(&found[0]));
        crate::support::eventually("the events are removed", async || read(app, &token, &first).await.status == 410).await;
        read(app, &token, &first).await.is_error(410, TOO_OLD);
        for (token, cursor) in [(&token, id(&found[1])), (&other, quiet.as_str())] {
            assert_eq!(events_in(&read(app, token, &format!("after={cursor}")).await).len(), 0, "nothing is missed");
        }
        assert_eq!(events_in(&read(app, &token, "").await).len(), 0);
    }

    async fn parameters_that_make_no_sense_are_refused_by_name(app) {
        let token = app.register().await;
        for (query, detail) in [
            ("after=x", "after: must be the id of an event, as it was given"),
            ("after=", "after: must be the id of an event, as it was given"),
            ("wait=31", "wait: must be a number from 0 to 30"),
            ("wait=soon", "wait: must be a number from 0 to 30"),
            ("limit=0", "limit: must be a number from 1 to 10000"),
            ("limit=10001", "limit: must be a number from 1 to 10000"),
        ] {
            read(app, &token, query).await.is_error(422, detail);
        }
        assert_eq!(read(app, &token, "nonsense=1").await.status, 422);
    }
}

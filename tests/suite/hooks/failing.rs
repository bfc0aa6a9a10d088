//! Receivers that do not take what is sent.

use reqwest::Method;
use serde_json::{Value, json};

use super::receiver::Receiver;
use super::{deliveries, hook, hook_of, patch_hook, show_hook, told};
use crate::suite::managed::{patch, send};
use crate::support::{App, both_modes, eventually};

/// Waits until a hook has an error.
async fn fails(app: &App, token: &str, id: i64) -> Value {
    eventually("the failure is noted", async || {
        show_hook(app, token, id).await["last_error"].is_string()
    })
    .await;
    show_hook(app, token, id).await
}

both_modes! {
    with &[("HOOK_TARGETS", "private")];

    async fn what_is_not_taken_is_sent_again_before_later_events_of_its_link(app) {
        let (token, receiver) = (app.register().await, Receiver::start().await);
        receiver.answers(|_| 500);
        let (id, _) = hook(app, &token, &receiver).await;
        let code = app.shorten(&token, "https://example.org/").await;
        let failing = fails(app, &token, id).await;
        assert_eq!(failing["last_error"], "The receiver answered 500");
        assert!(failing["failing_since"].is_string() && failing["is_active"] == true);
        patch(app, &token, &code, &json!({ "title": "later" })).await;
        eventually("the change waits, too", async || deliveries(app, &token, id).await.len() == 2).await;
        let noted = deliveries(app, &token, id).await;
        assert!(noted[0]["attempts"] == 0 && noted[0]["next_attempt_at"].is_null(), "{noted:?}");
        assert!(noted[1]["attempts"] == 1 && noted[1]["next_attempt_at"].is_string());
        assert_eq!((&noted[1]["status"], &noted[1]["error"]), (&json!(500), &json!("The receiver answered 500")));
        receiver.answers(|_| 200);
        // Its owner need not wait for the next attempt.
        let working = patch_hook(app, &token, id, &json!({ "is_active": true })).await;
        assert_eq!((&working["failing_since"], &working["last_error"]), (&json!(null), &json!(null)));
        eventually("nothing waits", async || show_hook(app, &token, id).await["waiting"] == 0).await;
        let told = receiver.told();
        let (created, changed) = (format!("link.created {code}"), format!("link.changed {code}"));
        assert_eq!(told.last(), Some(&changed), "{told:?}");
        assert!(told[..told.len() - 1].iter().all(|told| *told == created), "{told:?}");
        let ids: Vec<_> = receiver.received().into_iter().map(|received| received.id).collect();
        assert_eq!(ids[0], ids[ids.len() - 2], "the same event has the same id");
    }

    async fn a_failed_event_is_tried_again_by_itself(app) {
        let (token, receiver) = (app.register().await, Receiver::start().await);
        receiver.answers(|_| 503);
        hook(app, &token, &receiver).await;
        app.shorten(&token, "https://example.org/").await;
        receiver.receives(1).await;
        receiver.answers(|_| 204);
        receiver.receives(2).await;
    }

    async fn an_event_that_is_not_taken_stops_only_its_link(app) {
        let (token, receiver) = (app.register().await, Receiver::start().await);
        receiver.answers(|event| if event["target_url"] == "https://example.org/poison" { 400 } else { 204 });
        let (id, _) = hook(app, &token, &receiver).await;
        let poison = app.shorten(&token, "https://example.org/poison").await;
        fails(app, &token, id).await;
        for _ in 0..3 {
            let code = app.shorten(&token, "https://example.org/").await;
            patch(app, &token, &code, &json!({ "title": "more" })).await;
        }
        patch(app, &token, &poison, &json!({ "target_url": "https://example.org/good" })).await;
        eventually("the other links come", async || {
            receiver.told().iter().filter(|told| !told.ends_with(&poison)).count() == 6
        }).await;
        // What was taken is noted after it was sent, so that for a moment it may still wait.
        eventually("only the link waits", async || show_hook(app, &token, id).await["waiting"] == 2).await;
        assert!(!receiver.told().contains(&format!("link.changed {poison}")));
    }

    async fn what_was_never_sent_is_tried_before_what_is_refused_again_and_again(app) {
        let (token, receiver) = (app.register().await, Receiver::start().await);
        receiver.answers(|event| if event["target_url"] == "https://example.org/poison" { 400 } else { 204 });
        let (id, _) = hook(app, &token, &receiver).await;
        for _ in 0..3 {
            app.shorten(&token, "https://example.org/poison").await;
        }
        eventually("all were refused", async || {
            let found = deliveries(app, &token, id).await;
            found.len() == 3 && found.iter().all(|delivery| delivery["attempts"].as_u64() > Some(0))
        }).await;
        let code = app.shorten(&token, "https://example.org/").await;
        eventually("the other link comes", async || receiver.told().contains(&format!("link.created {code}"))).await;
    }

    async fn a_link_that_is_refused_leaves_room_for_others_and_its_events_come_later_in_their_order(app) {
        let (token, receiver) = (app.register().await, Receiver::start().await);
        receiver.answers(|event| if event["target_url"] == "https://example.org/poison" { 400 } else { 204 });
        let (id, _) = hook(app, &token, &receiver).await;
        let poison = app.shorten(&token, "https://example.org/poison").await;
        fails(app, &token, id).await;
        for number in 0..50 {
            patch(app, &token, &poison, &json!({ "title": format!("Number {number}") })).await;
        }
        let other = app.shorten(&token, "https://example.org/").await;
        eventually("the other link comes", async || receiver.told().contains(&format!("link.created {other}"))).await;
        eventually("20 events wait", async || show_hook(app, &token, id).await["waiting"] == 20).await;
        receiver.answers(|_| 204);
        patch_hook(app, &token, id, &json!({ "is_active": true })).await;
        let changes = || {
            let came = receiver.received().into_iter();
            let changes = came.filter(|came| came.event["type"] == "link.changed");
            changes.map(|change| change.event["title"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        eventually("all events came", async || changes().len() == 50).await;
        let expected: Vec<_> = (0..50).map(|number| format!("Number {number}")).collect();
        assert_eq!(changes(), expected);
        eventually("nothing waits", async || show_hook(app, &token, id).await["waiting"] == 0).await;
        // From here on it is as any other link.
        patch(app, &token, &poison, &json!({ "title": "Number 50" })).await;
        eventually("the next one comes", async || changes().len() == 51).await;
    }

    async fn a_replay_sends_what_is_held_once_more(app) {
        let (token, receiver) = (app.register().await, Receiver::start().await);
        receiver.answers(|_| 500);
        let (id, _) = hook(app, &token, &receiver).await;
        let code = app.shorten(&token, "https://example.org/").await;
        for number in 0..30 {
            patch(app, &token, &code, &json!({ "title": format!("Number {number}") })).await;
        }
        told(app, &token, 31).await;
        eventually("20 events wait", async || show_hook(app, &token, id).await["waiting"] == 20).await;
        let begin = json!({ "after": "000000000.0" });
        let replayed = send(app, Method::POST, &token, &format!("/hooks/{id}/replay"), &begin).await;
        assert_eq!(replayed.status, 202, "{}", replayed.text);
        receiver.answers(|_| 204);
        patch_hook(app, &token, id, &json!({ "is_active": true })).await;
        let came = |title: &str| receiver.received().iter().filter(|received| received.event["title"] == title).count();
        eventually("the last event came", async || came("Number 29") == 1).await;
        eventually("nothing waits", async || show_hook(app, &token, id).await["waiting"] == 0).await;
        // The first ones waited already, and come once more.
        assert_eq!([came("Number 0"), came("Number 18"), came("Number 19"), came("Number 29")], [2, 2, 1, 1]);
    }

    async fn what_waits_longer_than_events_are_kept_is_given_up(app) {
        let (token, receiver) = (app.register().await, Receiver::start().await);
        receiver.answers(|_| 500);
        let (id, _) = hook(app, &token, &receiver).await;
        let code = app.shorten(&token, "https://example.org/").await;
        fails(app, &token, id).await;
        app.backend.execute("UPDATE hook_deliveries SET made_at = length($1)", "long ago").await;
        patch(app, &token, &code, &json!({ "title": "later" })).await;
        // A process looks at once when it starts, and then each minute.
        app.server.stop().await;
        app.server = app.another(&[("HOOK_TARGETS", "private")]).await;
        eventually("only the change waits", async || {
            let found = deliveries(app, &token, id).await;
            found.len() == 1 && found[0]["type"] == "link.changed" && found[0]["next_attempt_at"].is_string()
        }).await;
        assert_eq!(show_hook(app, &token, id).await["waiting"], 1);
    }

    async fn another_receiver_gets_at_once_what_waits(app) {
        let (token, receiver, other) = (app.register().await, Receiver::start().await, Receiver::start().await);
        receiver.answers(|_| 500);
        let (id, _) = hook(app, &token, &receiver).await;
        app.shorten(&token, "https://example.org/").await;
        fails(app, &token, id).await;
        let changed = patch_hook(app, &token, id, &json!({ "url": other.url })).await;
        assert_eq!((&changed["failing_since"], &changed["last_error"]), (&json!(null), &json!(null)));
        other.receives(1).await;
    }

    async fn a_receiver_that_answers_410_ends_its_hook_with_an_event(app) {
        let (token, receiver, other) = (app.register().await, Receiver::start().await, Receiver::start().await);
        receiver.answers(|_| 410);
        let (id, _) = hook(app, &token, &receiver).await;
        hook_of(app, &token, &json!({ "url": other.url, "types": ["hook.off"] })).await;
        app.shorten(&token, "https://example.org/").await;
        eventually("it is off", async || show_hook(app, &token, id).await["is_active"] == false).await;
        assert_eq!(show_hook(app, &token, id).await["last_error"], "The receiver answered 410");
        let told = other.receives(1).await;
        assert_eq!(told[0].event["type"], "hook.off");
        let host = format!("127.0.0.1:{}", receiver.port);
        assert_eq!((&told[0].event["hook"], &told[0].event["host"]), (&json!(id), &json!(host)));
        assert_eq!(told[0].event["reason"], "The receiver answered 410");
        assert!(told[0].event.get("short_code").is_none());
        app.shorten(&token, "https://example.org/").await;
        eventually("the event is in the feed", async || {
            app.get_as(&token, "/urls/my/events").await.text.lines().count() == 3
        }).await;
        assert_eq!(receiver.received().len(), 1);
    }

    async fn a_hook_whose_receiver_fails_for_three_days_is_switched_off(app) {
        let (token, receiver) = (app.register().await, Receiver::start().await);
        receiver.answers(|_| 500);
        let (id, _) = hook(app, &token, &receiver).await;
        app.shorten(&token, "https://example.org/").await;
        fails(app, &token, id).await;
        // Three days pass.
        app.backend.execute("UPDATE hook_deliveries SET failing_since = failing_since - 259200000000 - length($1), next_at = 0", "").await;
        app.backend.execute("UPDATE hooks SET retry_at = 0 WHERE length($1) = 0", "").await;
        eventually("it is off", async || show_hook(app, &token, id).await["is_active"] == false).await;
        let off = show_hook(app, &token, id).await;
        assert_eq!(off["last_error"], "It failed for 3 days. The receiver answered 500");
        assert_eq!(off["waiting"], 1);
    }

    async fn a_redirect_is_not_followed(app) {
        let (token, receiver) = (app.register().await, Receiver::start().await);
        receiver.answers(|_| 307);
        let (id, _) = hook(app, &token, &receiver).await;
        app.shorten(&token, "https://example.org/").await;
        assert_eq!(fails(app, &token, id).await["last_error"], "The receiver answered 307");
        assert_eq!((deliveries(app, &token, id).await.len(), receiver.received().len()), (1, 1));
    }

    async fn a_receiver_that_hangs_costs_only_itself(app) {
        let (token, hanging, working) = (app.register().await, Receiver::start().await, Receiver::start().await);
        hanging.answers(|_| 0);
        let (id, _) = hook(app, &token, &hanging).await;
        hook(app, &token, &working).await;
        app.shorten(&token, "https://example.org/").await;
        hanging.receives(1).await;
        for count in 2..5 {
            app.shorten(&token, "https://example.org/").await;
            working.receives(count).await;
        }
        assert_eq!(fails(app, &token, id).await["last_error"], "The receiver did not answer within 10 seconds");
    }

    async fn a_receiver_that_is_away_is_named(app) {
        let (token, receiver) = (app.register().await, Receiver::start().await);
        let (id, _) = hook(app, &token, &receiver).await;
        let body = json!({ "url": "http://127.0.0.1:1/in" });
        patch_hook(app, &token, id, &body).await;
        app.shorten(&token, "https://example.org/").await;
        let error = fails(app, &token, id).await["last_error"].clone();
        assert!(error.as_str().unwrap().starts_with("The receiver cannot be reached: "), "{error}");
        let deleted = send(app, Method::DELETE, &token, &format!("/hooks/{id}"), &json!({})).await;
        assert_eq!(deleted.status, 204);
    }
}

//! What a receiver gets, in which order.

use std::collections::{HashMap, HashSet};

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use tokio::sync::Mutex;

use super::receiver::Receiver;
use super::{deliveries, hook, hook_of, patch_hook, show_hook, told};
use crate::suite::busy::DatabaseLock;
use crate::suite::managed::{patch, send};
use crate::support::{App, Mode, Response, both_modes, eventually, waiting_for};

both_modes! {
    with &[("HOOK_TARGETS", "private")];

    async fn an_event_is_sent_signed_as_the_document_of_the_feed(app) {
        let (token, receiver) = (app.register().await, Receiver::start().await);
        app.shorten(&token, "https://example.org/earlier").await;
        told(app, &token, 1).await;
        let (id, secret) = hook(app, &token, &receiver).await;
        let code = app.shorten(&token, "https://example.org/").await;
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        let messages = receiver.receives(2).await;
        assert_eq!(receiver.told(), [format!("link.created {code}"), format!("clicks {code}")]);
        let feed = app.get_as(&token, "/urls/my/events").await;
        let feed: Vec<Value> = feed.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for (received, event) in messages.iter().zip(&feed[1..]) {
            assert_eq!(&received.event, event);
            assert_eq!(received.id, event["id"].as_str().unwrap().replace('.', "_"));
            assert!(received.is_signed_by(&secret) && received.signatures() == 1);
            assert!(!received.is_signed_by("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"));
        }
        eventually("the deliveries are noted", async || deliveries(app, &token, id).await.len() == 2).await;
        let noted = deliveries(app, &token, id).await;
        assert_eq!((&noted[0]["event_id"], &noted[0]["type"]), (&feed[2]["id"], &json!("clicks")));
        assert_eq!((&noted[1]["status"], &noted[1]["attempts"]), (&json!(204), &json!(1)));
        assert!(noted[1]["delivered_at"].is_string() && noted[1]["next_attempt_at"].is_null());
        assert_eq!(show_hook(app, &token, id).await["waiting"], 0);
    }

    async fn the_hook_of_a_group_gets_the_events_of_the_group(app) {
        let (token, receiver) = (app.register().await, Receiver::start().await);
        let group = send(app, Method::POST, &token, "/groups", &json!({ "name": "Marketing" })).await;
        let group = group.json()["id"].as_i64().unwrap();
        let of_group = async |path: &str, body: Value| {
            let request = app.request(Method::POST, path).bearer_auth(&token);
            let made = Response::of(request.header("Shunt-Group", group).json(&body)).await;
            assert_eq!(made.status, 200, "{made:?}");
            made.json()
        };
        of_group("/hooks", json!({ "url": receiver.url, "types": ["link.created"] })).await;
        let own = app.shorten(&token, "https://example.org/").await;
        let shared = of_group("/urls/shorten", json!({ "target_url": "https://example.org/" })).await;
        let code = shared["short_code"].as_str().unwrap();
        receiver.receives(1).await;
        assert_eq!(receiver.told(), [format!("link.created {code}")], "and not {own}");
        assert_eq!(app.get_as(&token, "/hooks").await.json(), json!([]));
    }

    async fn only_the_types_and_tags_that_are_wanted_are_sent(app) {
        let (token, receiver) = (app.register().await, Receiver::start().await);
        let body = json!({ "url": receiver.url, "types": ["link.created", "clicks"], "tags": ["spring"] });
        hook_of(app, &token, &body).await;
        let make = async |tags: &[&str]| {
            let body = json!({ "target_url": "https://example.org/", "tags": tags });
            let made = send(app, Method::POST, &token, "/urls/shorten", &body).await;
            made.json()["short_code"].as_str().unwrap().to_owned()
        };
        let (other, wanted) = (make(&["autumn"]).await, make(&["spring", "sale"]).await);
        for code in [&other, &wanted] {
            assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
            patch(app, &token, code, &json!({ "title": "Sale" })).await;
        }
        let last = make(&["spring"]).await;
        eventually("the last link came", async || receiver.told().contains(&format!("link.created {last}"))).await;
        eventually("the clicks came", async || receiver.told().contains(&format!("clicks {wanted}"))).await;
        let came: HashSet<_> = receiver.told().into_iter().collect();
        let expected = [format!("link.created {wanted}"), format!("clicks {wanted}"), format!("link.created {last}")];
        assert_eq!(came, HashSet::from(expected));
    }

    async fn events_of_a_link_come_in_their_order_and_all_of_many(app) {
        let (token, receiver) = (app.register().await, Receiver::start().await);
        hook(app, &token, &receiver).await;
        let code = app.shorten(&token, "https://example.org/").await;
        for title in ["a", "b", "c"] {
            patch(app, &token, &code, &json!({ "title": title })).await;
        }
        let links = vec![json!({ "target_url": "https://example.org/many" }); 300];
        let made = send(app, Method::POST, &token, "/urls/bulk", &json!(links)).await;
        assert_eq!(made.status, 200, "{}", made.text);
        app.delete(&token, &code).await;
        let messages = receiver.receives(305).await;
        let ids: HashSet<_> = messages.iter().map(|received| received.id.as_str()).collect();
        assert_eq!(ids.len(), 305);
        let of_link = messages.iter().filter(|received| received.event["short_code"] == code.as_str());
        let of_link: Vec<_> = of_link.map(|received| (received.event["type"].as_str().unwrap(), received.event["title"].as_str().unwrap())).collect();
        assert_eq!(of_link, [("link.created", ""), ("link.changed", "a"), ("link.changed", "b"), ("link.changed", "c"), ("link.deleted", "c")]);
    }

    async fn what_happens_while_a_hook_is_off_is_sent_when_it_is_on_again(app) {
        let (token, receiver) = (app.register().await, Receiver::start().await);
        let (id, _) = hook(app, &token, &receiver).await;
        let off = patch_hook(app, &token, id, &json!({ "is_active": false })).await;
        assert_eq!(off["is_active"], false);
        let code = app.shorten(&token, "https://example.org/").await;
        // Another hook shows that the event would have been sent by now.
        let other = Receiver::start().await;
        hook(app, &token, &other).await;
        app.shorten(&token, "https://example.org/").await;
        other.receives(1).await;
        assert!(receiver.received().is_empty());
        patch_hook(app, &token, id, &json!({ "is_active": true })).await;
        receiver.receives(2).await;
        assert!(receiver.told().contains(&format!("link.created {code}")));
    }

    async fn events_are_sent_again_from_a_cursor_with_the_ids_that_they_had(app) {
        let (token, receiver) = (app.register().await, Receiver::start().await);
        for target in ["https://example.org/1", "https://example.org/2"] {
            app.shorten(&token, target).await;
        }
        told(app, &token, 2).await;
        let (id, _) = hook(app, &token, &receiver).await;
        app.shorten(&token, "https://example.org/3").await;
        let third = receiver.receives(1).await.remove(0);
        let feed = app.get_as(&token, "/urls/my/events").await;
        let first: Value = serde_json::from_str(feed.text.lines().next().unwrap()).unwrap();
        let path = format!("/hooks/{id}/replay");
        eventually("the delivery is noted", async || deliveries(app, &token, id).await.len() == 1).await;
        let again = send(app, Method::POST, &token, &path, &json!({ "after": first["id"] })).await;
        assert_eq!(again.status, 202, "{}", again.text);
        let messages = receiver.receives(3).await;
        assert_eq!(messages[1].event["target_url"], "https://example.org/2");
        assert_eq!((&messages[2].id, &messages[2].event), (&third.id, &third.event));
        send(app, Method::POST, &token, &path, &json!({ "after": "no cursor" })).await
            .is_error(422, "after: must be the id of an event, as it was given");
        send(app, Method::POST, &token, &path, &json!({ "after": "ffffffff1.0" })).await
            .is_error(410, "The database went back to a state before this event; begin again without `after`");
    }

    async fn a_new_secret_signs_beside_the_former_one(app) {
        let (token, receiver) = (app.register().await, Receiver::start().await);
        let (id, former) = hook(app, &token, &receiver).await;
        let rotated = patch_hook(app, &token, id, &json!({ "rotate_secret": true })).await;
        let secret = rotated["secret"].as_str().unwrap().to_owned();
        assert_ne!(secret, former);
        app.shorten(&token, "https://example.org/").await;
        let messages = receiver.receives(1).await;
        assert!(messages[0].is_signed_by(&secret) && messages[0].is_signed_by(&former));
        assert_eq!(messages[0].signatures(), 2);
        // A page that is sent twice makes two secrets: the one that the receiver has still signs.
        let again = patch_hook(app, &token, id, &json!({ "rotate_secret": true })).await;
        let secret = again["secret"].as_str().unwrap().to_owned();
        app.shorten(&token, "https://example.org/").await;
        let messages = receiver.receives(2).await;
        assert!(messages[1].is_signed_by(&secret) && messages[1].is_signed_by(&former));
        // After a day only the new one signs.
        app.backend.execute("UPDATE hooks SET old_secret_until = length($1)", "long ago").await;
        app.shorten(&token, "https://example.org/").await;
        let messages = receiver.receives(3).await;
        assert!(messages[2].is_signed_by(&secret) && messages[2].signatures() == 1);
    }

    async fn another_process_goes_on_where_one_stopped(app) {
        let (token, receiver) = (app.register().await, Receiver::start().await);
        hook(app, &token, &receiver).await;
        app.shorten(&token, "https://example.org/1").await;
        receiver.receives(1).await;
        app.shorten(&token, "https://example.org/2").await;
        app.server.stop().await;
        app.server = app.another(&[("HOOK_TARGETS", "private")]).await;
        app.shorten(&token, "https://example.org/3").await;
        eventually("all came", async || {
            let targets: HashSet<_> = receiver.received().iter().map(|received| received.event["target_url"].to_string()).collect();
            targets.len() == 3
        }).await;
    }
}

#[tokio::test]
async fn hooks_that_wait_for_the_database_leave_its_connections_to_clients() {
    let settings = [
        ("HOOK_TARGETS", "private"),
        ("DATABASE_MAX_CONNECTIONS", "12"),
        ("DATABASE_QUEUE_MS", "100"),
    ];
    let app = App::start_with(Mode::Production, &settings).await;
    let (token, receiver) = (app.register().await, Receiver::start().await);
    for _ in 0..10 {
        hook(&app, &token, &receiver).await;
    }
    let other = app.register().await;
    let lock = DatabaseLock::on_writes(&app, "hooks").await;
    app.shorten(&token, "https://example.org/").await;
    let of_backend: HashMap<String, String> = app.backend.settings().into_iter().collect();
    let observer = PgConnection::connect(&of_backend["DATABASE_URL"]).await;
    let observer = Mutex::new(observer.unwrap());
    let waiting = async || waiting_for(&mut *observer.lock().await, "hooks").await;
    eventually("hooks wait", async || waiting().await >= 4).await;
    for _ in 0..10 {
        assert_eq!(app.get_as(&other, "/auth/me").await.status, 200);
        assert!(waiting().await <= 4);
    }
    drop(lock);
    receiver.receives(10).await;
    app.finish().await;
}

//! Several instances over one Postgres and one Redis.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;

use crate::suite::busy::DatabaseLock;
use crate::suite::managed::{make, patch};
use crate::support::{App, Backend, Mode, RedisServer, Server, eventually};

const INACTIVE: &str = "UPDATE links SET is_active = false WHERE short_code = $1";
const ACTIVE: &str = "UPDATE links SET is_active = true WHERE short_code = $1";

async fn status(base: &str, code: &str) -> u16 {
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap();
    client
        .get(format!("{base}/{code}"))
        .send()
        .await
        .unwrap()
        .status()
        .as_u16()
}

#[tokio::test]
async fn a_deletion_takes_effect_on_an_instance_that_has_the_link_cached() {
    let app = App::start(Mode::Production).await;
    let other = app.another(&[]).await;
    let token = app.register().await;
    for _ in 0..20 {
        let code = app.shorten(&token, "https://example.org/").await;
        for base in [&app.server.base, &other.base] {
            assert_eq!(status(base, &code).await, 302);
            assert_eq!(status(base, &code).await, 302);
        }
        assert_eq!(app.delete(&token, &code).await.status, 204);
        assert_eq!(status(&other.base, &code).await, 404);
        assert_eq!(status(&app.server.base, &code).await, 404);
    }
    drop(other);
    app.finish().await;
}

#[tokio::test]
async fn a_code_that_another_instance_has_just_found_unknown_is_followed_there_once_it_is_made() {
    let app = App::start(Mode::Production).await;
    let other = app.another(&[]).await;
    let token = app.register().await;
    for number in 0..20 {
        let (code, alias) = (format!("made-{number}"), format!("alias-{number}"));
        for unknown in [&code, &alias] {
            assert_eq!(status(&other.base, unknown).await, 404);
            assert_eq!(status(&other.base, unknown).await, 404);
        }
        let link = json!({"target_url": "https://example.org/", "custom_code": code});
        assert_eq!(make(&app, &token, &link).await.status, 200);
        assert_eq!(status(&other.base, &code).await, 302);
        patch(&app, &token, &code, &json!({"aliases": [alias]})).await;
        assert_eq!(status(&other.base, &alias).await, 302);
    }
    drop(other);
    app.finish().await;
}

/// Redis still has the link, and only the next instance can announce the deletion to it.
#[tokio::test]
async fn a_link_deleted_by_hand_while_nothing_runs_is_not_followed_by_an_instance_that_starts_later()
 {
    let mut app = App::start(Mode::Production).await;
    let token = app.register().await;
    for _ in 0..3 {
        let code = app.shorten(&token, "https://example.org/").await;
        assert_eq!(status(&app.server.base, &code).await, 302);
        app.server.stop().await;
        let sql = "DELETE FROM links WHERE short_code = $1";
        app.backend.execute(sql, &code).await;
        app.server = app.another(&[]).await;
        assert_eq!(status(&app.server.base, &code).await, 404);
    }
    app.finish().await;
}

/// An instance that hung, for example, finishes the flush that it started, without the lease.
#[tokio::test]
async fn a_flushing_instance_does_not_extend_the_lease_of_another() {
    let redis = RedisServer::start(&[]).await;
    let settings = [("REDIS_URL", &*redis.url()), ("FLUSH_INTERVAL_MS", "20")];
    let app = App::start_with(Mode::Production, &settings).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    let key = |name: &str| format!("{{{}}}:{name}", app.backend.prefix());
    let connection = redis.connection().await;
    let is_flushing = async || {
        let mut exists = redis::cmd("EXISTS");
        let exists = exists.arg(key("flushing"));
        exists.query_async(&mut connection.clone()).await.unwrap()
    };

    let database = DatabaseLock::on_writes(&app, "data_sets").await;
    assert_eq!(app.server.follow(&code).await, 302);
    eventually("a flush waits for the database", is_flushing).await;
    let mut take = redis::cmd("SET");
    let take = take.arg(key("flusher")).arg("another").arg("PX");
    let take = take.arg(60_000);
    take.exec_async(&mut connection.clone()).await.unwrap();
    drop(database);

    eventually("the flush has ended", async || !is_flushing().await).await;
    app.written_back(&code, 1).await;
    let left: u64 = redis::cmd("PTTL")
        .arg(key("flusher"))
        .query_async(&mut connection.clone())
        .await
        .unwrap();
    assert!(left > 30_000, "{left} ms");
    app.finish().await;
}

#[tokio::test]
async fn a_deletion_takes_effect_while_both_instances_are_busy_with_the_link() {
    let app = App::start(Mode::Production).await;
    let other = app.another(&[]).await;
    let token = app.register().await;
    for _ in 0..5 {
        let code = app.shorten(&token, "https://example.org/").await;
        let deleted = Arc::new(AtomicBool::new(false));
        let clients: Vec<_> = (0..8)
            .map(|_| {
                let (base, code, deleted) =
                    (other.base.clone(), code.clone(), Arc::clone(&deleted));
                tokio::spawn(async move {
                    loop {
                        // A request that is sent after the response to the deletion must be refused.
                        let after = deleted.load(Ordering::SeqCst);
                        let status = status(&base, &code).await;
                        assert!(!after || status == 404, "served after its deletion");
                        if status == 404 {
                            return;
                        }
                    }
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(30)).await;
        assert_eq!(app.delete(&token, &code).await.status, 204);
        deleted.store(true, Ordering::SeqCst);
        for client in clients {
            client.await.unwrap();
        }
    }
    drop(other);
    app.finish().await;
}

#[tokio::test]
async fn a_link_deactivated_by_hand_is_an_uncounted_404_on_every_instance_until_it_is_activated_again()
 {
    let app = App::start(Mode::Production).await;
    let other = app.another(&[]).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    let answered = Cell::new(0);
    let becomes = async |base: &str, expected: u16| {
        eventually("the change takes effect", async || {
            let status = status(base, &code).await;
            answered.set(answered.get() + u64::from(status == 302));
            status == expected
        })
        .await;
    };
    let both = [app.server.base.as_str(), other.base.as_str()];
    for round in 0..5 {
        for base in both {
            becomes(base, 302).await;
        }
        app.backend.execute(INACTIVE, &code).await;
        // The first visit comes at once, or after both instances had time to notice the change.
        tokio::time::sleep(Duration::from_millis(400 * round)).await;
        for base in both {
            becomes(base, 404).await;
        }
        assert_eq!(app.clicks(&code).await, answered.get());
        app.backend.execute(ACTIVE, &code).await;
    }
    drop(other);
    app.finish().await;
}

#[tokio::test]
async fn statistics_include_the_clicks_of_all_instances() {
    let app = App::start(Mode::Production).await;
    let others = [
        app.another(&[]).await,
        app.another(&[("FLUSH_INTERVAL_MS", "20")]).await,
    ];
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    let mut answered = 0;
    for _ in 0..20 {
        for base in [&app.server.base, &others[0].base, &others[1].base] {
            assert_eq!(status(base, &code).await, 302);
            answered += 1;
        }
        assert_eq!(app.clicks(&code).await, answered);
    }
    drop(others);
    assert_eq!(
        app.clicks(&code).await,
        answered,
        "also when instances are gone"
    );
    app.finish().await;
}

#[tokio::test]
async fn instances_that_start_at_once_migrate_an_empty_database_together() {
    let backend = Backend::empty("").await;
    let settings = backend.settings();
    let (first, second, third) = tokio::join!(
        Server::start(&settings),
        Server::start(&settings),
        Server::start(&settings)
    );
    drop((first, second, third));
    backend.remove().await;
}

#[tokio::test]
async fn clicks_are_counted_without_redis_on_postgres_alone() {
    let app = App::start_with(Mode::Production, &[("REDIS_URL", "")]).await;
    let other = app
        .another(&[("REDIS_URL", ""), ("FLUSH_INTERVAL_MS", "20")])
        .await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    for answered in 1..=20 {
        assert_eq!(
            status(
                if answered % 2 == 0 {
                    &other.base
                } else {
                    &app.server.base
                },
                &code
            )
            .await,
            302
        );
        assert_eq!(app.clicks(&code).await, answered);
    }
    drop(other);
    app.finish().await;
}

#[tokio::test]
async fn the_service_goes_on_and_counts_on_when_redis_is_emptied() {
    let app = App::start_with(Mode::Production, &[("FLUSH_INTERVAL_MS", "20")]).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    for round in 1..=3_u64 {
        for _ in 0..5 {
            assert_eq!(status(&app.server.base, &code).await, 302);
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
        app.backend.empty_redis().await;
        // Until the empty Redis has a term, no count is exact.
        eventually("the count is available", async || {
            app.get(&format!("/urls/{code}/stats")).await.status == 200
        })
        .await;
        // At most the pending clicks are missing, none is counted twice, and new clicks are counted.
        let before = app.clicks(&code).await;
        assert!(before <= round * 8, "{before}");
        for _ in 0..3 {
            assert_eq!(status(&app.server.base, &code).await, 302);
        }
        assert_eq!(app.clicks(&code).await, before + 3);
        app.written_back(&code, before + 3).await;
    }
    app.finish().await;
}

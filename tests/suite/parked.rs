//! Clicks in doubt that are parked when the setting of Redis changes: they are settled, or the start is refused.

use crate::support::{App, Backend, Mode, RedisServer, Server, command, eventually, refused};

const RARELY: (&str, &str) = ("FLUSH_INTERVAL_MS", "60000");

/// A crashed instance has left two clicks in Redis and one that is parked.
async fn left_behind() -> (App, RedisServer, String) {
    let server = RedisServer::start(&[]).await;
    let settings = [("REDIS_URL", &*server.url()), ("WORKERS", "1"), RARELY];
    let mut app = App::start_with(Mode::Production, &settings).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    for _ in 0..2 {
        assert_eq!(app.server.follow(&code).await, 302);
    }
    let stopped = server.child.id().to_string();
    let signal = |name: &str| {
        let mut kill = std::process::Command::new("kill");
        assert!(kill.args([name, &stopped]).status().unwrap().success());
    };
    signal("-STOP");
    assert_eq!(app.server.follow(&code).await, 302);
    eventually("the click is parked", async || {
        parked(&app.backend).await == 1
    })
    .await;
    app.server.kill();
    signal("-CONT");
    // The lease of the killed instance would delay flushes for some seconds.
    let mut remove = redis::cmd("DEL");
    remove.arg(format!("{{{}}}:flusher", app.backend.prefix()));
    remove
        .exec_async(&mut server.connection().await)
        .await
        .unwrap();
    (app, server, code)
}

/// These settings, one of them with another value.
fn with_setting(settings: &[(String, String)], name: &str, value: &str) -> Vec<(String, String)> {
    let mut settings = settings.to_vec();
    settings.retain(|(known, _)| known != name);
    settings.push((name.to_owned(), value.to_owned()));
    settings
}

async fn parked(backend: &Backend) -> i64 {
    use sqlx::{Connection, PgConnection};
    let settings = backend.settings();
    let url = settings.iter().find(|(name, _)| name == "DATABASE_URL");
    let mut database = PgConnection::connect(&url.unwrap().1).await.unwrap();
    let count = sqlx::query_scalar("SELECT count(*) FROM parked_batches");
    count.fetch_one(&mut database).await.unwrap()
}

#[tokio::test]
async fn a_start_without_the_redis_that_clicks_are_parked_for_is_refused_and_says_what_to_do() {
    let (mut app, redis, code) = left_behind().await;
    let other = RedisServer::start(&[]).await;
    for (name, url) in [("REDIS_URL", ""), ("REDIS_PREFIX", "another")] {
        let mut settings = with_setting(&app.backend.settings(), name, url);
        if name == "REDIS_PREFIX" {
            settings = with_setting(&settings, "REDIS_URL", &other.url());
        }
        let ended = refused(&settings);
        assert_ne!(ended.status.code(), Some(0));
        let wanted = format!(
            "1 clicks in doubt are parked for the Redis data set {{{}}}",
            app.backend.prefix()
        );
        assert!(ended.stderr.contains(&wanted), "{}", ended.stderr);
        assert!(
            ended.stderr.contains("shunt drop-parked-clicks"),
            "{}",
            ended.stderr
        );
    }
    // Once with the former setting.
    app.server = app.another(&[("REDIS_URL", &redis.url())]).await;
    assert_eq!(app.clicks(&code).await, 3);
    app.server.stop().await;
    app.server = app.another(&[("REDIS_URL", "")]).await;
    assert_eq!(app.clicks(&code).await, 3);
    app.finish().await;
}

#[tokio::test]
async fn parked_clicks_can_be_given_up() {
    let (mut app, _redis, code) = left_behind().await;
    let without = with_setting(&app.backend.settings(), "REDIS_URL", "");
    let mut drop = command(&without);
    let dropped = drop.arg("drop-parked-clicks").output().unwrap();
    assert!(dropped.status.success(), "{dropped:?}");
    let log = [dropped.stdout, dropped.stderr].concat();
    assert!(String::from_utf8_lossy(&log).contains("1 parked clicks were dropped"));
    app.server = Server::start(&without).await;
    assert_eq!(app.get(&format!("/urls/{code}/stats")).await.status, 200);
    app.finish().await;
}

#[tokio::test]
async fn parked_clicks_of_a_former_prefix_are_settled_and_written_back_with_what_is_pending_there()
{
    let (mut app, redis, code) = left_behind().await;
    let url = redis.url();
    app.server = app
        .another(&[("REDIS_URL", &url), ("REDIS_PREFIX", "another")])
        .await;
    app.written_back(&code, 3).await;
    assert_eq!(app.clicks(&code).await, 3);
    app.finish().await;
}

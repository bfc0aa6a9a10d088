//! A rolled-back Redis: it comes back with older data, from a snapshot or by promoting a replica that lagged.

use crate::suite::busy::DatabaseLock;
use crate::support::{App, Mode, RedisServer, Server, eventually, has_all};

const RARELY: (&str, &str) = ("FLUSH_INTERVAL_MS", "60000");
const OFTEN: (&str, &str) = ("FLUSH_INTERVAL_MS", "20");

async fn redis_is_up(server: &Server) -> bool {
    let response = reqwest::get(format!("{}/ready", server.base)).await;
    let ready: serde_json::Value = response.unwrap().json().await.unwrap();
    ready["redis"] == "up"
}

/// Waits until the instances have noticed that Redis was away, and use it again.
async fn use_redis_again(servers: &[&Server]) {
    for server in servers {
        eventually("Redis is used again", async || redis_is_up(server).await).await;
    }
}

/// Waits until the batches in doubt are settled.
async fn countable(app: &App, code: &str) {
    eventually("the count is available", async || {
        app.get(&format!("/urls/{code}/stats")).await.status == 200
    })
    .await;
}

#[tokio::test]
async fn clicks_that_were_written_back_are_not_counted_again() {
    let mut redis = RedisServer::start(&[]).await;
    let url = redis.url();
    let app = App::start_with(Mode::Production, &[("REDIS_URL", &url), RARELY]).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    for _ in 0..5 {
        assert_eq!(app.server.follow(&code).await, 302);
    }
    redis.save_snapshot().await;
    let other = app.another(&[("REDIS_URL", &url), OFTEN]).await;
    for _ in 0..3 {
        assert_eq!(app.server.follow(&code).await, 302);
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    app.written_back(&code, 8).await;

    redis.roll_back_to_snapshot().await;
    // Both find Redis again at the same time. A batch that they send at that moment is in doubt, and may be dropped.
    for server in [&app.server, &other] {
        assert_eq!(server.follow(&code).await, 302);
    }
    use_redis_again(&[&app.server, &other]).await;
    countable(&app, &code).await;
    let before = app.clicks(&code).await;
    assert!((8..=10).contains(&before), "{before}");
    for more in 1..=10 {
        assert_eq!(app.server.follow(&code).await, 302);
        assert_eq!(other.follow(&code).await, 302);
        assert_eq!(app.clicks(&code).await, before + 2 * more);
    }
    app.written_back(&code, before + 20).await;
    drop(other);
    app.finish().await;
}

#[tokio::test]
async fn a_deleted_link_does_not_return_with_the_older_cache() {
    let mut redis = RedisServer::start(&[]).await;
    let url = redis.url();
    let app = App::start_with(Mode::Production, &[("REDIS_URL", &url), RARELY]).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    redis.save_snapshot().await;
    assert_eq!(app.delete(&token, &code).await.status, 204);

    redis.roll_back_to_snapshot().await;
    let fresh = app.another(&[("REDIS_URL", &url), RARELY]).await;
    use_redis_again(&[&fresh]).await;
    assert_eq!(fresh.follow(&code).await, 404);
    drop(fresh);
    app.finish().await;
}

#[tokio::test]
async fn a_redis_that_lost_nothing_keeps_the_clicks_that_were_not_written_back() {
    // With `everysec` a write may wait inside Redis while the disk is busy, and be lost with the process.
    let durable = ["--appendonly", "yes", "--appendfsync", "always"];
    let mut redis = RedisServer::start(&durable).await;
    let url = redis.url();
    let app = App::start_with(Mode::Production, &[("REDIS_URL", &url), RARELY]).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    for round in 1..=3 {
        for _ in 0..5 {
            assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        }
        redis.kill();
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        redis.start_again().await;
        use_redis_again(&[&app.server]).await;
        countable(&app, &code).await;
        assert_eq!(app.clicks(&code).await, round * 6);
    }
    app.finish().await;
}

/// The keys of Redis whose names have this suffix.
async fn keys(redis: &RedisServer, end: &str) -> Vec<String> {
    let mut keys = redis::cmd("KEYS");
    let keys = keys.arg(format!("*{end}"));
    keys.query_async(&mut redis.connection().await)
        .await
        .unwrap()
}

#[tokio::test]
async fn a_flush_from_before_the_rollback_loses_no_click_and_counts_none_twice() {
    let mut redis = RedisServer::start(&[]).await;
    let url = redis.url();
    // So rarely that the clicks after the return are flushed together.
    let settings = [("REDIS_URL", &*url), ("FLUSH_INTERVAL_MS", "1000")];
    let app = App::start_with(Mode::Production, &settings).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    for kept in [5, 5 + 7 + 1 + 30] {
        while app.clicks(&code).await < kept {
            assert_eq!(app.server.follow(&code).await, 302);
        }
        app.written_back(&code, kept).await;
        redis.save_snapshot().await;
        let ledger = DatabaseLock::on_writes(&app, "data_sets").await;
        for _ in 0..7 {
            assert_eq!(app.server.follow(&code).await, 302);
        }
        eventually("a flush is under way", async || {
            !keys(&redis, ":flushing").await.is_empty()
        })
        .await;
        redis.roll_back_to_snapshot().await;
        // The instance finds Redis away.
        assert_eq!(app.server.follow(&code).await, 302);
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        drop(ledger);
        use_redis_again(&[&app.server]).await;
        countable(&app, &code).await;
        let before = app.clicks(&code).await;
        assert!((kept..=kept + 8).contains(&before), "{before}");
        for more in 1..=30 {
            assert_eq!(app.server.follow(&code).await, 302);
            assert_eq!(app.clicks(&code).await, before + more);
        }
        app.written_back(&code, before + 30).await;
    }
    app.finish().await;
}

#[tokio::test]
async fn clicks_counted_by_the_new_master_survive_an_instance_that_still_reaches_the_old_one() {
    let old = RedisServer::start(&[]).await;
    let old_url = old.url();
    let app = App::start_with(Mode::Production, &[("REDIS_URL", &old_url), OFTEN]).await;
    let token = app.register().await;
    let there = app.shorten(&token, "https://example.org/there").await;
    let here = app.shorten(&token, "https://example.org/here").await;
    assert_eq!(app.server.follow(&there).await, 302);
    app.written_back(&there, 1).await;
    let port = old.port().to_string();
    let new = RedisServer::start(&["--replicaof", "127.0.0.1", &port]).await;
    // With its first replica a server gets another replication ID, so the instance checks it anew.
    eventually("the replica has everything", async || {
        assert_eq!(app.server.follow(&there).await, 302);
        redis_is_up(&app.server).await && has_all(&new, &old).await
    })
    .await;
    let mut alone = redis::cmd("REPLICAOF");
    let alone = alone.arg(&["NO", "ONE"]);
    let mut connection = new.connection().await;
    alone.exec_async(&mut connection).await.unwrap();
    // The replica has a copy of the lease on flushing.
    for lease in keys(&new, ":flusher").await {
        let mut remove = redis::cmd("DEL");
        remove.arg(lease).exec_async(&mut connection).await.unwrap();
    }
    let new_url = new.url();
    let other = app.another(&[("REDIS_URL", &new_url), OFTEN]).await;
    for _ in 0..40 {
        assert_eq!(app.server.follow(&there).await, 302);
        assert_eq!(other.follow(&here).await, 302);
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    app.written_back(&here, 40).await;
    drop(other);
    app.finish().await;
}

/// As where Redis went back beneath living connections while two instances began the same flush.
#[tokio::test]
async fn a_flush_under_a_number_that_another_one_had_is_not_taken_for_that_one() {
    let redis = RedisServer::start(&[]).await;
    let url = redis.url();
    let app = App::start_with(Mode::Production, &[("REDIS_URL", &url), OFTEN]).await;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    for _ in 0..5 {
        assert_eq!(app.server.follow(&code).await, 302);
    }
    app.written_back(&code, 5).await;
    let begin_again = "
        local tag = string.match(redis.call('KEYS', '*:state')[1], '(.*):state')
        local epoch, flush = unpack(redis.call('HMGET', tag .. ':state', 'epoch', 'flush'))
        redis.call('HSET', tag .. ':flush:' .. epoch .. ':' .. flush, '1:1', 1)
        redis.call('HSET', tag .. ':intervals', flush, 1, 'name:' .. flush, 'another')
        redis.call('SADD', tag .. ':flushing', flush)";
    let mut eval = redis::cmd("EVAL");
    eval.arg(begin_again).arg(0);
    eval.exec_async(&mut redis.connection().await)
        .await
        .unwrap();
    eventually("the loss is reported", async || {
        let metrics = app.get("/metrics").await.text;
        metrics.contains("shunt_redis_rolled_back_total{shard=\"0\"} 1")
    })
    .await;
    use_redis_again(&[&app.server]).await;
    countable(&app, &code).await;
    for clicks in 6..=20 {
        assert_eq!(app.server.follow(&code).await, 302);
        assert_eq!(app.clicks(&code).await, clicks);
    }
    app.written_back(&code, 20).await;
    app.finish().await;
}

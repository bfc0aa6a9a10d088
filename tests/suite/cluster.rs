//! The service over a Redis Cluster works as over one Redis, and the failure of a master affects its shards alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::support::{App, Mode, RedisCluster, Server, eventually, has_all};

const LINKS: usize = 24;

/// Enough links for every master to have some.
async fn shorten_many(app: &App) -> (String, Vec<String>) {
    let token = app.register().await;
    let mut codes = Vec::new();
    for number in 0..LINKS {
        let target = format!("https://example.org/{number}");
        codes.push(app.shorten(&token, &target).await);
    }
    (token, codes)
}

async fn is_up(server: &Server) -> bool {
    let response = reqwest::get(format!("{}/ready", server.base)).await;
    let ready: serde_json::Value = response.unwrap().json().await.unwrap();
    ready["redis"] == "up"
}

/// The number of shards that have a key of this kind on this master.
async fn keys(master: &crate::support::RedisServer, kind: &str) -> usize {
    let mut keys = redis::cmd("KEYS");
    keys.arg(format!("*:{kind}"));
    let mut connection = master.connection().await;
    let found: Vec<String> = keys.query_async(&mut connection).await.unwrap();
    found.len()
}

#[tokio::test]
async fn the_service_works_over_a_cluster_as_over_one_redis() {
    let cluster = RedisCluster::start().await;
    let urls = cluster.urls();
    let rarely = [("REDIS_URL", urls.as_str()), ("FLUSH_INTERVAL_MS", "60000")];
    let app = App::start_with(Mode::Production, &rarely).await;
    let other = app.another(&rarely).await;
    let (token, codes) = shorten_many(&app).await;

    // The statistics include the clicks of both instances.
    for (number, code) in codes.iter().enumerate() {
        let visit = app.get(&format!("/{code}")).await;
        let location = visit.header("location");
        assert_eq!(location, format!("https://example.org/{number}"));
        assert_eq!(other.follow(code).await, 302);
        assert_eq!(app.clicks(code).await, 2);
    }
    for master in &cluster.masters {
        assert!(keys(master, "pending").await > 0, "every master has a part");
    }
    let list = app.get_as(&token, "/urls/my").await.json();
    let counts: Vec<_> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|link| &link["clicks"])
        .collect();
    assert_eq!(counts, vec![2; LINKS]);

    // A deletion takes effect at once on the instance that has the link cached.
    for code in &codes[..8] {
        assert_eq!(app.delete(&token, code).await.status, 204);
        assert_eq!(other.follow(code).await, 404);
    }

    // Another instance writes back the pending clicks, while the counts stay the same.
    let flushing = app
        .another(&[("REDIS_URL", &urls), ("FLUSH_INTERVAL_MS", "20")])
        .await;
    for code in &codes[8..] {
        app.written_back(code, 2).await;
        assert_eq!(app.clicks(code).await, 2);
    }
    for code in &codes[8..] {
        assert_eq!(flushing.follow(code).await, 302);
        assert_eq!(app.clicks(code).await, 3);
    }
    drop((other, flushing));
    app.finish().await;
}

#[tokio::test]
async fn a_master_that_is_killed_and_started_again_under_load_loses_no_click() {
    let mut cluster = RedisCluster::start().await;
    let urls = cluster.urls();
    let settings = [("REDIS_URL", urls.as_str()), ("FLUSH_INTERVAL_MS", "100")];
    let app = App::start_with(Mode::Production, &settings).await;
    let (_, codes) = shorten_many(&app).await;
    let codes = Arc::new(codes);
    let answered: Arc<Vec<AtomicU64>> = Arc::new(codes.iter().map(|_| AtomicU64::new(0)).collect());
    let stop = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..4)
        .map(|first| {
            let (base, codes) = (app.server.base.clone(), Arc::clone(&codes));
            let (answered, stop) = (Arc::clone(&answered), Arc::clone(&stop));
            tokio::spawn(async move {
                let client = reqwest::Client::builder()
                    .redirect(reqwest::redirect::Policy::none())
                    .build()
                    .unwrap();
                for round in first.. {
                    if stop.load(Ordering::SeqCst) {
                        return;
                    }
                    let index = round % codes.len();
                    let visit = client.get(format!("{base}/{}", codes[index])).send().await;
                    assert_eq!(visit.unwrap().status(), 302, "redirects go on");
                    answered[index].fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(500)).await;
    cluster.masters[1].kill();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    // The shards of the other masters go on: their links have exact counts.
    let mut countable = 0;
    for code in codes.iter() {
        let stats = app.get(&format!("/urls/{code}/stats")).await;
        countable += usize::from(stats.status == 200);
    }
    assert!((1..LINKS).contains(&countable), "{countable} are countable");
    cluster.masters[1].start_again().await;
    eventually("all shards are used again", async || {
        is_up(&app.server).await
    })
    .await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    stop.store(true, Ordering::SeqCst);
    for client in clients {
        client.await.unwrap();
    }
    for (code, answered) in codes.iter().zip(answered.iter()) {
        eventually("the count is available", async || {
            app.get(&format!("/urls/{code}/stats")).await.status == 200
        })
        .await;
        let answered = answered.load(Ordering::SeqCst);
        assert_eq!(app.clicks(code).await, answered);
        app.written_back(code, answered).await;
    }
    app.finish().await;
}

#[tokio::test]
async fn a_replica_that_takes_over_is_found_and_its_clicks_count_once() {
    let mut cluster = RedisCluster::start().await;
    let replica = cluster.replica_of(1).await;
    let urls = cluster.urls();
    let rarely = [("REDIS_URL", urls.as_str()), ("FLUSH_INTERVAL_MS", "60000")];
    let app = App::start_with(Mode::Production, &rarely).await;
    let (_, codes) = shorten_many(&app).await;
    for code in &codes {
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }
    assert!(keys(&cluster.masters[1], "pending").await > 0);
    eventually("the replica has every click", async || {
        has_all(&replica, &cluster.masters[1]).await
    })
    .await;
    cluster.masters[1].kill();
    for code in &codes {
        assert_eq!(
            app.visit(&format!("/{code}")).await.status,
            302,
            "redirects go on"
        );
    }
    eventually("the replica is used", async || is_up(&app.server).await).await;
    let flushing = app
        .another(&[("REDIS_URL", &urls), ("FLUSH_INTERVAL_MS", "20")])
        .await;
    for code in &codes {
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        eventually("the count is available", async || {
            app.get(&format!("/urls/{code}/stats")).await.status == 200
        })
        .await;
        assert_eq!(app.clicks(code).await, 3);
        app.written_back(code, 3).await;
    }
    drop(flushing);
    app.finish().await;
}

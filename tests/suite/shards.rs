//! How a cluster is divided into shards: evenly, and by all instances alike.

use futures_util::future::join_all;

use crate::cluster::shorten_many;
use crate::support::{App, Mode, RedisCluster, RedisServer, refused};

/// How many calls a master had that redirects cause.
async fn calls(master: &RedisServer) -> u64 {
    let mut connection = master.connection().await;
    let mut stats = redis::cmd("INFO");
    let stats: String = stats
        .arg("commandstats")
        .query_async(&mut connection)
        .await
        .unwrap();
    let of_redirects = ["cmdstat_evalsha:", "cmdstat_hget:", "cmdstat_mget:"];
    let calls = stats.lines().filter_map(|line| {
        let known = of_redirects.iter().find_map(|name| line.strip_prefix(name));
        known?
            .strip_prefix("calls=")?
            .split(',')
            .next()?
            .parse::<u64>()
            .ok()
    });
    calls.sum()
}

#[tokio::test]
async fn the_busiest_of_three_masters_has_a_fifth_more_than_its_share_at_most() {
    let cluster = RedisCluster::start().await;
    let urls = cluster.urls();
    let app = App::start_with(Mode::Production, &[("REDIS_URL", urls.as_str())]).await;
    let token = app.register().await;
    let mut codes = Vec::new();
    for _ in 0..50 {
        let twenty = (0..20).map(|_| app.shorten(&token, "https://example.org/"));
        codes.extend(join_all(twenty).await);
    }
    let mut before = Vec::new();
    for master in &cluster.masters {
        before.push(calls(master).await);
    }
    for code in &codes {
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
    }
    let mut during = Vec::new();
    for (master, before) in cluster.masters.iter().zip(before) {
        during.push(calls(master).await - before);
    }
    let (busiest, all) = (*during.iter().max().unwrap(), during.iter().sum::<u64>());
    assert!(all > 2_000, "{during:?}");
    assert!(busiest * 3 * 10 <= all * 12, "{during:?}");
    // The counts of all links are in one list: one request instead of a thousand.
    let list = app.get_as(&token, "/urls/my").await.json();
    let links = list.as_array().unwrap();
    assert!(links.len() == 1_000 && links.iter().all(|link| link["clicks"] == 1));
    app.server_only().await;
}

#[tokio::test]
async fn an_instance_with_another_number_of_shards_is_refused_while_others_run() {
    let cluster = RedisCluster::start().await;
    let urls = cluster.urls();
    let settings = |shards| [("REDIS_URL", urls.as_str()), ("REDIS_SHARDS", shards)];
    let app = App::start_with(Mode::Production, &settings("8")).await;
    let (_, codes) = shorten_many(&app).await;
    let mut all = app.backend.settings();
    all.extend(settings("32").map(|(name, value)| (name.to_owned(), value.to_owned())));
    let ended = refused(&all);
    assert_eq!(ended.status.code(), Some(1));
    let last = ended.stderr.lines().last().unwrap();
    assert!(
        last.contains("REDIS_SHARDS: ") && last.contains("give that number"),
        "{last}"
    );
    // The same number is welcome, and the running instance is not disturbed.
    let other = app.another(&settings("8")).await;
    for code in &codes {
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        assert_eq!(other.follow(code).await, 302);
        assert_eq!(app.clicks(code).await, 2);
    }
    drop(other);
    app.server_only().await;
}

//! The service over a Redis Cluster works as over one Redis, and the failure of a master affects its shards alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use reqwest::Method;
use serde_json::json;

use crate::support::{App, Mode, RedisCluster, RedisServer, Response, Server, eventually, has_all};

const LINKS: usize = 24;

/// Enough links for every master to have some.
pub(crate) async fn shorten_many(app: &App) -> (String, Vec<String>) {
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
async fn keys(master: &RedisServer, kind: &str) -> usize {
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
async fn classes_travel_over_every_shard_of_a_cluster() {
    const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";
    let cluster = RedisCluster::start().await;
    let urls = cluster.urls();
    let rarely = [("REDIS_URL", urls.as_str()), ("FLUSH_INTERVAL_MS", "60000")];
    let app = App::start_with(Mode::Production, &rarely).await;
    let (token, codes) = shorten_many(&app).await;
    for code in &codes {
        for agent in [FIREFOX, ""] {
            let visit = app.request(Method::GET, &format!("/{code}"));
            let visit = Response::of(visit.header("user-agent", agent)).await;
            assert_eq!(visit.status, 302);
        }
    }
    for master in &cluster.masters {
        assert!(keys(master, "details").await > 0, "every master has a part");
    }
    let flushing = app
        .another(&[("REDIS_URL", &urls), ("FLUSH_INTERVAL_MS", "20")])
        .await;
    let of_all = async || {
        let by_browser = app.get_as(&token, "/urls/my/breakdown?by=browser").await;
        by_browser.json()
    };
    let all = LINKS as u64;
    eventually("the classes are summed", async || {
        of_all().await["clicks"] == 2 * all
    })
    .await;
    let found = of_all().await;
    assert_eq!(found["people"], all, "{found}");
    let mut rows: Vec<_> = found["rows"].as_array().unwrap().clone();
    rows.sort_by_key(|row| row["value"].to_string());
    let row =
        |value: Option<&str>, people| json!({"value": value, "clicks": all, "people": people});
    assert_eq!(rows, [row(Some("Firefox"), all), row(None, 0)]);
    let series = app.get_as(&token, "/urls/my/series").await.json();
    assert_eq!(
        (&series["clicks"], &series["people"]),
        (&json!(2 * all), &json!(all))
    );
    for code in &codes {
        let series = app.get(&format!("/urls/{code}/stats/series")).await.json();
        assert_eq!(
            (&series["clicks"], &series["people"]),
            (&json!(2), &json!(1))
        );
    }
    drop(flushing);
    app.server_only().await;
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
    let many_more = async || {
        let count = || {
            answered
                .iter()
                .map(|clicks| clicks.load(Ordering::SeqCst))
                .sum::<u64>()
        };
        let before = count();
        eventually("redirects go on", async || count() > before + 20).await;
    };
    many_more().await;
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
    many_more().await;
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

/// Those of `codes` whose links a master has cached.
async fn cached_on(master: &RedisServer, codes: &[String]) -> Vec<String> {
    let mut keys = redis::cmd("KEYS");
    keys.arg("*:link:*");
    let mut connection = master.connection().await;
    let found: Vec<String> = keys.query_async(&mut connection).await.unwrap();
    let is_there = |code: &&String| found.iter().any(|key| key.ends_with(&format!(":{code}")));
    codes.iter().filter(is_there).cloned().collect()
}

/// Clients that visit each of these codes once, all at the same time, and how many of them were redirected.
fn visits(app: &Arc<App>, codes: &[String]) -> (Vec<tokio::task::JoinHandle<()>>, Arc<AtomicU64>) {
    let redirected = Arc::<AtomicU64>::default();
    let visit = |code: &String| {
        let (app, path) = (Arc::clone(app), format!("/{code}"));
        let redirected = Arc::clone(&redirected);
        tokio::spawn(async move {
            assert_eq!(app.visit(&path).await.status, 302);
            redirected.fetch_add(1, Ordering::SeqCst);
        })
    };
    (codes.iter().map(visit).collect(), redirected)
}

#[tokio::test]
async fn a_master_that_hangs_delays_neither_redirects_nor_the_write_back_of_other_shards() {
    let cluster = RedisCluster::start().await;
    let urls = cluster.urls();
    // One worker. A redirect waits twelve seconds for Redis: longer than this test waits for those of other shards.
    let settings = [
        ("REDIS_URL", urls.as_str()),
        ("WORKERS", "1"),
        ("CLICK_DEADLINE_MS", "24000"),
        ("FLUSH_INTERVAL_MS", "100"),
    ];
    let app = Arc::new(App::start_with(Mode::Production, &settings).await);
    let (_, codes) = shorten_many(&app).await;
    for code in &codes {
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        app.written_back(code, 1).await;
    }
    let hanging = &cluster.masters[1];
    let of_hanging = cached_on(hanging, &codes).await;
    let is_other = |code: &&String| !of_hanging.contains(code);
    let of_others: Vec<_> = codes.iter().filter(is_other).cloned().collect();
    assert!(!of_hanging.is_empty() && !of_others.is_empty());

    hanging.pause();
    let (waiting, in_journal) = visits(&app, &of_hanging);
    tokio::time::sleep(Duration::from_millis(300)).await;
    let (others, redirected) = visits(&app, &of_others);
    eventually("redirects of other shards are sent", async || {
        redirected.load(Ordering::SeqCst) == of_others.len() as u64
    })
    .await;
    assert_eq!(in_journal.load(Ordering::SeqCst), 0, "Redis is waited for");
    for code in &of_others {
        app.written_back(code, 2).await;
        assert_eq!(app.clicks(code).await, 2);
    }
    for visit in waiting.into_iter().chain(others) {
        visit.await.unwrap();
    }
    hanging.resume();
    for code in &of_hanging {
        eventually("the count is available", async || {
            app.get(&format!("/urls/{code}/stats")).await.status == 200
        })
        .await;
    }
    Arc::into_inner(app).unwrap().finish().await;
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

#[tokio::test]
async fn one_address_of_a_cluster_works_as_several_do_also_when_its_master_is_replaced() {
    let mut cluster = RedisCluster::start().await;
    let replica = cluster.replica_of(0).await;
    let (one, several) = (cluster.masters[0].url(), cluster.urls());
    let rarely = [("REDIS_URL", one.as_str()), ("FLUSH_INTERVAL_MS", "60000")];
    let app = App::start_with(Mode::Production, &rarely).await;
    let other = app
        .another(&[("REDIS_URL", several.as_str()), rarely[1]])
        .await;
    let (token, codes) = shorten_many(&app).await;
    for code in &codes {
        assert_eq!(app.visit(&format!("/{code}")).await.status, 302);
        assert_eq!(other.follow(code).await, 302);
        assert_eq!(app.clicks(code).await, 2);
    }
    for master in &cluster.masters {
        assert!(keys(master, "pending").await > 0, "every master has a part");
    }
    assert_eq!(app.delete(&token, &codes[0]).await.status, 204);
    assert_eq!(other.follow(&codes[0]).await, 404);

    eventually("the replica has every click", async || {
        has_all(&replica, &cluster.masters[0]).await
    })
    .await;
    cluster.masters[0].kill();
    eventually("the replica is used", async || {
        for code in &codes[1..] {
            assert_eq!(app.server.follow(code).await, 302);
        }
        is_up(&app.server).await
    })
    .await;
    drop(other);
    app.server_only().await;
}

//! Limits of several instances: counted in Redis for all of them, and in each process while Redis is away.

use std::collections::BTreeSet;

use futures_util::future::join_all;

use super::{Caller, THREE, limited};
use crate::support::{App, Mode, RedisServer, Server, eventually, redis_url, within_a_minute};

/// A long deadline: a Redis that misses its deadline counts as away, and on a busy machine Redis may be slow.
const LONG_DEADLINE: (&str, &str) = ("CLICK_DEADLINE_MS", "20000");

async fn redis_is_up(server: &Server) {
    eventually("Redis is used", async || {
        let response = reqwest::get(format!("{}/ready", server.base)).await;
        let ready: serde_json::Value = response.unwrap().json().await.unwrap();
        ready["redis"] == "up"
    })
    .await;
}

/// Two instances with these settings over the same database and Redis.
async fn two_instances(settings: &[(&str, &str)]) -> (App, Server) {
    let all = [settings, &[LONG_DEADLINE]].concat();
    let app = App::start_with(Mode::Production, &all).await;
    let other = app.another(&all).await;
    redis_is_up(&app.server).await;
    redis_is_up(&other).await;
    (app, other)
}

/// No instance sees more than three of the five attempts, so neither could refuse the caller by its own count.
async fn is_shared(caller: impl AsyncFn(&str) -> Caller) {
    let (app, other) = two_instances(THREE).await;
    let (here, there) = (app.server.base.as_str(), other.base.as_str());
    let responses = within_a_minute(async || {
        let caller = caller(here).await;
        caller.tries_at(&[here, there, here, there, here]).await
    })
    .await;
    assert_eq!(limited(&responses), [false, false, false, true, true]);
    drop(other);
    app.finish().await;
}

#[tokio::test]
async fn log_ins_from_one_address_count_on_all_instances() {
    is_shared(async |_| Caller::logs_in_from_one_address()).await;
}

#[tokio::test]
async fn failed_log_ins_to_one_account_count_on_all_instances() {
    is_shared(async |_| Caller::logs_in_to_one_account()).await;
}

#[tokio::test]
async fn registrations_count_on_all_instances() {
    is_shared(async |_| Caller::registers_from_one_address()).await;
}

#[tokio::test]
async fn links_made_count_on_all_instances() {
    is_shared(Caller::shortens).await;
}

/// One instance uses up all ten attempts; the other has not seen the caller yet.
#[tokio::test]
async fn a_limit_used_up_at_one_instance_is_used_up_at_all() {
    let ten = [
        ("LIMIT_LOGIN", "10"),
        ("LIMIT_ACCOUNT_FAILURES", "10"),
        ("LIMIT_CREATE", "10"),
        THREE[3],
    ];
    let (app, other) = two_instances(&ten).await;
    let (here, there) = (app.server.base.as_str(), other.base.as_str());
    for number in [0, 1, 3] {
        let (used_up, one_more) = within_a_minute(async || {
            let caller = &every_caller(here).await[number];
            (
                caller.tries_at(&[here; 10]).await,
                caller.tries(there).await,
            )
        })
        .await;
        assert_eq!(limited(&used_up), [false; 10], "{number}");
        assert_eq!(limited(&[one_more]), [true], "{number}");
    }
    drop(other);
    app.finish().await;
}

/// Of a limit of a thousand, each instance grants the first eighth without asking Redis.
#[tokio::test]
async fn a_client_within_its_limit_is_never_refused_however_many_requests_come_at_once() {
    let settings = [("LIMIT_CREATE", "1000"), THREE[3]];
    let (app, other) = two_instances(&settings).await;
    let (here, there) = (app.server.base.as_str(), other.base.as_str());
    let (at_once, more) = within_a_minute(async || {
        let user = Caller::shortens(here).await;
        let mut at_once = Vec::new();
        for _ in 0..5 {
            let bases = [here, there].repeat(100);
            at_once.extend(join_all(bases.into_iter().map(|base| user.tries(base))).await);
        }
        (at_once, user.tries_at(&[here, there]).await)
    })
    .await;
    assert_eq!(limited(&at_once), [false; 1000]);
    assert_eq!(limited(&more), [true, true]);
    drop(other);
    app.finish().await;
}

/// An instance with limits of three, over a Redis of its own.
async fn with_own_redis() -> (App, RedisServer) {
    let redis = RedisServer::start(&[]).await;
    let url = redis.url();
    let all = [THREE, &[("REDIS_URL", url.as_str())]].concat();
    let app = App::start_with(Mode::Production, &all).await;
    redis_is_up(&app.server).await;
    (app, redis)
}

async fn every_caller(base: &str) -> [Caller; 4] {
    [
        Caller::logs_in_from_one_address(),
        Caller::logs_in_to_one_account(),
        Caller::registers_from_one_address(),
        Caller::shortens(base).await,
    ]
}

#[tokio::test]
async fn while_redis_is_away_limits_hold_in_each_process() {
    let (app, mut redis) = with_own_redis().await;
    let base = app.server.base.as_str();
    redis.kill();
    for number in 0..4 {
        let responses = within_a_minute(async || {
            let callers = every_caller(base).await;
            callers[number].tries_at(&[base; 4]).await
        })
        .await;
        assert_eq!(limited(&responses), [false, false, false, true], "{number}");
    }
    app.finish().await;
}

#[tokio::test]
async fn a_client_limited_while_redis_was_away_is_still_limited_when_redis_is_back() {
    let (app, mut redis) = with_own_redis().await;
    let base = app.server.base.as_str();
    let responses = within_a_minute(async || {
        redis.kill();
        let guesser = Caller::logs_in_from_one_address();
        let mut responses = guesser.tries_at(&[base; 4]).await;
        redis.start_again().await;
        redis_is_up(&app.server).await;
        responses.push(guesser.tries(base).await);
        responses
    })
    .await;
    assert_eq!(limited(&responses), [false, false, false, true, true]);
    app.finish().await;
}

/// What the counters of one log-in that failed are called in Redis, without the window.
async fn names_of_counters(secret: &str) -> BTreeSet<String> {
    let app = App::start_with(
        Mode::Production,
        &[
            ("JWT_SECRET", secret),
            LONG_DEADLINE,
            THREE[0],
            ("LIMIT_LOGIN_FAILURES", "3"),
            THREE[4],
        ],
    )
    .await;
    redis_is_up(&app.server).await;
    let failed = app
        .account("/auth/login", "ada@example.org", "wrong horse")
        .await;
    assert_eq!(failed.status, 401);
    let client = redis::Client::open(redis_url()).unwrap();
    let mut connection = client.get_connection().unwrap();
    let mut keys = redis::cmd("KEYS");
    let pattern = format!("*{}*:limit:*", app.backend.prefix());
    let keys: Vec<String> = keys.arg(pattern).query(&mut connection).unwrap();
    let name = |key: &String| {
        key.split_once(":limit:")
            .unwrap()
            .1
            .rsplit_once(':')
            .unwrap()
            .0
            .to_owned()
    };
    let names = keys.iter().map(name).collect();
    app.finish().await;
    names
}

#[tokio::test]
async fn the_names_of_counters_in_redis_are_known_to_the_services_secret_only() {
    let ours = names_of_counters("0123456789abcdef0123456789abcdef").await;
    assert_eq!(
        ours.len(),
        3,
        "log-ins, failures from the address, failures of the account: {ours:?}"
    );
    assert_eq!(
        names_of_counters("0123456789abcdef0123456789abcdef").await,
        ours
    );
    let others = names_of_counters("fedcba9876543210fedcba9876543210").await;
    assert!(ours.is_disjoint(&others), "{ours:?} {others:?}");
}

//! Starts the program, its databases and its clients.

mod app;
mod backend;
pub(crate) mod caches;
mod class_days;
pub(crate) mod clicks;
mod fake_clock;
pub(crate) mod links;
mod locks;
mod mailed_link;
pub(crate) mod mmdb;
mod pgbouncer;
pub(crate) mod provider;
pub(crate) mod raw;
mod redis_cluster;
pub(crate) mod redis_server;
mod server;
mod template;
pub(crate) mod tokens;
pub(crate) mod unprivileged;

pub(crate) use app::{App, Response, with_app, with_app_and_settings};
pub(crate) use backend::{Backend, Mode, admin_url, redis_url};
pub(crate) use fake_clock::FakeClock;
pub(crate) use locks::{locked, waiting_for};
pub(crate) use pgbouncer::PgBouncer;
pub(crate) use redis_cluster::{RedisCluster, has_all};
pub(crate) use redis_server::{RedisServer, free_port};
pub(crate) use server::{Server, command, refused};

/// Makes two tests of each: `embedded::name` and `production::name`. Settings come first, as
/// `with &[("NAME", "value")];`.
macro_rules! both_modes {
    (with $settings:expr; $($tests:tt)+) => {
        const SET: &[(&str, &str)] = $settings;
        crate::support::both_modes! { @in_each $($tests)+ }
    };
    (@in_each $($(#[$doc:meta])* async fn $name:ident($app:ident) $body:block)+) => {
        mod embedded {
            $(#[tokio::test] async fn $name() {
                use crate::support::{Mode::Embedded, with_app_and_settings};
                with_app_and_settings(Embedded, super::SET, super::$name).await;
            })+
        }
        mod production {
            $(#[tokio::test] async fn $name() {
                use crate::support::{Mode::Production, with_app_and_settings};
                with_app_and_settings(Production, super::SET, super::$name).await;
            })+
        }
        $($(#[$doc])* async fn $name($app: &mut crate::support::App) $body)+
    };
    ($($tests:tt)+) => {
        crate::support::both_modes! { with &[]; $($tests)+ }
    };
}
pub(crate) use both_modes;
pub(crate) use mailed_link::{email_token, reset_token};

use std::time::{Duration, Instant};

use shunt::domain::{Clock, SystemClock};

/// How long [`eventually`] waits: long enough for a machine that is busy with other tests.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// Waits until a condition holds; fails the test if it does not within [`LONGEST_WAIT`].
pub(crate) async fn eventually(what: &str, holds: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + LONGEST_WAIT;
    while !holds().await {
        let is_late = Instant::now() >= deadline;
        assert!(!is_late, "did not happen within {LONGEST_WAIT:?}: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Asks until the answer is no 503, which statistics are while Redis does not answer in time, such as on a busy machine.
pub(crate) async fn answered(ask: impl AsyncFn() -> Response) -> Response {
    let answer = std::sync::OnceLock::new();
    eventually("it is answered", async || {
        let response = ask().await;
        response.status != 503 && answer.set(response).is_ok()
    })
    .await;
    answer.into_inner().expect("it was answered")
}

/// Repeats an attempt until it starts and ends in the same minute, as limits are counted by the minute. Each
/// attempt needs new callers.
pub(crate) async fn within_a_minute<T>(mut attempt: impl AsyncFnMut() -> T) -> T {
    loop {
        let started = minute();
        let outcome = attempt().await;
        if minute() == started {
            return outcome;
        }
    }
}

/// The time of day, in seconds since 1970.
pub(crate) fn unix_seconds() -> u64 {
    SystemClock.now().unix_seconds()
}

fn minute() -> u64 {
    unix_seconds() / 60
}

/// A number that no other test draws.
pub(crate) fn unique() -> String {
    format!("{:016x}", getrandom::u64().unwrap())
}

//! Starts the program and speaks to it.

mod app;
mod backend;
mod pgbouncer;
pub(crate) mod raw;
mod redis_cluster;
pub(crate) mod redis_server;
mod server;
pub(crate) mod unprivileged;

pub(crate) use app::{Answer, App, with_app};
pub(crate) use backend::{Backend, Mode, admin_url};
pub(crate) use pgbouncer::PgBouncer;
pub(crate) use redis_cluster::{RedisCluster, has_all};
pub(crate) use redis_server::RedisServer;
pub(crate) use server::{Server, refused};

/// Makes each test twice: `embedded::name` and `production::name`.
macro_rules! both_modes {
    ($($(#[$doc:meta])* async fn $name:ident($app:ident) $body:block)+) => {
        mod embedded {
            $(#[tokio::test] async fn $name() {
                crate::support::with_app(crate::support::Mode::Embedded, super::$name).await;
            })+
        }
        mod production {
            $(#[tokio::test] async fn $name() {
                crate::support::with_app(crate::support::Mode::Production, super::$name).await;
            })+
        }
        $($(#[$doc])* async fn $name($app: &mut crate::support::App) $body)+
    };
}
pub(crate) use both_modes;

use std::time::{Duration, Instant};

/// Asks again until it holds; fails the test when it does not within ten seconds.
pub(crate) async fn eventually(what: &str, holds: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !holds().await {
        assert!(Instant::now() < deadline, "it never came to pass: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A number that no other test draws.
pub(crate) fn unique() -> String {
    format!("{:016x}", getrandom::u64().unwrap())
}

//! Gives what happened its places in the feeds of events, and tells the readers that wait.

use std::sync::Arc;
use std::time::Duration;

use super::runner::every;
use crate::events::Feeds;

const PAUSE: Duration = Duration::from_secs(1);

pub(super) async fn run(feeds: Arc<Feeds>) {
    every(PAUSE, "writing the feeds of events", || feeds.look()).await;
}

//! Makes new codes longer when many codes are in use: other instances create links, too.

use std::sync::Arc;
use std::time::Duration;

use super::runner::every;
use crate::links::LinkService;

/// Pause between two runs.
const PAUSE: Duration = Duration::from_secs(5);

pub(super) async fn run(links: Arc<LinkService>) {
    every(PAUSE, "reading how many links were made", || {
        links.lengthen_codes()
    })
    .await;
}

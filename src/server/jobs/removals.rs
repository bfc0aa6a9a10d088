//! Goes on with removals that have begun: of all links to a host, of an account, or from an address.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use super::runner::every;
use crate::abuse::Abuse;
use crate::links::LinkService;
use crate::store::StoreError;

/// Pause between two looks at what other instances began.
const PAUSE: Duration = Duration::from_secs(1);

/// The shortest pause, also while the database is away.
const LEAST_PAUSE: Duration = Duration::from_millis(50);

pub(super) async fn run(abuse: Arc<Abuse>, links: Arc<LinkService>) {
    every(LEAST_PAUSE, "removing links", || async {
        while let Some(work) = step(&abuse, &links).await? {
            // Leaves the database half of the time at least.
            sleep(work).await;
        }
        let _ = timeout(PAUSE, abuse.has_begun()).await;
        Ok::<_, StoreError>(())
    })
    .await;
}

/// How long a step took; `None`: there was nothing to do.
async fn step(abuse: &Abuse, links: &LinkService) -> Result<Option<Duration>, StoreError> {
    let started = Instant::now();
    let Some(work) = abuse.step().await? else {
        return Ok(None);
    };
    links.announce_all(&work.changes).await;
    Ok(Some(started.elapsed()))
}

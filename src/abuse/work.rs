//! The work on removals: links are scanned in small steps, in the background and while a request waits.

use std::time::Duration;

use tokio::sync::MutexGuard;
use tokio::time::sleep;

use super::Abuse;
use crate::domain::{AddressRange, HostPattern, RemovalId, TargetUrl};
use crate::store::{Change, Scanned, StoreError};

/// How long a request waits for the links of a removal.
pub const AT_ONCE: Duration = Duration::from_secs(5);

/// The pause between two checks whether another instance is done.
pub(super) const PAUSE: Duration = Duration::from_millis(20);

/// A step of the work on removals. The next step of this process begins once it is dropped.
pub struct Work<'a> {
    /// The changes of links, which are to be announced.
    pub changes: Vec<Change>,
    _at_work: MutexGuard<'a, ()>,
}

impl Abuse {
    /// Starts a scan of all links with the blocklist of this name, unless the previous list had the same name.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn begin_blocklist(&self, digest: &str) -> Result<(), StoreError> {
        let now = self.clock.now();
        if self.store.begin_blocklist(digest, now).await? {
            tracing::info!("the blocklist changed: all links are scanned");
            self.begun.notify_one();
        }
        Ok(())
    }

    /// Returns when a removal of this process has begun.
    pub async fn has_begun(&self) {
        self.begun.notified().await;
    }

    /// Works on what has begun until all links of a removal, or of a revoked removal, are scanned; then `None`.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn work_on(&self, id: RemovalId) -> Result<Option<Work<'_>>, StoreError> {
        while !self.store.is_scanned(id).await? {
            if let Some(work) = self.step().await? {
                return Ok(Some(work));
            }
            // Another instance is at it.
            sleep(PAUSE).await;
        }
        // The last changes of this process are announced, too.
        drop(self.at_work.lock().await);
        Ok(None)
    }

    /// Works on removals that have begun; `None`: there is nothing to do now.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn step(&self) -> Result<Option<Work<'_>>, StoreError> {
        let at_work = self.at_work.lock().await;
        let list = self.blocklist.get();
        let is_covered = |link: Scanned<'_>| match link.kind {
            // Another instance may have a newer list by now: it does the work.
            "blocklist" => {
                let is_this_list = list.digest() == link.value;
                is_this_list.then(|| list.blocks(link.text))
            }
            _ => is_covered(link),
        };
        let now = self.clock.now();
        let step = self.store.scan_for_removals(&is_covered, now).await?;
        Ok(step.map(|step| Work {
            changes: step.changes,
            _at_work: at_work,
        }))
    }
}

/// Whether a removal covers a link.
pub(super) fn is_covered(link: Scanned<'_>) -> Option<bool> {
    let Scanned { kind, value, text } = link;
    match kind {
        "host" => {
            let pattern = HostPattern::parse(value).ok();
            let hosts = TargetUrl::from_stored(text).hosts();
            Some(pattern.is_some_and(|pattern| hosts.iter().any(|host| pattern.matches(host))))
        }
        "address" => {
            let range = AddressRange::parse(value);
            let address = AddressRange::parse(text);
            Some(
                range
                    .zip(address)
                    .is_some_and(|(range, address)| range.contains(address)),
            )
        }
        _ => None,
    }
}

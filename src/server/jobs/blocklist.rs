//! Reads the blocklist again when its file changes, and upon SIGHUP; has all links looked at with the new one.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use crate::abuse::{Abuse, read_blocklist};
use crate::domain::CurrentBlocklist;
use crate::telemetry::metrics::{BLOCKLIST_ENTRIES, BLOCKLIST_INVALID};
use crate::telemetry::throttle::FailureLog;

/// Pause between two looks at the file.
const PAUSE: Duration = Duration::from_secs(2);

/// By this a changed file is found: device, inode, size, and the moment of the last change.
type Stamp = (u64, u64, u64, i64, i64);

fn stamp(path: &Path) -> Option<Stamp> {
    let meta = fs::metadata(path).ok()?;
    let moment = (meta.mtime(), meta.mtime_nsec());
    Some((meta.dev(), meta.ino(), meta.size(), moment.0, moment.1))
}

/// `list` has the file as it was at the start.
pub(super) async fn run(path: Option<PathBuf>, list: CurrentBlocklist, abuse: Arc<Abuse>) {
    let mut failures = FailureLog::new("noting the blocklist");
    let mut seen = path.as_deref().and_then(stamp);
    let (mut noted, mut hangup) = (None, signal(SignalKind::hangup()).ok());
    metrics::gauge!(BLOCKLIST_INVALID).set(0);
    loop {
        let current = list.get();
        #[expect(clippy::cast_precision_loss, reason = "no list has 2^52 lines")]
        metrics::gauge!(BLOCKLIST_ENTRIES).set(current.entries() as f64);
        // A list's removals belong to the instances with a list: an instance without a list revokes no removal.
        if path.is_some() && noted.as_deref() != Some(current.digest()) {
            let begun = abuse.begin_blocklist(current.digest()).await;
            failures.note(&begun);
            if begun.is_ok() {
                noted = Some(current.digest().to_owned());
            }
        }
        let is_asked = if let Some(hangup) = &mut hangup {
            timeout(PAUSE, hangup.recv()).await.is_ok()
        } else {
            sleep(PAUSE).await;
            false
        };
        let Some(path) = path.clone() else { continue };
        let found = stamp(&path);
        if found == seen && !is_asked {
            continue;
        }
        seen = found;
        let reading = spawn_blocking(move || read_blocklist(&path));
        let read = reading.await.map_err(|error| error.to_string());
        match read.and_then(|read| read.map_err(|error| error.to_string())) {
            Ok(newer) => {
                tracing::info!(entries = newer.entries(), "BLOCKLIST: read again");
                metrics::gauge!(BLOCKLIST_INVALID).set(0);
                list.set(newer);
            }
            Err(error) => {
                tracing::warn!("BLOCKLIST: {error}; the list stays as it was");
                metrics::gauge!(BLOCKLIST_INVALID).set(1);
            }
        }
    }
}

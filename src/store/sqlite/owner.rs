//! Which process has the database: it keeps the lock of a file beside it.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::sleep;

use super::files::{cannot_make, companion_file, folder};
use crate::store::OpenError;

/// Attempts to get the lock, and the pause between them: a process beside the service looks at the lock for a moment.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(20);

/// What this process is to the database.
pub(super) enum Owner {
    /// It has the database, and keeps others away. The kernel releases the lock when the process ends, however it ends.
    This(#[expect(dead_code, reason = "it is kept locked")] File),
    /// It works beside the process that has it, if there is one. The path is of the file with the lock.
    Beside(PathBuf),
}

impl Owner {
    /// Locks a database for this process, before anything is read or written.
    pub(super) async fn lock(path: &Path) -> Result<Self, OpenError> {
        // A folder that is made for a mistyped path would hide that the links are elsewhere.
        if let Some(folder) = folder(path).filter(|folder| !folder.exists()) {
            return Err(OpenError::Wrong(format!(
                "the folder {} does not exist; make it, or name a file in one that does",
                folder.display()
            )));
        }
        let failed = |error: std::io::Error| cannot_make(path, &error);
        let file = File::options()
            .create(true)
            .append(true)
            .open(companion_file(path, ".owner"))
            .map_err(failed)?;
        for attempt in 1..=ATTEMPTS {
            match file.try_lock() {
                Ok(()) => return Ok(Self::This(file)),
                Err(TryLockError::WouldBlock) if attempt < ATTEMPTS => sleep(PAUSE).await,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
        Err(OpenError::Wrong(format!(
            "{} is in use by another shunt; stop that one first, or name another file",
            path.display()
        )))
    }

    /// Leaves the lock to the service: one may run, or start at any moment.
    pub(super) fn beside(path: &Path) -> Self {
        Self::Beside(companion_file(path, ".owner"))
    }

    /// Whether another process has the database now.
    pub(super) fn is_another(&self) -> bool {
        let Self::Beside(path) = self else {
            return false;
        };
        // Without the file no service has ever run. The lock that is got is released at once.
        let file = File::open(path);
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }
}

//! Whether the database's file is still where it was opened. One that was removed or replaced takes everything it is
//! told, and nobody ever reads it again.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::store::StoreError;

/// The file that was opened.
pub(super) struct Presence {
    path: PathBuf,
    /// Its device and its number there, when it was looked at first: in layered file systems both change when a
    /// file is written to for the first time.
    opened: OnceLock<(u64, u64)>,
    is_gone: AtomicBool,
}

impl Presence {
    /// Makes the file where there is none, for its owner alone: there are addresses and hashes of passwords in it.
    pub(super) fn begin(path: &Path) -> io::Result<Self> {
        // Nobody else has it open then: closing it would take SQLite's locks from other connections of this process.
        let made = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path);
        match made {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(_) | Err(_) => {}
        }
        Ok(Self {
            path: path.to_owned(),
            opened: OnceLock::new(),
            is_gone: AtomicBool::new(false),
        })
    }

    /// Looks whether it is there. To be called every second or so; what changes is logged.
    pub(super) fn look(&self) {
        let now = identity(&self.path).ok();
        let opened = self.opened.get().copied();
        if let (None, Some(now)) = (opened, now) {
            // Another thread may have been first, and saw the same.
            let _ = self.opened.set(now);
        }
        let is_gone = now.is_none() || opened.is_some() && opened != now;
        let was_gone = self.is_gone.swap(is_gone, Ordering::AcqRel);
        let path = self.path.display();
        match (was_gone, is_gone) {
            (false, true) => tracing::error!(
                "{path} was removed or replaced: nothing is read or written until it is back; to go on with another, start again"
            ),
            (true, false) => tracing::info!("{path} is back"),
            _ => {}
        }
    }

    /// Nothing is to be done with a file that is gone.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] where it is.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        if self.is_gone.load(Ordering::Acquire) {
            let why = "the database's file was removed or replaced";
            return Err(StoreError::Unavailable(why.into()));
        }
        Ok(())
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let file = fs::metadata(path)?;
    Ok((file.dev(), file.ino()))
}

//! Whether the database's file is still at its path. Writes to a file that was removed or replaced succeed, and are lost
//! with it.

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
    /// Its device and its number there at the first check. Not at opening: in layered file systems both change with the
    /// first write.
    opened: OnceLock<(u64, u64)>,
    is_gone: AtomicBool,
}

impl Presence {
    /// Creates the file if it is missing, readable only by its owner: it holds e-mail addresses and password hashes.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        // A new file is open nowhere else: otherwise closing it would take SQLite's locks from other connections of
        // this process.
        let created = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path);
        match created {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(_) | Err(_) => {}
        }
        Ok(Self {
            path: path.to_owned(),
            opened: OnceLock::new(),
            is_gone: AtomicBool::new(false),
        })
    }

    /// Checks whether the file is there, and logs a change. To be called about once a second.
    pub(super) fn check(&self) {
        let now = identity(&self.path).ok();
        let opened = self.opened.get().copied();
        if let (None, Some(now)) = (opened, now) {
            // Another thread may have set the same.
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

    /// Refuses operations while the file is gone.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`].
    pub(super) fn require(&self) -> Result<(), StoreError> {
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

//! The files of a database, and its folder.

use std::path::{Path, PathBuf};

use crate::domain::io_reason;
use crate::store::OpenError;

/// The folder of a file; `None` where it is the one that the process runs in.
pub(super) fn folder(path: &Path) -> Option<&Path> {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
}

/// A file that belongs to the database, named in the way of SQLite's own files: no other database has the same.
#[must_use]
pub fn companion_file(database: &Path, ending: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

/// The file cannot be made, as the system says.
pub(super) fn cannot_make(path: &Path, error: &std::io::Error) -> OpenError {
    OpenError::Wrong(format!(
        "{}: {}; name a file in a folder that can be written to",
        path.display(),
        io_reason(error)
    ))
}

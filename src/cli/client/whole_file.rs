//! Files that are written as a whole, or not at all.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::Failure;

/// Writes a file as a whole, or not at all: an incomplete one would look complete.
pub(super) fn replace(
    file: &Path,
    write: impl FnOnce(&mut File) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut unfinished = file.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let unfinished = PathBuf::from(unfinished);
    let fault = |error: io::Error| Failure::Failed(format!("{}: {error}", file.display()));
    let mut out = File::create(&unfinished).map_err(fault)?;
    let written = write(&mut out).and_then(|()| {
        out.sync_all().map_err(fault)?;
        fs::rename(&unfinished, file).map_err(fault)
    });
    if written.is_err() {
        // An unfinished file is of no use.
        let _ = fs::remove_file(&unfinished);
    }
    written
}

//! Secrets that are kept in files beside a database: made at the first start.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::shared_redis::random_id;

/// Reads a secret from a file, or makes it if there is no file. Only its owner can read the file, it appears whole under its name, and
/// processes that start at the same time get the same file. `risk` says what a reader of the secret can do.
///
/// # Errors
/// When the file cannot be read or created.
pub fn load_or_create_companion(
    path: &Path,
    risk: &str,
    generate: impl FnOnce() -> io::Result<String>,
) -> io::Result<Vec<u8>> {
    match read(path) {
        Ok(bytes) => {
            warn_if_world_readable(path, risk);
            return Ok(bytes);
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    // Behind a link to a file that is not there yet, the file is made.
    let path = &fs::read_link(path).map_or_else(
        |_| path.to_owned(),
        |target| path.parent().unwrap_or(Path::new("")).join(target),
    );
    let draft = path.with_extension(format!("{:016x}.new", random_id()));
    let linked =
        write_draft(&draft, &generate()?).and_then(|()| match fs::hard_link(&draft, path) {
            // Another process was first: its secret is used.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            result => result,
        });
    let removed = fs::remove_file(&draft);
    linked.and(removed)?;
    read(path)
}

/// The bytes of an ordinary file: a pipe would be waited for.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    if fs::metadata(path)?.is_file() {
        fs::read(path)
    } else {
        Err(io::Error::other("is not a regular file"))
    }
}

/// A group may be meant to read a secret, for backups; all users hardly are.
fn warn_if_world_readable(path: &Path, risk: &str) {
    let mode = fs::metadata(path).map_or(0, |file| file.permissions().mode());
    if mode & 0o004 != 0 {
        tracing::warn!(
            "{} can be read by others, who can {risk} with it: chmod o-r it",
            path.display()
        );
    }
}

fn write_draft(path: &Path, secret: &str) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(secret.as_bytes())?;
    file.sync_all()
}

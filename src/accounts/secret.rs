//! The secret that signs tokens, if the settings have none: generated at the first start and kept beside the database.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::domain::{TokenSecret, WeakSecret, io_reason};
use crate::shared_redis::random_id;

/// Why the secret is missing. No message contains any of its bytes.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file beside the database holds no secret.
    #[error(
        "JWT_SECRET: {0} can be guessed: {1}; remove it: a new one is made, and everybody logs in again"
    )]
    Weak(String, WeakSecret),
    /// The file beside the database cannot be read or created.
    #[error("JWT_SECRET: {0}: {why}; let it be read and made, or set JWT_SECRET", why = io_reason(.1))]
    File(String, io::Error),
}

/// Reads the secret from a file, or generates it if there is no file. Only its owner can read the file, it appears whole under
/// its name, and processes that start at the same time get the same file.
///
/// # Errors
/// When the file cannot be read or created, or is too short.
pub fn load_or_create_secret(path: &Path) -> Result<TokenSecret, SecretError> {
    let failed = |error| SecretError::File(path.display().to_string(), error);
    let whole = |bytes| {
        TokenSecret::from_bytes(bytes)
            .map_err(|weak| SecretError::Weak(path.display().to_string(), weak))
    };
    match read(path) {
        Ok(bytes) => {
            warn_if_world_readable(path);
            return whole(bytes);
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    // Behind a link to a file that is not there yet, the file is made.
    let path = &fs::read_link(path).map_or_else(
        |_| path.to_owned(),
        |target| path.parent().unwrap_or(Path::new("")).join(target),
    );
    let draft = path.with_extension(format!("{:016x}.new", random_id()));
    let linked = write_draft(&draft).and_then(|()| match fs::hard_link(&draft, path) {
        // Another process was first: its secret is used.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    });
    let removed = fs::remove_file(&draft);
    linked.and(removed).map_err(failed)?;
    whole(read(path).map_err(failed)?)
}

/// The bytes of an ordinary file: a pipe would be waited for.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    if fs::metadata(path)?.is_file() {
        fs::read(path)
    } else {
        Err(io::Error::other("is not a regular file"))
    }
}

/// A reader of the secret can sign a token for any account. A group may be meant to read it, for backups; all users hardly
/// are.
fn warn_if_world_readable(path: &Path) {
    let mode = fs::metadata(path).map_or(0, |file| file.permissions().mode());
    if mode & 0o004 != 0 {
        tracing::warn!(
            "{} can be read by others, who can log in as anybody with it: chmod o-r it",
            path.display()
        );
    }
}

fn write_draft(path: &Path) -> io::Result<()> {
    let mut secret = [0_u8; TokenSecret::MIN_BYTES];
    getrandom::fill(&mut secret).map_err(io::Error::other)?;
    let mut hexadecimal = String::new();
    for byte in secret {
        // Writing to a string does not fail.
        let _ = std::fmt::Write::write_fmt(&mut hexadecimal, format_args!("{byte:02x}"));
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(hexadecimal.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_generated_once_and_readable_by_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shunt.db.jwt-secret");
        let first = load_or_create_secret(&path).unwrap();
        let second = load_or_create_secret(&path).unwrap();
        assert!(
            first.expose().len() >= TokenSecret::MIN_BYTES && first.expose() == second.expose()
        );
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "no draft is left over"
        );
    }

    #[test]
    fn processes_that_start_at_once_use_one_secret() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shunt.db.jwt-secret");
        let secrets: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| load_or_create_secret(&path).unwrap()))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert!(
            secrets
                .iter()
                .all(|secret| secret.expose() == secrets[0].expose())
        );
    }

    #[test]
    fn a_secret_is_generated_behind_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shunt.db.jwt-secret");
        let kept = folder.path().join("kept");
        std::os::unix::fs::symlink("kept", &path).unwrap();
        let first = load_or_create_secret(&path).unwrap();
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
        assert!(fs::symlink_metadata(&kept).unwrap().is_file());
        assert_eq!(
            load_or_create_secret(&path).unwrap().expose(),
            first.expose()
        );
    }

    #[test]
    fn a_pipe_is_refused_instead_of_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shunt.db.jwt-secret");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        assert!(matches!(
            load_or_create_secret(&path),
            Err(SecretError::File(..))
        ));
    }

    #[test]
    fn a_file_that_is_too_short_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shunt.db.jwt-secret");
        fs::write(&path, "short").unwrap();
        assert!(matches!(
            load_or_create_secret(&path),
            Err(SecretError::Weak(_, WeakSecret::Short))
        ));
    }
}

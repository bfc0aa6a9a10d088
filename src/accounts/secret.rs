//! The secret that signs tokens, if the settings have none: generated at the first start and kept beside the database.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use crate::domain::{TokenSecret, WeakSecret, io_reason};
use crate::store::load_or_create_companion;

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

/// Reads the secret from a file, or generates it if there is no file.
///
/// # Errors
/// When the file cannot be read or created, or is too short.
pub fn load_or_create_secret(path: &Path) -> Result<TokenSecret, SecretError> {
    let risk = "log in as anybody";
    let bytes = load_or_create_companion(path, risk, generate)
        .map_err(|error| SecretError::File(path.display().to_string(), error))?;
    TokenSecret::from_bytes(bytes)
        .map_err(|weak| SecretError::Weak(path.display().to_string(), weak))
}

fn generate() -> io::Result<String> {
    let mut secret = [0_u8; TokenSecret::MIN_BYTES];
    getrandom::fill(&mut secret).map_err(io::Error::other)?;
    let mut hexadecimal = String::new();
    for byte in secret {
        // Writing to a string does not fail.
        let _ = write!(hexadecimal, "{byte:02x}");
    }
    Ok(hexadecimal)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

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

//! Where an import stands: a file beside the imported one, replaced as a whole after each batch.
//!
//! An import that is killed goes on after the last batch in the file. The batch after that may have reached the service or
//! not. It is sent again; links that it made before are found by their codes, which are the same each time: those of the
//! imported file, or drawn as `drawing` says.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};
use shunt::domain::io_reason;

use super::tally::Tally;
use crate::cli::client::Failure;
use crate::cli::client::output_file::OrdinaryFile;

/// How far an import is.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The service and the account to which the links go.
    service: String,
    account: i64,
    /// Entries that are done, from the start of the file.
    pub(super) done: u64,
    /// Identifies them: another file must not be taken for this one.
    pub(super) fingerprint: String,
    /// Lengths of the lists, which may have been written further.
    pub(super) refused_bytes: u64,
    pub(super) new_codes_bytes: u64,
    #[serde(default)]
    pub(super) left_behind_bytes: u64,
    pub(super) tally: Tally,
}

/// The file in which it is kept.
pub(super) struct StateFile(PathBuf);

impl StateFile {
    /// Beside the file that is imported.
    pub(super) fn beside(file: &Path) -> Self {
        let mut name = file.as_os_str().to_owned();
        name.push(".shunt-import.json");
        Self(name.into())
    }

    /// The import that was begun, or a new one. One that was begun for another account is not gone on with.
    pub(super) fn open(&self, service: &str, account: i64) -> Result<Progress, Failure> {
        let file = OrdinaryFile::at(&self.0)?;
        if !file.exists() {
            return Ok(Progress::new(service, account));
        }
        let text = fs::read(file.path()).map_err(|error| self.fault(&error))?;
        let progress: Progress =
            serde_json::from_slice(&text).map_err(|_| self.refused("is malformed"))?;
        if progress.service != service || progress.account != account {
            let other = format!(
                "belongs to an import to account {} at {}",
                progress.account, progress.service
            );
            return Err(self.refused(&other));
        }
        Ok(progress)
    }

    /// Whether an import was begun.
    pub(super) fn is_there(&self) -> bool {
        self.0.exists()
    }

    /// The file was another one when the import began.
    pub(super) fn is_of_another(&self) -> Failure {
        self.refused("belongs to an import of other entries: the file has changed before the point at which the import was interrupted")
    }

    fn refused(&self, why: &str) -> Failure {
        Failure::Failed(format!(
            "{} {why}; remove it to start again",
            self.0.display()
        ))
    }

    /// Keeps how far the import is.
    pub(super) fn keep(&self, progress: &Progress) -> Result<(), Failure> {
        let text = serde_json::to_vec(progress).map_err(|error| Failure::of(&error))?;
        let file = OrdinaryFile::at(&self.0)?;
        file.replace(|out| out.write_all(&text).map_err(|error| self.fault(&error)))
    }

    /// The import is done.
    pub(super) fn remove(&self) -> Result<(), Failure> {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.fault(&error)),
            _ => Ok(()),
        }
    }

    fn fault(&self, error: &io::Error) -> Failure {
        Failure::Failed(format!("{}: {}", self.0.display(), io_reason(error)))
    }
}

impl Progress {
    fn new(service: &str, account: i64) -> Self {
        Self {
            service: service.to_owned(),
            account,
            done: 0,
            fingerprint: Fingerprint::new().value(),
            refused_bytes: 0,
            new_codes_bytes: 0,
            left_behind_bytes: 0,
            tally: Tally::default(),
        }
    }
}

/// Identifies the entries of a file up to one of them.
pub(super) struct Fingerprint(Context);

impl Fingerprint {
    pub(super) fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    /// Adds the next entry.
    pub(super) fn add(&mut self, entry: &[u8]) {
        self.0.update(&(entry.len() as u64).to_le_bytes());
        self.0.update(entry);
    }

    /// The fingerprint of all entries up to now.
    pub(super) fn value(&self) -> String {
        hex(self.0.clone().finish().as_ref())
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;

    bytes.iter().fold(String::new(), |mut text, byte| {
        // A string takes all that is written to it.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

//! The user's tokens, one for each service, in a file that only the user can read.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use serde::{Deserialize, Serialize};
use shunt::domain::io_reason;

use super::Failure;
use super::output_file::OrdinaryFile;

/// Folder of this program's files among those of the user.
const FOLDER: &str = "shunt";
/// Name of the file in it.
const NAME: &str = "token.json";

/// `token.json` of the user, or the place for it.
pub(super) struct TokenFile {
    path: PathBuf,
}

/// A login as it is kept.
#[derive(Serialize, Deserialize)]
pub(super) struct Login {
    pub(super) email: String,
    pub(super) access_token: String,
}

/// Logins by the address of their service.
type Logins = BTreeMap<String, Login>;

impl TokenFile {
    /// In `$XDG_CONFIG_HOME`, or in `~/.config`.
    pub(super) fn of_user() -> Result<Self, Failure> {
        let folders = etcetera::choose_base_strategy().map_err(|_| {
            Failure::Failed("the home folder, where the token is kept, is unknown; set HOME".into())
        })?;
        Ok(Self {
            path: folders.config_dir().join(FOLDER).join(NAME),
        })
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The login at a service, if the user has logged in there.
    pub(super) fn login(&self, service: &str) -> Result<Option<Login>, Failure> {
        Ok(self.read()?.remove(service))
    }

    /// Checks that a token can be kept: creates the folder, and writes the file again as it is.
    pub(super) fn make_room(&self) -> Result<(), Failure> {
        let _folder = self.locked_folder()?;
        let logins = self.read()?;
        self.write(&logins)
    }

    /// The folder, locked until it is dropped: two logins at once would each write back what they had read.
    fn locked_folder(&self) -> Result<File, Failure> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let make = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        make.map_err(|error| self.fault(&error))?;
        let folder = File::open(folder).map_err(|error| self.fault(&error))?;
        folder.lock().map_err(|error| self.fault(&error))?;
        Ok(folder)
    }

    /// Keeps a token in place of the previous token.
    pub(super) fn keep(&self, service: &str, email: &str, token: &str) -> Result<(), Failure> {
        let _folder = self.locked_folder()?;
        let mut logins = self.read()?;
        let login = Login {
            email: email.to_owned(),
            access_token: token.to_owned(),
        };
        logins.insert(service.to_owned(), login);
        self.write(&logins)
    }

    /// Forgets the login at a service. Returns whether there was one.
    pub(super) fn forget(&self, service: &str) -> Result<bool, Failure> {
        // If there is nothing to delete, no folder is created.
        if !self.read()?.contains_key(service) {
            return Ok(false);
        }
        let _folder = self.locked_folder()?;
        let mut logins = self.read()?;
        if logins.remove(service).is_none() {
            return Ok(false);
        }
        self.write(&logins)?;
        Ok(true)
    }

    fn read(&self) -> Result<Logins, Failure> {
        let file = OrdinaryFile::at(&self.path)?;
        if !file.exists() {
            return Ok(Logins::new());
        }
        let text = fs::read(file.path()).map_err(|error| self.fault(&error))?;
        serde_json::from_slice(&text).map_err(|_| {
            Failure::Failed(format!(
                "{} is malformed; remove it, and log in again",
                self.path.display()
            ))
        })
    }

    /// Replaces the file as a whole, behind a link, too: some people keep their settings elsewhere.
    fn write(&self, logins: &Logins) -> Result<(), Failure> {
        let mut text = serde_json::to_vec_pretty(logins).map_err(|error| Failure::of(&error))?;
        text.push(b'\n');
        let file = OrdinaryFile::at(&self.path)?.private();
        file.replace(|out| out.write_all(&text).map_err(|error| self.fault(&error)))
    }

    fn fault(&self, error: &io::Error) -> Failure {
        Failure::Failed(format!("{}: {}", self.path.display(), io_reason(error)))
    }
}

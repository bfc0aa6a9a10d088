//! The tokens a person has, one for each service, in a file that only they can read.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use serde::{Deserialize, Serialize};

use super::Failure;

/// Folder of this program's files among those of the user.
const FOLDER: &str = "shunt";
/// Name of the file in it.
const NAME: &str = "token.json";

/// `token.json` of the user, or the place for it.
pub(super) struct TokenFile {
    path: PathBuf,
}

/// What is kept of a login.
#[derive(Serialize, Deserialize)]
struct Login {
    email: String,
    access_token: String,
}

/// By the address of the service.
type Logins = BTreeMap<String, Login>;

impl TokenFile {
    /// In `$XDG_CONFIG_HOME`, or in `~/.config`.
    pub(super) fn of_user() -> Result<Self, Failure> {
        let folders = etcetera::choose_base_strategy().map_err(|error| {
            Failure::Failed(format!("no place for the token: {error}; set HOME"))
        })?;
        Ok(Self {
            path: folders.config_dir().join(FOLDER).join(NAME),
        })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The token for a service, if the user has logged in there.
    pub(super) fn token(&self, service: &str) -> Result<Option<String>, Failure> {
        let login = self.read()?.remove(service);
        Ok(login.map(|login| login.access_token))
    }

    /// Sees that a token can be kept: makes the folder, and writes the file anew as it is.
    pub(super) fn make_room(&self) -> Result<(), Failure> {
        let _folder = self.locked_folder()?;
        let logins = self.read()?;
        self.write(&logins).map_err(|error| self.fault(&error))
    }

    /// Two logins at once would each write back what they have read: the folder is locked until it is dropped.
    fn locked_folder(&self) -> Result<File, Failure> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let make = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        make.map_err(|error| self.fault(&error))?;
        let folder = File::open(folder).map_err(|error| self.fault(&error))?;
        folder.lock().map_err(|error| self.fault(&error))?;
        Ok(folder)
    }

    /// Keeps a token instead of the one before it.
    pub(super) fn keep(&self, service: &str, email: &str, token: &str) -> Result<(), Failure> {
        let _folder = self.locked_folder()?;
        let mut logins = self.read()?;
        let login = Login {
            email: email.to_owned(),
            access_token: token.to_owned(),
        };
        logins.insert(service.to_owned(), login);
        self.write(&logins).map_err(|error| self.fault(&error))
    }

    fn read(&self) -> Result<Logins, Failure> {
        let text = match fs::read(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Logins::new()),
            Err(error) => return Err(self.fault(&error)),
        };
        serde_json::from_slice(&text).map_err(|error| {
            Failure::Failed(format!(
                "{} cannot be understood ({error}); remove it and log in again",
                self.path.display()
            ))
        })
    }

    /// As a whole or not at all: beside the old file first, then in its place.
    fn write(&self, logins: &Logins) -> io::Result<()> {
        let fresh = self.path.with_extension("json.new");
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&fresh)?;
        // One that was left behind keeps the mode it had.
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
        serde_json::to_writer_pretty(&mut file, logins)?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        fs::rename(fresh, &self.path)
    }

    fn fault(&self, error: &io::Error) -> Failure {
        Failure::Failed(format!("{}: {error}", self.path.display()))
    }
}

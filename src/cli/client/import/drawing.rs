//! Generates the codes of links without a code. Each is drawn from a secret of the user and from the link itself, so that
//! the same file gives the same codes, also when it is imported again long after: a link is found by its code, and not made
//! twice.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};

use etcetera::BaseStrategy;
use ring::digest::{SHA256, digest};
use shunt::domain::{ShortCode, io_reason};

use super::pending::Pending;
use crate::cli::client::Failure;

/// The secret among the user's files, beside the token.
const FOLDER: &str = "shunt";
const NAME: &str = "import-secret";

/// Draws codes for the links of one account.
pub(super) struct Drawing {
    secret: Vec<u8>,
    account: String,
}

impl Drawing {
    /// For links to an account of a service. The user's secret is made when it is needed first.
    pub(super) fn of(service: &str, account: i64) -> Result<Self, Failure> {
        Ok(Self {
            secret: secret_of_user()?,
            account: format!("{service} {account}"),
        })
    }

    /// The code of a link that brings none; another one for each attempt.
    pub(super) fn code(&self, pending: &Pending, attempt: u32) -> ShortCode {
        let mut drawn = self.secret.clone();
        let (number, content) = (pending.number, &pending.content);
        drawn.extend_from_slice(
            format!("\0{}\0{number}\0{attempt}\0{content}", self.account).as_bytes(),
        );
        let digest = digest(&SHA256, &drawn);
        let mut random = [0; 16];
        random.copy_from_slice(&digest.as_ref()[..16]);
        ShortCode::from_random(random)
    }
}

fn secret_of_user() -> Result<Vec<u8>, Failure> {
    let folders = etcetera::choose_base_strategy().map_err(|_| {
        Failure::Failed(
            "the home folder, where the import secret is kept, is unknown; set HOME".into(),
        )
    })?;
    let folder = folders.config_dir().join(FOLDER);
    let path = folder.join(NAME);
    let fault =
        |error: io::Error| Failure::Failed(format!("{}: {}", path.display(), io_reason(&error)));
    let mut secret = [0_u8; 32];
    getrandom::fill(&mut secret).map_err(|error| Failure::of(&error))?;
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .map_err(fault)?;
    // Written as a whole before it has its name, so that two imports at once have the same one.
    let fresh = folder.join(format!("{NAME}.{}", std::process::id()));
    let made = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&fresh)
        .and_then(|mut file| {
            file.write_all(&secret)?;
            file.sync_all()?;
            match fs::hard_link(&fresh, &path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                linked => linked,
            }
        });
    // It has its name by now, or is of no use.
    let _ = fs::remove_file(&fresh);
    made.and_then(|()| fs::read(&path)).map_err(fault)
}

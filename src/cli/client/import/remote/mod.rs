//! Links of a service that runs: they are read page by page into a file, which is then imported as any file. So the entries do not change
//! while an import that was interrupted goes on.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use shunt::domain::io_reason;
use shunt::import::Source;

use super::{Failure, source_file};
use crate::cli::client::output_file::OrdinaryFile;
use crate::cli::client::service_url::ServiceUrl;

mod asking;
mod key;
mod pages;
mod protocol;

use asking::Asking;
use protocol::Protocol;

/// More links than any of these services has: a list without an end must not fill the disk.
const MAX_LINKS: u64 = 10_000_000;

/// A running service whose links are imported.
pub(super) struct Remote {
    protocol: Protocol,
    url: ServiceUrl,
    timeout: Duration,
}

/// How far the links are read.
#[derive(Serialize, Deserialize)]
struct Progress {
    url: String,
    protocol: Protocol,
    /// Pages and links that are read.
    pages: u64,
    links: u64,
    /// The length of the file with them, which may have been written further.
    bytes: u64,
}

impl Remote {
    /// The service of this kind at an address.
    pub(super) fn new(source: Source, url: ServiceUrl, timeout: u64) -> Result<Self, Failure> {
        let protocol = Protocol::of(source).ok_or_else(|| {
            Failure::Usage("--from-url reads from shlink, kutt and yourls only".into())
        })?;
        Ok(Self {
            protocol,
            url,
            timeout: Duration::from_secs(timeout),
        })
    }

    /// The name of the file with its links, if no other is given.
    pub(super) fn file_name(&self) -> PathBuf {
        let url = self.url.to_string();
        let host = url.split_once("://").map_or(&*url, |(_, host)| host);
        let is_plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '.' | '-');
        let host = host.replace(|char| !is_plain(char), "_");
        format!("{}-{host}.ndjson", self.protocol.word()).into()
    }

    /// Reads all links into a file. An import of the file that was begun is gone on with instead.
    pub(super) fn read_into(&self, file: &Path) -> Result<(), Failure> {
        let is_begun = with_ending(file, ".shunt-import.json").exists();
        if is_begun && file.exists() {
            return Ok(());
        }
        let (draft, state) = (
            with_ending(file, ".unfinished"),
            with_ending(file, ".shunt-read.json"),
        );
        // A folder or a device is refused before anything is asked for.
        OrdinaryFile::at(file)?;
        let key = key::read()?;
        let asking = Asking::new(&self.url, self.protocol, &key, self.timeout)?;
        let fault = |error: io::Error| {
            Failure::Failed(format!("{}: {}", draft.display(), io_reason(&error)))
        };
        let mut out = opened(&draft).map_err(fault)?;
        let _lock = source_file::lock(&draft)?;
        let mut progress = self.progress(&state)?;
        // What was written after the last page that is known is read again.
        if out.metadata().map_err(fault)?.len() < progress.bytes {
            progress = self.begin();
        }
        out.set_len(progress.bytes).map_err(fault)?;
        out.seek(SeekFrom::End(0)).map_err(fault)?;
        let mut before = None;
        loop {
            let page = pages::page(self.protocol, &asking, progress.pages, progress.links)?;
            if before.is_some() && before == page.first() {
                return Err(Failure::Failed(format!(
                    "{} answers with the same page again and again; import a file of its links instead",
                    self.url
                )));
            }
            before = page.first().or(before);
            out.write_all(page.lines.as_bytes()).map_err(fault)?;
            out.sync_data().map_err(fault)?;
            progress.pages += 1;
            progress.links += page.links;
            progress.bytes += page.lines.len() as u64;
            if page.is_last {
                break;
            }
            if progress.links > MAX_LINKS {
                return Err(Failure::Failed(format!(
                    "{} has more than {MAX_LINKS} links",
                    self.url
                )));
            }
            keep(&state, &progress)?;
        }
        fs::rename(&draft, file).map_err(fault)?;
        match fs::remove_file(&state) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(fault(error)),
            _ => Ok(()),
        }
    }

    /// How far an earlier run came, if it was one of the same service.
    fn progress(&self, state: &Path) -> Result<Progress, Failure> {
        let text = match fs::read(state) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(self.begin()),
            Err(error) => {
                return Err(Failure::Failed(format!(
                    "{}: {}",
                    state.display(),
                    io_reason(&error)
                )));
            }
        };
        let progress = serde_json::from_slice(&text).ok();
        let is_same = |progress: &Progress| {
            progress.url == self.url.to_string() && progress.protocol == self.protocol
        };
        progress.filter(is_same).ok_or_else(|| {
            Failure::Failed(format!(
                "{} belongs to an import of another service; remove it to start again",
                state.display()
            ))
        })
    }

    fn begin(&self) -> Progress {
        Progress {
            url: self.url.to_string(),
            protocol: self.protocol,
            pages: 0,
            links: 0,
            bytes: 0,
        }
    }
}

fn keep(state: &Path, progress: &Progress) -> Result<(), Failure> {
    let text = serde_json::to_vec(progress).map_err(|error| Failure::of(&error))?;
    OrdinaryFile::at(state)?.replace(|out| Ok(out.write_all(&text)?))
}

/// A file that only its owner may read: its links are secret.
fn opened(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    options.open(path)
}

fn with_ending(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

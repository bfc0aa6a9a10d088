//! Files that commands write. An ordinary file is replaced as a whole or stays as it was; anything else is written to as
//! it is, and stays what it is.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::fs::Access;
use rustix::io::Errno;
use shunt::domain::io_reason;
use tempfile::{Builder, NamedTempFile};

use super::{Failure, output};

/// Links that the system follows one after the other.
const MAX_LINKS: usize = 40;
/// The mode of a new file, less what the user's umask takes away.
const NEW_FILE: u32 = 0o666;
/// The mode of a file that only its owner may read.
const PRIVATE: u32 = 0o600;
/// The permissions of a group.
const GROUP: u32 = 0o070;

/// What is at the path that a person named.
pub(super) enum OutputFile {
    /// `-`, or another name for it.
    Stdout,
    /// A pipe or a device.
    Stream(PathBuf),
    /// An ordinary file, or the place for one.
    Ordinary(OrdinaryFile),
}

/// An ordinary file behind all symbolic links, or the place for one.
pub(super) struct OrdinaryFile {
    path: PathBuf,
    existing: Option<Metadata>,
    is_private: bool,
}

impl OutputFile {
    /// Looks at a path, and changes nothing.
    pub(super) fn at(path: &Path) -> Result<Self, Failure> {
        if is_dash(path) {
            return Ok(Self::Stdout);
        }
        let metadata = metadata(path).map_err(|error| fault(path, &error))?;
        let kind = metadata.as_ref().map(Metadata::file_type);
        match kind {
            Some(kind) if kind.is_fifo() || kind.is_char_device() => {
                Ok(Self::Stream(path.to_owned()))
            }
            _ if metadata.as_ref().is_some_and(is_stdout) => Ok(Self::Stdout),
            _ => OrdinaryFile::with(path, metadata).map(Self::Ordinary),
        }
    }

    /// Lets `write` fill it. A pipe that no program reads is given up after this time.
    pub(super) fn write(
        self,
        timeout: Duration,
        write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self {
            Self::Stdout => {
                let mut out = io::stdout().lock();
                write(&mut out)?;
                Ok(out.flush()?)
            }
            Self::Stream(path) => write(&mut opened(path, timeout)?),
            Self::Ordinary(file) => file.replace(write),
        }
    }
}

impl OrdinaryFile {
    /// Looks at a path, and changes nothing.
    pub(super) fn at(path: &Path) -> Result<Self, Failure> {
        let metadata = metadata(path).map_err(|error| fault(path, &error))?;
        Self::with(path, metadata)
    }

    fn with(path: &Path, existing: Option<Metadata>) -> Result<Self, Failure> {
        let refused = |why: &str| Err(Failure::Failed(format!("{} {why}", shown(path))));
        match &existing {
            Some(metadata) if metadata.is_dir() => {
                return refused("is a folder; name a file in it");
            }
            Some(metadata) if !metadata.is_file() => {
                return refused("is not a regular file; name another file");
            }
            _ => {}
        }
        let path = behind_links(path).map_err(|error| fault(path, &error))?;
        Ok(Self {
            path,
            existing,
            is_private: false,
        })
    }

    /// The same file, which only its owner may read from the next write on.
    pub(super) fn private(self) -> Self {
        let is_private = true;
        Self { is_private, ..self }
    }

    /// Its path, without symbolic links at its end.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is there.
    pub(super) fn exists(&self) -> bool {
        self.existing.is_some()
    }

    /// Replaces the file with what `write` writes, or leaves it as it was: an incomplete file would look complete. A file
    /// keeps its mode.
    pub(super) fn replace(
        self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let fault = |error: io::Error| fault(&self.path, &error);
        let mut draft = self.draft().map_err(fault)?;
        write(draft.as_file_mut())?;
        draft.as_file().sync_all().map_err(fault)?;
        draft
            .persist(&self.path)
            .map_err(|error| fault(error.error))?;
        Ok(())
    }

    /// A file beside it, under a name that no file has. It is removed unless it takes the other's place.
    fn draft(&self) -> io::Result<NamedTempFile> {
        // A new file could take the place of one that must not be written to.
        if self.exists() {
            rustix::fs::access(&self.path, Access::WRITE_OK)?;
        }
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        let mut name = self.path.file_name().unwrap_or_default().to_owned();
        name.push(".");
        let mode = if self.is_private || self.exists() {
            PRIVATE
        } else {
            NEW_FILE
        };
        let draft = Builder::new()
            .prefix(&name)
            .suffix(".unfinished")
            .permissions(Permissions::from_mode(mode))
            .tempfile_in(folder)?;
        if let Some(existing) = &self.existing {
            let is_of_group = keep_owner(existing, draft.as_file());
            let mode = match existing.mode() & 0o777 {
                mode if self.is_private => mode & PRIVATE,
                // The permissions of a group are not for another group.
                mode if !is_of_group => mode & !GROUP,
                mode => mode,
            };
            draft
                .as_file()
                .set_permissions(Permissions::from_mode(mode))?;
        }
        Ok(draft)
    }
}

/// Gives a file the owner and the group of another, as far as the user may. Returns whether it has the group.
fn keep_owner(of: &Metadata, to: &File) -> bool {
    fchown(to, Some(of.uid()), Some(of.gid()))
        .or_else(|_| fchown(to, None, Some(of.gid())))
        .is_ok()
}

/// Opens a pipe or a device. A pipe opens once a program reads it.
fn opened(path: PathBuf, timeout: Duration) -> Result<File, Failure> {
    let name = shown(&path);
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let opened = OpenOptions::new().write(true).open(&path);
        // The other side may have given up.
        let _ = sender.send(opened.map_err(|error| fault(&path, &error)));
    });
    receiver.recv_timeout(timeout).unwrap_or_else(|_| {
        let seconds = timeout.as_secs();
        Err(Failure::Failed(format!(
            "no program has opened {name} for reading within {seconds} s; start the reader, or give a longer --timeout"
        )))
    })
}

/// Whether a path stands for standard output.
pub(super) fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// What is at a path, behind all links; `None` if nothing is there.
fn metadata(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether it is the file to which standard output leads, as `/dev/stdout` does: what is there already has to stay.
fn is_stdout(file: &Metadata) -> bool {
    rustix::fs::fstat(io::stdout())
        .is_ok_and(|stdout| stdout.st_dev == file.dev() && stdout.st_ino == file.ino())
}

/// The path to which symbolic links lead, also if nothing is there yet.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(Errno::LOOP.into())
}

fn shown(path: &Path) -> String {
    output::harmless(&path.to_string_lossy()).into_owned()
}

fn fault(path: &Path, error: &io::Error) -> Failure {
    Failure::Failed(format!("{}: {}", shown(path), io_reason(error)))
}

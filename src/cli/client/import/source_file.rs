//! The file that is imported.

use std::cell::Cell;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek};
use std::path::Path;
use std::rc::Rc;

use shunt::domain::io_reason;
use shunt::import::{Encoding, Format, OtherPages, TakesLinks, Unreadable, read_file};

use crate::cli::client::Failure;

/// Locks a file: as long as it is open here, no other import has it.
pub(super) fn lock(path: &Path) -> Result<File, Failure> {
    let file = File::open(path).map_err(|error| fault(path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Failure::Failed(format!(
            "{} is already being imported by another process",
            path.display()
        ))),
        Err(TryLockError::Error(error)) => Err(fault(path, &error)),
    }
}

fn fault(path: &Path, error: &io::Error) -> Failure {
    Failure::Failed(format!("{}: {}", path.display(), io_reason(error)))
}

/// How many bytes of a file are read; shared with its reader.
#[derive(Clone, Default)]
pub(super) struct ReadBytes(Rc<Cell<u64>>);

impl ReadBytes {
    pub(super) fn get(&self) -> u64 {
        self.0.get()
    }
}

/// A file whose links are to be read.
pub(super) struct SourceFile {
    file: File,
    encoding: Encoding,
    size: u64,
    bytes: ReadBytes,
}

impl SourceFile {
    /// Opens a file.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let opened = File::open(path).and_then(|file| {
            let metadata = file.metadata()?;
            Ok((file, metadata))
        });
        let (mut file, metadata) = opened.map_err(|error| fault(path, &error))?;
        if !metadata.is_file() {
            return Err(Failure::Usage(format!(
                "{} is not a regular file; an import needs a regular file, because it reads it again if it was interrupted",
                path.display()
            )));
        }
        let encoding = Encoding::of(&mut file).and_then(|encoding| {
            file.rewind()?;
            Ok(encoding)
        });
        Ok(Self {
            encoding: encoding.map_err(|error| fault(path, &error))?,
            file,
            size: metadata.len(),
            bytes: ReadBytes::default(),
        })
    }

    /// Size of the file in bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// How its characters are written.
    pub(super) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Says how far the file is read.
    pub(super) fn bytes(&self) -> ReadBytes {
        self.bytes.clone()
    }

    /// Reads all links.
    pub(super) fn read(
        self,
        format: &'static Format,
        taker: &mut dyn TakesLinks,
    ) -> Result<Option<OtherPages>, Unreadable> {
        let encoding = self.encoding;
        read_file(self, encoding, format, taker)
    }
}

impl Read for SourceFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.file.read(buffer)?;
        self.bytes.0.set(self.bytes.get() + length as u64);
        Ok(length)
    }
}

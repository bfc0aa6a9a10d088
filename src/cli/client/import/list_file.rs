//! CSV files of single links: refused links, links with new codes, and links of which something was left behind.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use csv::{Writer, WriterBuilder};
use shunt::domain::io_reason;
use shunt::import::guarded_bytes;

use crate::cli::client::Failure;
use crate::cli::client::output_file::OrdinaryFile;

/// A table that grows line by line, and may be cut back to an earlier length.
pub(super) struct ListFile {
    path: PathBuf,
    columns: Vec<&'static str>,
    writer: Option<Writer<File>>,
}

impl ListFile {
    /// The list as it was when it had this length. An empty list is no file.
    pub(super) fn open(
        path: &Path,
        columns: Vec<&'static str>,
        length: u64,
    ) -> Result<Self, Failure> {
        let file = OrdinaryFile::at(path)?;
        let exists = file.exists();
        let mut list = Self {
            path: file.path().to_owned(),
            columns,
            writer: None,
        };
        let opened = match length {
            0 if exists => list.cut_to(0).map(|_| ()),
            0 => Ok(()),
            _ => list.go_on_from(length),
        };
        opened.map_err(|error| list.fault(&error))?;
        Ok(list)
    }

    fn go_on_from(&mut self, length: u64) -> io::Result<()> {
        self.writer = Some(writer_of(self.cut_to(length)?));
        Ok(())
    }

    fn cut_to(&self, length: u64) -> io::Result<File> {
        let mut file = OpenOptions::new().write(true).open(&self.path)?;
        if file.metadata()?.len() < length {
            return Err(io::Error::other(
                "is shorter than it was; remove the state file of the import to start again",
            ));
        }
        file.set_len(length)?;
        file.seek(SeekFrom::End(0))?;
        Ok(file)
    }

    /// After the last line. An empty list, of an earlier import, is removed.
    pub(super) fn end(&self) -> Result<(), Failure> {
        if self.writer.is_some() {
            return Ok(());
        }
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.fault(&error)),
            _ => Ok(()),
        }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a line.
    pub(super) fn add(&mut self, cells: &[Vec<u8>]) -> Result<(), Failure> {
        let added = self.writer().and_then(|writer| {
            // A cell that is not UTF-8 stays so: it is refused again.
            let cells = cells.iter().map(|cell| guarded_bytes(cell));
            writer.write_record(cells).map_err(io::Error::from)
        });
        added.map_err(|error| self.fault(&error))
    }

    fn writer(&mut self) -> io::Result<&mut Writer<File>> {
        if self.writer.is_none() {
            let mut writer = writer_of(File::create(&self.path)?);
            writer.write_record(&self.columns)?;
            self.writer = Some(writer);
        }
        self.writer
            .as_mut()
            .ok_or_else(|| io::Error::other("there is no list"))
    }

    /// Makes all lines last; returns the length of the file.
    pub(super) fn sync(&mut self) -> Result<u64, Failure> {
        let Some(writer) = &mut self.writer else {
            return Ok(0);
        };
        let synced = writer.flush().and_then(|()| {
            writer.get_ref().sync_data()?;
            writer.get_ref().metadata()
        });
        let length = synced.map(|metadata| metadata.len());
        length.map_err(|error| self.fault(&error))
    }

    fn fault(&self, error: &io::Error) -> Failure {
        Failure::Failed(format!("{}: {}", self.path.display(), io_reason(error)))
    }
}

/// A row may have more cells than the header line, as that of a refused link may have had.
fn writer_of(file: File) -> Writer<File> {
    WriterBuilder::new().flexible(true).from_writer(file)
}

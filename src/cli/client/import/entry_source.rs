//! The file that is imported: which form it has, and its entries.

use std::fs::{File, TryLockError};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

use super::entry::{TakesEntries, unreadable};
use super::format::Format;
use super::meter::{Meter, Metered};
use super::{csv_file, json_file};
use crate::cli::client::Failure;

/// Length of the start of a file, which shows its form.
const START: usize = 64 * 1024;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The form of a file.
#[derive(Debug, PartialEq, Eq)]
enum Form {
    Json,
    /// A table with this byte between its cells.
    Table(u8),
}

/// Locks a file: as long as it is open here, no other import has it.
pub(super) fn lock(path: &Path) -> Result<File, Failure> {
    let file = File::open(path).map_err(|error| fault(path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Failure::Failed(format!(
            "{} is being imported already",
            path.display()
        ))),
        Err(TryLockError::Error(error)) => Err(fault(path, &error)),
    }
}

fn fault(path: &Path, error: &io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()))
}

/// A file whose entries are to be read.
pub(super) struct EntrySource {
    form: Form,
    input: Metered<BufReader<Box<dyn Read>>>,
    meter: Rc<Meter>,
    size: u64,
}

impl EntrySource {
    /// Opens a file.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let opened = File::open(path).and_then(|file| {
            let metadata = file.metadata()?;
            Ok((file, metadata))
        });
        let (file, metadata) = opened.map_err(|error| fault(path, &error))?;
        if !metadata.is_file() {
            return Err(Failure::Usage(format!(
                "{} is no file: an import goes on where it was broken off, and reads its file again then",
                path.display()
            )));
        }
        Self::of(Box::new(file), metadata.len())
    }

    /// An input of this size.
    pub(super) fn of(input: Box<dyn Read>, size: u64) -> Result<Self, Failure> {
        let mut input = BufReader::with_capacity(START, input);
        let start = input.fill_buf();
        let start =
            start.map_err(|error| unreadable(1, format_args!("cannot be read: {error}")))?;
        let marked = start.starts_with(BYTE_ORDER_MARK);
        let mark = if marked { BYTE_ORDER_MARK.len() } else { 0 };
        let form = form_of(&start[mark..]).map_err(|why| unreadable(1, why))?;
        input.consume(mark);
        let (input, meter) = Metered::new(input);
        Ok(Self {
            form,
            input,
            meter,
            size,
        })
    }

    /// Size of the file in bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Says how far the file is read.
    pub(super) fn meter(&self) -> Rc<Meter> {
        Rc::clone(&self.meter)
    }

    /// Reads all entries.
    pub(super) fn read(self, format: &Format, taker: &mut dyn TakesEntries) -> Result<(), Failure> {
        match self.form {
            Form::Json => json_file::read(self.input, &self.meter, taker),
            Form::Table(delimiter) => {
                csv_file::read(self.input, &self.meter, delimiter, format, taker)
            }
        }
    }
}

fn form_of(start: &[u8]) -> Result<Form, &'static str> {
    let line = start
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") || line.contains(&0) {
        return Err("the file is no UTF-8 text; save it as UTF-8");
    }
    let first = start.iter().find(|byte| !byte.is_ascii_whitespace());
    match first {
        None => Err("the file is empty"),
        Some(b'[' | b'{') => Ok(Form::Json),
        Some(_) => Ok(Form::Table(delimiter_of(line))),
    }
}

/// The byte between cells: programs of some countries write semicolons.
fn delimiter_of(header: &[u8]) -> u8 {
    let count = |delimiter: &u8| header.split(|byte| byte == delimiter).count();
    let others = [b';', b'\t'].into_iter();
    let most = others
        .max_by_key(count)
        .filter(|other| count(other) > count(&b','));
    most.unwrap_or(b',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_shows_the_form() {
        for (start, expected) in [
            (&b"a,b;c,d\n;;;;"[..], Ok(Form::Table(b','))),
            (b"a;b\n", Ok(Form::Table(b';'))),
            (b"a\tb\n", Ok(Form::Table(b'\t'))),
            (b"target_url", Ok(Form::Table(b','))),
            (b"\n [", Ok(Form::Json)),
            (b"{\"a\"", Ok(Form::Json)),
        ] {
            assert_eq!(form_of(start), expected);
        }
        for start in [&b""[..], b" \n", b"\xff\xfea\0", b"SQLite format 3\0"] {
            assert!(form_of(start).is_err());
        }
    }
}

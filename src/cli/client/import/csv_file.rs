//! Entries of a table: lines with a header line above.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::rc::Rc;

use csv::{ByteRecord, ReaderBuilder};

use super::entry::{Entry, TakesEntries, unreadable};
use super::format::Format;
use super::meter::{Meter, Metered, is_too_long};
use super::record::{Record, plain_name};
use super::spreadsheet;
use crate::cli::client::Failure;

/// More columns than any table of links has.
const MAX_COLUMNS: usize = 1_000;
/// Bytes that the reader may have read beyond the entry.
const READ_AHEAD: usize = 64 * 1024;

/// Reads all entries. In memory is one of them at a time.
pub(super) fn read(
    input: Metered<impl Read>,
    meter: &Rc<Meter>,
    delimiter: u8,
    format: &Format,
    taker: &mut dyn TakesEntries,
) -> Result<(), Failure> {
    let (input, lines) = LineIndex::of(input);
    let mut table = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .buffer_capacity(READ_AHEAD)
        .from_reader(input);
    let mut columns: Option<Vec<String>> = None;
    let mut cells = ByteRecord::new();
    loop {
        meter.new_entry(READ_AHEAD);
        let start = table.position().byte();
        match table.read_byte_record(&mut cells) {
            Ok(false) if columns.is_none() => return Err(unreadable(1, "the file is empty")),
            Ok(false) => return Ok(()),
            Ok(true) => {}
            Err(error) => return Err(fault(lines.line_of(start), error)),
        }
        // The last byte of an entry is its end of line, or stands on its last line.
        let last = table.position().byte().saturating_sub(1);
        let within = cells.as_slice().iter().filter(|byte| **byte == b'\n');
        let line = lines.line_of(last).saturating_sub(within.count() as u64);
        let line = line.max(1);
        match &columns {
            None => columns = Some(header(&cells, format).map_err(|why| unreadable(line, why))?),
            Some(columns) => {
                let (record, fault) = record(&cells, columns, format);
                taker.take(Entry {
                    line,
                    record,
                    fault,
                })?;
            }
        }
    }
}

/// Finds the line of a byte: the reader of tables counts neither empty lines nor those of Windows right.
struct LineIndex<R> {
    input: R,
    lines: Rc<Lines>,
    read: u64,
}

/// Ends of lines that are read and were not asked for yet.
#[derive(Default)]
struct Lines {
    ends: RefCell<VecDeque<u64>>,
    passed: Cell<u64>,
}

impl<R> LineIndex<R> {
    fn of(input: R) -> (Self, Rc<Lines>) {
        let lines = Rc::new(Lines::default());
        let shared = Rc::clone(&lines);
        let read = 0;
        (Self { input, lines, read }, shared)
    }
}

impl<R: Read> Read for LineIndex<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.input.read(buffer)?;
        let ends = (self.read..).zip(&buffer[..length]);
        let ends = ends.filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
        self.lines.ends.borrow_mut().extend(ends);
        self.read += length as u64;
        Ok(length)
    }
}

impl Lines {
    /// The line in which a byte stands, from 1 on. Bytes are asked for from the start to the end.
    fn line_of(&self, byte: u64) -> u64 {
        let mut ends = self.ends.borrow_mut();
        while ends.front().is_some_and(|end| *end < byte) {
            ends.pop_front();
            self.passed.set(self.passed.get() + 1);
        }
        self.passed.get() + 1
    }
}

fn fault(line: u64, error: csv::Error) -> Failure {
    match error.into_kind() {
        csv::ErrorKind::Io(error) if is_too_long(&error) => unreadable(line, error),
        csv::ErrorKind::Io(error) => unreadable(line, format_args!("cannot be read: {error}")),
        other => unreadable(line, format_args!("cannot be read: {other:?}")),
    }
}

/// The names of the columns.
fn header(cells: &ByteRecord, format: &Format) -> Result<Vec<String>, String> {
    if cells.len() > MAX_COLUMNS {
        return Err(format!(
            "the header line has more than {MAX_COLUMNS} columns"
        ));
    }
    let mut columns = Vec::with_capacity(cells.len());
    for cell in cells {
        let name = text(cell).map_err(|why| format!("the header line {why}"))?;
        columns.push(plain_name(name.trim_start_matches('\u{feff}').trim()));
    }
    format.check_columns(&columns)?;
    Ok(columns)
}

/// The cells that can be read, and what is wrong with the line.
fn record(cells: &ByteRecord, columns: &[String], format: &Format) -> (Record, Option<String>) {
    if cells.len() != columns.len() {
        let fault = format!(
            "has {} cells, and the header line has {}",
            cells.len(),
            columns.len()
        );
        // No cell is surely that of the column above it.
        return (Record::default(), Some(fault));
    }
    let mut fault = None;
    let named = columns.iter().zip(cells).filter_map(|(column, cell)| {
        let cell = match text(cell) {
            Ok(cell) => cell,
            Err(why) => {
                fault = fault.take().or(Some(why));
                return None;
            }
        };
        let cell = if format.is_guarded {
            spreadsheet::unguarded(cell)
        } else {
            cell
        };
        Some((column, cell))
    });
    (Record::of_cells(named), fault)
}

fn text(cell: &[u8]) -> Result<&str, String> {
    let text = std::str::from_utf8(cell).map_err(|_| "is not UTF-8")?;
    if text.contains('\0') {
        return Err("has a NUL byte".into());
    }
    Ok(text)
}

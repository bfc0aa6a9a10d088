//! Rows of a table: lines of cells with a header line above, as spreadsheets and other services write them.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

use csv::{ByteRecord, Reader, ReaderBuilder};

use super::encoding::{Decoded, Encoding};
use super::entry::{Entry, Unreadable};
use super::format::{Format, Matched};
use super::own;
use super::quotes::{Fault, MAX_ENTRY, Quote, READ_AHEAD, Scanner, TooLong, is_too_long};
use super::reading::ReadLink;
use super::record::{Cell, Column, Record};
use super::spreadsheet;
use crate::domain::io_reason;

/// More columns than any table of links has.
const MAX_COLUMNS: usize = 1_000;
pub(super) const EMPTY: &str = "the file is empty";
/// Columns with which a list of refused rows begins.
const OF_LIST: [&str; 2] = ["line", "reason"];

/// A table whose rows are read one after the other.
pub struct Table<R> {
    reader: Reader<Scanner<BufReader<Decoded<R>>>>,
    columns: Vec<Arc<Column>>,
    format: &'static Format,
    cells: ByteRecord,
}

impl<R: Read> Table<R> {
    /// Reads the header line of a table. A list of rows that were refused is read as such, whatever the format.
    ///
    /// # Errors
    /// If there is no header line, or if it lacks the columns of the format.
    pub fn of(input: R, encoding: Encoding, format: &'static Format) -> Result<Self, Unreadable> {
        Self::of_text(
            BufReader::with_capacity(READ_AHEAD, Decoded::new(input, encoding)),
            format,
            &[],
        )
    }

    /// The same of decoded text.
    pub(super) fn of_text(
        input: BufReader<Decoded<R>>,
        format: &'static Format,
        matched: &[Matched],
    ) -> Result<Self, Unreadable> {
        let (mut table, line) = Self::with_header(input, format)?;
        for (column, field) in table.columns.iter_mut().zip(matched) {
            *column = Arc::new(column.matched(*field));
        }
        let names: Vec<_> = table.columns.iter().map(|column| &column.name).collect();
        if names.len() > 2 && OF_LIST.iter().zip(&names).all(|(one, other)| one == other) {
            table.format = &own::EXPORT;
        }
        match table.format.check_columns(&table.columns) {
            Ok(()) => Ok(table),
            Err(why) => {
                let expected = table.format.expected();
                Err(Unreadable::of_another_format(line, why, expected))
            }
        }
    }

    /// Reads the header line, and says in which line it is.
    fn with_header(
        mut input: BufReader<Decoded<R>>,
        format: &'static Format,
    ) -> Result<(Self, u64), Unreadable> {
        let start = input.fill_buf();
        let start = start.map_err(|error| {
            Unreadable::new(1, format!("cannot be read: {}", io_reason(&error)))
        })?;
        let (delimiter, skipped) = match named_delimiter(start) {
            Some((delimiter, length)) => (delimiter, length),
            None => (delimiter_of(start), 0),
        };
        input.consume(skipped);
        let scanner = Scanner::new(input, delimiter, u64::from(skipped > 0));
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .buffer_capacity(READ_AHEAD)
            .from_reader(scanner);
        let mut table = Self {
            reader,
            columns: Vec::new(),
            format,
            cells: ByteRecord::new(),
        };
        let Some((line, fault)) = table.read_row()? else {
            return Err(Unreadable::new(1, EMPTY.into()));
        };
        let refused = |why| Unreadable::new(line, why);
        if let Some(fault) = fault {
            return Err(refused(fault));
        }
        table.columns = header(&table.cells).map_err(refused)?;
        Ok((table, line))
    }

    /// The link of the next row; `None` at the end.
    ///
    /// # Errors
    /// Where the table cannot be read on.
    pub fn next_link(&mut self) -> Result<Option<ReadLink>, Unreadable> {
        let Some((line, fault)) = self.read_row()? else {
            return Ok(None);
        };
        let is_own = self.format.is_own;
        let cell = |bytes: Option<&[u8]>| match text(bytes.unwrap_or_default()) {
            Ok(text) if is_own => Cell::of_text(spreadsheet::unguarded(text)),
            Ok(text) => Cell::of_text(text),
            Err(why) => Cell::Unreadable(bare(bytes.unwrap_or_default(), is_own).to_vec(), why),
        };
        let count = self.columns.len();
        // Spreadsheets leave out empty cells at the end of a row, or write more of them.
        let mut extra: Vec<_> = self
            .cells
            .iter()
            .skip(count)
            .map(|cell| bare(cell, is_own).to_vec())
            .collect();
        let named = extra.iter().rposition(|cell| !cell.is_empty());
        extra.truncate(named.map_or(0, |last| last + 1));
        let too_many = (!extra.is_empty()).then(|| {
            let cells = count + extra.len();
            format!("row: has {cells} cells, but the header line has only {count}")
        });
        let columns = self.columns.iter().enumerate();
        let record =
            Record::of(columns.map(|(at, column)| (Arc::clone(column), cell(self.cells.get(at)))));
        let entry = Entry {
            line,
            record,
            extra,
            fault: fault.or(too_many),
        };
        Ok(Some(self.format.read(entry)))
    }

    /// Reads a row. Returns its line, and what is wrong with its quotes.
    fn read_row(&mut self) -> Result<Option<(u64, Option<String>)>, Unreadable> {
        self.reader.get_mut().begin_row();
        let start = self.reader.position().byte();
        let read = self.reader.read_byte_record(&mut self.cells);
        let end = self.reader.position().byte();
        let scanner = self.reader.get_mut();
        match read {
            Err(error) => Err(unreadable(scanner, start, error)),
            Ok(false) => Ok(None),
            Ok(true) => {
                // The last byte of a row is its end of line, or stands on its last line.
                let last = scanner.line_of(end.saturating_sub(1));
                let quote = scanner.dubious_quote(end);
                let within = lines_within(&self.cells);
                let line = last.saturating_sub(within).max(1);
                quote
                    .map_or(Ok(None), fault_of)
                    .map(|fault| Some((line, fault)))
            }
        }
    }
}

/// The names of a table's columns; `None`: its header line cannot be read.
pub(super) fn header_of(input: impl Read, encoding: Encoding) -> Option<Vec<String>> {
    let input: Box<dyn Read + '_> = Box::new(input);
    let input = BufReader::with_capacity(READ_AHEAD, Decoded::new(input, encoding));
    let (table, _) = Table::with_header(input, &own::TABLE).ok()?;
    let names = table.columns.iter().map(|column| column.name.clone());
    Some(names.collect()).filter(|names: &Vec<_>| !names.is_empty())
}

/// Ends of lines within the cells.
fn lines_within(cells: &ByteRecord) -> u64 {
    let bytes = cells.as_slice();
    let is_end = |at: &usize| {
        bytes[*at] == b'\n' || (bytes[*at] == b'\r' && bytes.get(at + 1) != Some(&b'\n'))
    };
    (0..bytes.len()).filter(is_end).count() as u64
}

/// The fault of a row with such a quote. The table is not read on where it is clear that rows are missing.
fn fault_of(quote: Quote) -> Result<Option<String>, Unreadable> {
    let (line, last) = (quote.line, quote.last_line);
    let at_quote = |why: String| Err(Unreadable::new(line, why));
    match quote.fault {
        None => Ok(None),
        Some(Fault::NeverClosed) => at_quote("the quote that opens here is never closed".into()),
        Some(Fault::TextFollows) if line == last => Ok(Some(
            "row: has text after the closing quote of a cell; inside a cell, write each quote twice"
                .into(),
        )),
        Some(Fault::TextFollows) => at_quote(format!(
            "the quote that opens here is closed only in line {last}, in the middle of a cell; close it where its cell ends"
        )),
        Some(Fault::HasRow) => Ok(Some(format!(
            "row: the quote that opens in line {line} is closed only in line {last}, after other rows; close it where its cell ends"
        ))),
    }
}

fn unreadable<R: Read>(scanner: &mut Scanner<R>, start: u64, error: csv::Error) -> Unreadable {
    let why = match error.into_kind() {
        csv::ErrorKind::Io(error) if is_too_long(&error) => {
            if let Some(open) = scanner.open_quote() {
                return Unreadable::new(
                    open.line,
                    format!(
                        "the quote that opens here is not closed within {} KiB",
                        MAX_ENTRY / 1024
                    ),
                );
            }
            TooLong.to_string()
        }
        csv::ErrorKind::Io(error) => format!("cannot be read: {}", io_reason(&error)),
        other => format!("cannot be read: {other:?}"),
    };
    Unreadable::new(scanner.line_of(start), why)
}

/// The names of the columns; those without a name at the end are none.
fn header(cells: &ByteRecord) -> Result<Vec<Arc<Column>>, String> {
    if cells.len() > MAX_COLUMNS {
        return Err(format!(
            "the header line has more than {MAX_COLUMNS} columns"
        ));
    }
    let names = cells.iter().map(|cell| {
        let name = text(cell).map_err(|why| format!("the header line {why}"))?;
        Ok(Arc::new(Column::new(name.trim())))
    });
    let mut columns = names.collect::<Result<Vec<_>, String>>()?;
    let last = columns.iter().rposition(|column| !column.name.is_empty());
    columns.truncate(last.map_or(0, |last| last + 1));
    Ok(columns)
}

fn text(cell: &[u8]) -> Result<&str, &'static str> {
    let text = std::str::from_utf8(cell).map_err(|_| "is not UTF-8")?;
    if text.contains('\0') {
        return Err("has a NUL byte");
    }
    Ok(text)
}

/// The byte that a first line `sep=;` names, and the length of that line.
fn named_delimiter(start: &[u8]) -> Option<(u8, usize)> {
    let end = start
        .iter()
        .position(|byte| *byte == b'\n' || *byte == b'\r')?;
    let end = if start[end..].starts_with(b"\r\n") {
        end + 2
    } else {
        end + 1
    };
    let line = &start[..end];
    let plain = line.trim_ascii_end();
    let plain = plain
        .strip_prefix(b"\"")
        .map_or(plain, |inner| inner.strip_suffix(b"\"").unwrap_or(plain));
    let (name, delimiter) = plain.split_at_checked(4)?;
    let is_named = name.eq_ignore_ascii_case(b"sep=");
    match delimiter {
        // White space at the end was cut off: the byte is a tab.
        [] if is_named && line.contains(&b'\t') => Some((b'\t', line.len())),
        [byte @ (b',' | b';' | b'\t' | b'|')] if is_named => Some((*byte, line.len())),
        _ => None,
    }
}

/// The byte between cells: programs of some countries write semicolons.
fn delimiter_of(start: &[u8]) -> u8 {
    let mut lines = start.split(|byte| *byte == b'\n' || *byte == b'\r');
    let header = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let count = |delimiter: &u8| header.split(|byte| byte == delimiter).count();
    let others = [b';', b'\t'].into_iter();
    let most = others
        .max_by_key(count)
        .filter(|other| count(other) > count(&b','));
    most.unwrap_or(b',')
}

/// A cell without the apostrophe that this service's own files have before what looks like a formula.
fn bare(cell: &[u8], is_own: bool) -> &[u8] {
    if is_own {
        spreadsheet::unguarded_bytes(cell)
    } else {
        cell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_shows_what_stands_between_cells() {
        for (start, expected) in [
            (&b"a,b;c,d\n;;;;"[..], b','),
            (b"a;b\n", b';'),
            (b"\r\na\tb\n", b'\t'),
            (b"target_url", b','),
        ] {
            assert_eq!(delimiter_of(start), expected);
        }
        for (start, expected) in [
            (&b"sep=;\na,b"[..], Some((b';', 6))),
            (b"SEP=,\r\na;b", Some((b',', 7))),
            (b"\"sep=;\"\n", Some((b';', 8))),
            (b"sep=\t\n", Some((b'\t', 6))),
            (b"separator;b\n", None),
        ] {
            assert_eq!(named_delimiter(start), expected);
        }
    }
}

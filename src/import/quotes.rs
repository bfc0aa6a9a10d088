//! Where the cells of a table are quoted, and where a quote is missing: the reader of tables takes everything for one cell
//! up to the next quote, however many rows that is.

use std::collections::VecDeque;
use std::io::{self, Read};

/// Longest entry of a file: far more than any link has.
pub(super) const MAX_ENTRY: usize = 256 * 1024;
/// Bytes that the reader may have read beyond the entry.
pub(super) const READ_AHEAD: usize = 64 * 1024;

/// Follows the bytes of a table on their way to its reader.
pub(super) struct Scanner<R> {
    input: R,
    delimiter: u8,
    /// Bytes that were read, and those that may still be for this row.
    read: u64,
    left: usize,
    is_ended: bool,
    /// Ends of lines that were not asked for yet, and how many were.
    ends: VecDeque<u64>,
    passed: u64,
    /// The line of the newest byte.
    line: u64,
    after_return: bool,
    state: State,
    /// Cells of the first row.
    columns: usize,
    is_first_row: bool,
    open: Quote,
    dubious: VecDeque<Quote>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    CellBegins,
    Plain,
    Quoted,
    /// After a quote within a quoted cell: it ends the cell, or another one follows.
    AfterQuote,
    /// White space after the end.
    AfterEnd,
}

/// A quoted cell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Quote {
    opens_at: u64,
    pub(super) line: u64,
    pub(super) last_line: u64,
    pub(super) fault: Option<Fault>,
    /// Of its newest line: delimiters, and how much of `://` the bytes before are.
    delimiters: usize,
    scheme: usize,
}

/// What is wrong with a quoted cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Text follows its end.
    TextFollows,
    /// A line of it looks like a row of the table.
    HasRow,
    /// It has no end.
    NeverClosed,
}

/// The entry is longer than any may be.
#[derive(Debug, thiserror::Error)]
#[error("is longer than {} KiB; is a closing quote missing?", MAX_ENTRY / 1024)]
pub(super) struct TooLong;

/// Why an input cannot be read on, if it is this.
pub(super) fn is_too_long(error: &io::Error) -> bool {
    matches!(error.get_ref(), Some(inner) if inner.is::<TooLong>())
}

impl<R> Scanner<R> {
    /// Of a table with this byte between its cells; so many lines of the file were read before.
    pub(super) fn new(input: R, delimiter: u8, lines_before: u64) -> Self {
        Self {
            input,
            delimiter,
            read: 0,
            left: MAX_ENTRY + READ_AHEAD,
            is_ended: false,
            ends: VecDeque::new(),
            passed: lines_before,
            line: lines_before + 1,
            after_return: false,
            state: State::CellBegins,
            columns: 1,
            is_first_row: true,
            open: Quote::default(),
            dubious: VecDeque::new(),
        }
    }

    /// The next row begins.
    pub(super) fn begin_row(&mut self) {
        self.left = MAX_ENTRY + READ_AHEAD;
    }

    /// The line in which a byte stands, from 1 on. Bytes are asked for from the start to the end.
    pub(super) fn line_of(&mut self, byte: u64) -> u64 {
        while self.ends.front().is_some_and(|end| *end < byte) {
            self.ends.pop_front();
            self.passed += 1;
        }
        self.passed + 1
    }

    /// The first dubious quote of the row that ends before this byte.
    pub(super) fn dubious_quote(&mut self, end: u64) -> Option<Quote> {
        let mut first = None;
        while self
            .dubious
            .front()
            .is_some_and(|quote| quote.opens_at < end)
        {
            first = first.or(self.dubious.pop_front());
        }
        let is_open = self.is_ended && self.state == State::Quoted && self.open.opens_at < end;
        let never_closed = Quote {
            fault: Some(Fault::NeverClosed),
            last_line: self.line,
            ..self.open
        };
        first.or(is_open.then_some(never_closed))
    }

    /// The quote that is open where the reading stands.
    pub(super) fn open_quote(&self) -> Option<Quote> {
        (self.state == State::Quoted).then_some(self.open)
    }

    fn scan(&mut self, byte: u8) {
        let at = self.read;
        self.read += 1;
        let is_end_of_line = byte == b'\n' || byte == b'\r';
        let is_end_of_cell = is_end_of_line || byte == self.delimiter;
        self.state = match self.state {
            State::CellBegins if byte == b'"' => {
                self.open = Quote {
                    opens_at: at,
                    line: self.line,
                    ..Quote::default()
                };
                State::Quoted
            }
            State::Quoted if byte == b'"' => State::AfterQuote,
            State::Quoted => {
                self.scan_quoted(byte, is_end_of_line);
                State::Quoted
            }
            State::AfterQuote if byte == b'"' => State::Quoted,
            State::AfterQuote | State::AfterEnd if is_end_of_cell => {
                self.end_quote(None);
                State::CellBegins
            }
            State::AfterQuote | State::AfterEnd if byte == b' ' || byte == b'\t' => State::AfterEnd,
            State::AfterQuote | State::AfterEnd => {
                self.end_quote(Some(Fault::TextFollows));
                State::Plain
            }
            State::CellBegins | State::Plain if is_end_of_cell => State::CellBegins,
            State::CellBegins | State::Plain => State::Plain,
        };
        if self.is_first_row && self.state == State::CellBegins {
            if is_end_of_line {
                self.is_first_row = at == 0;
            } else if byte == self.delimiter {
                self.columns += 1;
            }
        }
        if byte == b'\n' && self.after_return {
            // The end of a line of Windows is one.
            self.ends.pop_back();
            self.ends.push_back(at);
        } else if is_end_of_line {
            self.ends.push_back(at);
            self.line += 1;
        }
        self.after_return = byte == b'\r';
    }

    /// Whether a line of the cell looks like a row: with an address, and as many cells as the table has columns.
    fn scan_quoted(&mut self, byte: u8, is_end_of_line: bool) {
        let needed = self.columns.saturating_sub(1).max(1);
        let quote = &mut self.open;
        if is_end_of_line {
            (quote.delimiters, quote.scheme) = (0, 0);
            return;
        }
        if self.line == quote.line {
            return;
        }
        if byte == self.delimiter {
            quote.delimiters += 1;
        }
        quote.scheme = match (quote.scheme, byte) {
            (0, b':') => 1,
            (1, b'/') => 2,
            (2, b'/') | (3, _) => 3,
            _ => 0,
        };
        if quote.scheme == 3 && quote.delimiters >= needed {
            quote.fault = Some(Fault::HasRow);
        }
    }

    fn end_quote(&mut self, fault: Option<Fault>) {
        let quote = &mut self.open;
        quote.last_line = self.line;
        quote.fault = fault.or(quote.fault);
        if quote.fault.is_some() {
            self.dubious.push_back(*quote);
        }
    }
}

impl<R: Read> Read for Scanner<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::Error::other(TooLong));
        }
        let most = self.left.min(buffer.len());
        let length = self.input.read(&mut buffer[..most])?;
        self.left -= length;
        self.is_ended = length == 0;
        if length == 0 && self.state == State::AfterQuote {
            self.end_quote(None);
            self.state = State::CellBegins;
        }
        for byte in &buffer[..length] {
            self.scan(*byte);
        }
        Ok(length)
    }
}

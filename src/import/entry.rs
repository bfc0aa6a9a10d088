//! Entries, as the readers of files hand them on one after the other.

use std::fmt::{self, Display, Formatter};

use super::record::Record;

/// An entry of a file.
#[derive(Debug)]
pub(super) struct Entry {
    /// The line in which it begins.
    pub(super) line: u64,
    /// Its values by their names.
    pub(super) record: Record,
    /// Cells past the last column.
    pub(super) extra: Vec<Vec<u8>>,
    /// Why it cannot be read as a whole.
    pub(super) fault: Option<String>,
}

/// A file cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// From this line on, counted from 1.
    pub line: u64,
    /// The reason, without the line.
    pub why: String,
    /// The header line or the shape is not that of the format.
    is_of_header: bool,
    /// The format that was expected, if the file may have another format.
    expected: Option<&'static str>,
}

impl Unreadable {
    pub(super) fn new(line: u64, why: String) -> Self {
        Self {
            line,
            why,
            is_of_header: false,
            expected: None,
        }
    }

    /// Of a file without the header line or the shape of its format.
    pub(super) fn of_another_format(
        line: u64,
        why: String,
        expected: Option<&'static str>,
    ) -> Self {
        Self {
            line,
            why,
            is_of_header: true,
            expected,
        }
    }

    /// Whether columns are missing, unknown or there twice: the reason begins with the name of such a column.
    #[must_use]
    pub fn is_of_header(&self) -> bool {
        self.is_of_header
    }
}

impl std::error::Error for Unreadable {}

impl Display for Unreadable {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.why)?;
        match self.expected {
            Some(format) => write!(formatter, " (is this {format}?)"),
            None => Ok(()),
        }
    }
}

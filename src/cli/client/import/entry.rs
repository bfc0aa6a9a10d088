//! Entries, as the readers of files hand them on one after the other.

use super::record::Record;
use crate::cli::client::Failure;
use crate::cli::output::harmless;

/// An entry of a file, or why it is none.
#[derive(Debug)]
pub(super) struct Entry {
    /// The line in which it begins.
    pub(super) line: u64,
    pub(super) record: Result<Record, String>,
}

/// Takes entries in the order of the file; an error ends the reading.
pub(super) trait TakesEntries {
    /// Takes the next entry.
    fn take(&mut self, entry: Entry) -> Result<(), Failure>;
}

/// The file cannot be read on from this line.
pub(super) fn unreadable(line: u64, why: impl std::fmt::Display) -> Failure {
    Failure::Failed(harmless(&format!("line {line}: {why}")).into_owned())
}

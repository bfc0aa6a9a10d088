//! Entries, as the readers of files hand them on one after the other.

use super::format::Format;
use super::link::ImportedLink;
use super::record::Record;
use crate::cli::client::Failure;
use crate::cli::output::harmless;

/// An entry of a file.
#[derive(Debug)]
pub(super) struct Entry {
    /// The line in which it begins.
    pub(super) line: u64,
    /// Its values, as far as they can be read.
    pub(super) record: Record,
    /// Why it cannot be read as a whole.
    pub(super) fault: Option<String>,
}

impl Entry {
    /// The link that it stands for, or why there is none.
    pub(super) fn link(&self, format: &Format) -> Result<ImportedLink, String> {
        match &self.fault {
            Some(fault) => Err(fault.clone()),
            None => format.link(&self.record),
        }
    }
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

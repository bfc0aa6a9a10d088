//! The numbers of an import, and the text that says them.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::note::Note;
use crate::cli::output::{HEAD, harmless};

/// The outcomes of the entries so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tally {
    /// Entries that are links of the account now.
    pub(super) imported: u64,
    /// Those of them that were so before: of an earlier import, or of a batch whose response was lost.
    pub(super) already_there: u64,
    /// Entries that are not.
    pub(super) refused: u64,
    /// Links that have another code than in the file.
    pub(super) new_codes: u64,
    /// Clicks with which the imported links start.
    pub(super) clicks: u64,
    /// Links of which something was left behind.
    pub(super) notes: BTreeMap<Note, u64>,
}

/// Files in which the single links are.
pub(super) struct Listed<'a> {
    pub(super) refused: &'a Path,
    pub(super) new_codes: &'a Path,
}

impl Tally {
    /// Writes the summary for people. A dry run has no files.
    pub(super) fn print(
        &self,
        out: &mut impl Write,
        listed: Option<&Listed<'_>>,
    ) -> io::Result<()> {
        let is_done = listed.is_some();
        let imported = if is_done { "imported" } else { "importable" };
        let there = match self.already_there {
            0 => String::new(),
            there => format!(", {there} of them were there already"),
        };
        line(out, imported, &format!("{}{there}", links(self.imported)))?;
        if self.clicks > 0 {
            let clicks = self.clicks;
            let verb = if is_done { "are" } else { "would be" };
            let text =
                format!("{clicks} that the other service counted {verb} their starting numbers");
            line(out, "clicks", &text)?;
        }
        if self.new_codes > 0 {
            let file = listed.map(|listed| listed.new_codes);
            line(out, "new codes", &in_file(self.new_codes, file))?;
        }
        for (note, count) in &self.notes {
            line(
                out,
                "besides",
                &format!("{} {}", links(*count), note.text()),
            )?;
        }
        if self.refused > 0 {
            let file = listed.map(|listed| listed.refused);
            line(out, "refused", &in_file(self.refused, file))?;
        }
        Ok(())
    }
}

fn line(out: &mut impl Write, name: &str, text: &str) -> io::Result<()> {
    writeln!(out, "{HEAD}{name:10}{HEAD:#}  {text}")
}

fn links(count: u64) -> String {
    let noun = if count == 1 { "link" } else { "links" };
    format!("{count} {noun}")
}

fn in_file(count: u64, file: Option<&Path>) -> String {
    let file = file.map(|file| format!(", listed in {}", harmless(&file.to_string_lossy())));
    format!("{}{}", links(count), file.unwrap_or_default())
}

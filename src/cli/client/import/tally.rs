//! The numbers of an import, and the text that says them.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use shunt::import::{Encoding, Note, OtherPages};

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
    /// Links that were there already, with fewer clicks than the other service counted.
    #[serde(default)]
    pub(super) without_clicks: u64,
    /// The host of the other service whose links are at the service's own host now.
    #[serde(default)]
    pub(super) moved_from: Option<String>,
    /// Links of which something was left behind.
    pub(super) notes: BTreeMap<Note, u64>,
}

/// Files in which the single links are.
pub(super) struct Listed<'a> {
    pub(super) refused: &'a Path,
    pub(super) new_codes: &'a Path,
    pub(super) left_behind: &'a Path,
}

/// What is to be said of the file besides.
pub(super) struct Besides<'a> {
    /// What its service has on other pages.
    pub(super) others: Option<OtherPages>,
    pub(super) encoding: Encoding,
    /// What was not looked up, and why.
    pub(super) unchecked: Option<(&'static str, String)>,
    /// Lines with what was left behind of the first links.
    pub(super) left_behind: &'a [(u64, String)],
}

impl Besides<'_> {
    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        for (at, text) in self.left_behind {
            line(out, "", &format!("line {at}: {}", harmless(text)))?;
        }
        match self.others {
            Some(OtherPages::Links(more)) => {
                let more = format!(
                    "the export has {more} more links on pages that are not in this file; import those pages, too"
                );
                line(out, "note", &more)?;
            }
            Some(OtherPages::Some) => {
                line(
                    out,
                    "note",
                    "the export has more links on pages that are not in this file; import those pages, too",
                )?;
            }
            None => {}
        }
        // Letters beyond ASCII may be wrong if the file is in yet another encoding.
        if self.encoding == Encoding::Windows1252 {
            let read = "the file is not UTF-8 and was read as Windows-1252; if letters are wrong, save it as UTF-8 and import it again";
            line(out, "note", read)?;
        }
        if let Some((what, why)) = &self.unchecked {
            let text = format!("could not check which {what}: {}", harmless(why));
            line(out, "note", &text)?;
        }
        Ok(())
    }
}

impl Tally {
    /// Writes the summary for people. A dry run has no files.
    pub(super) fn print(
        &self,
        out: &mut impl Write,
        listed: Option<&Listed<'_>>,
        besides: &Besides<'_>,
    ) -> io::Result<()> {
        let is_done = listed.is_some();
        let imported = if is_done { "imported" } else { "importable" };
        let there = match self.already_there {
            0 => String::new(),
            there => format!(", {there} of them already existed"),
        };
        line(out, imported, &format!("{}{there}", links(self.imported)))?;
        if self.clicks > 0 {
            let clicks = self.clicks;
            let verb = if is_done { "are" } else { "would be" };
            let text = format!(
                "{clicks} counted by the other service {verb} the starting counts of these links"
            );
            line(out, "clicks", &text)?;
        }
        if self.new_codes > 0 {
            let file = listed.map(|listed| listed.new_codes);
            line(out, "new codes", &in_file(self.new_codes, file))?;
        }
        if let Some(host) = &self.moved_from {
            let verb = if is_done { "are" } else { "would be" };
            let text = format!(
                "links of {} {verb} at the service's own host",
                harmless(host)
            );
            line(out, "note", &text)?;
        }
        if self.without_clicks > 0 {
            let there = links(self.without_clicks);
            line(
                out,
                "note",
                &format!(
                    "{there} had more clicks at the other service; the counts here are unchanged"
                ),
            )?;
        }
        for (note, count) in &self.notes {
            line(out, "note", &format!("{} {}", links(*count), note.text()))?;
        }
        if let Some(listed) = listed.filter(|_| !self.notes.is_empty()) {
            let file = listed.left_behind.to_string_lossy();
            line(
                out,
                "note",
                &format!("what was left behind is listed in {}", harmless(&file)),
            )?;
        }
        besides.print(out)?;
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

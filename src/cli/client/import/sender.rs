//! Sends the batches of an import, lists what was refused or left behind, and keeps how far the import is.

use std::path::{Path, PathBuf};

use shunt::import::columns;

use super::dry_run::SHOWN;
use super::importer::Destination;
use super::list_file::ListFile;
use super::pending::{Pending, count};
use super::progress_bar::ProgressBar;
use super::settling::Settling;
use super::state::{Progress, StateFile};
use super::tally::{Listed, Tally};
use crate::cli::client::Failure;

/// Columns of the list of links with new codes, and of that of what was left behind.
const NEW_CODES: [&str; 4] = ["line", "old_code", "short_code", "target_url"];
const LEFT_BEHIND: [&str; 4] = ["line", "short_code", "what", "value"];

/// Columns of the list of refused links: those of an export besides, so that it can be corrected and imported.
fn refused_columns() -> Vec<&'static str> {
    [vec!["line", "reason"], columns()].concat()
}

/// Sends batches, in the order of the file.
pub(super) struct Sender<'a> {
    settling: Settling<'a>,
    bar: &'a ProgressBar,
    state: StateFile,
    progress: Progress,
    /// The next batch may have reached the service before the import was broken off.
    may_be_sent_before: bool,
    refused: ListFile,
    new_codes: ListFile,
    left_behind: ListFile,
    /// Lines with what was left behind, of the first links.
    pub(super) shown: Vec<(u64, String)>,
}

/// Where the lists are.
pub(super) struct Lists {
    pub(super) refused: PathBuf,
    pub(super) new_codes: PathBuf,
    pub(super) left_behind: PathBuf,
}

impl<'a> Sender<'a> {
    /// Goes on where the import stands.
    pub(super) fn new(
        settling: Settling<'a>,
        bar: &'a ProgressBar,
        state: StateFile,
        progress: Progress,
        lists: &Lists,
    ) -> Result<Self, Failure> {
        let may_be_sent_before = state.is_there();
        state.keep(&progress)?;
        Ok(Self {
            settling,
            bar,
            state,
            may_be_sent_before,
            refused: ListFile::open(&lists.refused, refused_columns(), progress.refused_bytes)?,
            new_codes: ListFile::open(
                &lists.new_codes,
                NEW_CODES.to_vec(),
                progress.new_codes_bytes,
            )?,
            left_behind: ListFile::open(
                &lists.left_behind,
                LEFT_BEHIND.to_vec(),
                progress.left_behind_bytes,
            )?,
            progress,
            shown: Vec::new(),
        })
    }

    /// Links that are done.
    pub(super) fn done(&self) -> u64 {
        self.progress.done
    }

    /// The host that moves to the service's own host, if an interrupted import found it.
    pub(super) fn moved_from(&self) -> Option<String> {
        self.progress.tally.moved_from.clone()
    }

    fn list(&mut self, pending: &Pending) -> Result<(), Failure> {
        let number = pending.read.line;
        let place = number.to_string().into_bytes();
        if let Some(reason) = &pending.refusal {
            let mut cells = vec![place, reason.clone().into_bytes()];
            cells.extend(pending.read.cells(pending.code_in_file()));
            return self.refused.add(&cells);
        }
        let link = &pending.read.link;
        let code = link.code().unwrap_or_default().as_bytes().to_vec();
        if let Some(old_code) = &pending.old_code {
            let target = link.target().as_bytes().to_vec();
            let cells = [
                place.clone(),
                old_code.clone().into_bytes(),
                code.clone(),
                target,
            ];
            self.new_codes.add(&cells)?;
        }
        for (note, value) in &link.notes {
            let what = note.about_value().as_bytes().to_vec();
            let cells = [
                place.clone(),
                code.clone(),
                what,
                value.clone().into_bytes(),
            ];
            self.left_behind.add(&cells)?;
        }
        let room = SHOWN.saturating_sub(self.shown.len());
        let sentences = pending.left_behind().take(room);
        self.shown.extend(sentences.map(|text| (number, text)));
        Ok(())
    }

    /// The whole file is done: the numbers, and where the lists are.
    pub(super) fn end(&self) -> Result<(Tally, Listed<'_>), Failure> {
        for list in [&self.refused, &self.new_codes, &self.left_behind] {
            list.end()?;
        }
        self.state.remove()?;
        let listed = Listed {
            refused: self.refused.path(),
            new_codes: self.new_codes.path(),
            left_behind: self.left_behind.path(),
        };
        Ok((self.progress.tally.clone(), listed))
    }
}

impl Destination for Sender<'_> {
    fn send(&mut self, mut batch: Vec<Pending>, read: u64) -> Result<(), Failure> {
        let settled = self.settling.settle(&mut batch)?;
        let may_be_ours = std::mem::take(&mut self.may_be_sent_before) || settled.was_repeated;
        let full = settled.full;
        if let Some((first, _)) = &full {
            batch.truncate(*first);
        }
        let Some(last) = batch.last() else {
            return full.map_or(Ok(()), |(_, why)| Err(Failure::Failed(why)));
        };
        self.progress.fingerprint.clone_from(&last.fingerprint);
        self.progress.done = last.number + 1;
        for pending in &batch {
            count(pending, may_be_ours, &mut self.progress.tally);
            self.list(pending)?;
        }
        self.progress.refused_bytes = self.refused.sync()?;
        self.progress.new_codes_bytes = self.new_codes.sync()?;
        self.progress.left_behind_bytes = self.left_behind.sync()?;
        self.state.keep(&self.progress)?;
        self.bar.is_at(read, self.progress.done);
        full.map_or(Ok(()), |(_, why)| Err(Failure::Failed(why)))
    }

    fn serves(&self, host: &str) -> Result<bool, Failure> {
        self.settling.bulk.serves(host)
    }

    fn is_done(&self, number: u64, fingerprint: &str) -> Result<bool, Failure> {
        let done = self.progress.done;
        if number + 1 == done && fingerprint != self.progress.fingerprint {
            return Err(self.state.is_of_another());
        }
        Ok(number < done)
    }

    fn check_length(&self, taken: u64) -> Result<(), Failure> {
        if taken < self.progress.done {
            return Err(self.state.is_of_another());
        }
        Ok(())
    }
}

impl Lists {
    /// Beside the file that is imported.
    pub(super) fn beside(file: &Path) -> Self {
        let named = |ending: &str| {
            let mut name = file.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        Self {
            refused: named(".refused.csv"),
            new_codes: named(".new-codes.csv"),
            left_behind: named(".left-behind.csv"),
        }
    }
}

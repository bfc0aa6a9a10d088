//! Sends the batches of an import, lists refused links, and keeps how far the import is.

use std::path::Path;

use super::bulk::{Bulk, Outcome};
use super::link::ImportedLink;
use super::list_file::ListFile;
use super::pending::{Pending, count};
use super::progress_bar::ProgressBar;
use super::state::{Progress, StateFile};
use super::tally::{Listed, Tally};
use crate::cli::client::Failure;

/// The code of a link is another's.
const TAKEN: u16 = 409;
/// The account has as many links as it may have.
const FULL: u16 = 403;
/// Columns of the list of links with new codes.
const NEW_CODES: [&str; 4] = ["line", "old_code", "short_code", "target_url"];

/// Columns of the list of refused links: those of an export besides, so that it can be corrected and imported.
fn refused_columns() -> Vec<&'static str> {
    [&["line", "reason"][..], &ImportedLink::COLUMNS].concat()
}

/// Sends batches, in the order of the file.
pub(super) struct Sender<'a> {
    bulk: Bulk<'a>,
    bar: &'a ProgressBar,
    state: StateFile,
    progress: Progress,
    refused: ListFile,
    new_codes: ListFile,
}

/// The outcome of a link, as the service's word on it means.
enum LinkOutcome {
    Made,
    There,
    /// The drawn code is another link's.
    DrawAgain,
    Refused(String),
    /// The account has as many links as it may have.
    Full(String),
}

impl<'a> Sender<'a> {
    /// Goes on where the import stands.
    pub(super) fn new(
        bulk: Bulk<'a>,
        bar: &'a ProgressBar,
        state: StateFile,
        progress: Progress,
        refused: &Path,
        new_codes: &Path,
    ) -> Result<Self, Failure> {
        // From here on the codes that are drawn have to stay the same.
        state.keep(&progress)?;
        Ok(Self {
            bulk,
            bar,
            state,
            refused: ListFile::open(refused, refused_columns(), progress.refused_bytes)?,
            new_codes: ListFile::open(new_codes, NEW_CODES.to_vec(), progress.new_codes_bytes)?,
            progress,
        })
    }

    /// Entries that are done.
    pub(super) fn done(&self) -> u64 {
        self.progress.done
    }

    /// Whether an entry was done before. Fails where the file was another one then.
    pub(super) fn is_done(&self, number: u64, fingerprint: &str) -> Result<bool, Failure> {
        let done = self.progress.done;
        if number + 1 == done && fingerprint != self.progress.fingerprint {
            return Err(self.state.is_of_another());
        }
        Ok(number < done)
    }

    /// Fails where the file has fewer entries than were done.
    pub(super) fn check_length(&self, taken: u64) -> Result<(), Failure> {
        if taken < self.progress.done {
            return Err(self.state.is_of_another());
        }
        Ok(())
    }

    /// Sends the next entries of the file, which is read up to this byte.
    pub(super) fn send(&mut self, mut batch: Vec<Pending>, read: u64) -> Result<(), Failure> {
        let full = self.post(&mut batch)?;
        if let Some((first, _)) = &full {
            batch.truncate(*first);
        }
        let Some(last) = batch.last() else {
            return full.map_or(Ok(()), |(_, why)| Err(Failure::Failed(why)));
        };
        self.progress.fingerprint.clone_from(&last.fingerprint);
        self.progress.done = last.number + 1;
        for pending in &batch {
            count(pending, &mut self.progress.tally);
            self.list(pending)?;
        }
        self.progress.refused_bytes = self.refused.sync()?;
        self.progress.new_codes_bytes = self.new_codes.sync()?;
        self.state.keep(&self.progress)?;
        self.bar.is_at(read, self.progress.done);
        full.map_or(Ok(()), |(_, why)| Err(Failure::Failed(why)))
    }

    /// Posts the links that are not refused yet, and those again that need another code. Returns the first entry for which
    /// the account has no room.
    fn post(&self, batch: &mut [Pending]) -> Result<Option<(usize, String)>, Failure> {
        let mut full = None;
        let is_open = |pending: &Pending| pending.refusal.is_none();
        let mut open: Vec<usize> = (0..batch.len()).filter(|at| is_open(&batch[*at])).collect();
        while !open.is_empty() && full.is_none() {
            for at in &open {
                self.draw_code(&mut batch[*at]);
            }
            let links: Vec<&ImportedLink> = open
                .iter()
                .filter_map(|at| batch[*at].link.as_ref())
                .collect();
            let outcomes = self.bulk.send(&links)?;
            let taken = links.iter().zip(&outcomes);
            let taken = taken.filter(|(_, outcome)| outcome.status == TAKEN);
            let codes: Vec<_> = taken
                .filter_map(|(link, _)| link.custom_code.as_deref())
                .collect();
            let mut own_targets = self.bulk.own_targets(&codes)?.into_iter();
            let mut again = Vec::new();
            for (at, outcome) in open.into_iter().zip(outcomes) {
                let own_target = match outcome.status {
                    TAKEN => own_targets.next().flatten(),
                    _ => None,
                };
                match outcome_of(&batch[at], outcome, own_target) {
                    LinkOutcome::Made => {}
                    LinkOutcome::There => batch[at].was_there = true,
                    LinkOutcome::DrawAgain => again.push(at),
                    LinkOutcome::Refused(why) => batch[at].refusal = Some(why),
                    LinkOutcome::Full(why) => {
                        full = Some((at, why));
                        break;
                    }
                }
            }
            open = again;
        }
        // An entry that waits for another code is sent again with those that the account has no room for.
        if let (Some((first, _)), Some(waiting)) = (&mut full, open.first()) {
            *first = (*first).min(*waiting);
        }
        Ok(full)
    }

    fn draw_code(&self, pending: &mut Pending) {
        if let (Some(attempt), Some(link)) = (pending.drawn, &mut pending.link) {
            let code = self.progress.drawn_code(pending.number, attempt);
            link.custom_code = Some(code.as_str().to_owned());
            pending.drawn = Some(attempt + 1);
        }
    }

    fn list(&mut self, pending: &Pending) -> Result<(), Failure> {
        let place = pending.line.to_string();
        match (&pending.refusal, &pending.link, &pending.old_code) {
            (Some(reason), link, _) => {
                let mut cells = vec![place, reason.clone()];
                cells.extend(match link {
                    Some(link) => link.cells(pending.code_in_file()),
                    None => ImportedLink::named_cells(&pending.named),
                });
                self.refused.add(&cells)
            }
            (None, Some(link), Some(old_code)) => {
                let code = link.custom_code.clone().unwrap_or_default();
                let cells = [place, old_code.clone(), code, link.target_url.clone()];
                self.new_codes.add(&cells)
            }
            _ => Ok(()),
        }
    }

    /// The whole file is done: the numbers, and where the lists are.
    pub(super) fn end(&self) -> Result<(Tally, Listed<'_>), Failure> {
        self.refused.end()?;
        self.new_codes.end()?;
        self.state.remove()?;
        let listed = Listed {
            refused: self.refused.path(),
            new_codes: self.new_codes.path(),
        };
        Ok((self.progress.tally.clone(), listed))
    }
}

/// The outcome of a link by the service's word, and by the target of the user's own link that has its code.
fn outcome_of(pending: &Pending, outcome: Outcome, own_target: Option<String>) -> LinkOutcome {
    let status = outcome.status;
    let detail = outcome.detail.unwrap_or_else(|| format!("status {status}"));
    let target = pending.link.as_ref().map(|link| &link.target_url);
    match (status, own_target) {
        (200, _) => LinkOutcome::Made,
        (FULL, _) => LinkOutcome::Full(detail),
        // A batch whose response was lost is sent again, and its links are there then.
        (TAKEN, own) if own.is_some() && own.as_ref() == target => LinkOutcome::There,
        (TAKEN, _) if pending.drawn.is_some() => LinkOutcome::DrawAgain,
        (TAKEN, Some(own)) => LinkOutcome::Refused(format!("{detail} by your link to {own}")),
        _ => LinkOutcome::Refused(detail),
    }
}

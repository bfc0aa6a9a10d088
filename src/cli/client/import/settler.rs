//! Settles parts of an import: sends them, lists what was refused, and keeps how far the import is.

use std::path::PathBuf;

use super::bulk::{Bulk, Outcome};
use super::importer::{Pending, count};
use super::link::ImportedLink;
use super::list_file::ListFile;
use super::progress_bar::ProgressBar;
use super::state::{Progress, StateFile};
use super::tally::{Listed, Tally};
use crate::cli::client::Failure;

/// Columns of the list of links with new codes.
const NEW_CODES: [&str; 4] = ["line", "old_code", "short_code", "target_url"];

/// Columns of the list of refused links: those of an export besides, so that it can be corrected and imported.
fn refused_columns() -> Vec<&'static str> {
    [&["line", "reason"][..], &ImportedLink::COLUMNS].concat()
}

/// Settles parts, in the order of the file.
pub(super) struct Settler<'a> {
    bulk: Bulk<'a>,
    bar: &'a ProgressBar,
    state: StateFile,
    progress: Progress,
    refused: ListFile,
    new_codes: ListFile,
}

/// What the service's word on a link means.
enum Settled {
    Made,
    There,
    /// The drawn code is another link's.
    DrawAgain,
    Refused(String),
    /// The account has as many links as it may have.
    Full(String),
}

impl<'a> Settler<'a> {
    /// Goes on where the import stands.
    pub(super) fn new(
        bulk: Bulk<'a>,
        bar: &'a ProgressBar,
        state: StateFile,
        progress: Progress,
        refused: PathBuf,
        new_codes: PathBuf,
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

    /// Entries that are settled.
    pub(super) fn settled(&self) -> u64 {
        self.progress.settled
    }

    /// Whether an entry was settled before. Fails where the file was another one then.
    pub(super) fn has_settled(&self, number: u64, fingerprint: &str) -> Result<bool, Failure> {
        let settled = self.progress.settled;
        if number + 1 == settled && fingerprint != self.progress.fingerprint {
            return Err(self.state.is_of_another());
        }
        Ok(number < settled)
    }

    /// Fails where the file has fewer entries than were settled.
    pub(super) fn check_settled_by(&self, taken: u64) -> Result<(), Failure> {
        if taken < self.progress.settled {
            return Err(self.state.is_of_another());
        }
        Ok(())
    }

    /// Settles the next entries of the file, which is read up to this byte.
    pub(super) fn settle(&mut self, mut part: Vec<Pending>, read: u64) -> Result<(), Failure> {
        let full = self.send(&mut part)?;
        if let Some((first, _)) = &full {
            part.truncate(*first);
        }
        let Some(last) = part.last() else {
            return full.map_or(Ok(()), |(_, why)| Err(Failure::Failed(why)));
        };
        self.progress.fingerprint.clone_from(&last.fingerprint);
        self.progress.settled = last.number + 1;
        for pending in &part {
            count(pending, &mut self.progress.tally);
            self.list(pending)?;
        }
        self.progress.refused_bytes = self.refused.sync()?;
        self.progress.new_codes_bytes = self.new_codes.sync()?;
        self.state.keep(&self.progress)?;
        self.bar.is_at(read, self.progress.settled);
        full.map_or(Ok(()), |(_, why)| Err(Failure::Failed(why)))
    }

    /// Sends what is not refused yet, and again what needs another code. Returns the first entry for which the account
    /// has no room.
    fn send(&self, part: &mut [Pending]) -> Result<Option<(usize, String)>, Failure> {
        let mut full = None;
        let is_open = |pending: &Pending| pending.refusal.is_none();
        let mut open: Vec<usize> = (0..part.len()).filter(|at| is_open(&part[*at])).collect();
        while !open.is_empty() && full.is_none() {
            for at in &open {
                self.draw_code(&mut part[*at]);
            }
            let links: Vec<&ImportedLink> = open
                .iter()
                .filter_map(|at| part[*at].link.as_ref())
                .collect();
            let outcomes = self.bulk.send(&links)?;
            let mut again = Vec::new();
            for (at, outcome) in open.into_iter().zip(outcomes) {
                match self.settled_by(&part[at], outcome)? {
                    Settled::Made => {}
                    Settled::There => part[at].was_there = true,
                    Settled::DrawAgain => again.push(at),
                    Settled::Refused(why) => part[at].refusal = Some(why),
                    Settled::Full(why) => {
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

    fn settled_by(&self, pending: &Pending, outcome: Outcome) -> Result<Settled, Failure> {
        let detail = outcome
            .detail
            .unwrap_or_else(|| format!("status {}", outcome.status));
        let link = pending.link.as_ref();
        let code = link.and_then(|link| link.custom_code.as_deref());
        Ok(match (outcome.status, link, code) {
            (200, ..) => Settled::Made,
            (403, ..) => Settled::Full(detail),
            // A part whose response was lost is sent again, and then its links are there.
            (409, Some(link), Some(code)) => match self.bulk.own_target(code)? {
                Some(target) if target == link.target_url => Settled::There,
                _ if pending.drawn.is_some() => Settled::DrawAgain,
                Some(target) => Settled::Refused(format!("{detail} by your link to {target}")),
                None => Settled::Refused(detail),
            },
            _ => Settled::Refused(detail),
        })
    }

    fn list(&mut self, pending: &Pending) -> Result<(), Failure> {
        let place = pending.line.to_string();
        match (&pending.refusal, &pending.link, &pending.old_code) {
            (Some(reason), link, _) => {
                let mut cells = vec![place, reason.clone()];
                cells.extend(match link {
                    Some(link) => link.cells(pending.code_in_file()),
                    None => ImportedLink::COLUMNS.map(|_| String::new()),
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

    /// The whole file is settled: the numbers, and where the lists are.
    pub(super) fn end(&self) -> Result<(Tally, Listed<'_>), Failure> {
        self.state.remove()?;
        let listed = Listed {
            refused: self.refused.path(),
            new_codes: self.new_codes.path(),
        };
        Ok((self.progress.tally.clone(), listed))
    }
}

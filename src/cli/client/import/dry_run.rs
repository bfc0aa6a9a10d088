//! A dry run: says what an import would create, refuse and leave behind.

use super::importer::Destination;
use super::pending::{Pending, count};
use super::settling::Settling;
use super::tally::Tally;
use crate::cli::client::Failure;

/// Sentences about single links that are shown.
pub(super) const SHOWN: usize = 10;

/// Counts links, and keeps what is to be said of the first of them.
pub(super) struct DryRun<'a> {
    /// The service that knows which codes are taken, if there is a login for it.
    settling: Option<Settling<'a>>,
    pub(super) tally: Tally,
    /// A link has a code of its own, which may be taken.
    pub(super) has_codes: bool,
    /// Lines with the reasons for which they would be refused, and with what would be left behind.
    pub(super) refusals: Vec<(u64, String)>,
    pub(super) left_behind: Vec<(u64, String)>,
}

impl<'a> DryRun<'a> {
    /// Before the first link.
    pub(super) fn new(settling: Option<Settling<'a>>) -> Self {
        Self {
            settling,
            tally: Tally::default(),
            has_codes: false,
            refusals: Vec::new(),
            left_behind: Vec::new(),
        }
    }
}

impl Destination for DryRun<'_> {
    fn send(&mut self, mut batch: Vec<Pending>, _: u64) -> Result<(), Failure> {
        let mut open = batch.iter().filter(|pending| pending.refusal.is_none());
        self.has_codes |= open.any(|pending| pending.drawn.is_none());
        if let Some(settling) = &self.settling {
            settling.settle(&mut batch)?;
        }
        for pending in batch {
            count(&pending, false, &mut self.tally);
            let line = pending.read.line;
            match pending.refusal {
                Some(refusal) if self.refusals.len() < SHOWN => self.refusals.push((line, refusal)),
                Some(_) => {}
                None => {
                    let room = SHOWN - self.left_behind.len();
                    let sentences = pending.left_behind().take(room);
                    self.left_behind.extend(sentences.map(|text| (line, text)));
                }
            }
        }
        Ok(())
    }

    fn serves(&self, host: &str) -> Result<bool, Failure> {
        // What is not known refuses no link.
        let asked = self
            .settling
            .as_ref()
            .map(|settling| settling.bulk.serves(host));
        asked.unwrap_or(Ok(true))
    }

    fn is_done(&self, _: u64, _: &str) -> Result<bool, Failure> {
        Ok(false)
    }

    fn check_length(&self, _: u64) -> Result<(), Failure> {
        Ok(())
    }
}

//! Turns entries into links, and sends them batch by batch.

use std::rc::Rc;

use shunt::domain::{Clock, OwnHost, SystemClock, Timestamp};

use super::entry::{Entry, TakesEntries};
use super::format::Format;
use super::link::{ImportedLink, Named};
use super::meter::Meter;
use super::pending::{Pending, count};
use super::sender::Sender;
use super::state::Fingerprint;
use super::tally::Tally;
use crate::cli::client::Failure;

/// Entries of one batch, which go to the service in one request.
const MAX_BATCH: usize = 1_000;
/// Bytes of one batch, unless one entry is larger.
const MAX_BATCH_BYTES: usize = 1024 * 1024;
/// Refusals that a dry run shows.
const SHOWN: usize = 10;

/// Where links go.
pub(super) enum Destination<'a> {
    /// Nowhere: they are counted, and the first refusals are kept.
    DryRun {
        tally: Tally,
        refusals: Vec<(u64, String)>,
    },
    /// To an account.
    Account(Box<Sender<'a>>),
}

/// Takes the entries of a file.
pub(super) struct Importer<'a> {
    format: &'a Format,
    own_host: Option<OwnHost>,
    now: Timestamp,
    has_new_codes: bool,
    meter: Rc<Meter>,
    destination: Destination<'a>,
    fingerprint: Fingerprint,
    /// Entries that were taken.
    taken: u64,
    batch: Vec<Pending>,
    batch_bytes: usize,
}

impl<'a> Importer<'a> {
    /// Before the first entry. With new codes, a link whose code cannot be had gets another one.
    pub(super) fn new(
        format: &'a Format,
        own_host: Option<OwnHost>,
        has_new_codes: bool,
        meter: Rc<Meter>,
        destination: Destination<'a>,
    ) -> Self {
        Self {
            format,
            own_host,
            now: SystemClock.now(),
            has_new_codes,
            meter,
            destination,
            fingerprint: Fingerprint::new(),
            taken: 0,
            batch: Vec::new(),
            batch_bytes: 0,
        }
    }

    /// Sends the last batch, also if the file ends in an entry that cannot be read.
    pub(super) fn end(&mut self, read: Result<(), Failure>) -> Result<(), Failure> {
        // After a failure of the service there is nothing left here.
        self.send_batch()?;
        if let Destination::Account(sender) = &self.destination {
            sender.check_length(self.taken)?;
        }
        read
    }

    /// Entries that are done, where links go to an account.
    pub(super) fn done(&self) -> Option<u64> {
        match &self.destination {
            Destination::DryRun { .. } => None,
            Destination::Account(sender) => Some(sender.done()),
        }
    }

    /// Where the links went.
    pub(super) fn into_destination(self) -> Destination<'a> {
        self.destination
    }

    fn send_batch(&mut self) -> Result<(), Failure> {
        let batch = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        match &mut self.destination {
            Destination::DryRun { tally, refusals } => {
                for pending in batch {
                    count(&pending, tally);
                    if let Some(refusal) = pending.refusal
                        && refusals.len() < SHOWN
                    {
                        refusals.push((pending.line, refusal));
                    }
                }
                Ok(())
            }
            Destination::Account(sender) => sender.send(batch, self.meter.bytes()),
        }
    }

    fn prepare(&self, link: ImportedLink) -> (ImportedLink, Option<String>, Prepared) {
        let mut link = link.created_before_its_end(self.now);
        let mut prepared = Prepared::default();
        let mut refusal = link.check(self.own_host.as_ref(), self.now).err();
        match link.fault_of_code() {
            Some(_) if self.has_new_codes => prepared.old_code = link.custom_code.take(),
            Some(fault) if refusal.is_none() => {
                refusal = Some(format!("{fault}; --new-codes gives the link another"));
            }
            _ => {}
        }
        prepared.drawn = link.custom_code.is_none().then_some(0);
        (link, refusal, prepared)
    }
}

/// A decision about the code of a link.
#[derive(Default)]
struct Prepared {
    drawn: Option<u32>,
    old_code: Option<String>,
}

impl TakesEntries for Importer<'_> {
    fn take(&mut self, entry: Entry) -> Result<(), Failure> {
        let link = entry.link(self.format);
        let text = match &link {
            Ok(link) => serde_json::to_string(link).map_err(|error| Failure::of(&error))?,
            Err(why) => why.clone(),
        };
        self.fingerprint.add(text.as_bytes());
        let fingerprint = self.fingerprint.value();
        let number = self.taken;
        self.taken += 1;
        if let Destination::Account(sender) = &self.destination
            && sender.is_done(number, &fingerprint)?
        {
            return Ok(());
        }
        let mut named = Named::default();
        let (link, refusal, Prepared { drawn, old_code }) = match link {
            Ok(link) => {
                let (link, refusal, prepared) = self.prepare(link);
                (Some(link), refusal, prepared)
            }
            Err(why) => {
                named = self.format.named(&entry.record);
                (None, Some(why), Prepared::default())
            }
        };
        self.batch_bytes += text.len();
        self.batch.push(Pending {
            number,
            line: entry.line,
            fingerprint,
            link,
            named,
            refusal,
            was_there: false,
            drawn,
            old_code,
        });
        if self.batch.len() >= MAX_BATCH || self.batch_bytes >= MAX_BATCH_BYTES {
            self.send_batch()?;
        }
        Ok(())
    }
}

//! Turns entries into links, and settles them part by part.

use std::rc::Rc;

use shunt::domain::OwnHost;

use super::entry::{Entry, TakesEntries};
use super::format::Format;
use super::link::ImportedLink;
use super::meter::Meter;
use super::settler::Settler;
use super::state::Fingerprint;
use super::tally::Tally;
use crate::cli::client::Failure;

/// Entries of one part, which go to the service in one request.
const MAX_PART: usize = 1_000;
/// Bytes of one part, unless one entry is larger.
const MAX_PART_BYTES: usize = 1024 * 1024;
/// Refusals that a dry run shows.
const SHOWN: usize = 10;

/// An entry that is not settled yet.
pub(super) struct Pending {
    /// Its number in the file, from 0 on, and the line in which it begins.
    pub(super) number: u64,
    pub(super) line: u64,
    /// All entries of the file up to this one.
    pub(super) fingerprint: String,
    /// The link, if there is one, and why it is refused already, if it is.
    pub(super) link: Option<ImportedLink>,
    pub(super) refusal: Option<String>,
    /// The link was the account's before.
    pub(super) was_there: bool,
    /// The code is drawn: how often it was before.
    pub(super) drawn: Option<u32>,
    /// The code that was given up.
    pub(super) old_code: Option<String>,
}

impl Pending {
    /// The code that the entry has in the file.
    pub(super) fn code_in_file(&self) -> &str {
        let drawn = self.drawn.is_some();
        let kept = self.link.as_ref().filter(|_| !drawn);
        let kept = kept.and_then(|link| link.custom_code.as_deref());
        self.old_code.as_deref().or(kept).unwrap_or_default()
    }
}

/// Where links go.
pub(super) enum Destination<'a> {
    /// Nowhere: they are counted, and the first refusals are kept.
    DryRun {
        tally: Tally,
        refusals: Vec<(u64, String)>,
    },
    /// To an account.
    Account(Box<Settler<'a>>),
}

/// Takes the entries of a file.
pub(super) struct Importer<'a> {
    format: &'a Format,
    own_host: Option<OwnHost>,
    has_new_codes: bool,
    meter: Rc<Meter>,
    destination: Destination<'a>,
    fingerprint: Fingerprint,
    /// Entries that were taken.
    taken: u64,
    part: Vec<Pending>,
    part_bytes: usize,
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
            has_new_codes,
            meter,
            destination,
            fingerprint: Fingerprint::new(),
            taken: 0,
            part: Vec::new(),
            part_bytes: 0,
        }
    }

    /// Settles what was taken, also if the file ends in an entry that cannot be read.
    pub(super) fn end(&mut self, read: Result<(), Failure>) -> Result<(), Failure> {
        // After a failure of the service there is nothing left here.
        self.settle_part()?;
        if let Destination::Account(settler) = &self.destination {
            settler.check_settled_by(self.taken)?;
        }
        read
    }

    /// Entries that are settled, where links go to an account.
    pub(super) fn settled(&self) -> Option<u64> {
        match &self.destination {
            Destination::DryRun { .. } => None,
            Destination::Account(settler) => Some(settler.settled()),
        }
    }

    /// Where the links went.
    pub(super) fn into_destination(self) -> Destination<'a> {
        self.destination
    }

    fn settle_part(&mut self) -> Result<(), Failure> {
        let part = std::mem::take(&mut self.part);
        self.part_bytes = 0;
        match &mut self.destination {
            Destination::DryRun { tally, refusals } => {
                for pending in part {
                    count(&pending, tally);
                    if let Some(refusal) = pending.refusal
                        && refusals.len() < SHOWN
                    {
                        refusals.push((pending.line, refusal));
                    }
                }
                Ok(())
            }
            Destination::Account(settler) => settler.settle(part, self.meter.bytes()),
        }
    }

    fn prepare(&self, link: ImportedLink) -> (ImportedLink, Option<String>, Prepared) {
        let mut link = link;
        let mut prepared = Prepared::default();
        let mut refusal = link.check(self.own_host.as_ref()).err();
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

/// What is done about the code of a link.
#[derive(Default)]
struct Prepared {
    drawn: Option<u32>,
    old_code: Option<String>,
}

impl TakesEntries for Importer<'_> {
    fn take(&mut self, entry: Entry) -> Result<(), Failure> {
        let link = entry.record.and_then(|record| (self.format.link)(&record));
        let text = match &link {
            Ok(link) => serde_json::to_string(link).map_err(|error| Failure::of(&error))?,
            Err(why) => why.clone(),
        };
        self.fingerprint.add(text.as_bytes());
        let fingerprint = self.fingerprint.value();
        let number = self.taken;
        self.taken += 1;
        if let Destination::Account(settler) = &self.destination
            && settler.has_settled(number, &fingerprint)?
        {
            return Ok(());
        }
        let (link, refusal, Prepared { drawn, old_code }) = match link {
            Ok(link) => {
                let (link, refusal, prepared) = self.prepare(link);
                (Some(link), refusal, prepared)
            }
            Err(why) => (None, Some(why), Prepared::default()),
        };
        self.part_bytes += text.len();
        self.part.push(Pending {
            number,
            line: entry.line,
            fingerprint,
            link,
            refusal,
            was_there: false,
            drawn,
            old_code,
        });
        if self.part.len() >= MAX_PART || self.part_bytes >= MAX_PART_BYTES {
            self.settle_part()?;
        }
        Ok(())
    }
}

/// Counts an entry that is settled.
pub(super) fn count(pending: &Pending, tally: &mut Tally) {
    let (Some(link), None) = (&pending.link, &pending.refusal) else {
        tally.refused += 1;
        return;
    };
    tally.imported += 1;
    tally.clicks = tally.clicks.saturating_add(link.clicks);
    for note in &link.notes {
        *tally.notes.entry(*note).or_default() += 1;
    }
    tally.already_there += u64::from(pending.was_there);
    tally.new_codes += u64::from(pending.old_code.is_some());
}

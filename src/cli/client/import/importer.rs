//! Takes links of a file, and sends them batch by batch.

use std::ops::ControlFlow;

use shunt::domain::{Clock, OwnHost, SystemClock, Timestamp};
use shunt::http::paths::is_reserved;
use shunt::import::{Placing, ReadLink, TakesLinks, Unreadable};

use super::pending::Pending;
use super::source_file::ReadBytes;
use super::state::Fingerprint;
use crate::cli::client::Failure;
use crate::cli::output::harmless;

/// Links of one batch, which go to the service in one request.
const MAX_BATCH: usize = 1_000;
/// Bytes of one batch, unless one link is larger.
const MAX_BATCH_BYTES: usize = 1024 * 1024;

/// Where links go.
pub(super) trait Destination {
    /// Takes the next links of the file, which is read up to this byte.
    fn send(&mut self, batch: Vec<Pending>, read: u64) -> Result<(), Failure>;

    /// Whether a link was done before. Fails if that was with another file.
    fn is_done(&self, number: u64, fingerprint: &str) -> Result<bool, Failure>;

    /// Whether the service has a host.
    fn serves(&self, host: &str) -> Result<bool, Failure>;

    /// The file has so many links in all.
    fn check_length(&self, taken: u64) -> Result<(), Failure>;
}

/// Takes the links of a file.
pub(super) struct Importer<D> {
    own_host: OwnHost,
    now: Timestamp,
    has_new_codes: bool,
    bytes: ReadBytes,
    pub(super) destination: D,
    pub(super) placing: Placing,
    fingerprint: Fingerprint,
    /// Links that were taken.
    taken: u64,
    batch: Vec<Pending>,
    batch_bytes: usize,
    /// Why the reading was ended.
    failure: Option<Failure>,
}

impl<D: Destination> Importer<D> {
    /// Before the first link. With new codes, a link whose code cannot be used here gets a new code.
    pub(super) fn new(
        own_host: OwnHost,
        has_new_codes: bool,
        bytes: ReadBytes,
        placing: Placing,
        destination: D,
    ) -> Self {
        Self {
            own_host,
            now: SystemClock.now(),
            has_new_codes,
            bytes,
            destination,
            placing,
            fingerprint: Fingerprint::new(),
            taken: 0,
            batch: Vec::new(),
            batch_bytes: 0,
            failure: None,
        }
    }

    /// Sends the last batch, also if the file ends in what cannot be read.
    pub(super) fn end<T>(&mut self, read: Result<T, Unreadable>) -> Result<T, Failure> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        self.send_batch()?;
        self.destination.check_length(self.taken)?;
        read.map_err(|broken| Failure::Failed(harmless(&broken.to_string()).into_owned()))
    }

    fn send_batch(&mut self) -> Result<(), Failure> {
        let batch = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        if batch.is_empty() {
            return Ok(());
        }
        self.destination.send(batch, self.bytes.get())
    }

    fn try_to_take(&mut self, mut read: ReadLink) -> Result<(), Failure> {
        let content = match &read.fault {
            None => serde_json::to_string(&read.link).map_err(|error| Failure::of(&error))?,
            Some(why) => why.clone(),
        };
        self.fingerprint.add(content.as_bytes());
        let fingerprint = self.fingerprint.value();
        let number = self.taken;
        self.taken += 1;
        let destination = &self.destination;
        let placed = self
            .placing
            .place(&mut read, &mut |host| destination.serves(host));
        placed?;
        if destination.is_done(number, &fingerprint)? {
            return Ok(());
        }
        read.link = read.link.created_before_its_end(self.now);
        let mut refusal = read.refusal(&self.own_host);
        let mut old_code = None;
        match read.refusal_of_code(is_reserved) {
            Some(_) if self.has_new_codes && read.fault.is_none() => {
                old_code = std::mem::take(&mut read.link.fields.custom_code).given();
            }
            Some(fault) if refusal.is_none() => {
                refusal = Some(format!("{fault}; --new-codes gives the link a new code"));
            }
            _ => {}
        }
        let drawn = read.link.code().is_none().then_some(0);
        self.batch_bytes += content.len();
        self.batch.push(Pending {
            number,
            fingerprint,
            content,
            read,
            refusal,
            was_there: None,
            drawn,
            old_code,
        });
        if self.batch.len() >= MAX_BATCH || self.batch_bytes >= MAX_BATCH_BYTES {
            self.send_batch()?;
        }
        Ok(())
    }
}

impl<D: Destination> TakesLinks for Importer<D> {
    fn take(&mut self, read: ReadLink) -> ControlFlow<()> {
        match self.try_to_take(read) {
            Ok(()) => ControlFlow::Continue(()),
            Err(failure) => {
                self.failure = Some(failure);
                ControlFlow::Break(())
            }
        }
    }
}

//! An input of which one entry cannot take all memory, and which knows how far it is read.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// Longest entry of a file: far more than any link has.
pub(super) const MAX_ENTRY: usize = 256 * 1024;

/// How far an input is read; shared with its reader.
#[derive(Debug, Default)]
pub(super) struct Meter {
    bytes: Cell<u64>,
    lines: Cell<u64>,
    left: Cell<usize>,
}

/// An input whose reader may read so much until it says that a new entry begins.
pub(super) struct Metered<R> {
    input: R,
    meter: Rc<Meter>,
}

/// The entry is longer than any may be.
#[derive(Debug, thiserror::Error)]
#[error("is longer than {} KiB; is a quotation mark missing?", MAX_ENTRY / 1024)]
pub(super) struct TooLong;

impl Meter {
    /// A new entry begins; the reader may have read this far ahead.
    pub(super) fn new_entry(&self, ahead: usize) {
        self.left.set(MAX_ENTRY + ahead);
    }

    /// Bytes that are read.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// The line in which the newest byte is, from 1 on.
    pub(super) fn line(&self) -> u64 {
        self.lines.get() + 1
    }
}

impl<R> Metered<R> {
    /// An input that is read from its start.
    pub(super) fn new(input: R) -> (Self, Rc<Meter>) {
        let meter = Rc::new(Meter::default());
        meter.new_entry(0);
        let shared = Rc::clone(&meter);
        (Self { input, meter }, shared)
    }
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.meter.left.get();
        if left == 0 {
            return Err(io::Error::other(TooLong));
        }
        let most = left.min(buffer.len());
        let length = self.input.read(&mut buffer[..most])?;
        let lines = buffer[..length].split(|byte| *byte == b'\n').count();
        self.meter.left.set(left - length);
        self.meter.bytes.set(self.meter.bytes() + length as u64);
        self.meter
            .lines
            .set(self.meter.lines.get() + lines as u64 - 1);
        Ok(length)
    }
}

/// Why an input cannot be read on, if it is this.
pub(super) fn is_too_long(error: &io::Error) -> bool {
    matches!(error.get_ref(), Some(inner) if inner.is::<TooLong>())
}

//! An input of which one entry cannot take all memory, and which knows its line.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use super::quotes::{MAX_ENTRY, TooLong};

/// How far an input is read; shared with its reader.
#[derive(Debug, Default)]
pub(super) struct Meter {
    lines: Cell<u64>,
    left: Cell<usize>,
}

/// An input whose reader may read so much until it says that a new entry begins.
pub(super) struct Metered<R> {
    input: R,
    meter: Rc<Meter>,
}

impl Meter {
    /// A new entry begins.
    pub(super) fn new_entry(&self) {
        self.left.set(MAX_ENTRY);
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
        meter.new_entry();
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
        let ends = buffer[..length].iter().filter(|byte| **byte == b'\n');
        self.meter.left.set(left - length);
        self.meter
            .lines
            .set(self.meter.lines.get() + ends.count() as u64);
        Ok(length)
    }
}

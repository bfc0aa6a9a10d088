//! How far an import is, on a terminal.

use std::time::Duration;

use indicatif::{ProgressBar as Bar, ProgressStyle};

use crate::cli::client::Failure;
use crate::cli::output;

/// A bar on standard error, where that is a terminal.
pub(super) struct ProgressBar(Bar);

impl ProgressBar {
    /// For a file of this size.
    pub(super) fn new(bytes: u64) -> Result<Self, Failure> {
        let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}  {eta} left");
        let style = style.map_err(|error| Failure::of(&error))?;
        Ok(Self(Bar::new(bytes).with_style(style)))
    }

    /// So much is read and done.
    pub(super) fn is_at(&self, bytes: u64, entries: u64) {
        self.0.set_position(bytes);
        self.0.set_message(format!("{entries} links"));
    }

    /// The service wants a pause.
    pub(super) fn note_wait(&self, wait: Duration, failure: &Failure) {
        let seconds = wait.as_secs();
        let text = format!("waiting {seconds} s: {failure}");
        if self.0.is_hidden() {
            output::note(&text);
        } else {
            self.0.set_message(output::harmless(&text).into_owned());
        }
    }

    /// Takes the bar away.
    pub(super) fn end(&self) {
        self.0.finish_and_clear();
    }
}

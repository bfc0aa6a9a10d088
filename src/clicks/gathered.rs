//! The clicks of a batch before it is delivered.

use crate::domain::LinkId;

/// The clicks of a batch.
#[derive(Default)]
pub(super) struct Gathered {
    /// One entry per click.
    pub(super) clicks: Vec<LinkId>,
    /// The oldest version of the cache at which the link of a click was looked up. The clicks may be counted while it is still
    /// the version. `None` if they may be at any.
    pub(super) version: Option<u64>,
    /// Whether a click is among them that has to be counted, whatever changed.
    has_unconditional: bool,
}

impl Gathered {
    /// Adds a click whose link was looked up at this version, or that has to be counted at any.
    pub(super) fn add(&mut self, click: LinkId, version: Option<u64>) {
        self.clicks.push(click);
        self.has_unconditional |= version.is_none();
        self.version = if self.has_unconditional {
            None
        } else {
            self.version.into_iter().chain(version).min()
        };
    }
}

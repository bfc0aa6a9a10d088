//! The length of new codes, which never falls.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::domain::code_length;

/// The length of new codes. It never falls: a database that lost its newest links may have fewer than before.
#[derive(Debug)]
pub struct CodeLength {
    shortest: usize,
    current: AtomicUsize,
}

impl CodeLength {
    /// At least `shortest` characters.
    #[must_use]
    pub fn new(shortest: usize) -> Self {
        Self {
            shortest,
            current: AtomicUsize::new(shortest),
        }
    }

    pub(super) fn get(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    pub(super) fn grow(&self, links_made: u64) {
        let length = code_length(self.shortest, links_made);
        self.current.fetch_max(length, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_never_falls() {
        let length = CodeLength::new(4);
        for (links_made, expected) in [(98, 4), (99, 5), (0, 5), (5_508, 6), (99, 6)] {
            length.grow(links_made);
            assert_eq!(length.get(), expected, "{links_made} links");
        }
    }
}

//! Remembers what this process has written to the database today, so that it is not written again.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

/// Entries that one process remembers. One more, and it begins anew: they are noted once more.
const MAX_NOTED: usize = 100_000;

/// A set that is emptied with each day.
pub(super) struct NotedToday<T>(Mutex<NotedDay<T>>);

struct NotedDay<T> {
    day: String,
    entries: HashSet<T>,
}

impl<T> Default for NotedToday<T> {
    fn default() -> Self {
        Self(Mutex::new(NotedDay {
            day: String::new(),
            entries: HashSet::new(),
        }))
    }
}

impl<T: Eq + Hash> NotedToday<T> {
    pub(super) fn has(&self, entry: &T, day: &str) -> bool {
        let noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        noted.day == day && noted.entries.contains(entry)
    }

    pub(super) fn add(&self, entry: T, day: String) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.day != day || noted.entries.len() >= MAX_NOTED {
            noted.entries.clear();
            noted.day = day;
        }
        noted.entries.insert(entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_known_on_the_day_that_it_was_noted() {
        let noted = NotedToday::default();
        noted.add(7, "2027-01-31".to_owned());
        assert!(noted.has(&7, "2027-01-31"));
        assert!(!noted.has(&8, "2027-01-31"));
        assert!(!noted.has(&7, "2027-02-01"));
        noted.add(8, "2027-02-01".to_owned());
        assert!(!noted.has(&7, "2027-02-01"));
    }

    #[test]
    fn a_process_remembers_so_many_and_then_begins_anew() {
        let noted = NotedToday::default();
        for entry in 0..=MAX_NOTED {
            noted.add(entry, String::new());
        }
        assert!(noted.has(&MAX_NOTED, ""));
        assert!(!noted.has(&0, ""));
    }
}

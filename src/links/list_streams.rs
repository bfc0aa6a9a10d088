//! Whole lists that are being sent, counted by account and by address: slow readers keep no other client from its list.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use metrics::Counter;

use crate::domain::UserId;
use crate::limits::TooMany;
use crate::telemetry::metrics::LIMIT_HITS;

/// Whole lists of one account at once: an eighth of those that an instance sends.
const MAX_PER_ACCOUNT: u8 = 4;

/// Whole lists to one address at once, whatever the account: a quarter.
const MAX_PER_ADDRESS: u8 = 8;

/// When it is worth trying again: how fast lists are read is not known.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// By whom lists are counted.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Reader {
    Account(UserId),
    Address(Arc<str>),
}

/// How many lists each reader is being sent; cheap to clone.
#[derive(Clone)]
pub struct ListStreams {
    by_reader: Arc<Mutex<HashMap<Reader, u8>>>,
    full: Counter,
}

/// A list that is being sent, until it is dropped.
pub struct ListStream {
    lists: ListStreams,
    readers: [Reader; 2],
}

impl Default for ListStreams {
    fn default() -> Self {
        Self {
            by_reader: Arc::default(),
            full: metrics::counter!(LIMIT_HITS, "limit" => "lists"),
        }
    }
}

impl ListStreams {
    /// Counts one more, until the returned value is dropped.
    ///
    /// # Errors
    /// [`TooMany`] where the account or the address is being sent as many as it may.
    pub(super) fn begin(&self, owner: UserId, address: &str) -> Result<ListStream, TooMany> {
        let (account, address) = (Reader::Account(owner), Reader::Address(address.into()));
        let mut by_reader = self.by_reader();
        let is_full = |reader, most| by_reader.get(reader).is_some_and(|lists| *lists >= most);
        if is_full(&account, MAX_PER_ACCOUNT) || is_full(&address, MAX_PER_ADDRESS) {
            self.full.increment(1);
            return Err(TooMany {
                retry_after: RETRY_AFTER,
            });
        }
        let readers = [account, address];
        for reader in &readers {
            *by_reader.entry(reader.clone()).or_default() += 1;
        }
        drop(by_reader);
        Ok(ListStream {
            lists: self.clone(),
            readers,
        })
    }

    fn by_reader(&self) -> MutexGuard<'_, HashMap<Reader, u8>> {
        self.by_reader
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ListStream {
    fn drop(&mut self) {
        let mut by_reader = self.lists.by_reader();
        for reader in &self.readers {
            if let Entry::Occupied(mut lists) = by_reader.entry(reader.clone()) {
                *lists.get_mut() -= 1;
                if *lists.get() == 0 {
                    lists.remove();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: UserId = UserId(1);
    const OTHER: UserId = UserId(2);

    #[test]
    fn an_account_is_sent_a_bounded_number_of_lists_and_others_are_not_affected() {
        let lists = ListStreams::default();
        let mut sent: Vec<_> = (0..MAX_PER_ACCOUNT)
            .map(|_| lists.begin(ONE, "a").unwrap_or_else(|_| panic!("too many")))
            .collect();
        assert!(lists.begin(ONE, "a").is_err());
        assert!(lists.begin(OTHER, "a").is_ok());
        sent.pop();
        assert!(lists.begin(ONE, "a").is_ok());
    }

    #[test]
    fn an_address_is_sent_a_bounded_number_of_lists_whatever_the_account() {
        let lists = ListStreams::default();
        let mut sent: Vec<_> = (0..MAX_PER_ADDRESS)
            .map(|account| lists.begin(UserId(account.into()), "a"))
            .collect();
        assert!(sent.iter().all(Result::is_ok));
        assert!(lists.begin(UserId(99), "a").is_err());
        assert!(lists.begin(UserId(99), "b").is_ok());
        sent.pop();
        assert!(lists.begin(UserId(99), "a").is_ok());
    }

    #[test]
    fn an_account_without_lists_takes_no_memory() {
        let lists = ListStreams::default();
        drop((
            lists.begin(ONE, "a"),
            lists.begin(ONE, "a"),
            lists.begin(OTHER, "b"),
        ));
        assert!(lists.by_reader().is_empty());
    }
}

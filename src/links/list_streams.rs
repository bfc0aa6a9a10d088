//! Whole lists that are being sent, counted by account: one account with slow readers does not keep others from theirs.

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

/// When it is worth trying again: how fast lists are read is not known.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// How many lists each account is being sent; cheap to clone.
#[derive(Clone)]
pub struct ListStreams {
    by_account: Arc<Mutex<HashMap<UserId, u8>>>,
    full: Counter,
}

/// A list that is being sent, until it is dropped.
pub struct ListStream {
    lists: ListStreams,
    owner: UserId,
}

impl Default for ListStreams {
    fn default() -> Self {
        Self {
            by_account: Arc::default(),
            full: metrics::counter!(LIMIT_HITS, "limit" => "lists"),
        }
    }
}

impl ListStreams {
    /// Counts one more, until the returned value is dropped.
    ///
    /// # Errors
    /// [`TooMany`] where the account is being sent as many as it may.
    pub(super) fn begin(&self, owner: UserId) -> Result<ListStream, TooMany> {
        let mut by_account = self.by_account();
        let lists = by_account.entry(owner).or_default();
        if *lists == MAX_PER_ACCOUNT {
            self.full.increment(1);
            return Err(TooMany {
                retry_after: RETRY_AFTER,
            });
        }
        *lists += 1;
        Ok(ListStream {
            lists: self.clone(),
            owner,
        })
    }

    fn by_account(&self) -> MutexGuard<'_, HashMap<UserId, u8>> {
        self.by_account
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ListStream {
    fn drop(&mut self) {
        if let Entry::Occupied(mut lists) = self.lists.by_account().entry(self.owner) {
            *lists.get_mut() -= 1;
            if *lists.get() == 0 {
                lists.remove();
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
            .map(|_| lists.begin(ONE).unwrap_or_else(|_| panic!("too many")))
            .collect();
        assert!(lists.begin(ONE).is_err());
        assert!(lists.begin(OTHER).is_ok());
        sent.pop();
        assert!(lists.begin(ONE).is_ok());
    }

    #[test]
    fn an_account_without_lists_takes_no_memory() {
        let lists = ListStreams::default();
        drop((lists.begin(ONE), lists.begin(ONE), lists.begin(OTHER)));
        assert!(lists.by_account().is_empty());
    }
}

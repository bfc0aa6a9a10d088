//! Long work for clients, counted by account and by address: one that keeps its place for long takes none from others.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use metrics::Counter;

use crate::domain::UserId;
use crate::limits::TooMany;
use crate::telemetry::metrics::LIMIT_HITS;

/// When it is worth trying again: how fast clients are is not known.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// By whom work is counted.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Client {
    Account(UserId),
    Address(Arc<str>),
}

/// How much work of one kind is done for each client; cheap to clone.
#[derive(Clone)]
pub struct AtOnce {
    by_client: Arc<Mutex<HashMap<Client, u8>>>,
    max_per_account: u8,
    max_per_address: u8,
    full: Counter,
}

/// A place for one piece of work, until it is dropped.
pub struct Place {
    of: AtOnce,
    clients: [Client; 2],
}

impl AtOnce {
    /// Whole lists that are being sent: an eighth of those that an instance sends to one account, a quarter to one address.
    #[must_use]
    pub fn lists() -> Self {
        Self::new("lists", 4, 8)
    }

    /// Calls that make many links.
    #[must_use]
    pub fn bulk_calls() -> Self {
        Self::new("bulk_calls", 2, 8)
    }

    fn new(limit: &'static str, max_per_account: u8, max_per_address: u8) -> Self {
        Self {
            by_client: Arc::default(),
            max_per_account,
            max_per_address,
            full: metrics::counter!(LIMIT_HITS, "limit" => limit),
        }
    }

    /// Counts one more, until the returned value is dropped.
    ///
    /// # Errors
    /// [`TooMany`] where the account or the address has as many as it may.
    pub fn begin(&self, owner: UserId, address: &str) -> Result<Place, TooMany> {
        let (account, address) = (Client::Account(owner), Client::Address(address.into()));
        let mut by_client = self.by_client();
        let is_full = |client, max| by_client.get(client).is_some_and(|work| *work >= max);
        if is_full(&account, self.max_per_account) || is_full(&address, self.max_per_address) {
            self.full.increment(1);
            return Err(TooMany {
                retry_after: RETRY_AFTER,
            });
        }
        let clients = [account, address];
        for client in &clients {
            *by_client.entry(client.clone()).or_default() += 1;
        }
        drop(by_client);
        Ok(Place {
            of: self.clone(),
            clients,
        })
    }

    fn by_client(&self) -> MutexGuard<'_, HashMap<Client, u8>> {
        self.by_client
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut by_client = self.of.by_client();
        for client in &self.clients {
            if let Entry::Occupied(mut work) = by_client.entry(client.clone()) {
                *work.get_mut() -= 1;
                if *work.get() == 0 {
                    work.remove();
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
        let lists = AtOnce::lists();
        let mut sent: Vec<_> = (0..4)
            .map(|_| lists.begin(ONE, "a").unwrap_or_else(|_| panic!("too many")))
            .collect();
        assert!(lists.begin(ONE, "a").is_err());
        assert!(lists.begin(OTHER, "a").is_ok());
        sent.pop();
        assert!(lists.begin(ONE, "a").is_ok());
    }

    #[test]
    fn an_address_is_sent_a_bounded_number_of_lists_whatever_the_account() {
        let lists = AtOnce::lists();
        let mut sent: Vec<_> = (0..8)
            .map(|account| lists.begin(UserId(account), "a"))
            .collect();
        assert!(sent.iter().all(Result::is_ok));
        assert!(lists.begin(UserId(99), "a").is_err());
        assert!(lists.begin(UserId(99), "b").is_ok());
        sent.pop();
        assert!(lists.begin(UserId(99), "a").is_ok());
    }

    #[test]
    fn an_account_without_lists_takes_no_memory() {
        let lists = AtOnce::lists();
        drop((
            lists.begin(ONE, "a"),
            lists.begin(ONE, "a"),
            lists.begin(OTHER, "b"),
        ));
        assert!(lists.by_client().is_empty());
    }
}

//! The addresses that logged in to each account: failures of strangers do not lock them out.

use std::sync::Arc;

use super::noted_today::NotedToday;
use crate::domain::{Clock, EmailAddress, UserId};
use crate::limits::CallerHasher;
use crate::store::Store;

/// What the hashes are for.
const USAGE: &str = "known_address";

/// Addresses are kept in the database as hashes, the newest 32 of each account.
pub(super) struct KnownAddresses {
    store: Store,
    hasher: CallerHasher,
    clock: Arc<dyn Clock>,
    noted: NotedToday<(UserId, i64)>,
}

impl KnownAddresses {
    pub(super) fn new(store: Store, hasher: CallerHasher, clock: Arc<dyn Clock>) -> Self {
        Self {
            store,
            hasher,
            clock,
            noted: NotedToday::default(),
        }
    }

    /// Whether this address logged in to the account before. While the database is away, no address is known.
    pub(super) async fn knows(&self, email: &EmailAddress, address: &str) -> bool {
        let previous = self.hasher.previous_hash(USAGE, &[address]);
        let hashes = [Some(self.hash(address)), previous.map(u64::cast_signed)];
        for hash in hashes.into_iter().flatten() {
            if self.store.knows_address(email, hash).await.unwrap_or(false) {
                return true;
            }
        }
        false
    }

    /// Notes a log-in, the first one of a day. It has succeeded, also if it cannot be noted.
    pub(super) async fn remember(&self, user: UserId, address: &str) {
        let (address, now) = (self.hash(address), self.clock.now());
        if self.noted.has(&(user, address), &now.date()) {
            return;
        }
        match self.store.remember_address(user, address, now).await {
            Ok(()) => self.noted.add((user, address), now.date()),
            Err(error) => tracing::debug!(%error, "an address that logged in could not be noted"),
        }
    }

    /// The same on all instances, until the secret changes: then addresses are stored again at their next log-in.
    fn hash(&self, address: &str) -> i64 {
        self.hasher.hash(USAGE, &[address]).cast_signed()
    }
}

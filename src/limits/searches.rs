//! Searches, one at a time for each account: a further one waits in turn. A person who types quickly waits for a moment, and one account
//! takes no more of the database than one search does.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use metrics::Counter;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::TooMany;
use crate::domain::UserId;
use crate::telemetry::metrics::LIMIT_HITS;

/// Searches of an account that wait, beside the one that runs: more than the tabs in which a person searches, or the calls that a
/// program makes at once. Each keeps one of the account's share of requests.
const MAX_WAITING: usize = 63;

/// How long a search waits for its turn: many times as long as one takes.
const PATIENCE: Duration = Duration::from_secs(10);

/// When it is worth trying again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The searches of all accounts; cheap to clone.
#[derive(Clone)]
pub struct Searches {
    by_account: Arc<Mutex<HashMap<UserId, Arc<Semaphore>>>>,
    refused: Counter,
}

/// The turn of a search, until it is dropped, or its place in the queue.
pub struct Turn {
    searches: Searches,
    account: UserId,
    running: Option<OwnedSemaphorePermit>,
}

impl Default for Searches {
    fn default() -> Self {
        Self {
            by_account: Arc::default(),
            refused: metrics::counter!(LIMIT_HITS, "limit" => "searches"),
        }
    }
}

impl Searches {
    /// Waits until no other search of this account runs.
    ///
    /// # Errors
    /// [`TooMany`] if many others wait, or if they take too long.
    pub async fn turn(&self, account: UserId) -> Result<Turn, TooMany> {
        let refused = || {
            self.refused.increment(1);
            TooMany {
                retry_after: RETRY_AFTER,
            }
        };
        let (mut turn, only_one) = {
            let mut by_account = self.by_account();
            let only_one = by_account
                .entry(account)
                .or_insert_with(|| Arc::new(Semaphore::new(1)));
            // The map holds a reference, and so does the running search.
            if Arc::strong_count(only_one) >= 1 + 1 + MAX_WAITING {
                return Err(refused());
            }
            let turn = Turn {
                searches: self.clone(),
                account,
                running: None,
            };
            (turn, Arc::clone(only_one))
        };
        let running = timeout(PATIENCE, only_one.acquire_owned()).await;
        turn.running = running.ok().and_then(Result::ok);
        if turn.running.is_none() {
            return Err(refused());
        }
        Ok(turn)
    }

    fn by_account(&self) -> MutexGuard<'_, HashMap<UserId, Arc<Semaphore>>> {
        self.by_account
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut by_account = self.searches.by_account();
        drop(self.running.take());
        if let Entry::Occupied(only_one) = by_account.entry(self.account)
            && Arc::strong_count(only_one.get()) == 1
        {
            only_one.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use futures_util::future::join_all;

    use super::*;

    const ONE: UserId = UserId(1);
    const OTHER: UserId = UserId(2);

    #[tokio::test(start_paused = true)]
    async fn a_second_search_of_an_account_waits_for_the_first_and_no_other_account_does() {
        let searches = Searches::default();
        let first = searches.turn(ONE).await.unwrap();
        let mut second = Box::pin(searches.turn(ONE));
        assert!((&mut second).now_or_never().is_none());
        assert!(searches.turn(OTHER).now_or_never().is_some());
        drop(first);
        assert!(second.await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn of_very_many_searches_of_an_account_the_last_are_refused() {
        let searches = Searches::default();
        let first = searches.turn(ONE).await.unwrap();
        let mut waiting: Vec<_> = (0..MAX_WAITING)
            .map(|_| Box::pin(searches.turn(ONE)))
            .collect();
        for turn in &mut waiting {
            assert!(turn.now_or_never().is_none());
        }
        assert!(searches.turn(ONE).await.is_err());
        waiting.pop();
        assert!(searches.turn(ONE).now_or_never().is_none());
        drop(first);
        // Each that had its turn lets the next one go.
        let turns = join_all(
            waiting
                .into_iter()
                .map(|turn| turn.map(|turn| turn.map(drop))),
        );
        assert!(turns.await.iter().all(Result::is_ok));
        assert!(searches.by_account().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_search_waits_no_longer_than_its_patience_and_leaves_nothing() {
        let searches = Searches::default();
        let first = searches.turn(ONE).await.unwrap();
        assert!(searches.turn(ONE).await.is_err());
        drop(first);
        assert!(searches.by_account().is_empty());
    }
}

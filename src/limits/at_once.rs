//! What clients may hold at the same time, such as permits and memory: a single account or address never takes all of it
//! from the others.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use metrics::Counter;

use super::TooMany;
use crate::domain::UserId;
use crate::telemetry::metrics::LIMIT_HITS;

/// When it is worth trying again: how fast clients are is not known.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The part of a shared thing that one account or one address may hold: a quarter.
const PART: usize = 4;

/// Bodies that a client may always have under way: they take no permit.
const MIN_BODIES: usize = 8;

/// By whom a thing is held.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Client {
    Account(UserId),
    Address(Arc<str>),
}

/// How much of a thing there is, and who holds it: places, or bytes; cheap to clone.
#[derive(Clone)]
pub struct AtOnce(Arc<Shared>);

struct Shared {
    in_all: usize,
    /// Below this sum no client has a share: one client is not refused what others do not use.
    unshared: usize,
    of_account: usize,
    of_address: usize,
    held: Mutex<Held>,
    /// Counts what is refused because everything is held.
    full: Counter,
    /// Counts what is refused because the client holds its part.
    full_of_client: Counter,
}

#[derive(Default)]
struct Held {
    in_all: usize,
    by_client: HashMap<Client, usize>,
}

/// Why no more of a thing is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// Everything is held.
    #[error("everything is in use")]
    InAll,
    /// The account or the address holds as much as it may.
    #[error(transparent)]
    OfClient(#[from] TooMany),
}

/// The client holds its part.
const OF_CLIENT: Full = Full::OfClient(TooMany {
    retry_after: RETRY_AFTER,
});

/// What one piece of work holds, until it is dropped.
pub struct ClientShare {
    of: AtOnce,
    address: Option<Client>,
    account: Option<Client>,
    size: usize,
}

impl AtOnce {
    /// The total, of which each account and each address may hold a quarter. `limits` are the names in metrics: when everything
    /// is held, and when a client holds its part.
    #[must_use]
    pub fn new(in_all: usize, limits: [&'static str; 2]) -> Self {
        let part = (in_all / PART).max(1);
        Self::with(in_all, 0, [part, part], limits)
    }

    /// Requests that are worked on. A burst of one client may take half of what there is, as work comes to its end by itself; once
    /// half is taken, each client has a quarter.
    #[must_use]
    pub fn requests(in_all: usize) -> Self {
        let part = (in_all / PART).max(1);
        let limits = ["requests", "requests_of_client"];
        Self::with(in_all, in_all / 2, [part, part], limits)
    }

    /// Whole lists that are being sent: an eighth of the lists that an instance sends at once to one account, a quarter to one address.
    #[must_use]
    pub fn lists() -> Self {
        Self::with(usize::MAX, 0, [4, 8], ["lists"; 2])
    }

    /// Bodies that are still to come: a quarter of the requests that are worked on for each client, or a few.
    #[must_use]
    pub fn bodies(max_requests: usize) -> Self {
        let part = (max_requests / PART).max(MIN_BODIES);
        Self::with(usize::MAX, 0, [part, part], ["bodies_of_client"; 2])
    }

    /// Bytes of the results of such calls, which are sent in any case once links are made. The largest call fits into a quarter.
    #[must_use]
    pub fn bulk_results() -> Self {
        Self::new(128 << 20, ["buffers", "buffers_of_client"])
    }

    /// Calls that make many links.
    #[must_use]
    pub fn bulk_calls() -> Self {
        Self::with(usize::MAX, 0, [2, 8], ["bulk_calls"; 2])
    }

    fn with(
        in_all: usize,
        unshared: usize,
        [of_account, of_address]: [usize; 2],
        [full, full_of_client]: [&'static str; 2],
    ) -> Self {
        Self(Arc::new(Shared {
            in_all,
            unshared,
            of_account,
            of_address,
            held: Mutex::default(),
            full: metrics::counter!(LIMIT_HITS, "limit" => full),
            full_of_client: metrics::counter!(LIMIT_HITS, "limit" => full_of_client),
        }))
    }

    /// Holds one, until the returned value is dropped.
    ///
    /// # Errors
    /// [`Full`].
    pub fn begin(&self, owner: UserId, address: &str) -> Result<ClientShare, Full> {
        let mut place = self.of(Some(owner), Some(address));
        place.add(1)?;
        Ok(place)
    }

    /// Holds nothing yet for this account, if it is known, and for this address, if addresses are told apart.
    #[must_use]
    pub fn of(&self, owner: Option<UserId>, address: Option<&str>) -> ClientShare {
        ClientShare {
            of: self.clone(),
            address: address.map(|address| Client::Address(address.into())),
            account: owner.map(Client::Account),
            size: 0,
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    fn of_client(&self, client: &Client) -> usize {
        match client {
            Client::Account(_) => self.of_account,
            Client::Address(_) => self.of_address,
        }
    }
}

impl Held {
    fn of_client(&self, client: &Client) -> usize {
        self.by_client.get(client).copied().unwrap_or_default()
    }
}

impl ClientShare {
    /// Holds so much more.
    ///
    /// # Errors
    /// [`Full`]: then it holds as much as before. Metrics count the refusal.
    pub fn add(&mut self, more: usize) -> Result<(), Full> {
        self.try_add(more).inspect_err(|full| self.refused(full))
    }

    /// The same without a count of the refusal: the caller tries again.
    ///
    /// # Errors
    /// [`Full`].
    pub fn try_add(&mut self, more: usize) -> Result<(), Full> {
        let shared = &self.of.0;
        let mut held = self.of.held();
        let sum = held.in_all.saturating_add(more);
        if sum > shared.in_all {
            return Err(Full::InAll);
        }
        let has_its_part =
            |client| held.of_client(client).saturating_add(more) > shared.of_client(client);
        if sum > shared.unshared && self.clients().any(has_its_part) {
            return Err(OF_CLIENT);
        }
        self.count(&mut held, more);
        drop(held);
        self.size += more;
        Ok(())
    }

    /// Holds that much more, however much is held: work that is done must be answered.
    pub fn add_anyway(&mut self, more: usize) {
        self.count(&mut self.of.held(), more);
        self.size += more;
    }

    /// Counts for this account, too.
    ///
    /// # Errors
    /// [`Full::OfClient`], if the account holds as much as it may.
    pub fn belongs_to(&mut self, owner: UserId) -> Result<(), Full> {
        if self.account.is_some() {
            return Ok(());
        }
        let account = Client::Account(owner);
        let mut held = self.of.held();
        let sum = held.of_client(&account).saturating_add(self.size);
        if sum > self.of.0.of_account && held.in_all > self.of.0.unshared {
            drop(held);
            self.refused(&OF_CLIENT);
            return Err(OF_CLIENT);
        }
        if sum > 0 {
            held.by_client.insert(account.clone(), sum);
        }
        drop(held);
        self.account = Some(account);
        Ok(())
    }

    fn clients(&self) -> impl Iterator<Item = &Client> {
        self.account.iter().chain(&self.address)
    }

    fn count(&self, held: &mut Held, more: usize) {
        held.in_all += more;
        for client in self.clients() {
            *held.by_client.entry(client.clone()).or_default() += more;
        }
    }

    fn refused(&self, full: &Full) {
        let counter = match full {
            Full::InAll => &self.of.0.full,
            Full::OfClient(_) => &self.of.0.full_of_client,
        };
        counter.increment(1);
    }
}

impl Drop for ClientShare {
    fn drop(&mut self) {
        let mut held = self.of.held();
        held.in_all -= self.size;
        for client in self.clients() {
            if let Entry::Occupied(mut of_client) = held.by_client.entry(client.clone()) {
                *of_client.get_mut() -= self.size;
                if *of_client.get() == 0 {
                    of_client.remove();
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
    fn a_client_holds_a_quarter_and_four_hold_everything() {
        let room = AtOnce::new(400, ["buffers", "buffers_of_client"]);
        let mut places: Vec<_> = (0..4)
            .map(|client| room.of(Some(UserId(client)), Some(&client.to_string())))
            .collect();
        for place in &mut places {
            assert_eq!(place.add(100), Ok(()));
        }
        let mut late = room.of(None, Some("late"));
        assert_eq!(late.add(1), Err(Full::InAll));
        places.pop();
        assert_eq!(late.add(100), Ok(()));
        assert!(matches!(late.add(1), Err(Full::InAll | Full::OfClient(_))));
        places.pop();
        assert!(matches!(late.add(1), Err(Full::OfClient(_))));
    }

    #[test]
    fn what_has_no_account_yet_counts_for_one_once_it_is_known() {
        let requests = AtOnce::requests(8);
        let mut places: Vec<_> = ["a", "b", "c", "d", "e"]
            .map(|address| requests.of(None, Some(address)))
            .into();
        for place in &mut places {
            assert_eq!(place.add(1), Ok(()));
        }
        let belong = places.iter_mut().map(|place| place.belongs_to(ONE).is_ok());
        assert_eq!(
            belong.collect::<Vec<_>>(),
            [true, true, false, false, false]
        );
    }

    #[test]
    fn a_client_alone_has_half_of_the_requests_and_leaves_the_others_theirs() {
        let requests = AtOnce::requests(16);
        let one = |address: &str| {
            let mut place = requests.of(None, Some(address));
            place.add(1).map(|()| place)
        };
        let alone: Vec<_> = (0..16).filter_map(|_| one("a").ok()).collect();
        assert_eq!(alone.len(), 8);
        let other: Vec<_> = (0..16).filter_map(|_| one("b").ok()).collect();
        assert_eq!(other.len(), 4);
        let third: Vec<_> = (0..16).filter_map(|_| one("c").ok()).collect();
        assert_eq!(third.len(), 4);
    }

    #[test]
    fn a_client_without_anything_takes_no_memory() {
        let lists = AtOnce::lists();
        drop((
            lists.begin(ONE, "a"),
            lists.begin(ONE, "a"),
            lists.begin(OTHER, "b"),
        ));
        let mut none = lists.of(None, Some("c"));
        assert_eq!(none.belongs_to(ONE), Ok(()));
        assert!(lists.held().by_client.is_empty());
        assert_eq!(lists.held().in_all, 0);
    }
}

//! Links that an owner makes at the same time.
//!
//! The database creates an owner's links one after the other, because each is compared with a total that includes the earlier
//! links. So links that are requested while another is created are created together after it: by one statement and one commit.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::iter::once;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::domain::{LinkProperties, Principal, ShortCode};
use crate::store::{CreateLinkError, CreatedLink, NewLink, Store, StoreError};

/// Links that are made by one statement at most: it takes some milliseconds, and others wait for the lock of the total.
const MAX_TOGETHER: usize = 100;

/// Requests of one owner that wait at most. More requests are not collected: each waits for the database itself.
const MAX_WAITING: usize = 1_000;

/// The links that are being made; cheap to clone.
#[derive(Clone, Default)]
pub struct Creations(Arc<Mutex<HashMap<Maker, VecDeque<WaitingLink>>>>);

type Made = Result<CreatedLink, CreateLinkError>;

/// Links of one statement have the same owner and address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Maker {
    owner: Principal,
    address: Option<String>,
}

/// A link that is created after the links that are being created.
struct WaitingLink {
    code: ShortCode,
    properties: LinkProperties,
    outcome: oneshot::Sender<Outcome>,
}

enum Outcome {
    Made(Box<Made>),
    /// The link is not yet created: its request creates it, and the links that wait.
    Turn(Turn),
}

/// The right to make links of an owner. When it is dropped, the next request that waits has it.
struct Turn {
    creations: Creations,
    maker: Maker,
}

enum Begun {
    Now(Turn),
    Later(oneshot::Receiver<Outcome>),
    Full,
}

impl Creations {
    /// Makes a link under a drawn code, which nothing but the answer depends on: as [`Store::create_link`].
    pub(super) async fn create(
        &self,
        store: &Store,
        new: NewLink<'_>,
        max_links: u64,
    ) -> Result<CreatedLink, CreateLinkError> {
        let maker = Maker {
            owner: new.owner,
            address: new.address.map(str::to_owned),
        };
        let turn = match self.begin(maker, &new) {
            Begun::Now(turn) => turn,
            Begun::Full => return store.create_link(new, max_links).await,
            Begun::Later(outcome) => match outcome.await {
                Ok(Outcome::Turn(turn)) => turn,
                Ok(Outcome::Made(made)) => return *made,
                Err(_) => return Err(given_up().into()),
            },
        };
        let (code, properties) = (new.code.clone(), new.properties.clone());
        let (store, created_at) = (store.clone(), new.created_at);
        // The request may end while the links of other requests are created: these are answered all the same.
        let making = tokio::spawn(async move {
            let address = turn.maker.address.clone();
            let own = NewLink {
                address: address.as_deref(),
                ..NewLink::new(&code, &properties, turn.maker.owner, created_at)
            };
            turn.make(&store, own, max_links).await
        });
        making.await.unwrap_or_else(|_| Err(given_up().into()))
    }

    fn begin(&self, maker: Maker, new: &NewLink<'_>) -> Begun {
        match self.waiting().entry(maker) {
            Entry::Vacant(none) => {
                let turn = Turn {
                    creations: self.clone(),
                    maker: none.key().clone(),
                };
                none.insert(VecDeque::new());
                Begun::Now(turn)
            }
            Entry::Occupied(waiting) if waiting.get().len() >= MAX_WAITING => Begun::Full,
            Entry::Occupied(mut waiting) => {
                let (outcome, receiver) = oneshot::channel();
                waiting.get_mut().push_back(WaitingLink {
                    code: new.code.clone(),
                    properties: new.properties.clone(),
                    outcome,
                });
                Begun::Later(receiver)
            }
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<Maker, VecDeque<WaitingLink>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The link of this request, and the links of the other requests in their order.
///
/// # Errors
/// If no link was created, or the database failed.
async fn create_together(
    store: &Store,
    own: &NewLink<'_>,
    others: &[WaitingLink],
    max_links: u64,
) -> Result<(Made, Vec<Made>), CreateLinkError> {
    if others.is_empty() {
        let own = store.create_link(own.clone(), max_links).await?;
        return Ok((Ok(own), Vec::new()));
    }
    let others = others.iter().map(|other| NewLink {
        address: own.address,
        ..NewLink::new(&other.code, &other.properties, own.owner, own.created_at)
    });
    let all: Vec<_> = once(own.clone()).chain(others).collect();
    let outcomes = store.create_links(&all, max_links).await?.into_iter();
    let mut made = all
        .iter()
        .zip(outcomes)
        .map(|(link, outcome)| outcome.map(|made| link.made(made)));
    let own = made.next().unwrap_or_else(|| Err(given_up().into()));
    Ok((own, made.collect()))
}

impl WaitingLink {
    fn made(self, made: Made) {
        // The request may have ended, at its time-out.
        drop(self.outcome.send(Outcome::Made(Box::new(made))));
    }
}

impl Turn {
    /// Creates the link of its request, and the waiting links of other requests.
    async fn make(
        &self,
        store: &Store,
        new: NewLink<'_>,
        max_links: u64,
    ) -> Result<CreatedLink, CreateLinkError> {
        let others = self.take(MAX_TOGETHER - 1);
        let error = match create_together(store, &new, &others, max_links).await {
            Ok((own, made)) => {
                for (other, made) in others.into_iter().zip(made) {
                    other.made(made);
                }
                return own;
            }
            Err(error) => error,
        };
        // A database that does not answer would make the waiting requests wait that long again.
        if matches!(
            error,
            CreateLinkError::Store(_) | CreateLinkError::OwnerGone
        ) {
            // Where too much waits for it, each statement is refused by its own wait.
            let is_busy = matches!(error, CreateLinkError::Store(StoreError::Busy));
            let later = self.take(if is_busy { 0 } else { MAX_WAITING });
            for other in others.into_iter().chain(later) {
                other.made(Err(error.clone()));
            }
        }
        Err(error)
    }

    /// The waiting links, up to a number. Requests that have ended are left out.
    fn take(&self, most: usize) -> Vec<WaitingLink> {
        let mut waiting = self.creations.waiting();
        let Some(waiting) = waiting.get_mut(&self.maker) else {
            return Vec::new();
        };
        let first = waiting.drain(..most.min(waiting.len()));
        first.filter(|link| !link.outcome.is_closed()).collect()
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut waiting = self.creations.waiting();
        let next = waiting.get_mut(&self.maker).and_then(|waiting| {
            let is_there = |link: &WaitingLink| !link.outcome.is_closed();
            waiting
                .iter()
                .position(is_there)
                .and_then(|first| waiting.drain(..=first).next_back())
        });
        let Some(next) = next else {
            waiting.remove(&self.maker);
            return;
        };
        drop(waiting);
        let turn = Self {
            creations: self.creations.clone(),
            maker: self.maker.clone(),
        };
        // If the request has just ended, the turn comes back, and goes on to the next request.
        drop(next.outcome.send(Outcome::Turn(turn)));
    }
}

/// The task that was to make the link has failed.
fn given_up() -> StoreError {
    StoreError::Unavailable("a link could not be made".into())
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::domain::{TargetUrl, Timestamp, TokenKey, UserId};

    fn begin(creations: &Creations, user: i64) -> Begun {
        let owner = Principal {
            user: UserId(user),
            key: TokenKey::from_bytes(&[7; 16]).unwrap(),
        };
        let code = ShortCode::parse("K7mXq2R").unwrap();
        let properties = LinkProperties::of(TargetUrl::from_stored("https://example.org/"));
        let new = NewLink::new(
            &code,
            &properties,
            owner,
            Timestamp::from_micros(1).unwrap(),
        );
        let maker = Maker {
            owner,
            address: None,
        };
        creations.begin(maker, &new)
    }

    fn now(begun: Begun) -> Turn {
        match begun {
            Begun::Now(turn) => turn,
            _ => panic!("another link is being made"),
        }
    }

    fn later(begun: Begun) -> oneshot::Receiver<Outcome> {
        match begun {
            Begun::Later(outcome) => outcome,
            _ => panic!("no link is being made"),
        }
    }

    fn turn(outcome: oneshot::Receiver<Outcome>) -> Turn {
        match outcome.now_or_never() {
            Some(Ok(Outcome::Turn(turn))) => turn,
            _ => panic!("it is not the request's turn"),
        }
    }

    #[test]
    fn owners_do_not_wait_for_each_other() {
        let creations = Creations::default();
        let _first = now(begin(&creations, 1));
        drop(now(begin(&creations, 2)));
    }

    #[test]
    fn the_first_of_those_that_wait_has_the_next_turn_and_takes_the_others() {
        let creations = Creations::default();
        let first = now(begin(&creations, 1));
        let mut waiting: Vec<_> = (0..4).map(|_| later(begin(&creations, 1))).collect();
        drop(first);
        let second = turn(waiting.remove(0));
        assert_eq!(second.take(2).len(), 2);
        drop(second);
        assert!(turn(waiting.remove(2)).take(9).is_empty());
    }

    #[test]
    fn a_request_that_has_ended_holds_up_no_other() {
        let creations = Creations::default();
        let first = now(begin(&creations, 1));
        drop(later(begin(&creations, 1)));
        let second = later(begin(&creations, 1));
        drop(later(begin(&creations, 1)));
        let third = later(begin(&creations, 1));
        drop(first);
        // It ends with its turn in its hands.
        drop(second);
        assert!(turn(third).take(9).is_empty());
    }

    #[test]
    fn an_owner_whose_links_are_made_takes_no_memory() {
        let creations = Creations::default();
        let first = now(begin(&creations, 1));
        drop(later(begin(&creations, 1)));
        drop(first);
        assert!(creations.waiting().is_empty());
    }

    #[test]
    fn the_requests_that_wait_are_bounded() {
        let creations = Creations::default();
        let _first = now(begin(&creations, 1));
        let _waiting: Vec<_> = (0..MAX_WAITING)
            .map(|_| later(begin(&creations, 1)))
            .collect();
        assert!(matches!(begin(&creations, 1), Begun::Full));
    }
}

//! The queue for permits of one kind of work, to hash a password, say, shared out by client: clients have their turns one after
//! the other, however many requests each has sent. A request that is dropped leaves the queue at once.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Permits, and the requests that wait for them; cheap to clone. Several kinds of work may share the permits, each with a queue of
/// its own: while several queues have requests, they are served in turn, so that no kind starves another.
#[derive(Clone)]
pub struct WaitingRoom {
    shared: Arc<Mutex<Shared>>,
    /// The queue of this kind of work.
    kind: usize,
}

struct Shared {
    free: usize,
    /// The queue of each kind of work.
    queues: Vec<Queue>,
    /// The kind that is served next, if it has requests.
    next_kind: usize,
}

/// The requests of one kind of work.
struct Queue {
    max_waiting: usize,
    waiting: usize,
    by_client: HashMap<Arc<str>, VecDeque<Waiter>>,
    /// The clients with waiting requests, the next one first.
    turns: VecDeque<Arc<str>>,
    next_id: u64,
}

struct Waiter {
    id: u64,
    granted: oneshot::Sender<Permit>,
}

/// The permit for one piece of work, until it is dropped.
pub struct Permit(WaitingRoom);

/// Every place is taken, and this client has no fewer than any other.
#[derive(Debug, thiserror::Error)]
#[error("every place is taken")]
pub struct RoomIsFull;

/// A request's place in the queue, until it is dropped.
struct QueueEntry<'a> {
    room: &'a WaitingRoom,
    client: Arc<str>,
    id: u64,
}

impl WaitingRoom {
    /// With so many permits, and places to wait for one.
    #[must_use]
    pub fn new(permits: usize, max_waiting: usize) -> Self {
        Self {
            shared: Arc::new(Mutex::new(Shared {
                free: permits,
                queues: vec![Queue::new(max_waiting)],
                next_kind: 0,
            })),
            kind: 0,
        }
    }

    /// The same permits for another kind of work, with places of its own to wait for one.
    #[must_use]
    pub fn for_another_kind(&self, max_waiting: usize) -> Self {
        let mut shared = self.shared();
        shared.queues.push(Queue::new(max_waiting));
        Self {
            shared: Arc::clone(&self.shared),
            kind: shared.queues.len() - 1,
        }
    }

    /// Returns a permit without waiting, if a permit is free.
    #[must_use]
    pub fn try_enter(&self) -> Option<Permit> {
        let mut shared = self.shared();
        shared.free = shared.free.checked_sub(1)?;
        drop(shared);
        Some(Permit(self.clone()))
    }

    /// Waits for a permit. Where every place is taken, the newest request of the client with most of them gives way.
    ///
    /// # Errors
    /// [`RoomIsFull`].
    pub async fn enter(&self, client: &str) -> Result<Permit, RoomIsFull> {
        if let Some(permit) = self.try_enter() {
            return Ok(permit);
        }
        let client = Arc::from(client);
        let (id, granted, evicted) = self.shared().queues[self.kind].join(&client)?;
        // Its request is notified outside of the lock.
        drop(evicted);
        let _place = QueueEntry {
            room: self,
            client,
            id,
        };
        granted.await.map_err(|_| RoomIsFull)
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// The request whose turn it is, with its kind.
    fn next(&mut self) -> Option<(Waiter, usize)> {
        let kinds = self.queues.len();
        for offset in 0..kinds {
            let kind = (self.next_kind + offset) % kinds;
            if let Some(waiter) = self.queues[kind].next() {
                self.next_kind = (kind + 1) % kinds;
                return Some((waiter, kind));
            }
        }
        None
    }
}

impl Queue {
    fn new(max_waiting: usize) -> Self {
        Self {
            max_waiting,
            waiting: 0,
            by_client: HashMap::new(),
            turns: VecDeque::new(),
            next_id: 0,
        }
    }

    fn join(
        &mut self,
        client: &Arc<str>,
    ) -> Result<(u64, oneshot::Receiver<Permit>, Option<Waiter>), RoomIsFull> {
        let evicted = if self.waiting < self.max_waiting {
            None
        } else {
            Some(self.make_room(client)?)
        };
        let (granted, receiver) = oneshot::channel();
        let id = self.next_id;
        self.next_id += 1;
        self.waiting += 1;
        let queue = self.by_client.entry(Arc::clone(client)).or_default();
        if queue.is_empty() {
            self.turns.push_back(Arc::clone(client));
        }
        queue.push_back(Waiter { id, granted });
        Ok((id, receiver, evicted))
    }

    fn make_room(&mut self, client: &Arc<str>) -> Result<Waiter, RoomIsFull> {
        let own = self.by_client.get(client).map_or(0, VecDeque::len);
        let longest = self.by_client.iter().max_by_key(|(_, queue)| queue.len());
        let (largest, length) = longest
            .map(|(of, queue)| (of.clone(), queue.len()))
            .ok_or(RoomIsFull)?;
        if length <= own + 1 {
            return Err(RoomIsFull);
        }
        let newest = self
            .by_client
            .get(&largest)
            .and_then(VecDeque::back)
            .map(|newest| newest.id);
        newest
            .and_then(|id| self.leave(&largest, id))
            .ok_or(RoomIsFull)
    }

    fn leave(&mut self, client: &Arc<str>, id: u64) -> Option<Waiter> {
        let queue = self.by_client.get_mut(client)?;
        let at = queue.iter().position(|waiter| waiter.id == id)?;
        let waiter = queue.remove(at)?;
        self.waiting -= 1;
        if queue.is_empty() {
            self.by_client.remove(client);
            self.turns.retain(|other| other != client);
        }
        Some(waiter)
    }

    /// The request whose turn it is.
    fn next(&mut self) -> Option<Waiter> {
        let client = self.turns.pop_front()?;
        let queue = self.by_client.get_mut(&client)?;
        let waiter = queue.pop_front()?;
        self.waiting -= 1;
        if queue.is_empty() {
            self.by_client.remove(&client);
        } else {
            self.turns.push_back(client);
        }
        Some(waiter)
    }
}

impl Drop for QueueEntry<'_> {
    fn drop(&mut self) {
        let left = self.room.shared().queues[self.room.kind].leave(&self.client, self.id);
        drop(left);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut shared = self.0.shared();
        let next = shared.next();
        if next.is_none() {
            shared.free += 1;
        }
        drop(shared);
        if let Some((waiter, kind)) = next {
            let room = WaitingRoom {
                shared: Arc::clone(&self.0.shared),
                kind,
            };
            // A request that left at this very moment drops the permit, which then goes to the next request.
            let _ = waiter.granted.send(Self(room));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::mpsc;
    use tokio::task::JoinHandle;

    use super::*;

    /// Lets tasks run until they wait.
    async fn settled() {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }

    /// Requests that report when they have a permit, and keep it for a moment.
    fn requests(
        room: &WaitingRoom,
        client: &'static str,
        count: usize,
        served: &mpsc::UnboundedSender<&'static str>,
    ) -> Vec<JoinHandle<bool>> {
        let request = || {
            let (room, served) = (room.clone(), served.clone());
            tokio::spawn(async move {
                let Ok(_permit) = room.enter(client).await else {
                    return false;
                };
                served.send(client).unwrap();
                tokio::time::sleep(Duration::from_millis(1)).await;
                true
            })
        };
        (0..count).map(|_| request()).collect()
    }

    async fn order(
        mut served: mpsc::UnboundedReceiver<&'static str>,
        count: usize,
    ) -> Vec<&'static str> {
        let mut order = Vec::new();
        for _ in 0..count {
            order.push(served.recv().await.unwrap());
        }
        order
    }

    #[tokio::test]
    async fn clients_take_turns_however_many_requests_each_has_sent() {
        let room = WaitingRoom::new(1, 100);
        let held = room.try_enter().unwrap();
        let (sender, served) = mpsc::unbounded_channel();
        let mut all = requests(&room, "many", 20, &sender);
        settled().await;
        all.extend(requests(&room, "few", 2, &sender));
        settled().await;
        drop(held);
        let order = order(served, 22).await;
        assert_eq!(order[..4], ["many", "few", "many", "few"]);
        assert_eq!(order[4..], ["many"; 18]);
        assert_eq!(room.shared().free, 0, "the last one still has its permit");
        for request in all {
            assert!(request.await.unwrap());
        }
        let shared = room.shared();
        assert_eq!((shared.free, shared.queues[0].waiting), (1, 0));
    }

    #[tokio::test]
    async fn a_kind_of_work_takes_turns_with_another_however_many_clients_each_has() {
        let log_ins = WaitingRoom::new(1, 100);
        let visits = log_ins.for_another_kind(3);
        let held = log_ins.try_enter().unwrap();
        let (sender, served) = mpsc::unbounded_channel();
        let mut all = Vec::new();
        for client in ["visit 1", "visit 2", "visit 3"] {
            all.extend(requests(&visits, client, 1, &sender));
            settled().await;
        }
        all.extend(requests(&log_ins, "log-in", 2, &sender));
        settled().await;
        let refused = visits.enter("visit 1").await;
        assert!(refused.is_err(), "the places of visits are taken");
        drop(held);
        let order = order(served, 5).await;
        let position = |client| order.iter().position(|served| *served == client).unwrap();
        assert!(position("log-in") < 2, "{order:?}");
        assert_eq!(
            order.iter().rposition(|served| *served == "log-in"),
            Some(position("log-in") + 2)
        );
        for request in all {
            assert!(request.await.unwrap());
        }
        assert_eq!(visits.shared().free, 1);
    }

    #[tokio::test]
    async fn a_request_that_is_dropped_leaves_its_place_at_once() {
        let room = WaitingRoom::new(1, 100);
        let held = room.try_enter().unwrap();
        let (sender, served) = mpsc::unbounded_channel();
        let gone = requests(&room, "gone", 50, &sender);
        settled().await;
        let stays = requests(&room, "stays", 1, &sender);
        settled().await;
        assert_eq!(room.shared().queues[0].waiting, 51);
        for request in &gone {
            request.abort();
        }
        settled().await;
        assert_eq!(room.shared().queues[0].waiting, 1);
        drop(held);
        assert_eq!(order(served, 1).await, ["stays"]);
        for request in stays {
            assert!(request.await.unwrap());
        }
        let shared = room.shared();
        let queue = &shared.queues[0];
        assert!(queue.by_client.is_empty() && queue.turns.is_empty() && shared.free == 1);
    }

    #[tokio::test]
    async fn in_a_full_room_the_client_with_most_places_gives_way() {
        let room = WaitingRoom::new(1, 10);
        let held = room.try_enter().unwrap();
        let (sender, served) = mpsc::unbounded_channel();
        let many = requests(&room, "many", 15, &sender);
        settled().await;
        let few = requests(&room, "few", 5, &sender);
        settled().await;
        let refused = many.iter().filter(|request| request.is_finished()).count();
        assert_eq!(refused, 10, "five were too many, and five made room");
        assert!(few.iter().all(|request| !request.is_finished()));
        assert!(room.enter("many").await.is_err());
        assert!(room.enter("few").await.is_err(), "it has its half");
        drop(held);
        assert_eq!(order(served, 10).await, ["many", "few"].repeat(5));
    }
}

//! The controlled delay of the queue for a connection (`CoDel`).
//!
//! The queue *stands* where each operation that left it during the last interval had waited for longer than [`TARGET`]:
//! it is no burst that drains, and waiting longer helps no operation. The interval is a setting, 100 ms. Then what a client waits for is refused once it has
//! waited too long; a queue that does not stand lets operations wait until their deadline.
//!
//! The queue is first in, first out. So an operation that has waited for the target and the interval shows by itself that the queue
//! stands: whatever left it during the interval had come earlier, and waited for longer than `TARGET`. One timer for each
//! waiting operation is all it takes.

use std::cell::Cell;
use std::time::Duration;

use tokio::time::timeout;

/// A wait that is no sign of overload.
const TARGET: Duration = Duration::from_millis(5);

tokio::task_local! {
    /// How long the next operation of this request waits until it is refused; `None` where it is not.
    static REFUSED_AFTER: Cell<Option<Duration>>;
}

/// The operation was refused before anything was sent: too many wait for the database.
#[derive(Debug, thiserror::Error)]
#[error("too many operations wait for the database")]
pub(super) struct QueueStands;

/// Works on a request whose client waits for the response: its first operation is refused where waits are too long for `interval`,
/// unless that is zero. Later ones are not, so that no request is left half done; nor are those of tasks that the work spawns.
pub async fn for_waiting_client<T>(interval: Duration, work: impl Future<Output = T>) -> T {
    let refused_after = (!interval.is_zero()).then_some(TARGET + interval);
    REFUSED_AFTER.scope(Cell::new(refused_after), work).await
}

/// Waits for a place at the front of the queue, which is first in, first out.
///
/// # Errors
/// [`QueueStands`], to an operation that may be refused.
pub(super) async fn wait<T>(turn: impl Future<Output = T>) -> Result<T, QueueStands> {
    // A task without such a request has none.
    let Some(refused_after) = REFUSED_AFTER.try_with(Cell::get).ok().flatten() else {
        return Ok(turn.await);
    };
    let turn = timeout(refused_after, turn).await;
    let turn = turn.map_err(|_| QueueStands)?;
    REFUSED_AFTER.with(|refused_after| refused_after.set(None));
    Ok(turn)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use futures_util::future::join_all;
    use tokio::sync::Semaphore;
    use tokio::time::{Instant, sleep};

    use super::*;

    const INTERVAL: Duration = Duration::from_millis(100);

    async fn for_waiting_client<T>(work: impl Future<Output = T>) -> T {
        super::for_waiting_client(INTERVAL, work).await
    }

    /// What became of an operation: when it left the queue, and how long it had waited.
    #[derive(Clone, Copy, Debug)]
    struct Left {
        at: Instant,
        waited: Duration,
        is_refused: bool,
    }

    /// A database with some connections, each operation on which takes the same time.
    #[derive(Clone)]
    struct Database {
        connections: Arc<Semaphore>,
        takes: Duration,
        left: Arc<Mutex<Vec<Left>>>,
    }

    impl Database {
        fn new(connections: usize, takes: Duration) -> Self {
            Self {
                connections: Arc::new(Semaphore::new(connections)),
                takes,
                left: Arc::default(),
            }
        }

        async fn run(&self) -> bool {
            let came = Instant::now();
            let permit = wait(self.connections.acquire()).await;
            self.left.lock().unwrap().push(Left {
                at: Instant::now(),
                waited: came.elapsed(),
                is_refused: permit.is_err(),
            });
            if permit.is_ok() {
                sleep(self.takes).await;
            }
            permit.is_ok()
        }

        fn left(&self) -> Vec<Left> {
            self.left.lock().unwrap().clone()
        }
    }

    fn millis(number: u64) -> Duration {
        Duration::from_millis(number)
    }

    #[tokio::test(start_paused = true)]
    async fn closed_loops_of_64_clients_are_never_refused() {
        // 300 to 3,000 operations a second: on one slow core, and on a usual one.
        for takes in [3, 10, 15] {
            let database = Database::new(10, millis(takes));
            let clients = (0..64).map(|_| async {
                for _ in 0..50 {
                    assert!(for_waiting_client(database.run()).await);
                }
            });
            join_all(clients).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn of_a_queue_that_stands_each_client_is_refused_after_the_interval() {
        let database = Database::new(2, millis(2_000));
        join_all((0..20).map(|_| for_waiting_client(database.run()))).await;
        let left = database.left();
        let refused = left.iter().filter(|left| left.is_refused);
        assert_eq!(refused.clone().count(), 18);
        for refused in refused {
            // The timer has a resolution of a millisecond.
            assert!(refused.waited <= TARGET + INTERVAL + millis(1));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_is_refused_only_where_all_that_left_during_the_interval_had_waited_too_long()
    {
        // An open load of 1.2 times what two connections can do, some of it by jobs, with a pause in which the queue drains.
        let database = Database::new(2, millis(10));
        let operations: Vec<_> = (0..2_000)
            .map(|number| {
                let database = database.clone();
                let pause = if number < 1_000 { 0 } else { 3_000 };
                tokio::spawn(async move {
                    sleep(millis(number * 25 / 6 + pause)).await;
                    if number % 10 == 0 {
                        database.run().await
                    } else {
                        for_waiting_client(database.run()).await
                    }
                })
            })
            .collect();
        join_all(operations).await;
        let left = database.left();
        let refused: Vec<_> = left.iter().filter(|left| left.is_refused).collect();
        assert!(refused.len() > 100, "{}", refused.len());
        for refused in refused {
            let earlier = left.iter().filter(|left| !left.is_refused);
            let during = earlier.filter(|left| {
                left.at < refused.at && left.at > refused.at.checked_sub(INTERVAL).unwrap()
            });
            for served in during {
                assert!(served.waited >= TARGET, "{served:?} before {refused:?}");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn work_for_which_no_client_waits_is_never_refused() {
        let database = Database::new(1, millis(1_000));
        let jobs = (0..3).map(|_| database.run());
        assert_eq!(join_all(jobs).await, [true, true, true]);
        let spawned = for_waiting_client(async {
            let database = database.clone();
            let task =
                tokio::spawn(async move { join_all([database.run(), database.run()]).await });
            task.await.unwrap()
        });
        assert_eq!(spawned.await, [true, true]);
    }

    #[tokio::test(start_paused = true)]
    async fn without_an_interval_clients_wait() {
        let database = Database::new(1, millis(1_000));
        let clients = (0..3).map(|_| super::for_waiting_client(Duration::ZERO, database.run()));
        assert_eq!(join_all(clients).await, [true, true, true]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_is_not_left_half_done() {
        let database = Database::new(1, millis(50));
        let jobs = join_all((0..2).map(|_| database.run()));
        let request = for_waiting_client(async {
            let first = database.run().await;
            let further = join_all((0..10).map(|_| database.run()));
            (first, further.await)
        });
        let (_, (first, further)) = futures_util::future::join(jobs, request).await;
        // The database was idle for none of them.
        assert!(first && further.into_iter().all(|done| done));
    }
}
